//! Every algorithm on every kind of call, with what must come out.

use weft_collective::{ALGORITHMS, Call, Plan, Terrain};
use weft_runtime::{Choice, Communicator, Element, Reduction, Transport};

use super::{Buffers, Draws, calls, expected::expected, filled, reference};

/// An algorithm's plan for a call, what each rank brings, and what each must end with.
pub struct Case {
    pub algorithm: &'static str,
    pub plan: Plan,
    pub call: Call,
    pub before: Vec<Buffers>,
    pub right: Vec<Buffers>,
}

/// Every algorithm on so many ranks, over singles and by the order of its plan.
pub fn cases(ranks: u32) -> Vec<Case> {
    let add = |first: &[u8], second: &[u8]| {
        let number = |bytes: &[u8]| f32::from_ne_bytes(bytes.try_into().unwrap());
        (number(first) + number(second)).to_ne_bytes().to_vec()
    };
    let (terrain, mut draws, mut cases) = (Terrain::flat(ranks), Draws(u64::from(ranks)), Vec::new());
    for entry in ALGORITHMS {
        for call in entry.collectives().iter().flat_map(|collective| calls(*collective, ranks, Element::F32))
        {
            if entry.suits(&call, &terrain).is_err() {
                continue;
            }
            let plan = entry.plan(&call, &terrain);
            let before = filled(&plan, &call, Element::F32, &mut draws);
            let right = reference::played(&plan, &call, before.clone(), add);
            cases.push(Case { algorithm: entry.name(), plan, call, before, right });
        }
    }
    cases
}

/// A rank's part of all cases, from buffers of either kind; how many there were.
pub fn plays_all<T: Transport>(group: &mut Communicator<T>, cases: &[Case], registered: bool) -> usize {
    let rank = group.rank();
    for Case { algorithm, plan, call, before, right } in cases {
        group.choose(Choice::Named((*algorithm).to_owned()));
        let given = &before[rank.index()];
        let buffer = |bytes: &[u8]| {
            let mut buffer = if registered {
                group.buffer(bytes.len()).unwrap()
            } else {
                weft_runtime::Buffer::private(bytes.len())
            };
            buffer.copy_from_slice(bytes);
            buffer
        };
        let (input, mut output) = (buffer(&given.input), buffer(&given.output));
        group.call(call, (Element::F32, Reduction::Sum), &input, &mut output).unwrap();
        for (at, bytes) in expected(plan, call, before, rank) {
            let range = at..at + bytes.len();
            assert_eq!(
                output[range.clone()],
                right[rank.index()].output[range],
                "{algorithm}, {call:?}, rank {rank}"
            );
        }
    }
    cases.len()
}
