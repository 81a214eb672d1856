//! The timeline of a step: as a picture, and for Perfetto.

mod folds;
mod svg;
mod trace;

use weft_predictor::train::{PassTime, What};
use weft_workload::Work;

pub use svg::{Drawing, svg};
pub use trace::trace;

/// Parts of a pass between its begin and its end, in the order in which they are drawn: class, word, seconds.
fn parts(pass: &PassTime) -> [(&'static str, &'static str, f64); 4] {
    [
        ("tensor", "tensor parallelism", pass.tensor_s),
        ("context", "context parallelism", pass.context_s),
        ("expert", "expert parallelism", pass.expert_s),
        ("host", "waiting for the host", pass.host_s),
    ]
}

/// How a bar is drawn, and its word.
fn kind(what: What) -> (&'static str, &'static str) {
    match what {
        What::Turn(turn) => match turn.work {
            Work::Forward => ("forward", "forward"),
            Work::Backward => ("backward", "backward"),
            Work::WeightGradients => ("own", "weight gradients"),
        },
        What::Hop(_) => ("hop", "between stages"),
        What::Gather(_) => ("data", "weights gathered"),
        What::Scatter(_) => ("data", "gradients scattered"),
        What::Gradients => ("data", "gradients summed"),
        What::Optimizer => ("optimizer", "optimizer"),
        What::Weights => ("data", "updated weights sent"),
        What::Rest => ("rest", "allowance of the formula"),
        What::Straggler => ("straggler", "slowest of many GPUs"),
    }
}
