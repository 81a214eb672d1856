//! The limit of a collective on a machine's links, whatever the algorithm: ForestColl's bound, with units.

use weft_base::{Rate, Span};
use weft_catalogue::Catalogue;
use weft_collective::limit::{Limit, limit};
use weft_collective::{Collective, Terrain};
use weft_simulator::machine::{Facts, terrain};
use weft_topology::{NodeId, Topology};

/// What the catalogue says of switches.
#[derive(Debug, Clone, Copy)]
pub struct SwitchFacts<'c>(pub &'c Catalogue);

impl Facts for SwitchFacts<'_> {
    fn switch_latency(&self, model: &str) -> Span {
        let known = self.0.switch(model).ok().and_then(|switch| switch.latency.as_ref());
        known.map_or(Span::ZERO, |latency| latency.value)
    }

    fn reduces(&self, model: &str) -> bool {
        let known = self.0.switch(model).ok().and_then(|switch| switch.reduces.as_ref());
        known.is_some_and(|reduces| reduces.value)
    }
}

/// What no algorithm can exceed on these links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphLimit {
    /// As nccl-tests counts it.
    pub busbw: Rate,
    /// The tightest cut, in words.
    pub derivation: String,
}

impl GraphLimit {
    /// The limit of a collective over `gpus` as ranks; `None` where there is none, as of a barrier.
    pub fn of_gpus(
        topology: &Topology,
        catalogue: &Catalogue,
        gpus: &[NodeId],
        collective: Collective,
    ) -> Option<Self> {
        Self::of_terrain(&terrain(topology, &SwitchFacts(catalogue), gpus), collective)
    }

    /// The limit on a terrain whose edges count MB/s.
    pub fn of_terrain(terrain: &Terrain, collective: Collective) -> Option<Self> {
        limit(terrain, collective).map(|limit| Self::with_units(&limit))
    }

    fn with_units(limit: &Limit) -> Self {
        let busbw = Rate::from_gigabytes(limit.busbw_in_units.value() / 1e3);
        Self { busbw, derivation: limit.words(&|units| megabytes(units).to_string()) }
    }
}

fn megabytes(units: u128) -> Rate {
    Rate::bytes_per_second(u64::try_from(units).unwrap_or(u64::MAX).saturating_mul(1_000_000))
}
