//! `--study fgd`.

use std::path::{Path, PathBuf};

use weft_base::Diagnostic;
use weft_scheduler::{Fleet, PLACINGS, Placing, Pod, openb};

use super::{Args, Format, LearnFrom, unknown_policy};
use crate::codes::FILE_UNUSED;
use crate::commands::Answer;
use crate::exit::{Exit, Failure};
use crate::schedule::fgd::{self, Learn, Plan, Trace};
use crate::{input, json};

const NODES: &str = "openb_node_list_gpu_node.csv";
const PODS: (&str, &str) = ("openb_pod_list_", ".csv");

/// Plays the study on the tables of a folder.
pub fn run(args: &Args, folder: &Path) -> Result<Answer, Failure> {
    let policies = policies(&args.policy)?;
    let (fleet, traces) = read(args, folder)?;
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
    let outcomes = fgd::play(&plan);
    Ok(match args.format {
        Format::Json => Answer::plain(json::text(&json::schedule::document(&plan, &outcomes))),
        Format::Text | Format::Csv | Format::Svg | Format::Html => Answer::text(fgd::text(&plan, &outcomes)),
    })
}

fn policies(names: &[String]) -> Result<Vec<&'static Placing>, Failure> {
    if names.is_empty() {
        return Ok(PLACINGS.iter().collect());
    }
    let known: Vec<&str> = PLACINGS.iter().map(|policy| policy.name).collect();
    let of = |name: &String| Placing::named(name).ok_or_else(|| unknown_policy(name, &known));
    names.iter().map(of).collect()
}

fn read(args: &Args, folder: &Path) -> Result<(Fleet, Vec<Trace>), Failure> {
    let text = |path: &Path| input::file(path, true).map(|given| given.source);
    let nodes = text(&folder.join(NODES))?;
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
    for name in names(args, folder)? {
        let source = text(&folder.join(format!("{}{name}{}", PODS.0, PODS.1)))?;
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
fn names(args: &Args, folder: &Path) -> Result<Vec<String>, Failure> {
    if !args.trace.is_empty() {
        return Ok(args.trace.clone());
    }
    let files = input::folder_files(folder)?;
    let name = |path: &PathBuf| {
        let file = path.file_name()?.to_str()?;
        Some(file.strip_prefix(PODS.0)?.strip_suffix(PODS.1)?.to_owned())
    };
    let found: Vec<String> = files.iter().filter_map(name).collect();
    if found.is_empty() {
        let why = Diagnostic::error(FILE_UNUSED, format!("{} has no table of pods", folder.display()));
        let hint = format!("tables of pods are called `{}NAME{}`", PODS.0, PODS.1);
        return Err(Failure::new(Exit::BadInput, "schedule", why.hint(hint)));
    }
    Ok(found)
}
