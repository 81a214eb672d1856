//! The operations of a rank one after the other, as its threads and their waiting allow.

use weft_collective::{Op, Program};

/// An operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub thread: usize,
    pub channel: u16,
    pub op: Op,
}

/// All operations of a rank but its waiting, in an order that the plan allows. Threads take turns, step by step, so
/// that what is ordered only by messages is likely to be in its order too; the proof of what is written shows it.
pub(super) fn items(program: &Program, rank: usize) -> Vec<Item> {
    let Some(threads) = program.ranks.get(rank) else { return Vec::new() };
    let mut done = vec![0_usize; threads.len()];
    let mut items = Vec::new();
    loop {
        let mut moved = false;
        for (number, thread) in threads.iter().enumerate() {
            let Some(step) = done.get(number).and_then(|step| thread.steps.get(*step)) else { continue };
            let waits = step.iter().any(|op| match *op {
                Op::Await { thread, steps } => {
                    done.get(usize::from(thread)).is_none_or(|done| *done < steps as usize)
                }
                Op::Send { .. }
                | Op::Recv { .. }
                | Op::RecvReduce { .. }
                | Op::Copy { .. }
                | Op::Reduce { .. }
                | Op::Multicast { .. }
                | Op::Contribute { .. }
                | Op::SwitchReduce { .. } => false,
            });
            if waits {
                continue;
            }
            // A thread block that sends and receives sends first, since others may do as it does.
            let sends = |op: &&Op| matches!(op, Op::Send { .. });
            let ops = step.iter().filter(sends).chain(step.iter().filter(|op| !sends(op)));
            let ops = ops.filter(|op| !matches!(op, Op::Await { .. }));
            items.extend(ops.map(|op| Item { thread: number, channel: thread.channel, op: *op }));
            if let Some(done) = done.get_mut(number) {
                *done += 1;
            }
            moved = true;
        }
        if !moved {
            return items;
        }
    }
}
