//! Nodes by their kind, and pods by what they ask for.

use std::collections::BTreeMap;

/// Most GPUs of a node.
pub const GPUS_MOST: usize = 16;
/// GPUs of a pod that needs a whole node, on the usual server: what studies count as large.
pub const LARGE_COUNT: u8 = 8;
/// A whole GPU, in thousandths.
pub const WHOLE_MILLI: u16 = 1000;

/// GPU models as a set: bit `n` is model `n` of the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Models(pub u32);

impl Models {
    /// Any model.
    pub const ANY: Self = Self(u32::MAX);

    /// Whether `model` is among them.
    pub fn holds(self, model: u8) -> bool {
        self.0 >> model & 1 == 1
    }

    /// Whether all of them are among `others`.
    pub fn within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }
}

/// Nodes that are alike when they are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeKind {
    /// Thousandths of a core.
    pub cpu_milli: u32,
    /// Memory of the host.
    pub memory_mib: u32,
    /// GPUs.
    pub gpu_count: u8,
    /// The model of its GPUs, by number of `Fleet::models`.
    pub model: u8,
}

/// All nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fleet {
    /// Names of GPU models.
    pub models: Vec<String>,
    /// Kinds of nodes.
    pub kinds: Vec<NodeKind>,
    /// The kind of each node.
    pub nodes: Vec<usize>,
}

impl Fleet {
    /// Thousandths of GPUs that all nodes have.
    pub fn gpu_milli(&self) -> u64 {
        let of = |kind: &usize| u64::from(self.kinds[*kind].gpu_count) * u64::from(WHOLE_MILLI);
        self.nodes.iter().map(of).sum()
    }
}

/// What a pod asks for. Pods are equal that ask for the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pod {
    /// Thousandths of a core.
    pub cpu_milli: u32,
    /// Memory of the host.
    pub memory_mib: u32,
    /// GPUs; none for a pod that only computes on the host.
    pub gpu_count: u8,
    /// Thousandths of each of them: 1000, or less of a single one that is shared.
    pub gpu_milli: u16,
    /// GPU models that it runs on.
    pub models: Models,
}

impl Pod {
    /// Thousandths of GPUs in all.
    pub fn asked_milli(&self) -> u32 {
        u32::from(self.gpu_count) * u32::from(self.gpu_milli)
    }

    /// Whether it shares its GPU.
    pub fn is_share(&self) -> bool {
        self.gpu_count == 1 && self.gpu_milli < WHOLE_MILLI
    }
}

/// Kinds of pods and how often each comes, as shares of all pods.
#[derive(Debug, Clone, PartialEq)]
pub struct Typical {
    /// The most frequent kinds that cover most pods, with shares that sum to 1.
    pub most: Vec<(Pod, f64)>,
    /// Every kind, with shares of all pods.
    pub all: Vec<(Pod, f64)>,
}

/// The share of pods that the most frequent kinds cover.
const COVERED: f64 = 0.95;

impl Typical {
    /// Of a list of pods. Kinds are told apart by CPU, GPUs and models; of memory the most frequent size counts.
    pub fn of(pods: &[Pod]) -> Self {
        let mut groups: BTreeMap<Pod, BTreeMap<u32, u32>> = BTreeMap::new();
        for pod in pods {
            let kind = Pod { memory_mib: 0, ..pod.clone() };
            *groups.entry(kind).or_default().entry(pod.memory_mib).or_default() += 1;
        }
        let mut list: Vec<(Pod, u32)> =
            groups.into_iter().map(|(pod, sizes)| most_frequent(&pod, &sizes)).collect();
        list.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let total = f64::from(list.iter().map(|(_, count)| count).sum::<u32>().max(1));
        let all: Vec<(Pod, f64)> =
            list.into_iter().map(|(pod, count)| (pod, f64::from(count) / total)).collect();
        let mut covered = 0.0;
        let mut most: Vec<(Pod, f64)> = Vec::new();
        for (pod, share) in &all {
            if covered >= COVERED {
                break;
            }
            covered += share;
            most.push((pod.clone(), *share));
        }
        for (_, share) in &mut most {
            *share /= covered;
        }
        Self { most, all }
    }

    /// Thousandths of GPUs that a pod asks for, on average.
    pub fn mean_milli(&self) -> f64 {
        self.all.iter().map(|(pod, share)| share * f64::from(pod.asked_milli())).sum()
    }
}

fn most_frequent(pod: &Pod, sizes: &BTreeMap<u32, u32>) -> (Pod, u32) {
    let often = sizes.iter().max_by_key(|(size, count)| (**count, **size));
    let memory_mib = often.map_or(0, |(size, _)| *size);
    (Pod { memory_mib, ..pod.clone() }, sizes.values().sum())
}

#[cfg(test)]
mod tests {
    use super::{Models, Pod, Typical};

    #[test]
    fn rare_kinds_are_left_out_and_shares_sum_to_one() {
        let pod = |cpu_milli, memory_mib| Pod {
            cpu_milli,
            memory_mib,
            gpu_count: 1,
            gpu_milli: 500,
            models: Models::ANY,
        };
        let mut pods = vec![pod(1000, 10); 60];
        pods.extend(vec![pod(1000, 20); 20]);
        pods.extend(vec![pod(2000, 10); 18]);
        pods.extend(vec![pod(3000, 10); 2]);
        let typical = Typical::of(&pods);
        assert_eq!(typical.all.len(), 3, "memory alone makes no kind");
        assert_eq!(typical.most.len(), 2);
        assert_eq!(typical.most[0].0, pod(1000, 10));
        assert!((typical.most[0].1 - 80.0 / 98.0).abs() < 1e-12);
        assert!((typical.mean_milli() - 500.0).abs() < 1e-9);
    }
}
