//! Folded Clos networks: leaves and spines, and pods of both below cores.

use weft_catalogue::Network;

use super::{Switches, Unfit, even_spread, join};
use crate::build::Wire;
use crate::graph::NodeId;

/// Sizes of a folded Clos network, in switches and ports.
pub(super) struct Clos {
    /// Leaves of all pods.
    pub leaves: usize,
    /// Ports of a leaf that face spines.
    up: usize,
    /// Leaves of one pod; all of them when there are two tiers.
    leaves_per_pod: usize,
    spines_per_pod: usize,
    pods: usize,
    /// The third tier; absent for two.
    core: Option<Core>,
}

/// The third tier: as many groups of switches as a pod has spines, each group joining the spines of one
/// position in all pods.
struct Core {
    switches_per_group: usize,
    /// Ports of a spine that face its group.
    up: usize,
}

/// Ports of a switch that face down where `share` go down for each that goes up.
pub(super) fn down_ports(option: &'static str, radix: usize, share: u16) -> Result<usize, Unfit> {
    let share = usize::from(share);
    let down = radix * share / (share + 1);
    if share == 0 || down == 0 || down >= radix {
        let reason = format!("a switch of {radix} ports cannot be oversubscribed {share}:1");
        return Err(Unfit::new(option, reason));
    }
    Ok(down)
}

/// Spines of two tiers: as many as were asked for, or the fewest that join the leaves evenly.
fn spines(design: &Network, leaves: usize, up: usize) -> Result<usize, Unfit> {
    let radix = usize::from(design.radix);
    let Some(spines) = design.spines.map(usize::from) else { return Ok(even_spread(leaves, up, radix)) };
    if spines > up {
        return Err(Unfit::new("spines", format!("a leaf has {up} uplinks, too few for {spines} spines")));
    }
    let most = leaves * up.div_ceil(spines);
    if most > radix {
        let reason = format!("{spines} spines need {most} ports each, but have {radix}");
        return Err(Unfit::new("spines", reason).hint("name more spines, or leave the option out"));
    }
    Ok(spines)
}

/// Cores above the spines of one position: as many as were asked for, or the fewest that join them evenly.
fn cores(design: &Network, pods: usize, up: usize, groups: usize) -> Result<usize, Unfit> {
    let radix = usize::from(design.radix);
    let Some(cores) = design.cores.map(usize::from) else { return Ok(even_spread(pods, up, radix)) };
    if !cores.is_multiple_of(groups) {
        let reason = format!("{cores} cores do not divide into {groups} groups, one for each spine of a pod");
        return Err(Unfit::new("cores", reason));
    }
    let each = cores / groups;
    let needed = (pods * up).div_ceil(radix);
    if each < needed || each > up {
        let (least, most) = (needed * groups, up * groups);
        let reason = format!("{cores} cores do not fit {pods} pods: {least} to {most} do");
        return Err(Unfit::new("cores", reason));
    }
    Ok(each)
}

impl Clos {
    pub fn new(design: &Network, leaves: usize) -> Result<Self, Unfit> {
        let radix = usize::from(design.radix);
        let up = radix - down_ports("oversubscription", radix, design.oversubscription)?;
        if leaves <= radix {
            let spines_per_pod = spines(design, leaves, up)?;
            if design.cores.is_some() {
                let reason = format!("{leaves} leaves need no third tier");
                return Err(Unfit::new("cores", reason).hint("leave `cores` out"));
            }
            return Ok(Self { leaves, up, leaves_per_pod: leaves, spines_per_pod, pods: 1, core: None });
        }
        if design.spines.is_some() {
            return Err(Unfit::new("spines", "a pod of three tiers has one spine for each uplink of a leaf"));
        }
        // Three tiers: a pod has one spine for each uplink of a leaf, and as many leaves as a spine has ports down.
        let leaves_per_pod = down_ports("spine-oversubscription", radix, design.spine_oversubscription)?;
        let pods = leaves.div_ceil(leaves_per_pod);
        if pods > radix {
            let most = radix * leaves_per_pod;
            let reason = format!(
                "{leaves} leaves need more than three tiers of {radix}-port switches (at most {most})"
            );
            return Err(Unfit::new("", reason).hint("name switches of more ports: `leaf 128`"));
        }
        let core_up = radix - leaves_per_pod;
        let core = Core { switches_per_group: cores(design, pods, core_up, up)?, up: core_up };
        Ok(Self { leaves, up, leaves_per_pod, spines_per_pod: up, pods, core: Some(core) })
    }

    /// Leaves of one pod; all of them where there are two tiers.
    pub fn leaves_of_a_pod(&self) -> usize {
        self.leaves_per_pod
    }

    pub fn has_core(&self) -> bool {
        self.core.is_some()
    }

    /// Switches of each tier, leaves first.
    pub fn switches(&self) -> Vec<usize> {
        let cores = self.core.as_ref().map(|core| core.switches_per_group * self.spines_per_pod);
        [self.leaves, self.spines_per_pod * self.pods].into_iter().chain(cores).collect()
    }

    /// Links from each tier to the next.
    pub fn links(&self) -> Vec<usize> {
        let core = self.core.as_ref().map(|core| self.spines_per_pod * self.pods * core.up);
        [self.leaves * self.up].into_iter().chain(core).collect()
    }

    /// Adds the tiers above `leaves`.
    pub fn lay(&self, switches: &mut Switches<'_, '_>, leaves: &[NodeId], wire: Wire) {
        let spines = switches.add(self.spines_per_pod * self.pods);
        for (pod_leaves, pod_spines) in
            leaves.chunks(self.leaves_per_pod).zip(spines.chunks(self.spines_per_pod))
        {
            join(switches, pod_leaves, pod_spines, self.up, 0, wire);
        }
        if let Some(core) = &self.core {
            let cores = switches.add(core.switches_per_group * self.spines_per_pod);
            for (pod, pod_spines) in spines.chunks(self.spines_per_pod).enumerate() {
                // Links that do not divide evenly go to other cores from each pod, so that none gets more than its share.
                let first = pod * (core.up % core.switches_per_group);
                for (spine, group) in pod_spines.iter().zip(cores.chunks(core.switches_per_group)) {
                    join(switches, &[*spine], group, core.up, first, wire);
                }
            }
        }
    }
}
