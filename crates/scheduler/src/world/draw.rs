//! What breaks, drawn from rates.
//!
//! Parts fail independently of each other, but for flaps of links: those come in bursts (negative binomial counts of
//! days). Each kind has random numbers of its own, so that one more kind changes nothing of the others.

use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use weft_base::{FailureRate, Moment, Period};
use weft_reliability::{Action, Bursts, class, gap_at};

use super::fault::{Fault, Trouble};
use crate::cluster::{Cluster, Level, NodeId};

/// How often each kind of thing fails; what is absent never does. From the catalogue's failures.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// Nodes, by whatever is in them but GPUs and adapters.
    pub node: Option<FailureRate>,
    /// GPUs, by the message (Xid) that their driver writes.
    pub gpus: Vec<(u32, FailureRate)>,
    /// Adapters that break, one to a GPU.
    pub nic: Option<FailureRate>,
    /// Leaf switches.
    pub leaf: Option<FailureRate>,
    /// Racks, by their power or cooling.
    pub rack: Option<FailureRate>,
    /// Links of adapters that go down for a short time, one to a GPU, and variance over mean of the counts of days.
    pub flap: Option<(FailureRate, f64)>,
}

/// How long it takes until things are well again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repairs {
    /// A GPU that is reset.
    pub reset: Period,
    /// A host that is restarted and tested.
    pub reboot: Period,
    /// A host whose part is replaced.
    pub replacement: Period,
    /// A switch, or the power of a rack.
    pub infrastructure: Period,
    /// A link that flaps, on average; how long one takes is exponential.
    pub flap: Period,
}

/// What breaks until then, in order of time.
pub fn draw(cluster: &Cluster, rates: &Rates, repairs: &Repairs, until: Moment, seed: u64) -> Vec<Fault> {
    let mut drawer = Drawer { until, seed, stream: 0, faults: Vec::new() };
    let nodes: Vec<NodeId> = cluster.ids().collect();
    let gpus: Vec<(NodeId, u8)> = nodes
        .iter()
        .flat_map(|node| (0..cluster.shape(*node).kind.gpu_count).map(|gpu| (*node, gpu)))
        .collect();
    let (leaves, racks): (Vec<u32>, Vec<u32>) =
        ((0..cluster.domain_count(Level::Leaf)).collect(), (0..cluster.domain_count(Level::Rack)).collect());
    drawer.alone(rates.node, &nodes, repairs.reboot, |node| Trouble::Node(*node));
    drawer.alone(rates.nic, &gpus, repairs.replacement, |(node, _)| Trouble::Nic(*node));
    drawer.alone(rates.leaf, &leaves, repairs.infrastructure, |leaf| Trouble::Leaf(*leaf));
    drawer.alone(rates.rack, &racks, repairs.infrastructure, |rack| Trouble::Rack(*rack));
    if let Some((rate, dispersion_ratio)) = rates.flap {
        let bursts = Bursts::of_links(rate, gpus.len() as u64, dispersion_ratio);
        drawer.flaps(&bursts, &gpus, repairs.flap);
    }
    for (xid, rate) in &rates.gpus {
        let lasts = match class(*xid).map(weft_reliability::Class::action) {
            Some(Action::RestartJob) => Period::ZERO,
            Some(Action::ResetGpu) | None => repairs.reset,
            Some(Action::RestartNode) => repairs.reboot,
            Some(Action::Drain) => repairs.replacement,
        };
        drawer.alone(Some(*rate), &gpus, lasts, |(node, gpu)| Trouble::Gpu(*node, *gpu, Some(*xid)));
    }
    drawer.faults.sort();
    drawer.faults
}

struct Drawer {
    until: Moment,
    seed: u64,
    stream: u64,
    faults: Vec<Fault>,
}

impl Drawer {
    fn random(&mut self) -> ChaCha8Rng {
        self.stream += 1;
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(self.stream);
        random
    }

    /// Things that fail one by one.
    fn alone<T>(
        &mut self,
        rate: Option<FailureRate>,
        things: &[T],
        lasts: Period,
        trouble: impl Fn(&T) -> Trouble,
    ) {
        let mut random = self.random();
        let Some(rate) = rate else { return };
        let mut at = Moment::ZERO;
        while let Some(gap) = gap_at(rate, things.len() as u64, random.random()) {
            at = at + gap;
            if at > self.until {
                return;
            }
            if let Some(thing) = things.choose(&mut random) {
                self.faults.push(Fault { at, what: trouble(thing), lasts });
            }
        }
    }

    /// Links that flap, day by day.
    fn flaps(&mut self, bursts: &Bursts, gpus: &[(NodeId, u8)], mean: Period) {
        let mut random = self.random();
        let (part, part_count) = bursts.parts();
        let day = Period::from_hours(24.0);
        let mut morning = Moment::ZERO;
        while morning <= self.until && !gpus.is_empty() {
            let count: u32 = (0..part_count).map(|_| part.count_at(random.random())).sum();
            for _ in 0..count {
                let at = morning + Period::milliseconds(random.random_range(0..day.get()));
                let hours = -libm::log(1.0 - random.random::<f64>()) * mean.as_hours();
                let lasts = Period::from_hours(hours).max(Period::milliseconds(1));
                if let Some((node, _)) = gpus.choose(&mut random).filter(|_| at <= self.until) {
                    self.faults.push(Fault { at, what: Trouble::Flap(*node), lasts });
                }
            }
            morning = morning + day;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::NodeKind;

    fn cluster(node_count: u32) -> Cluster {
        let kind = NodeKind { cpu_milli: 1000, memory_mib: 1, gpu_count: 8, model: 0 };
        Cluster::uniform("H100", kind, node_count, 32, 8)
    }

    fn repairs() -> Repairs {
        let period = |text: &str| text.parse().unwrap();
        Repairs {
            reset: period("2 min"),
            reboot: period("20 min"),
            replacement: period("3 d"),
            infrastructure: period("4 h"),
            flap: period("3 s"),
        }
    }

    #[test]
    fn llama_3_is_interrupted_as_often_as_it_was() {
        // 2,048 nodes for 54 days at 3.79 per 1000 node-days: 419 interruptions, give or take 20 (one deviation).
        let rates = Rates { node: "3.79 per 1000 node-days".parse().ok(), ..Rates::default() };
        let until: Moment = "54 d".parse().unwrap();
        let counts: Vec<usize> =
            (0..20).map(|seed| draw(&cluster(2048), &rates, &repairs(), until, seed).len()).collect();
        let mean = counts.iter().sum::<usize>() / 20;
        // The mean of twenty is within 4.6 of it, two times out of three.
        assert!((405..=433).contains(&mean), "{mean}");
        assert!(counts.iter().all(|count| (340..500).contains(count)), "{counts:?}");
    }

    #[test]
    fn flaps_come_in_bursts_and_other_kinds_stay_as_they_were() {
        let flap = ("0.58 % per link-month".parse().unwrap(), 3.31);
        let node = "1 per 1000 node-days".parse().ok();
        let until: Moment = "3480 d".parse().unwrap();
        let of = |rates: &Rates| draw(&cluster(400), rates, &repairs(), until, 7);
        let faults = of(&Rates { node, flap: Some(flap), ..Rates::default() });
        let is_flap = |fault: &&Fault| matches!(fault.what, Trouble::Flap(_));
        let mut days = vec![0; 3480];
        for fault in faults.iter().filter(is_flap) {
            days[usize::try_from(fault.at.get() / 86_400_000).unwrap()] += 1;
        }
        // 3,200 links as in Fire-Flyer: 0.61 a day, with 3.31 times the variance that chance would have.
        let seen = Bursts::of_counts(&days).unwrap();
        assert!((seen.mean_count - 0.61).abs() < 0.06, "{seen:?}");
        assert!((seen.dispersion_ratio - 3.31).abs() < 0.5, "{seen:?}");
        let others: Vec<Fault> = faults.iter().filter(|fault| !is_flap(fault)).copied().collect();
        assert_eq!(others, of(&Rates { node, ..Rates::default() }));
        assert!(faults.is_sorted());
    }

    #[test]
    fn what_an_xid_costs_depends_on_its_class() {
        let rate: FailureRate = "1 per GPU-year".parse().unwrap();
        let rates = Rates { gpus: vec![(31, rate), (74, rate), (79, rate), (95, rate)], ..Rates::default() };
        let faults = draw(&cluster(16), &rates, &repairs(), "1 year".parse().unwrap(), 1);
        for (xid, lasts) in [(31, "0 s"), (74, "2 min"), (79, "20 min"), (95, "3 d")] {
            let of: Vec<&Fault> = faults
                .iter()
                .filter(|fault| matches!(fault.what, Trouble::Gpu(_, _, Some(x)) if x == xid))
                .collect();
            // 128 a year, give or take 11.
            assert!((85..175).contains(&of.len()), "{xid}: {}", of.len());
            assert!(of.iter().all(|fault| fault.lasts == lasts.parse().unwrap()));
        }
    }
}
