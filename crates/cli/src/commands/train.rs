use std::ffi::OsString;
use std::path::{Path, PathBuf};

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, Framework, Model};
use weft_predictor::train::{Candidate, Found, Pricer, Search, Site, TrainError};
use weft_workload::{Layout, Memory, Precision, Recompute, Schedule, Sharding, Space};

use super::Answer;
use crate::arguments::{Format, count, unknown};
use crate::codes::{DOES_NOT_FIT, NO_STEP};
use crate::exit::{Exit, Failure};
use crate::load::{self, Loaded, OpenArgs};
use crate::train::timeline::Drawing;
use crate::train::{self, Run, Shown};
use crate::{json, output, report, show};

/// How long does a step of training take: a model on a machine in a parallel layout, and where the time goes
///
/// Without a layout, every layout that fits is priced and the best are shown (`--search` says so aloud). Seconds are of
/// one optimizer step over the global batch.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The cluster: a machine in one line such as `64 x dgx-h100 @ rail-optimized(leaf 64x400G)`, a system, a file
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// The model, such as `llama-3.1-70b`; `weft show --list models` names them
    #[arg(long, value_name = "NAME")]
    model: String,
    /// The program that trains; `weft show --list frameworks` names them
    #[arg(long, value_name = "NAME", default_value = "megatron-core")]
    framework: String,
    /// Of what matrices are multiplied
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "PRECISION")]
    precision: PrecisionName,
    /// GPUs that train [default: all of the machine]
    #[arg(long, value_name = "GPUS", value_parser = count())]
    gpus: Option<u32>,
    /// Sequences of a step, over all GPUs
    #[arg(long, value_name = "SEQUENCES", value_parser = count())]
    batch: u32,
    /// Tokens of a sequence
    #[arg(long, value_name = "TOKENS", default_value_t = 4096, value_parser = count())]
    sequence: u32,
    #[command(flatten)]
    layout: LayoutArgs,
    /// Price every layout that fits, and show the best
    #[arg(long)]
    search: bool,
    /// How many of the best layouts are shown
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    top: usize,
    /// Price every layout to the end, rather than to give up those that cannot win
    #[arg(long)]
    exhaustive: bool,
    /// Write the best layout's step bar by bar to this file: a picture (`.svg`), or for Perfetto (`.json`)
    #[arg(long, value_name = "FILE", value_parser = timeline_file)]
    timeline: Option<PathBuf>,
    /// Write a report with pictures to this file: one page of HTML that needs nothing else
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// How the run is split; what is not given is 1, or none.
#[derive(Debug, Clone, clap::Args)]
struct LayoutArgs {
    /// GPUs that share each matrix (tensor parallelism)
    #[arg(long, value_name = "GPUS", value_parser = count())]
    tp: Option<u32>,
    /// Stages of the pipeline
    #[arg(long, value_name = "STAGES", value_parser = count())]
    pp: Option<u32>,
    /// Chunks of layers of each stage, interleaved
    #[arg(long, value_name = "CHUNKS", value_parser = count())]
    vp: Option<u32>,
    /// GPUs that share each sequence (context parallelism)
    #[arg(long, value_name = "GPUS", value_parser = count())]
    cp: Option<u32>,
    /// GPUs that share the experts of a layer
    #[arg(long, value_name = "GPUS", value_parser = count())]
    ep: Option<u32>,
    /// Sequences of a micro-batch
    #[arg(long, value_name = "SEQUENCES", value_parser = count())]
    micro_batch: Option<u32>,
    /// Leave whole what sequence parallelism would split with tensor parallelism
    #[arg(long)]
    no_sequence_parallel: bool,
    /// What data-parallel ranks share: 0 nothing, 1 the optimizer, 2 gradients too, 3 weights too (FSDP) [default: 1]
    #[arg(long, value_name = "STAGE", value_parser = clap::value_parser!(u8).range(0..=3))]
    zero: Option<u8>,
    /// GPUs over which that is shared, where not all (hybrid sharding)
    #[arg(long, value_name = "GPUS", value_parser = count())]
    shard_gpus: Option<u32>,
    /// What is computed again in the backward pass
    #[arg(long, value_enum, ignore_case = true, value_name = "WHAT")]
    recompute: Option<RecomputeName>,
    /// The order of a pipeline's micro-batches
    #[arg(long, value_enum, ignore_case = true, value_name = "ORDER")]
    schedule: Option<ScheduleName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum PrecisionName {
    /// 32 bits.
    Fp32,
    /// 19 bits of 32.
    Tf32,
    /// 16 bits; fp16 is the same here.
    #[default]
    #[value(alias = "fp16")]
    Bf16,
    /// 8 bits.
    Fp8,
    /// 4 bits with a scale for each block.
    #[value(alias = "fp4")]
    Nvfp4,
}

impl PrecisionName {
    fn precision(self) -> Precision {
        match self {
            Self::Fp32 => Precision::Fp32,
            Self::Tf32 => Precision::Tf32,
            Self::Bf16 => Precision::Half,
            Self::Fp8 => Precision::Fp8,
            Self::Nvfp4 => Precision::Fp4,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RecomputeName {
    /// Nothing.
    None,
    /// The core of attention.
    Selective,
    /// All of each layer.
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ScheduleName {
    /// All forward, then all backward.
    Gpipe,
    /// One forward, one backward.
    #[value(name = "1f1b")]
    OneForwardOneBackward,
    /// Weights' gradients fill what would be idle.
    ZeroBubble,
}

impl LayoutArgs {
    /// Whether any of it is given.
    fn is_given(&self) -> bool {
        let sizes = [self.tp, self.pp, self.vp, self.cp, self.ep, self.micro_batch, self.shard_gpus];
        sizes.iter().any(Option::is_some)
            || self.zero.is_some()
            || self.recompute.is_some()
            || self.schedule.is_some()
    }

    fn layout(&self, gpus: u32, batch: u32, sequence: u32) -> Layout {
        let tensor = self.tp.unwrap_or(1);
        Layout {
            tensor,
            pipeline: self.pp.unwrap_or(1),
            virtual_stages: self.vp.unwrap_or(1),
            context: self.cp.unwrap_or(1),
            expert: self.ep.unwrap_or(1),
            micro_batch: self.micro_batch.unwrap_or(1),
            sequence_parallel: tensor > 1 && !self.no_sequence_parallel,
            sharding: match self.zero.unwrap_or(1) {
                0 => Sharding::None,
                1 => Sharding::Optimizer,
                2 => Sharding::Gradients,
                _ => Sharding::Weights,
            },
            shard_gpus: self.shard_gpus,
            recompute: match self.recompute {
                None | Some(RecomputeName::None) => Recompute::None,
                Some(RecomputeName::Selective) => Recompute::Selective,
                Some(RecomputeName::Full) => Recompute::Full,
            },
            schedule: match self.schedule {
                None | Some(ScheduleName::OneForwardOneBackward) => Schedule::OneForwardOneBackward,
                Some(ScheduleName::Gpipe) => Schedule::Gpipe,
                Some(ScheduleName::ZeroBubble) => Schedule::ZeroBubble,
            },
            ..Layout::new(gpus, batch, sequence)
        }
    }
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let loaded = load::machine(&args.sources, &args.open, "train on", catalogue)?;
    let (model, framework) = named(args, catalogue)?;
    let Some(machine) = &loaded.case.machine else {
        return Err(refused(&TrainError::NoGpu, args, &loaded));
    };
    let site = Site::new(machine, catalogue).map_err(|error| refused(&error, args, &loaded))?;
    let gpus = args.gpus.unwrap_or(site.gpus);
    let precision = args.precision.precision();
    let pricer = Pricer::new(&site, gpus, model, precision, framework)
        .map_err(|error| refused(&error, args, &loaded))?;
    let found = if args.search || !args.layout.is_given() {
        searched(args, &pricer, gpus)
    } else {
        one(args, &pricer, gpus)
    };
    let found = found.map_err(|error| refused(&error, args, &loaded))?;
    let composition = show::composition(&loaded, catalogue);
    let run = Run {
        machine: &composition,
        site: &site,
        model,
        framework,
        precision,
        global_batch: args.batch,
        sequence_tokens: args.sequence,
        found: &found,
        searched: args.search || !args.layout.is_given(),
    };
    if found.best.is_empty() {
        return Err(none_fits(&run, args, &loaded));
    }
    write_pictures(args, &run, &pricer, &loaded, catalogue)?;
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::train::document(&run, &loaded.diagnostics))),
        Format::Text => {
            let talk = report::findings(&loaded.diagnostics, &loaded.sources);
            Answer { text: train::text(&run), talk, ..Answer::default() }
        }
    })
}

/// The files that were asked for: a timeline, a report.
fn write_pictures(
    args: &Args,
    run: &Run<'_>,
    pricer: &Pricer<'_>,
    loaded: &Loaded,
    catalogue: &Catalogue,
) -> Result<(), Failure> {
    let Some(best) = run.found.best.first() else { return Ok(()) };
    if args.timeline.is_none() && args.report.is_none() {
        return Ok(());
    }
    let timeline = pricer.timeline(&best.layout);
    if let Some(path) = &args.timeline {
        let timeline = timeline.as_ref().map_err(|error| refused(error, args, loaded))?;
        let title = format!("One step of {}: {}", run.model.title, train::span(best.time.seconds));
        let subtitle = format!("{}, on {}", best.layout, run.machine);
        let (stages, chunks) = (best.layout.pipeline, best.layout.virtual_stages);
        let drawing = Drawing { title: &title, subtitle: &subtitle, stages, chunks };
        let text = match extension(path) {
            "svg" => train::timeline::svg(timeline, &drawing),
            _ => train::timeline::trace(timeline, &title).to_string(),
        };
        output::file(path, text.as_bytes())?;
    }
    if let Some(path) = &args.report {
        let why = timeline.as_ref().map_err(ToString::to_string);
        let title = show::title(loaded, catalogue);
        let options = weft_topology::draw::Options { title: &title, catalogue: Some(catalogue) };
        let drawing = weft_topology::draw::svg(&loaded.drawing(catalogue), &options);
        let shown = Shown {
            timeline: why.as_ref().map_err(String::as_str).copied(),
            topology: &drawing,
            assumed: &loaded.graph.assumed,
        };
        output::file(path, train::html(run, &shown).as_bytes())?;
    }
    Ok(())
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// The file of a timeline says by its name what it is.
pub(super) fn timeline_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match extension(&path) {
        "svg" | "json" => Ok(path),
        _ => Err("a timeline is written to a file that ends in `.svg` or `.json`".to_owned()),
    }
}

fn named<'c>(args: &Args, catalogue: &'c Catalogue) -> Result<(&'c Model, &'c Framework), Failure> {
    let model = catalogue.model(&args.model).map_err(|error| unknown("model", &error))?;
    let framework = catalogue.framework(&args.framework).map_err(|error| unknown("framework", &error))?;
    Ok((model, framework))
}

/// The layout of the options.
fn one(args: &Args, pricer: &Pricer<'_>, gpus: u32) -> Result<Found, TrainError> {
    let layout = args.layout.layout(gpus, args.batch, args.sequence);
    let time = pricer.step(&layout)?;
    let memory = Memory::of(&pricer.training(&layout));
    let mut found = Found { layout_count: 1, ..Found::default() };
    if memory.total() > pricer.site().gpu_bytes() {
        found.nearest = Some((layout, memory));
    } else {
        (found.fitting_count, found.priced_count) = (1, 1);
        found.best.push(Candidate { layout, time, memory });
    }
    Ok(found)
}

fn searched(args: &Args, pricer: &Pricer<'_>, gpus: u32) -> Result<Found, TrainError> {
    let site = pricer.site();
    let space = Space::new(
        pricer.model(),
        pricer.framework(),
        gpus,
        (args.batch, args.sequence),
        site.domain_of(gpus),
    );
    let progress = train::progress();
    let search = Search { keep: args.top.max(1), prune: !args.exhaustive };
    let found = search.run(pricer, &space, |layouts| progress.set_position(layouts));
    progress.finish_and_clear();
    found
}

/// A refusal: the input was good, the answer is missing.
fn refused(error: &TrainError, args: &Args, loaded: &Loaded) -> Failure {
    let (exit, hint) = match error {
        TrainError::Layout(_) => (Exit::Usage, "`--search` shows layouts that can be".to_owned()),
        TrainError::TooFewGpus { has, .. } => (
            Exit::Usage,
            format!(
                "name more hosts, such as `8 x dgx-h100 @ rail-optimized(leaf 64x400G)`, or `--gpus {has}`"
            ),
        ),
        TrainError::NoRate { .. } => (Exit::Findings, "choose another `--precision`".to_owned()),
        TrainError::NoGpu => (Exit::Findings, "name the GPU with `--gpu`".to_owned()),
        TrainError::TooLong { .. } => (Exit::Findings, "take larger micro-batches".to_owned()),
        TrainError::CrossesRails { .. } => (
            Exit::Findings,
            "`rail-optimized` joins the rails; `--search` looks for layouts that need no such way".to_owned(),
        ),
        TrainError::Collective(_) | TrainError::Machine(_) => {
            (Exit::Findings, "`weft show` says how the machine was understood".to_owned())
        }
    };
    loaded.refused(
        exit,
        format!("price a step of {}", args.model),
        Diagnostic::error(NO_STEP, error.to_string()).hint(hint),
    )
}

/// Nothing fits in memory: by how much, because of what.
fn none_fits(run: &Run<'_>, args: &Args, loaded: &Loaded) -> Failure {
    let mut why = match &run.found.nearest {
        _ if run.found.cut_count > 0 => Diagnostic::error(NO_STEP, run.found.cut.clone().unwrap_or_default()),
        Some((layout, memory)) => Diagnostic::error(DOES_NOT_FIT, train::overflow(run, layout, memory)),
        None => Diagnostic::error(
            NO_STEP,
            format!("no layout of {} GPUs takes a batch of {} sequences", run.site.gpus, args.batch),
        ),
    };
    why = why.hint(if run.searched {
        "take more GPUs, a smaller sequence, or GPUs with more memory"
    } else {
        "`--search` finds layouts that fit; `--recompute full`, `--zero 3` and more `--tp` or `--pp` need less"
    });
    loaded.refused(Exit::Findings, format!("price a step of {}", args.model), why)
}
