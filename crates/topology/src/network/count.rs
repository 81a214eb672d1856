//! How many switches and cables a network takes, by arithmetic alone.

use weft_catalogue::Network;

use super::{Plan, Shape};
use crate::build::BuildError;

/// Switches and links of a network, all planes and rails together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkCounts {
    /// Switches of each tier, those that face hosts first.
    pub switch_counts: Vec<u64>,
    /// Links between NICs and the switches that face them.
    pub host_link_count: u64,
    /// Links from each tier of switches to the next; the last entry of a dragonfly+ and of a torus joins switches of one
    /// tier.
    pub switch_link_counts: Vec<u64>,
}

impl NetworkCounts {
    /// Switches of all tiers.
    pub fn all_switches(&self) -> u64 {
        self.switch_counts.iter().sum()
    }

    /// Links between switches of all tiers.
    pub fn all_switch_links(&self) -> u64 {
        self.switch_link_counts.iter().sum()
    }
}

/// What joins `hosts` hosts of `rails` NICs each; the graph that `build` lays has as many.
pub fn network_counts(design: &Network, hosts: u32, rails: u16) -> Result<NetworkCounts, BuildError> {
    let (host_count, rail_count) = (hosts as usize, usize::from(rails));
    let plan = Plan::new(design, host_count, rail_count)?;
    let (switches, switch_links) = match &plan.shape {
        Shape::Switch => (vec![1], Vec::new()),
        Shape::Clos(clos) => (clos.switches(), clos.links()),
        Shape::DragonflyPlus(groups) => (groups.switches(), groups.links()),
        Shape::Torus(torus) => (vec![torus.vertices()], vec![torus.links()]),
    };
    let planes = u64::from(design.planes.max(1));
    let copies = planes * if plan.by_rail { u64::from(rails) } else { 1 };
    let times = |counts: Vec<usize>| counts.into_iter().map(|count| count as u64 * copies).collect();
    Ok(NetworkCounts {
        switch_counts: times(switches),
        host_link_count: u64::from(hosts) * u64::from(rails) * planes,
        switch_link_counts: times(switch_links),
    })
}
