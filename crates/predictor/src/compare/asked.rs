//! What is asked of a machine for a table, shared by all tables for which it is the same.

use std::cell::OnceCell;
use std::rc::Rc;

use weft_topology::Topology;

use super::causes::Doubt;
use crate::{KnownMachine, PredictError, Prediction, Request};

/// The machine that ran a table, and what is asked of it.
#[derive(Debug)]
pub struct Asked<'c> {
    /// With as many hosts as took part.
    pub(super) machine: KnownMachine<'c>,
    /// With the collective and the GPUs of the table.
    pub(super) request: Request,
    doubts: OnceCell<Vec<Doubt<'c>>>,
}

impl<'c> Asked<'c> {
    pub(super) fn new(machine: KnownMachine<'c>, request: Request) -> Self {
        Self { machine, request, doubts: OnceCell::new() }
    }

    /// The machine, with as many hosts as took part.
    pub fn topology(&self) -> &Topology {
        self.machine.topology()
    }

    /// What was asked of it: the collective and the GPUs are those of the table, the sizes need not be.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// What would be expected of the same GPUs, were something else asked.
    pub fn instead(&self, change: impl FnOnce(&mut Request)) -> Result<Rc<Prediction>, PredictError> {
        let mut request = self.request.clone();
        change(&mut request);
        self.machine.predict(&request)
    }

    /// The machine or the request with one thing wrong.
    pub(super) fn doubts(&self) -> &[Doubt<'c>] {
        self.doubts.get_or_init(|| Doubt::all(&self.machine, &self.request))
    }
}
