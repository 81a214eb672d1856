//! What the network between hosts makes slower or impossible: tiers that carry less than the ports below them, and rails
//! that no switch joins.

use weft_catalogue::{Machine, NetworkDesign};
use weft_collective::Collective;
use weft_topology::narrow_tiers;
use weft_workload::Reach;

use super::TrainError;

/// A tier by the GPUs below it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tier {
    gpus: f64,
    oversubscription: f64,
}

/// The network's limits. Ranks are taken to be laid in order of the leaves.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Fabric {
    tiers: Vec<Tier>,
    /// GPUs of a domain whose rails nothing joins: no switch, and no links between its GPUs that would take a message
    /// to the right rail first.
    apart: Option<u32>,
}

impl Fabric {
    /// Of a machine whose domains have `domain_gpus` GPUs, which links of their own join or not.
    pub(super) fn new(machine: &Machine, domain_gpus: u32, joined: bool) -> Result<Self, TrainError> {
        let Some(network) = &machine.network else { return Ok(Self::default()) };
        let rails = machine.nics.first().map_or(0, |group| group.count);
        let each: u32 = machine.gpus.iter().map(|group| u32::from(group.count)).sum();
        let tiers = narrow_tiers(network, machine.host.count, rails)?;
        let tier = |tier: &weft_topology::NarrowTier| Tier {
            gpus: f64::from(tier.hosts.saturating_mul(each)),
            oversubscription: f64::from(tier.oversubscription),
        };
        let rail_only = network.design == NetworkDesign::RailOnly && rails > 1;
        Ok(Self {
            tiers: tiers.iter().map(tier).collect(),
            apart: (rail_only && !joined && domain_gpus > 1).then_some(domain_gpus),
        })
    }

    /// Whether a group that spans domains needs a way from one rail to another.
    pub(super) fn is_cut(&self, collective: Collective, reach: Reach) -> bool {
        let Some(domain_gpus) = self.apart else { return false };
        match collective {
            // Between GPUs of the same number in their domains.
            Collective::AllToAll | Collective::SendRecv => !reach.stride.is_multiple_of(domain_gpus),
            // A ring comes in and goes out by one rail of each domain.
            Collective::AllReduce
            | Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::Barrier => false,
        }
    }

    /// How many times as long a collective between domains of `domain_gpus` GPUs takes, where all groups like it talk
    /// at once.
    pub(super) fn slower(&self, collective: Collective, reach: Reach, domain_gpus: u32) -> f64 {
        let (gpus, stride) = (f64::from(reach.gpus), f64::from(reach.stride));
        let leaving = |tier: &Tier| {
            if gpus * stride <= tier.gpus {
                return 0.0;
            }
            match collective {
                Collective::AllToAll => 1.0 - (tier.gpus / stride).clamp(1.0, gpus) / gpus,
                // Of neighbours in a ring or a pipeline only those at the tier's edge are across it.
                Collective::SendRecv
                | Collective::AllReduce
                | Collective::AllGather
                | Collective::ReduceScatter
                | Collective::Broadcast
                | Collective::Reduce
                | Collective::Barrier => (stride.max(f64::from(domain_gpus)) / tier.gpus).min(1.0),
            }
        };
        self.tiers.iter().map(|tier| tier.oversubscription * leaving(tier)).fold(1.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 48 hosts of 8 GPUs below three times fewer uplinks.
    fn three() -> Fabric {
        Fabric { tiers: vec![Tier { gpus: 384.0, oversubscription: 3.0 }], apart: None }
    }

    #[test]
    fn what_crosses_a_narrow_tier_takes_longer_by_what_crosses() {
        let reach = |gpus, stride| Reach { gpus, stride };
        let slower = |collective, gpus, stride| three().slower(collective, reach(gpus, stride), 8);
        // A ring of all hosts in order leaves each leaf once: one of 48 hosts' traffic over 16 hosts' uplinks.
        assert!((slower(Collective::AllReduce, 1024, 1) - 1.0).abs() < 1e-12);
        // 32 hosts of other groups in between: 32 of 48 cross, over 16 hosts' uplinks.
        assert!((slower(Collective::AllReduce, 4, 256) - 2.0).abs() < 1e-12);
        // A pipeline of four stages of 512 GPUs: all send across.
        assert!((slower(Collective::SendRecv, 2, 512) - 3.0).abs() < 1e-12);
        // Of an exchange of 1,024 GPUs five eighths leave the 384 below the leaf; below it nothing does.
        assert!((slower(Collective::AllToAll, 1024, 1) - 3.0 * 0.625).abs() < 1e-12);
        assert!((slower(Collective::AllToAll, 64, 1) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn rails_apart_carry_rings_and_what_stays_on_a_rail() {
        let apart = Fabric { tiers: Vec::new(), apart: Some(8) };
        let cut = |collective, stride| apart.is_cut(collective, Reach { gpus: 16, stride });
        assert!(!cut(Collective::AllReduce, 1) && !cut(Collective::SendRecv, 16));
        assert!(cut(Collective::SendRecv, 4) && cut(Collective::AllToAll, 1));
        assert!(!Fabric::default().is_cut(Collective::AllToAll, Reach { gpus: 16, stride: 1 }));
    }
}
