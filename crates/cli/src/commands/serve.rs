use std::ffi::OsString;

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, Engine, Model};
use weft_predictor::PeerAccess;
use weft_predictor::serve::{ServeCandidate, ServeFound, Server, best};
use weft_predictor::train::{Site, TrainError};
use weft_workload::{ServeLayout, Serving, WeightFormat};

use super::Answer;
use crate::arguments::{Format, count, unknown};
use crate::codes::{DOES_NOT_FIT, NO_STEP};
use crate::exit::{Exit, Failure};
use crate::load::{self, Loaded, OpenArgs};
use crate::serve::{self, Served};
use crate::{json, report, show};

/// How long does inference take: the first token, each one after it, how many sequences fit, and what limits it
///
/// Without a layout, every layout of the machine's GPUs is priced, and the quickest and the one that serves most are
/// shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The machine: in one line such as `2 rtx-3090 @ pcie4x16 + nvlink-bridge`, a system, a file
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// The model, such as `llama-3.3-70b`; `weft show --list models` names them
    #[arg(long, value_name = "NAME")]
    model: String,
    /// The program that serves; `weft show --list engines` names them
    #[arg(long, value_name = "NAME", default_value = "vllm")]
    engine: String,
    /// How weights are stored; q4 to q8 are those of GGUF files
    #[arg(long, alias = "precision", value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    weights: WeightsName,
    /// How the KV cache is stored
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    cache: CacheName,
    /// Sequences at a time, over all GPUs
    #[arg(long, value_name = "SEQUENCES", default_value_t = 1, value_parser = count())]
    batch: u32,
    /// Tokens of a prompt
    #[arg(long, value_name = "TOKENS", default_value_t = 1024, value_parser = count())]
    prompt: u32,
    /// Tokens that are generated for each
    #[arg(long, value_name = "TOKENS", default_value_t = 256, value_parser = count())]
    generate: u32,
    /// GPUs that share each matrix (tensor parallelism)
    #[arg(long, value_name = "GPUS", value_parser = count())]
    tp: Option<u32>,
    /// Stages of the pipeline: layers split over GPUs
    #[arg(long, value_name = "STAGES", value_parser = count())]
    pp: Option<u32>,
    /// GPUs that share the experts of a layer
    #[arg(long, value_name = "GPUS", value_parser = count())]
    ep: Option<u32>,
    /// Whole copies of the model that share the sequences
    #[arg(long, value_name = "COPIES", value_parser = count())]
    copies: Option<u32>,
    /// GPUs reach each other's memory over PCIe although their stock driver does not let them (a patched driver)
    #[arg(long)]
    peers: bool,
    /// How many of the best layouts are shown
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    top: usize,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// Sequences at a time, of which no more are looked at.
const MOST_SEQUENCES: u32 = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum WeightsName {
    /// 16 bits.
    #[default]
    #[value(alias = "fp16")]
    Bf16,
    /// 8 bits, floating point.
    Fp8,
    /// 8 bits, integers.
    Int8,
    /// 4 bits in groups of 128: AWQ, GPTQ.
    #[value(alias = "awq", alias = "gptq")]
    Int4,
    /// 4 bits, floating point.
    #[value(alias = "fp4")]
    Nvfp4,
    /// `Q4_K_M`.
    #[value(alias = "q4_k_m")]
    Q4,
    /// `Q5_K_M`.
    #[value(alias = "q5_k_m")]
    Q5,
    /// `Q6_K`.
    #[value(alias = "q6_k")]
    Q6,
    /// `Q8_0`.
    #[value(alias = "q8_0")]
    Q8,
}

impl WeightsName {
    fn format(self) -> WeightFormat {
        match self {
            Self::Bf16 => WeightFormat::Half,
            Self::Fp8 => WeightFormat::Fp8,
            Self::Int8 => WeightFormat::Int8,
            Self::Int4 => WeightFormat::Int4,
            Self::Nvfp4 => WeightFormat::Nvfp4,
            Self::Q4 => WeightFormat::Q4,
            Self::Q5 => WeightFormat::Q5,
            Self::Q6 => WeightFormat::Q6,
            Self::Q8 => WeightFormat::Q8,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum CacheName {
    /// 16 bits.
    #[default]
    #[value(alias = "fp16")]
    Bf16,
    /// 8 bits.
    #[value(alias = "int8", alias = "q8")]
    Fp8,
}

impl Args {
    fn layout(&self) -> Option<ServeLayout> {
        let given = [self.tp, self.pp, self.ep, self.copies].iter().any(Option::is_some);
        given.then(|| ServeLayout {
            tensor: self.tp.unwrap_or(1),
            pipeline: self.pp.unwrap_or(1),
            expert: self.ep.unwrap_or(1),
            copies: self.copies.unwrap_or(1),
        })
    }

    fn serving<'a>(&self, model: &'a Model) -> Serving<'a> {
        Serving {
            model,
            layout: self.layout().unwrap_or(ServeLayout::ONE),
            weights: self.weights.format(),
            cache_bytes: match self.cache {
                CacheName::Bf16 => 2.0,
                CacheName::Fp8 => 1.0,
            },
            batch: self.batch,
            prompt_tokens: self.prompt,
            generated_tokens: self.generate,
        }
    }
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let loaded = load::machine(&args.sources, &args.open, "serve on", catalogue)?;
    let (model, engine) = named(args, catalogue)?;
    let fail = |error: TrainError| refused(&error, args, &loaded);
    let machine = loaded.case.machine.as_ref().ok_or_else(|| fail(TrainError::NoGpu))?;
    let access = if args.peers { PeerAccess::Everywhere } else { PeerAccess::AsUsual };
    let site = Site::serving(machine, catalogue, access).map_err(fail)?;
    let server = Server::new(&site, engine, args.weights.format()).map_err(fail)?;
    let serving = args.serving(model);
    let found = match args.layout() {
        Some(_) => one(&server, &serving),
        None => best(&server, &serving, args.top.max(1), MOST_SEQUENCES),
    };
    let found = found.map_err(fail)?;
    let composition = show::composition(&loaded, catalogue);
    let link = match found.quickest.first() {
        Some(first) => server.link(&Serving { layout: first.layout, ..serving }).map_err(fail)?,
        None => None,
    };
    let served = Served {
        machine: &composition,
        site: &site,
        engine,
        serving: &serving,
        found: &found,
        searched: args.layout().is_none(),
        link: link.as_deref(),
    };
    if found.quickest.is_empty() {
        return Err(none_fits(&served, args, &loaded));
    }
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::serve::document(&served, &loaded.diagnostics))),
        Format::Text => {
            let talk = report::findings(&loaded.diagnostics, &loaded.sources);
            Answer { text: serve::text(&served), talk, ..Answer::default() }
        }
    })
}

fn named<'c>(args: &Args, catalogue: &'c Catalogue) -> Result<(&'c Model, &'c Engine), Failure> {
    let model = catalogue.model(&args.model).map_err(|error| unknown("model", &error))?;
    let engine = catalogue.engine(&args.engine).map_err(|error| unknown("engine", &error))?;
    Ok((model, engine))
}

/// The layout of the options.
fn one(server: &Server<'_>, serving: &Serving<'_>) -> Result<ServeFound, TrainError> {
    let time = server.time(serving)?;
    let candidate = ServeCandidate { layout: serving.layout, batch: serving.batch, time };
    let mut found = ServeFound { layout_count: 1, ..ServeFound::default() };
    if candidate.time.fits() {
        found.fitting_count = 1;
        found.quickest.push(candidate);
    } else {
        found.nearest = Some(candidate);
    }
    Ok(found)
}

/// A refusal: the input was good, the answer is missing.
fn refused(error: &TrainError, args: &Args, loaded: &Loaded) -> Failure {
    let (exit, hint) = match error {
        TrainError::Layout(_) => {
            (Exit::Usage, "without `--tp`, `--pp` and `--ep`, layouts that can be are looked for".to_owned())
        }
        TrainError::TooFewGpus { has, .. } => {
            (Exit::Usage, format!("name more GPUs or hosts, or a layout of at most {has} GPUs"))
        }
        TrainError::NoRate { .. } => (Exit::Findings, "choose other `--weights`, or another GPU".to_owned()),
        TrainError::NoGpu => (Exit::Findings, "name the GPU with `--gpu`".to_owned()),
        TrainError::Collective(_)
        | TrainError::Machine(_)
        | TrainError::CrossesRails { .. }
        | TrainError::TooLong { .. } => {
            (Exit::Findings, "`weft show` says how the machine was understood".to_owned())
        }
    };
    loaded.refused(
        exit,
        format!("price serving {}", args.model),
        Diagnostic::error(NO_STEP, error.to_string()).hint(hint),
    )
}

/// Nothing fits in memory: by how much, because of what.
fn none_fits(served: &Served<'_>, args: &Args, loaded: &Loaded) -> Failure {
    let why = match &served.found.nearest {
        Some(nearest) => Diagnostic::error(DOES_NOT_FIT, serve::overflow(served, nearest)),
        None => {
            Diagnostic::error(NO_STEP, format!("the model cannot be split over {} GPUs", served.site.gpus))
        }
    };
    let why = why.hint(
        "weights of fewer bits (`--weights int4`), a cache of fewer (`--cache fp8`), fewer sequences or more GPUs need less",
    );
    loaded.refused(Exit::Findings, format!("price serving {}", args.model), why)
}
