//! In which order a stage of the pipeline takes its micro-batches. No seconds: who plays it knows how long a turn takes.

use crate::layout::{Layout, Schedule};

/// What a stage does with one micro-batch and one of its chunks of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// The forward pass.
    Forward,
    /// The backward pass; where the weights' gradients have turns of their own, that of the activations alone.
    Backward,
    /// The gradients of the weights, which no other stage waits for (zero bubble).
    WeightGradients,
}

/// One turn of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turn {
    /// What is done.
    pub work: Work,
    /// With which micro-batch, from 0.
    pub micro_batch: u32,
    /// By which of the stage's chunks of layers, from 0.
    pub chunk: u32,
}

impl Turn {
    /// The turn of another stage that must be over before this one of `stage` can begin; `None` where the micro-batch
    /// begins, or where only the stage itself was there before.
    pub fn after(self, layout: &Layout, stage: u32) -> Option<(u32, Self)> {
        let (last_stage, last_chunk) = (layout.pipeline - 1, layout.virtual_stages - 1);
        match self.work {
            Work::Forward if stage > 0 => Some((stage - 1, self)),
            Work::Forward if self.chunk > 0 => Some((last_stage, Self { chunk: self.chunk - 1, ..self })),
            Work::Backward if stage < last_stage => Some((stage + 1, self)),
            Work::Backward if self.chunk < last_chunk => Some((0, Self { chunk: self.chunk + 1, ..self })),
            Work::Forward | Work::Backward | Work::WeightGradients => None,
        }
    }
}

/// All turns of one stage in their order.
pub fn turns(layout: &Layout, stage: u32) -> Vec<Turn> {
    match layout.schedule {
        Schedule::Gpipe => gpipe(layout),
        Schedule::OneForwardOneBackward => one_by_one(layout, stage),
        Schedule::ZeroBubble => zero_bubble(layout, stage),
    }
}

/// Huang et al. (2019): all forward, then all backward from the last to the first.
fn gpipe(layout: &Layout) -> Vec<Turn> {
    let all = (0..layout.virtual_stages).flat_map(|chunk| {
        (0..layout.micro_batches()).map(move |micro_batch| Turn { work: Work::Forward, micro_batch, chunk })
    });
    let forward: Vec<Turn> = all.collect();
    let backward: Vec<Turn> =
        forward.iter().rev().map(|turn| Turn { work: Work::Backward, ..*turn }).collect();
    [forward, backward].concat()
}

/// Narayanan et al. (2021): as many forward as keep the stages behind busy, then one backward for each forward.
fn one_by_one(layout: &Layout, stage: u32) -> Vec<Turn> {
    let all = layout.micro_batches() * layout.virtual_stages;
    let ahead = ahead(layout, stage).min(all);
    let mut turns: Vec<Turn> = (0..ahead).map(|number| forward(layout, number)).collect();
    for number in 0..all {
        turns.extend((number + ahead < all).then(|| forward(layout, number + ahead)));
        turns.push(backward(layout, number));
    }
    turns
}

/// Qi et al. (2023), the schedule that keeps no more activations than one by one does (ZB-H1): a stage puts the weights'
/// gradients of as many micro-batches off as there are stages before it, and does them where it would wait.
fn zero_bubble(layout: &Layout, stage: u32) -> Vec<Turn> {
    let all = layout.micro_batches() * layout.virtual_stages;
    let (ahead, behind) = ((ahead(layout, stage) + 1).min(all), stage);
    let own = |number| Turn { work: Work::WeightGradients, ..backward(layout, number) };
    let mut turns: Vec<Turn> = (0..ahead).map(|number| forward(layout, number)).collect();
    for number in 0..all {
        turns.push(backward(layout, number));
        turns.extend(number.checked_sub(behind).map(own));
        turns.extend((number + ahead < all).then(|| forward(layout, number + ahead)));
    }
    turns.extend((all.saturating_sub(behind)..all).map(own));
    turns
}

/// Forward passes before the first that a backward pass follows.
fn ahead(layout: &Layout, stage: u32) -> u32 {
    let behind = layout.pipeline - 1 - stage;
    match layout.virtual_stages {
        1 => behind,
        chunks => 2 * behind + (chunks - 1) * layout.pipeline,
    }
}

/// The forward pass with that number: as many micro-batches as there are stages go through one chunk, then through the
/// next one.
fn forward(layout: &Layout, number: u32) -> Turn {
    let (stages, chunks) = (layout.pipeline, layout.virtual_stages);
    let (round, place) = (number / (stages * chunks), number % (stages * chunks));
    if chunks == 1 {
        return Turn { work: Work::Forward, micro_batch: number, chunk: 0 };
    }
    Turn { work: Work::Forward, micro_batch: round * stages + place % stages, chunk: place / stages }
}

/// The same of backward passes, which begin with the last chunk.
fn backward(layout: &Layout, number: u32) -> Turn {
    let turn = forward(layout, number);
    Turn { work: Work::Backward, chunk: layout.virtual_stages - 1 - turn.chunk, ..turn }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn layout(pipeline: u32, virtual_stages: u32, micro_batches: u32, schedule: Schedule) -> Layout {
        Layout { pipeline, virtual_stages, schedule, ..Layout::new(pipeline, micro_batches, 2048) }
    }

    /// `F0 B1 W1`: what, and with which micro-batch; a prime for each chunk.
    fn words(layout: &Layout, stage: u32) -> String {
        let word = |turn: &Turn| {
            let letter = match turn.work {
                Work::Forward => 'F',
                Work::Backward => 'B',
                Work::WeightGradients => 'W',
            };
            format!("{letter}{}{}", turn.micro_batch, "'".repeat(turn.chunk as usize))
        };
        turns(layout, stage).iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// As drawn in the papers that the schedules are from.
    #[test]
    fn turns_come_in_the_published_order() {
        let one = layout(4, 1, 8, Schedule::OneForwardOneBackward);
        assert_eq!(words(&one, 0), "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
        assert_eq!(words(&one, 3), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
        let interleaved = layout(2, 2, 4, Schedule::OneForwardOneBackward);
        assert_eq!(words(&interleaved, 1), "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
        assert_eq!(words(&layout(2, 1, 2, Schedule::Gpipe), 0), "F0 F1 B1 B0");
        let zero = layout(2, 1, 3, Schedule::ZeroBubble);
        assert_eq!(words(&zero, 0), "F0 F1 B0 W0 F2 B1 W1 B2 W2");
        assert_eq!(words(&zero, 1), "F0 B0 F1 B1 W0 F2 B2 W1 W2");
    }

    /// Whatever the schedule, a stage does all with each micro-batch once, and first things first.
    #[test]
    fn every_stage_does_all_of_it_once() {
        for (schedule, works) in
            [(Schedule::Gpipe, 2), (Schedule::OneForwardOneBackward, 2), (Schedule::ZeroBubble, 3)]
        {
            for (stages, chunks, batches) in [(1, 1, 3), (4, 1, 2), (4, 1, 9), (4, 3, 4), (2, 5, 6)] {
                let layout = layout(stages, chunks, batches, schedule);
                for stage in 0..stages {
                    let all = turns(&layout, stage);
                    let mut seen = BTreeSet::new();
                    for turn in &all {
                        let before = match turn.work {
                            Work::Forward => None,
                            Work::Backward => Some(Work::Forward),
                            Work::WeightGradients => Some(Work::Backward),
                        };
                        let earlier = before.map(|work| Turn { work, ..*turn });
                        assert!(earlier.is_none_or(|earlier| seen.contains(&earlier)), "{layout:?} {turn:?}");
                        assert!(seen.insert(*turn), "{layout:?} {turn:?} twice");
                    }
                    assert_eq!(all.len(), works * (chunks * batches) as usize);
                }
            }
        }
    }
}
