//! The price of one layout: first token, each further token, tokens per second.

use weft_catalogue::Engine;
use weft_workload::{Axis, Layer, ServeMemory, Serving, Transfer, WeightFormat};

use super::ServeBreakdown;
use super::reduce::Reduce;
use crate::nccl::constants::Constants;
use crate::train::{ComputePrices, Network, Site, TrainError};

/// A buffer that is as fast as none.
const LEAST_BYTES: f64 = 512.0;

/// What one layout takes.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeTime {
    /// Seconds to the first token of a prompt that finds the machine idle.
    pub first_token_s: f64,
    /// Interval in which 90 % of measurements are expected.
    pub first_token_within_s: (f64, f64),
    /// Where they go.
    pub prefill: ServeBreakdown,
    /// Seconds in which the prompts of all sequences are computed.
    pub all_prompts_s: f64,
    /// Seconds between tokens of a sequence, halfway through.
    pub token_s: f64,
    /// Interval in which 90 % of measurements are expected.
    pub token_within_s: (f64, f64),
    /// Where they go.
    pub decode: ServeBreakdown,
    /// Tokens generated per second by all sequences together, once their prompts are done.
    pub decode_tokens_per_s: f64,
    /// Tokens generated per second with the prompts' time.
    pub served_tokens_per_s: f64,
    /// What one GPU keeps.
    pub memory: ServeMemory,
    /// Bytes of a GPU's memory that the engine takes.
    pub usable_bytes: f64,
    /// Sequences of that length that fit, over all GPUs.
    pub fitting_count: f64,
}

impl ServeTime {
    /// Whether weights and the caches of all sequences fit.
    pub fn fits(&self) -> bool {
        self.memory.total() <= self.usable_bytes
    }

    /// Seconds of a request from its prompt to its last token.
    pub fn request_s(&self, generated_tokens: u32) -> f64 {
        self.first_token_s + f64::from(generated_tokens.saturating_sub(1)) * self.token_s
    }
}

/// Prices of one engine and format of weights on one site.
pub struct Server<'a> {
    site: &'a Site<'a>,
    engine: &'a Engine,
    compute: ComputePrices,
    decode_spread: f64,
    prefill_spread: f64,
}

impl<'a> Server<'a> {
    /// For weights of `format`.
    pub fn new(site: &'a Site<'a>, engine: &'a Engine, format: WeightFormat) -> Result<Self, TrainError> {
        let constants = Constants::of(site.catalogue, "serve-time")?;
        Ok(Self {
            site,
            engine,
            compute: ComputePrices::serving(site.gpu, format, engine, site.catalogue)?,
            decode_spread: constants.only("spread", "decode")?,
            prefill_spread: constants.only("spread", "prefill")?,
        })
    }

    /// Where it runs.
    pub fn site(&self) -> &'a Site<'a> {
        self.site
    }

    /// The program.
    pub fn engine(&self) -> &'a Engine {
        self.engine
    }

    /// What `serving` takes. Its layout is checked first.
    pub fn time(&self, serving: &Serving<'_>) -> Result<ServeTime, TrainError> {
        let layout = &serving.layout;
        layout.check(serving.model)?;
        if layout.gpus() > self.site.gpus {
            return Err(TrainError::TooFewGpus { wanted: layout.gpus(), has: self.site.gpus });
        }
        if layout.tensor > 1 && !self.engine.splits_matrices.value {
            return Err(weft_workload::Misfit::Needs(
                "this engine splits layers over GPUs (`--pp`), not matrices",
            )
            .into());
        }
        let run = Run::new(self, serving)?;
        let (prefill, decode) = (run.prefill(1)?, run.decode()?);
        let (first_token_s, token_s) = (prefill.total_s(), decode.total_s());
        let all_prompts_s = run.prefill(serving.own_batch())?.total_s();
        let batch = f64::from(serving.batch);
        let generated = f64::from(serving.generated_tokens);
        let memory = ServeMemory::of(serving, self.engine.chunk_tokens.value);
        let usable_bytes = self.site.gpu_bytes() * self.engine.memory_use.value.as_f64();
        let copies = f64::from(layout.copies * layout.replicas());
        Ok(ServeTime {
            first_token_s,
            first_token_within_s: around(first_token_s, self.prefill_spread),
            prefill,
            all_prompts_s,
            token_s,
            token_within_s: around(token_s, self.decode_spread),
            decode,
            decode_tokens_per_s: batch / token_s,
            served_tokens_per_s: batch * generated / (all_prompts_s + generated * token_s),
            fitting_count: copies * memory.sequences_in(usable_bytes),
            memory,
            usable_bytes,
        })
    }

    /// What carries the largest part of what GPUs say to each other while decoding, in words; `None` where they say
    /// nothing.
    pub fn link(&self, serving: &Serving<'_>) -> Result<Option<String>, TrainError> {
        let run = Run::new(self, serving)?;
        let (sequences, _) = run.micro_batches();
        let layers = serving.layers(sequences, sequences);
        let layer = if serving.model.experts.is_some() { &layers.sparse } else { &layers.dense };
        let hop = serving.hop(sequences);
        let Some(transfer) =
            layer.forward.iter().chain(hop.iter()).max_by(|a, b| a.bytes.total_cmp(&b.bytes))
        else {
            return Ok(None);
        };
        if run.reduce.is_own(transfer)? {
            let how = "the engine's own all-reduce in one kernel, for which GPUs read each other's memory";
            return Ok(Some(how.to_owned()));
        }
        run.network.bound_by(transfer).map(Some)
    }

    fn chunk_tokens(&self) -> f64 {
        f64::from(self.engine.chunk_tokens.value)
    }
}

fn around(seconds: f64, factor: f64) -> (f64, f64) {
    (seconds / factor, seconds * factor)
}

/// One layout.
struct Run<'r, 'a> {
    server: &'r Server<'a>,
    serving: &'r Serving<'r>,
    network: Network<'a>,
    reduce: Reduce<'a>,
}

impl<'r, 'a> Run<'r, 'a> {
    fn new(server: &'r Server<'a>, serving: &'r Serving<'r>) -> Result<Self, TrainError> {
        let site = server.site;
        let network = Network::new(site, site.domain_of(serving.layout.copy_gpus()));
        let reduce = Reduce::new(network, serving.layout.tensor, server.engine, site.catalogue)?;
        Ok(Self { server, serving, network, reduce })
    }

    /// Sequences of a micro-batch when decoding, and how many micro-batches are under way.
    fn micro_batches(&self) -> (u32, u32) {
        let own = self.serving.own_batch();
        let stages = self.serving.layout.pipeline;
        let many = if self.server.engine.interleaves.value { stages.min(own) } else { 1 };
        (own.div_ceil(many), many)
    }

    /// All prompts of so many sequences, in pieces that go through the pipeline one behind the other.
    fn prefill(&self, sequences: u32) -> Result<ServeBreakdown, TrainError> {
        let serving = self.serving;
        let prompts = f64::from(sequences) * f64::from(serving.prompt_tokens);
        let chunk = self.server.chunk_tokens().min(prompts).max(1.0);
        let chunks = (prompts / chunk).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a piece has few tokens")]
        let tokens = (prompts / chunks).round() as u32;
        let mut all = ServeBreakdown::default();
        all.add(self.layers(tokens, 1)?, chunks);
        all.compute_s += self.prompt_attention(sequences);
        let stages = f64::from(serving.layout.pipeline);
        let hop = serving.hop(tokens).map_or(Ok(0.0), |hop| self.network.transfer(&hop))?;
        let mut breakdown = ServeBreakdown::default();
        breakdown.add(all, 1.0 / stages);
        breakdown.idle_s = all.total_s() / stages * (stages - 1.0) / chunks;
        breakdown.pipeline_s = hop * (stages - 1.0);
        breakdown.host_s = self.host_s();
        Ok(breakdown)
    }

    /// The core of attention of whole prompts, over all layers.
    fn prompt_attention(&self, sequences: u32) -> f64 {
        let serving = self.serving;
        let one = serving.layers(serving.prompt_tokens, 1).dense;
        f64::from(serving.model.layers) * f64::from(sequences) * self.server.compute.attention_forward(&one)
    }

    /// One token of each sequence.
    fn decode(&self) -> Result<ServeBreakdown, TrainError> {
        let serving = self.serving;
        let (sequences, many) = self.micro_batches();
        let mut breakdown = self.layers(sequences, sequences)?;
        let read = serving.cache_read(serving.middle_tokens());
        let each = f64::from(sequences);
        let (cache_s, more_s) = self.server.compute.cached_attention(each * read.bytes, each * read.flops);
        breakdown.cache_s += cache_s;
        breakdown.compute_s += more_s;
        let stages = f64::from(serving.layout.pipeline);
        let through = breakdown.total_s();
        // The last stage's token goes back to the first.
        let hop = serving.hop(sequences).map_or(Ok(0.0), |hop| self.network.transfer(&hop))?;
        breakdown.pipeline_s = hop * if stages > 1.0 { stages } else { 0.0 };
        // The stage with most layers takes one micro-batch after another.
        let layers = f64::from(serving.model.layers);
        let slowest = through * (layers / stages).ceil() / layers + hop;
        breakdown.idle_s = (f64::from(many) * slowest - through - breakdown.pipeline_s).max(0.0);
        breakdown.host_s = self.host_s();
        Ok(breakdown)
    }

    fn host_s(&self) -> f64 {
        self.server.engine.step_host.value.as_seconds()
    }

    /// All layers and the output for so many tokens, without the core of attention.
    fn layers(&self, tokens: u32, sequences: u32) -> Result<ServeBreakdown, TrainError> {
        let layers = self.serving.layers(tokens, sequences);
        let sparse = f64::from(self.serving.model.expert_layers());
        let dense = f64::from(self.serving.model.layers) - sparse;
        let mut all = ServeBreakdown::default();
        all.add(self.layer(&layers.dense)?, dense);
        all.add(self.layer(&layers.sparse)?, sparse);
        let output = self.server.compute.forward(&layers.output);
        all.weights_s += output.reading_s;
        all.compute_s += output.computing_s;
        Ok(all)
    }

    fn layer(&self, layer: &Layer) -> Result<ServeBreakdown, TrainError> {
        if layer.operators.is_empty() {
            return Ok(ServeBreakdown::default());
        }
        let forward = self.server.compute.forward(layer);
        let mut breakdown = ServeBreakdown {
            weights_s: forward.reading_s,
            compute_s: forward.computing_s,
            kernels_s: self.server.engine.layer_time.value.as_seconds(),
            ..ServeBreakdown::default()
        };
        for transfer in &layer.forward {
            let seconds = self.reduce.seconds(transfer)?;
            if transfer.axis == Axis::Expert {
                breakdown.expert_s += seconds;
                continue;
            }
            let least = Transfer { bytes: transfer.bytes.min(LEAST_BYTES), ..*transfer };
            breakdown.tensor_s += seconds;
            breakdown.tensor_latency_s += self.reduce.seconds(&least)?.min(seconds);
        }
        Ok(breakdown)
    }
}
