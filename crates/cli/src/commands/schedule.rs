use std::path::{Path, PathBuf};

use weft_base::Diagnostic;
use weft_scheduler::{Fleet, PLACINGS, Placing, Pod, openb};

use super::Answer;
use crate::arguments::Format;
use crate::codes::{FILE_UNUSED, NO_SUCH_POLICY};
use crate::exit::{Exit, Failure};
use crate::schedule::{self, Learn, Plan, Trace};
use crate::{input, json};

const NODES: &str = "openb_node_list_gpu_node.csv";
const PODS: (&str, &str) = ("openb_pod_list_", ".csv");

/// Who gets which GPUs: policies that place pods, on a published trace
///
/// `--study fgd` repeats the study of fragmentation gradient descent (ATC'23): the pods of a trace come in random order,
/// one at a time, and stay, until 130 % of the cluster's GPUs have been asked for. The table says which share of the GPUs
/// is not allocated when so much has been asked for: what is left is too small, or lacks the CPU beside it. A pod that
/// fits somewhere is placed, none is moved, and no policy knows later pods.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder with the tables of nodes and pods
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// What is studied
    #[arg(long, value_enum, ignore_case = true, value_name = "STUDY")]
    study: StudyName,
    /// Only this trace, `default` for `openb_pod_list_default.csv`; several are given one by one [default: all]
    #[arg(long, value_name = "NAME")]
    trace: Vec<String>,
    /// Only this policy; several are given one by one [default: all]
    #[arg(long, value_name = "NAME")]
    policy: Vec<String>,
    /// Orders of arrivals
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// The first seed; the others follow it
    #[arg(long, value_name = "NUMBER", default_value_t = 42)]
    first_seed: u64,
    /// What policies learn the usual pods from
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "PODS")]
    learn: LearnFrom,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StudyName {
    /// How much of the GPUs stays unallocated (Weng et al., ATC'23).
    Fgd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum LearnFrom {
    /// All pods of the trace, as in the study.
    #[default]
    All,
    /// One half of them; the other half comes.
    Half,
}

pub fn run(args: &Args) -> Result<Answer, Failure> {
    answer(args).map_err(|mut failure| {
        if args.format == Format::Json {
            failure.document = Some(json::text(&json::schedule::failed(&failure.diagnostics)));
        }
        failure
    })
}

fn answer(args: &Args) -> Result<Answer, Failure> {
    let StudyName::Fgd = args.study;
    let policies = policies(&args.policy)?;
    let (fleet, traces) = read(args)?;
    let learn = match args.learn {
        LearnFrom::All => Learn::All,
        LearnFrom::Half => Learn::Half,
    };
    let plan = Plan {
        fleet: &fleet,
        traces: &traces,
        policies: &policies,
        seed_count: args.seeds,
        first_seed: args.first_seed,
        learn,
    };
    let outcomes = schedule::play(&plan);
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::schedule::document(&plan, &outcomes))),
        Format::Text => Answer::text(schedule::text(&plan, &outcomes)),
    })
}

fn policies(names: &[String]) -> Result<Vec<&'static Placing>, Failure> {
    if names.is_empty() {
        return Ok(PLACINGS.iter().collect());
    }
    let known = || PLACINGS.iter().map(|policy| policy.name).collect::<Vec<_>>().join(", ");
    let of = |name: &String| {
        Placing::named(name).ok_or_else(|| {
            let why = Diagnostic::error(NO_SUCH_POLICY, format!("there is no policy `{name}`"));
            Failure::new(Exit::Usage, "schedule", why.hint(format!("policies are {}", known())))
        })
    };
    names.iter().map(of).collect()
}

fn read(args: &Args) -> Result<(Fleet, Vec<Trace>), Failure> {
    let text = |path: &Path| input::file(path, true).map(|given| given.source);
    let nodes = text(&args.folder.join(NODES))?;
    let refused = |source: weft_formats::Source| {
        move |why: Diagnostic| {
            let what = format!("read {}", source.name);
            Failure::because(Exit::BadInput, what, vec![why], vec![source])
        }
    };
    let fleet = openb::fleet(&nodes.name, &nodes.text).map_err(refused(nodes.clone()))?;
    if fleet.gpu_milli() == 0 {
        let why = Diagnostic::error(FILE_UNUSED, format!("{} has no node with a GPU", nodes.name));
        return Err(Failure::new(Exit::BadInput, "schedule", why));
    }
    let mut traces = Vec::new();
    for name in names(args)? {
        let source = text(&args.folder.join(format!("{}{name}{}", PODS.0, PODS.1)))?;
        let pods = openb::pods(&source.name, &source.text, &fleet).map_err(refused(source.clone()))?;
        traces.push(trace(name, pods)?);
    }
    Ok((fleet, traces))
}

/// A trace that asks for GPUs at all.
fn trace(name: String, pods: Vec<Pod>) -> Result<Trace, Failure> {
    if pods.iter().all(|pod| pod.gpu_count == 0) {
        let why = Diagnostic::error(FILE_UNUSED, format!("no pod of the trace `{name}` asks for a GPU"));
        return Err(Failure::new(Exit::BadInput, "schedule", why));
    }
    Ok(Trace { name, pods })
}

/// The traces that are asked for, or all of the folder.
fn names(args: &Args) -> Result<Vec<String>, Failure> {
    if !args.trace.is_empty() {
        return Ok(args.trace.clone());
    }
    let files = input::folder_files(&args.folder)?;
    let name = |path: &PathBuf| {
        let file = path.file_name()?.to_str()?;
        Some(file.strip_prefix(PODS.0)?.strip_suffix(PODS.1)?.to_owned())
    };
    let found: Vec<String> = files.iter().filter_map(name).collect();
    if found.is_empty() {
        let why = Diagnostic::error(FILE_UNUSED, format!("{} has no table of pods", args.folder.display()));
        let hint = format!("tables of pods are called `{}NAME{}`", PODS.0, PODS.1);
        return Err(Failure::new(Exit::BadInput, "schedule", why.hint(hint)));
    }
    Ok(found)
}
