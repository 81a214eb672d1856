//! Values of options that several commands take.

use weft_base::Diagnostic;
use weft_catalogue::NotFound;
use weft_collective::Collective;
use weft_topology::{NodeId, NodeKind, Topology};

use crate::codes::{NO_STEP, NO_SUCH_GPU};
use crate::exit::{Exit, Failure};
use crate::gpus;

/// How to print an answer that is text or JSON; commands with more forms have a list of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For a reader.
    #[default]
    Text,
    /// For a script: the file of the command's name in `schemas` describes it.
    Json,
}

/// A number of things, at least one.
pub fn count() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// A name of the command line that the catalogue does not have.
pub fn unknown(what: &str, error: &NotFound) -> Failure {
    let why = Diagnostic::error(NO_STEP, error.to_string()).hint(error.hint());
    Failure::new(Exit::Usage, format!("find the {what}"), why)
}

/// A collective by its name; `known` are those that the command takes.
pub fn collective(text: &str, known: &[Collective]) -> Result<Collective, String> {
    Collective::from_name(text).ok_or_else(|| {
        if let Some(near) = Collective::near(text).first() {
            return format!("did you mean `{near}`?");
        }
        let names: Vec<&str> = known.iter().map(|collective| collective.name()).collect();
        format!("the collectives are {}", names.join(", "))
    })
}

/// The GPUs that `text` names: a count, or a list of numbers, ranges and names of the input.
pub fn chosen_gpus(text: &str, topology: &Topology) -> Result<Vec<NodeId>, Failure> {
    let all: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).collect();
    let usage = |message: String| {
        let hint = format!("the machine has {} GPUs, 0 to {}", all.len(), all.len().saturating_sub(1));
        let why = Diagnostic::error(NO_SUCH_GPU, message).hint(hint);
        Failure::new(Exit::Usage, format!("choose the GPUs `{text}`"), why)
    };
    if let Ok(count) = text.trim().parse::<usize>() {
        return match all.get(..count) {
            Some(first) => Ok(first.to_vec()),
            None => Err(usage(format!("there are not {count} GPUs"))),
        };
    }
    gpus::listed(text, &all, topology).map_err(usage)
}
