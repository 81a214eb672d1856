//! Seconds of one GPU's kernels.

use weft_catalogue::{AttentionKernel, Catalogue, Engine, Framework, Gpu};
use weft_workload::{Layer, Multiply, Operator, Pass, Precision, Shape, Stream, WeightFormat};

use super::TrainError;
use crate::nccl::constants::Constants;

/// Kernels of a layer in one pass that a multiplication or anything else stands for.
const KERNELS_BACKWARD: f64 = 2.0;
/// Multiplications and additions backward of attention in one kernel, over those forward: scores are computed again.
const FLASH_BACKWARD: f64 = 2.5;
/// The same of two batched multiplications, over all scores: twice what the mask leaves.
const UNFUSED_SCORES: f64 = 2.0;

/// Width of the heads that shares of attention are of.
const USUAL_HEAD: f64 = 128.0;

/// Seconds of the forward pass of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Forward {
    /// Reading weights and activations.
    pub reading_s: f64,
    /// What computing takes beyond that.
    pub computing_s: f64,
}

/// What a GPU reaches, for one precision and framework.
#[derive(Debug, Clone)]
pub struct ComputePrices {
    /// FLOP/s of a layer's matrices, large ones.
    layer: f64,
    /// FLOP/s in 16 bits.
    half: f64,
    /// FLOP/s of attention forward.
    attention: f64,
    attention_backward: f64,
    unfused: bool,
    /// Bytes/s of kernels that only move bytes.
    stream: f64,
    eager: f64,
    /// Bytes that each element that is multiplied costs by being cast; 0 in 16 bits and more.
    cast_bytes: f64,
    /// Bytes of an element that is multiplied.
    element_bytes: f64,
    /// Bytes of a weight of a layer as the memory's rate counts them: more where unpacking slows reading down.
    weight_bytes: f64,
    /// The same of the output layer.
    output_bytes: f64,
    inner_fill: f64,
    /// Rows and columns that a block of threads computes at once.
    tile: f64,
    grouped: f64,
    grouped_above: f64,
    imbalance: f64,
    gap_s: f64,
}

impl ComputePrices {
    /// What `gpu` reaches.
    pub fn new(
        gpu: &Gpu,
        precision: Precision,
        framework: &Framework,
        catalogue: &Catalogue,
    ) -> Result<Self, TrainError> {
        let constants = Constants::of(catalogue, "step-time")?;
        let shares = Shares { constants, gpu };
        let factor = framework.multiply_factor.as_ref().map_or(1.0, |factor| factor.value.as_f64());
        let peak_half = peak(gpu, Precision::Half)?;
        let half = peak_half * shares.multiply(Precision::Half)? * factor;
        let layer = peak(gpu, precision)? * shares.multiply(precision)? * factor;
        let unfused = framework.is_unfused();
        let flash = peak_half * shares.attention(framework.attention.value)?;
        let only = |table, row| constants.only(table, row);
        Ok(Self {
            layer,
            half,
            attention: if unfused { half } else { flash },
            attention_backward: only("attention", "backward")?,
            unfused,
            stream: rate(gpu) * only("memory", "stream")?,
            eager: framework.eager_bytes.value.as_f64(),
            cast_bytes: if cast(precision) { only("kernels", "cast-bytes")? } else { 0.0 },
            element_bytes: element_bytes(precision),
            weight_bytes: element_bytes(precision),
            output_bytes: 2.0,
            inner_fill: only("kernels", "inner-fill")?,
            tile: only("kernels", "tile")?,
            grouped: only("kernels", "grouped")?,
            grouped_above: only("kernels", "grouped-above-experts")?,
            imbalance: only("kernels", "imbalance")?,
            gap_s: framework.kernel_gap.value.as_seconds(),
        })
    }

    /// What `gpu` reaches when `engine` serves weights of that format. Kernels have no gaps here: what a layer takes
    /// besides is the engine's.
    pub fn serving(
        gpu: &Gpu,
        format: WeightFormat,
        engine: &Engine,
        catalogue: &Catalogue,
    ) -> Result<Self, TrainError> {
        let constants = Constants::of(catalogue, "step-time")?;
        let shares = Shares { constants, gpu };
        let factor = engine.multiply_factor_on(gpu);
        let peak_half = peak(gpu, Precision::Half)?;
        // Where the GPU cannot multiply the format, the kernel unpacks it.
        let precision = format.precision();
        let (precision, peak_layer) =
            peak(gpu, precision).map_or((Precision::Half, peak_half), |peak| (precision, peak));
        let only = |table, row| constants.only(table, row);
        let unpacked = match format {
            WeightFormat::Half | WeightFormat::Fp8 => 1.0,
            WeightFormat::Int8
            | WeightFormat::Int4
            | WeightFormat::Nvfp4
            | WeightFormat::Q4
            | WeightFormat::Q5
            | WeightFormat::Q6
            | WeightFormat::Q8 => engine.quantised_share.value.as_f64(),
        };
        Ok(Self {
            layer: peak_layer * shares.multiply(precision)? * factor,
            half: peak_half * shares.multiply(Precision::Half)? * factor,
            attention: peak_half * shares.attention(AttentionKernel::Flash)?,
            attention_backward: only("attention", "backward")?,
            unfused: false,
            stream: rate(gpu) * engine.memory_share_on(gpu),
            eager: 1.0,
            cast_bytes: 0.0,
            element_bytes: element_bytes(precision),
            weight_bytes: format.layer_bytes() / unpacked,
            output_bytes: format.table_bytes(),
            inner_fill: only("kernels", "inner-fill")?,
            tile: only("kernels", "tile")?,
            grouped: only("kernels", "grouped")?,
            grouped_above: only("kernels", "grouped-above-experts")?,
            imbalance: only("kernels", "imbalance")?,
            gap_s: 0.0,
        })
    }

    /// The forward pass of a layer without attention: what reading takes, and what computing takes beyond that.
    pub fn forward(&self, layer: &Layer) -> Forward {
        let mut forward = Forward::default();
        for operator in &layer.operators {
            match operator {
                Operator::Multiply(multiply) => {
                    let Multiply { row_count, inner_count, column_count, count, .. } = *multiply;
                    let (compute, read) = self.parts(multiply, (row_count, inner_count, column_count));
                    forward.reading_s += count * read;
                    forward.computing_s += count * (compute - read).max(0.0);
                }
                Operator::Attention { .. } => {}
                Operator::Stream(stream) => forward.computing_s += self.stream(*stream, Pass::Forward),
            }
        }
        forward
    }

    /// Seconds of the core of attention forward, where each query sees many keys.
    pub fn attention_forward(&self, layer: &Layer) -> f64 {
        self.scores(layer)
    }

    /// Seconds of attention of one new token for each sequence: its cache is read, and multiplied.
    pub fn cached_attention(&self, bytes: f64, flops: f64) -> (f64, f64) {
        let (read, compute) = (bytes / self.stream, flops / self.attention);
        (read, (compute - read).max(0.0))
    }

    /// Seconds of all kernels of a layer.
    pub fn layer(&self, layer: &Layer, pass: Pass) -> f64 {
        layer.operators.iter().map(|operator| self.operator(operator, pass)).sum()
    }

    /// Seconds of attention's core alone, forward: what selective recomputation repeats of an unfused one.
    pub fn scores(&self, layer: &Layer) -> f64 {
        let is_core = |operator: &&Operator| match operator {
            Operator::Attention { .. } => true,
            Operator::Stream(stream) => !stream.fusible,
            Operator::Multiply(_) => false,
        };
        layer.operators.iter().filter(is_core).map(|operator| self.operator(operator, Pass::Forward)).sum()
    }

    /// Seconds of an optimizer that moves so many bytes.
    pub fn bytes(&self, bytes: f64) -> f64 {
        bytes / self.stream
    }

    fn operator(&self, operator: &Operator, pass: Pass) -> f64 {
        let kernels = match pass {
            Pass::Forward => 1.0,
            Pass::Backward => KERNELS_BACKWARD,
        };
        let work = match operator {
            Operator::Multiply(multiply) => self.multiply(multiply, pass),
            Operator::Attention { causal_flops, head_length, .. } => {
                self.attention(*causal_flops, *head_length, pass)
            }
            Operator::Stream(stream) => self.stream(*stream, pass),
        };
        work + kernels * self.gap_s
    }

    fn multiply(&self, multiply: &Multiply, pass: Pass) -> f64 {
        let Multiply { row_count: rows, inner_count: inner, column_count: columns, .. } = *multiply;
        match pass {
            Pass::Forward => self.product(multiply, (rows, inner, columns), rows * inner),
            // The gradient of the input, and that of the weights; the incoming gradient is cast once.
            Pass::Backward => {
                self.product(multiply, (rows, columns, inner), rows * columns)
                    + self.product(multiply, (inner, rows, columns), 0.0)
            }
        }
    }

    /// One multiplication of `rows x inner` by `inner x columns`, `cast` elements of which are cast before.
    fn product(&self, multiply: &Multiply, (rows, inner, columns): (f64, f64, f64), cast: f64) -> f64 {
        let (compute, read) = self.parts(multiply, (rows, inner, columns));
        let cast_bytes = match multiply.shape {
            Shape::Layer | Shape::Grouped => self.cast_bytes,
            Shape::Output => 0.0,
        };
        multiply.count * (compute.max(read) + cast * cast_bytes / self.stream)
    }

    /// Seconds of one multiplication by its FLOP, and by its bytes.
    fn parts(&self, multiply: &Multiply, (rows, inner, columns): (f64, f64, f64)) -> (f64, f64) {
        let (rate, bytes, weight_bytes) = match multiply.shape {
            Shape::Layer | Shape::Grouped => (self.layer, self.element_bytes, self.weight_bytes),
            Shape::Output => (self.half, 2.0, self.output_bytes),
        };
        let (share, imbalance) = match multiply.shape {
            Shape::Grouped => {
                let grouped = if multiply.count > self.grouped_above { self.grouped } else { 1.0 };
                (grouped, if multiply.count > 0.0 { self.imbalance } else { 1.0 })
            }
            Shape::Layer | Shape::Output => (1.0, 1.0),
        };
        // Fewer rows than a tile have, as in decoding, have kernels of their own.
        let whole =
            |count: f64| if count > self.tile { (count / self.tile).ceil() * self.tile } else { count };
        let flops = 2.0 * whole(rows) * (inner + self.inner_fill) * whole(columns);
        let moved = bytes * rows * inner + weight_bytes * inner * columns + 2.0 * rows * columns;
        (flops * imbalance / (rate * share), moved / self.stream)
    }

    fn attention(&self, causal_flops: f64, head_dim: f64, pass: Pass) -> f64 {
        // The shares are of heads of the usual width; narrower ones fill kernels less.
        let fill = |dim: f64| (dim + self.inner_fill) / dim;
        let narrow = fill(head_dim) / fill(USUAL_HEAD);
        let factor = match (pass, self.unfused) {
            (Pass::Forward, false) => 1.0,
            (Pass::Backward, false) => FLASH_BACKWARD / self.attention_backward,
            (Pass::Forward, true) => UNFUSED_SCORES,
            (Pass::Backward, true) => 2.0 * UNFUSED_SCORES,
        };
        factor * narrow * causal_flops / self.attention
    }

    fn stream(&self, stream: Stream, pass: Pass) -> f64 {
        let bytes = match pass {
            Pass::Forward => stream.forward_bytes,
            Pass::Backward => stream.backward_bytes,
        };
        bytes * if stream.fusible { self.eager } else { 1.0 } / self.stream
    }
}

/// Rows of the tables by GPU, else by architecture, else for all.
struct Shares<'a> {
    constants: Constants<'a>,
    gpu: &'a Gpu,
}

impl Shares<'_> {
    fn first(&self, table: &str, row: impl Fn(&str) -> String) -> Result<f64, TrainError> {
        let names = [self.gpu.name.as_str(), self.gpu.architecture.as_str()];
        let found = names.into_iter().find_map(|name| self.constants.only(table, &row(name)).ok());
        Ok(found.map_or_else(|| self.constants.only(table, &row("other")), Ok)?)
    }

    fn multiply(&self, precision: Precision) -> Result<f64, TrainError> {
        let word = match precision {
            Precision::Fp32 => "fp32",
            Precision::Tf32 => "tf32",
            Precision::Half => "half",
            Precision::Fp8 => "fp8",
            Precision::Fp4 => "fp4",
        };
        self.first("multiply", |name| format!("{name} {word}"))
    }

    fn attention(&self, kernel: AttentionKernel) -> Result<f64, TrainError> {
        let share = self.first("attention", str::to_owned)?;
        match kernel {
            AttentionKernel::FlashTriton => {
                Ok(share * self.first("attention", |name| format!("triton {name}"))?)
            }
            AttentionKernel::Flash | AttentionKernel::Unfused => Ok(share),
        }
    }
}

pub(super) fn peak(gpu: &Gpu, precision: Precision) -> Result<f64, TrainError> {
    let compute = &gpu.compute;
    let fact = match precision {
        Precision::Fp32 => &compute.fp32,
        // Tensor cores take 32-bit words at half the rate of 16-bit ones.
        Precision::Tf32 | Precision::Half => &compute.fp16,
        Precision::Fp8 => &compute.fp8,
        Precision::Fp4 => &compute.fp4,
    };
    let none = || TrainError::NoRate { gpu: gpu.title.clone(), precision: precision.word() };
    let flops = fact.as_ref().map(|fact| fact.value.as_flops()).ok_or_else(none)?;
    Ok(if precision == Precision::Tf32 { flops / 2.0 } else { flops })
}

pub(super) fn rate(gpu: &Gpu) -> f64 {
    gpu.memory_rate.value.as_gigabytes() * 1e9
}

fn cast(precision: Precision) -> bool {
    match precision {
        Precision::Fp8 | Precision::Fp4 => true,
        Precision::Fp32 | Precision::Tf32 | Precision::Half => false,
    }
}

fn element_bytes(precision: Precision) -> f64 {
    match precision {
        Precision::Fp32 | Precision::Tf32 => 4.0,
        Precision::Half => 2.0,
        Precision::Fp8 => 1.0,
        Precision::Fp4 => 0.5,
    }
}
