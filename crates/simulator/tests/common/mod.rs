//! The fabric that `benches/README.md` defines: nodes of 8 GPUs with NVLink, leaves of 32 NICs, 16 spines.
#![allow(dead_code, missing_docs, reason = "each test and example uses a part of it")]

pub mod net;

use weft_base::{Rate, Span};
use weft_collective::Rank;
use weft_simulator::Router;
use weft_simulator::engine::{Engine, PathId, ResourceId, Use};

pub const NODE: u32 = 8;
pub const LEAF: u32 = 32;
pub const SPINES: u32 = 16;

/// Where each kind of link begins among the resources.
pub struct Fabric {
    nvlink_up: ResourceId,
    nvlink_down: ResourceId,
    nic_up: ResourceId,
    nic_down: ResourceId,
    leaf_up: ResourceId,
    leaf_down: ResourceId,
}

impl Fabric {
    pub fn build(engine: &mut Engine, gpus: u32) -> Self {
        let rate = |gigabytes: u64| Rate::bytes_per_second(gigabytes * 1_000_000_000);
        let trunks = (gpus.div_ceil(LEAF) * SPINES) as usize;
        let gpus = gpus as usize;
        Self {
            nvlink_up: engine.add_resources(rate(450), gpus),
            nvlink_down: engine.add_resources(rate(450), gpus),
            nic_up: engine.add_resources(rate(50), gpus),
            nic_down: engine.add_resources(rate(50), gpus),
            leaf_up: engine.add_resources(rate(100), trunks),
            leaf_down: engine.add_resources(rate(100), trunks),
        }
    }

    pub fn nic_up(&self, gpu: u32) -> ResourceId {
        nth(self.nic_up, gpu)
    }

    pub fn nic_down(&self, gpu: u32) -> ResourceId {
        nth(self.nic_down, gpu)
    }

    /// The path between two GPUs over spine `to mod 16`.
    pub fn path(&self, engine: &mut Engine, from: u32, to: u32) -> PathId {
        self.path_over(engine, from, to, to % SPINES)
    }

    pub fn path_over(&self, engine: &mut Engine, from: u32, to: u32, spine: u32) -> PathId {
        let of = |first, index| Use::of(nth(first, index));
        let nanoseconds = |count: u64| Span::picoseconds(count * 1000);
        if from / NODE == to / NODE {
            let uses = [of(self.nvlink_up, from), of(self.nvlink_down, to)];
            return engine.add_path(&uses, nanoseconds(500), None);
        }
        if from / LEAF == to / LEAF {
            let uses = [of(self.nic_up, from), of(self.nic_down, to)];
            return engine.add_path(&uses, nanoseconds(1000), None);
        }
        let uses = [
            of(self.nic_up, from),
            of(self.leaf_up, from / LEAF * SPINES + spine),
            of(self.leaf_down, to / LEAF * SPINES + spine),
            of(self.nic_down, to),
        ];
        engine.add_path(&uses, nanoseconds(1600), None)
    }
}

impl Router for Fabric {
    fn path(&mut self, engine: &mut Engine, from: Rank, to: Rank, _channel: u16) -> Option<PathId> {
        Some(Fabric::path(self, engine, from.get(), to.get()))
    }
}

fn nth(first: ResourceId, index: u32) -> ResourceId {
    ResourceId::new(first.index() + index as usize)
}
