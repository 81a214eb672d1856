//! The study of the Philly trace: every cluster under every policy, and as text.

mod text;

use weft_scheduler::philly::{VirtualCluster, Waits, Way};

pub use text::text;

use super::each;

/// What is played.
pub struct Study<'s> {
    /// The virtual clusters.
    pub clusters: &'s [VirtualCluster],
    /// In which ways.
    pub ways: &'s [Way],
}

/// One way.
pub struct Outcome {
    /// Which.
    pub way: Way,
    /// All clusters together.
    pub all: Waits,
    /// Each of them.
    pub clusters: Vec<Waits>,
}

/// Plays all ways, each cluster on its own.
pub fn play(study: &Study<'_>) -> Vec<Outcome> {
    // The largest clusters come first, so that none is left alone at the end.
    let clusters = study.clusters.iter();
    let work: Vec<(Way, &VirtualCluster)> =
        clusters.flat_map(|cluster| study.ways.iter().map(move |way| (*way, cluster))).collect();
    let mut made = each(&work, |(way, cluster)| way.play(cluster)).into_iter();
    let mut by_way: Vec<Vec<Waits>> = study.ways.iter().map(|_| Vec::new()).collect();
    for _ in study.clusters {
        for clusters in &mut by_way {
            clusters.extend(made.next());
        }
    }
    let outcome =
        |(way, clusters): (&Way, Vec<Waits>)| Outcome { way: *way, all: Waits::joined(&clusters), clusters };
    study.ways.iter().zip(by_way).map(outcome).collect()
}
