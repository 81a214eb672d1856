//! A plan as it is: phases of threads, threads that do alike together.

use weft_collective::{Plan, Rank};

/// Threads that go through the same phases.
pub struct ThreadFold {
    /// Their numbers.
    pub threads: Vec<usize>,
    /// Of the first of them.
    pub phases: Vec<PhaseFold>,
}

/// A phase.
pub struct PhaseFold {
    pub channel: u16,
    /// Steps of a rank that takes part: the fewest, the most; of all threads alike.
    pub steps: (u32, u32),
    /// Who with whom.
    pub groups: String,
    /// What is done.
    pub movement: &'static str,
    /// On which blocks.
    pub window: String,
    /// What is alike in all threads.
    key: (&'static str, String, [u32; 3]),
}

/// The phases of all threads.
pub fn folded(plan: &Plan) -> Vec<ThreadFold> {
    let mut folds: Vec<ThreadFold> = Vec::new();
    for (number, phases) in plan.threads.iter().enumerate() {
        let phases: Vec<PhaseFold> = phases.iter().map(|phase| one(plan, phase)).collect();
        let alike = |fold: &&mut ThreadFold| {
            let keys =
                |phases: &[PhaseFold]| phases.iter().map(|phase| phase.key.clone()).collect::<Vec<_>>();
            keys(&fold.phases) == keys(&phases)
        };
        match folds.iter_mut().find(alike) {
            Some(fold) => {
                fold.threads.push(number);
                for (known, other) in fold.phases.iter_mut().zip(&phases) {
                    known.steps = (known.steps.0.min(other.steps.0), known.steps.1.max(other.steps.1));
                }
            }
            None => folds.push(ThreadFold { threads: vec![number], phases }),
        }
    }
    folds
}

fn one(plan: &Plan, phase: &weft_collective::Phase) -> PhaseFold {
    let taking = (0..plan.ranks).filter_map(|rank| phase.at(Rank::new(rank)));
    let steps = taking.map(|at| phase.movement.steps(&at));
    let steps = steps.fold(None, |range: Option<(u32, u32)>, steps| {
        Some(range.map_or((steps, steps), |(least, most)| (least.min(steps), most.max(steps))))
    });
    let (groups, movement, window) = (phase.groups.to_string(), phase.movement.title(), &phase.window);
    PhaseFold {
        channel: phase.channel_of(Rank::new(0)),
        steps: steps.unwrap_or_default(),
        movement,
        window: window.to_string(),
        key: (movement, groups.clone(), [window.unit, window.pitch, window.rows]),
        groups,
    }
}

#[cfg(test)]
mod tests {
    use weft_collective::{Call, Collective, Shape, Terrain, algorithm};

    use super::*;

    #[test]
    fn channels_are_folded_and_both_trees_are_told_apart() {
        let call = Call::bytes(Collective::AllReduce, 1 << 20);
        let plan = algorithm("double-binary-tree").unwrap().plan_with(
            &call,
            &Terrain::flat(8),
            Shape { channels: 2, pipeline: 4 },
        );
        let folds = folded(&plan);
        // Up and down two trees, on two channels: 8 threads of 4 kinds.
        let threads: Vec<&[usize]> = folds.iter().map(|fold| fold.threads.as_slice()).collect();
        assert_eq!(threads, [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(folds[2].phases[0].movement, "reduce up the second binary tree");
        assert_eq!(folds[0].phases[0].groups, "all 8 ranks");
    }
}
