//! How many switches and cables a network takes, by arithmetic alone.

use weft_catalogue::{Network, NetworkDesign};

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

/// A tier that carries less than all ports below it together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NarrowTier {
    /// Hosts that reach each other below it.
    pub hosts: u32,
    /// What their ports carry over what leads out.
    pub oversubscription: u32,
}

/// The narrow tiers that `hosts` hosts of `rails` NICs each cannot do without, the lowest first.
pub fn narrow_tiers(design: &Network, hosts: u32, rails: u16) -> Result<Vec<NarrowTier>, BuildError> {
    let rails = usize::from(rails.max(1));
    let plan = Plan::new(design, hosts as usize, rails)?;
    let Shape::Clos(clos) = &plan.shape else { return Ok(Vec::new()) };
    let below_leaf = match design.design {
        NetworkDesign::RailOptimized | NetworkDesign::RailOnly => plan.down,
        NetworkDesign::FatTree => match design.leaves {
            Some(leaves) => (hosts as usize).div_ceil(usize::from(leaves.max(1))),
            None => (plan.down / rails).max(1),
        },
        NetworkDesign::Single | NetworkDesign::DragonflyPlus | NetworkDesign::Torus => return Ok(Vec::new()),
    };
    // Leaves of rails stand in sets, one for each rail.
    let set = if design.design == NetworkDesign::RailOptimized { rails } else { 1 };
    let below_spine = below_leaf * (clos.leaves_of_a_pod() / set).max(1);
    let at_leaf = u32::from(design.oversubscription);
    let at_spine = at_leaf * u32::from(design.spine_oversubscription);
    let tiers = [(below_leaf, at_leaf), (below_spine, if clos.has_core() { at_spine } else { at_leaf })];
    let narrow = tiers.into_iter().filter(|(below, share)| *share > 1 && *below < hosts as usize);
    let mut tiers: Vec<NarrowTier> = narrow
        .map(|(below, oversubscription)| NarrowTier {
            hosts: u32::try_from(below).unwrap_or(u32::MAX),
            oversubscription,
        })
        .collect();
    tiers.dedup_by_key(|tier| tier.oversubscription);
    Ok(tiers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_tiers_are_those_that_hosts_cannot_do_without() {
        let three = Network { oversubscription: 3, ..Network::new(NetworkDesign::RailOptimized, 64) };
        // 48 of 64 ports face hosts: 48 hosts below the leaves of all rails.
        let tiers = narrow_tiers(&three, 128, 8).unwrap();
        assert_eq!(tiers, [NarrowTier { hosts: 48, oversubscription: 3 }]);
        assert_eq!(narrow_tiers(&three, 48, 8).unwrap(), []);
        let even = Network::new(NetworkDesign::RailOptimized, 64);
        assert_eq!(narrow_tiers(&even, 128, 8).unwrap(), []);
        // 600 hosts are 13 sets of 8 leaves, more than 64: pods of 48 leaves, six sets, 288 hosts.
        let both = Network { spine_oversubscription: 3, ..three };
        let tiers = narrow_tiers(&both, 600, 8).unwrap();
        assert_eq!(
            tiers.iter().map(|tier| (tier.hosts, tier.oversubscription)).collect::<Vec<_>>(),
            [(48, 3), (288, 9)]
        );
        // Each rail of its own has leaves of 48 of all hosts.
        let only = Network { design: NetworkDesign::RailOnly, ..both };
        assert_eq!(
            narrow_tiers(&Network { spine_oversubscription: 1, ..only }, 100, 8).unwrap()[0].hosts,
            48
        );
    }
}
