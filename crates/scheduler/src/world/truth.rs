//! What is really on the nodes: the kubelets' view, of which the scheduler hears late.

use rand::Rng as _;
use rand_chacha::ChaCha8Rng;

use super::life::{Here, Life};
use super::setup::Chances;
use crate::cluster::{Cluster, DeviceControl, NodeId, Shape};
use crate::fleet::{GPUS_MOST, WHOLE_MILLI};
use crate::job::{Ask, JobId};
use crate::stand::{Gpus, Health, Stand, numa_last, numa_mask};

/// A node as it really is.
#[derive(Debug, Clone)]
pub struct Machine {
    /// What is free on it.
    pub stand: Stand,
    /// Members that are there, dead ones too as long as nobody has cleared them away: job and number.
    pub members: Vec<(JobId, u32)>,
    /// Faults that take the whole node.
    down_count: u16,
    /// Faults that take it off the network of its jobs.
    cut_count: u16,
    /// Faults of each GPU.
    sick_counts: [u16; GPUS_MOST],
    /// What the scheduler was told: nodes down, nodes that drain, sick GPUs.
    told_down_count: u16,
    told_drain_count: u16,
    told_sick_counts: [u16; GPUS_MOST],
}

/// What a fault takes of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// All of it.
    Down,
    /// Its network.
    Cut,
    /// A GPU.
    Sick(u8),
    /// Nothing more, but nothing new is to come there.
    Drain,
}

impl Machine {
    fn new(shape: &Shape) -> Self {
        Self {
            stand: Stand::empty(shape),
            members: Vec::new(),
            down_count: 0,
            cut_count: 0,
            sick_counts: [0; GPUS_MOST],
            told_down_count: 0,
            told_drain_count: 0,
            told_sick_counts: [0; GPUS_MOST],
        }
    }

    /// Whether jobs that span nodes reach it.
    pub fn is_reached(&self) -> bool {
        self.cut_count == 0 && self.down_count == 0
    }

    /// Something breaks, or is well again.
    pub fn harm(&mut self, harm: Harm, begins: bool) {
        let turn = |count: &mut u16| *count = if begins { *count + 1 } else { count.saturating_sub(1) };
        match harm {
            Harm::Down => turn(&mut self.down_count),
            Harm::Cut => turn(&mut self.cut_count),
            Harm::Drain => {}
            Harm::Sick(gpu) => {
                let count = &mut self.sick_counts[usize::from(gpu)];
                turn(count);
                let bit = 1 << gpu;
                let is_sick = *count > 0;
                self.stand.sick_row =
                    if is_sick { self.stand.sick_row | bit } else { self.stand.sick_row & !bit };
            }
        }
    }

    /// The scheduler is told of it: what is new to it.
    pub fn tell(&mut self, harm: Harm, begins: bool) -> Option<News> {
        let (health, turn) = (self.told_health(), |count: &mut u16| {
            *count = if begins { *count + 1 } else { count.saturating_sub(1) };
        });
        match harm {
            Harm::Down => turn(&mut self.told_down_count),
            Harm::Cut | Harm::Drain => turn(&mut self.told_drain_count),
            Harm::Sick(gpu) => {
                let count = &mut self.told_sick_counts[usize::from(gpu)];
                let before = *count > 0;
                turn(count);
                return (before != (*count > 0)).then_some(News::Gpu(gpu, before));
            }
        }
        (health != self.told_health()).then(|| News::Node(self.told_health()))
    }

    fn told_health(&self) -> Health {
        match (self.told_down_count, self.told_drain_count) {
            (0, 0) => Health::Up,
            (0, _) => Health::Draining,
            _ => Health::Down,
        }
    }
}

/// What the scheduler hears of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Its health.
    Node(Health),
    /// That of a GPU: well or not.
    Gpu(u8, bool),
}

/// All nodes as they really are.
#[derive(Debug, Clone)]
pub struct Truth {
    pub machines: Vec<Machine>,
}

/// Why a kubelet does not take a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// It does not answer.
    Away,
    /// It has no room.
    Full,
}

impl Truth {
    pub fn new(cluster: &Cluster) -> Self {
        Self { machines: cluster.ids().map(|node| Machine::new(cluster.shape(node))).collect() }
    }

    /// A kubelet takes a member if it has room, and gives it GPUs.
    pub fn admit(
        &mut self,
        (job, number): (JobId, u32),
        (node, shape): (NodeId, &Shape),
        (ask, wanted): (&Ask, Gpus),
        chances: Chances,
        random: &mut ChaCha8Rng,
    ) -> Result<Gpus, Turned> {
        let machine = &mut self.machines[node.at()];
        if machine.down_count > 0 {
            return Err(Turned::Away);
        }
        let follows = match shape.control {
            DeviceControl::Exact => true,
            DeviceControl::Hint => random.random_range(0..100) >= chances.unheeded_percent,
            DeviceControl::NodeOnly => false,
        };
        let stand = &machine.stand;
        let gpus = if follows && stand.allows(ask, shape, wanted) {
            wanted
        } else if shape.control == DeviceControl::Exact {
            return Err(Turned::Full);
        } else {
            choose(stand, ask, shape, random)
                .filter(|gpus| stand.allows(ask, shape, *gpus))
                .ok_or(Turned::Full)?
        };
        machine.stand.take(ask, shape, gpus);
        machine.members.push((job, number));
        Ok(gpus)
    }

    /// A member is cleared away.
    pub fn clear(
        &mut self,
        member: (JobId, u32),
        (node, shape): (NodeId, &Shape),
        (ask, gpus): (&Ask, Gpus),
    ) {
        let machine = &mut self.machines[node.at()];
        machine.stand.give(ask, shape, gpus);
        machine.members.retain(|known| *known != member);
    }
}

impl Truth {
    /// Members of a job have other numbers.
    pub fn rename(&mut self, job: JobId, members: &[Option<Here>]) {
        let here =
            || (0..).zip(members).filter_map(|(number, here)| Some((number, here.as_ref()?.member.node)));
        here().for_each(|(_, node)| self.machines[node.at()].members.retain(|(known, _)| *known != job));
        here().for_each(|(number, node)| self.machines[node.at()].members.push((job, number)));
    }

    /// Counts again what members have on their nodes.
    pub fn check(&self, cluster: &Cluster, lives: &[Life]) -> Result<(), String> {
        let mut stands: Vec<Stand> = cluster.ids().map(|node| Stand::empty(cluster.shape(node))).collect();
        for (at, life) in lives.iter().enumerate() {
            for (number, here) in life.here() {
                let (node, gpus) = (here.member.node, here.member.gpus);
                let ask = &life.load.job.need.groups[usize::from(here.member.group)].ask;
                let stand = &mut stands[node.at()];
                if !stand.allows(ask, cluster.shape(node), gpus) {
                    return Err(format!(
                        "node {} has more than it holds with member {number} of job {at}",
                        node.0
                    ));
                }
                stand.take(ask, cluster.shape(node), gpus);
            }
        }
        for (node, (known, found)) in self.machines.iter().zip(&mut stands).enumerate() {
            found.sick_row = known.stand.sick_row;
            if known.stand != *found {
                return Err(format!("node {node} has other room than its members leave"));
            }
        }
        Ok(())
    }
}

/// GPUs as a kubelet without advice takes them: any that are free.
fn choose(stand: &Stand, ask: &Ask, shape: &Shape, random: &mut ChaCha8Rng) -> Option<Gpus> {
    if ask.slice.is_some() {
        let of = |gpu: usize| stand.places(gpu, ask, shape).map(move |place| (gpu, place));
        let places: Vec<(usize, u8)> = (0..GPUS_MOST).flat_map(of).collect();
        let (gpu, slots_row) = pick(&places, random)?;
        return Some(Gpus { mask_row: 1 << gpu, slots_row });
    }
    match ask.pod.gpu_count {
        0 => Some(Gpus::default()),
        1 if ask.pod.gpu_milli < WHOLE_MILLI => {
            let fits = |gpu: &usize| stand.usable_milli(*gpu) >= ask.pod.gpu_milli;
            let gpus: Vec<usize> = (0..GPUS_MOST).filter(fits).collect();
            Some(Gpus::whole(1 << pick(&gpus, random)?))
        }
        count => {
            let whole = stand.whole_row();
            let enough = |mask: &u16| mask.count_ones() >= u32::from(count);
            let within = if ask.one_numa {
                let masks: Vec<u16> = (0..=numa_last(shape))
                    .map(|numa| whole & numa_mask(shape, numa))
                    .filter(enough)
                    .collect();
                pick(&masks, random)?
            } else {
                Some(whole).filter(enough)?
            };
            let mut mask = within;
            while mask.count_ones() > u32::from(count) {
                let gpus: Vec<usize> = Gpus::whole(mask).each().collect();
                mask &= !(1 << pick(&gpus, random)?);
            }
            Some(Gpus::whole(mask))
        }
    }
}

fn pick<T: Copy>(list: &[T], random: &mut ChaCha8Rng) -> Option<T> {
    if list.is_empty() { None } else { Some(list[random.random_range(0..list.len())]) }
}
