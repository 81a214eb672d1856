//! Machines for the tests of this crate.

#![allow(dead_code, reason = "each test file uses a part of it")]

use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_predictor::{Prediction, Request, predict};
use weft_topology::Topology;

/// The graph of a one-liner or of a catalogue system.
pub fn topology(text: &str) -> Topology {
    let catalogue = Catalogue::embedded();
    let machine = weft_topology::oneliner::parse(text, catalogue).expect("a machine");
    weft_topology::build(&machine, catalogue).expect("a graph").topology
}

/// The prediction for all GPUs of a machine, from 8 B to 8 GiB.
pub fn prediction(text: &str, collective: Collective) -> Prediction {
    predict(&topology(text), Catalogue::embedded(), &Request::new(collective)).expect("a prediction")
}
