//! Each violation, by the smallest plan that has it, with the text that a user reads.

use std::sync::Arc;

use weft_collective::verify::{CallFault, Violation};
use weft_collective::{Buffer, Call, Collective, Counts, Op, Program, Rank, Ranks, Slice, Thread, verify};

const IN: Buffer = Buffer::Input;
const OUT: Buffer = Buffer::Output;
const SPARE: Buffer = Buffer::Scratch(0);

fn rank(number: u32) -> Rank {
    Rank::new(number)
}

/// A block.
fn at(buffer: Buffer, block: u32) -> Slice {
    Slice::range(buffer, block, 1)
}

fn send(to: u32, from: Slice) -> Op {
    Op::Send { to: rank(to), from }
}

fn recv(from: u32, into: Slice) -> Op {
    Op::Recv { from: rank(from), into }
}

fn add(from: u32, local: Slice, into: Slice) -> Op {
    Op::RecvReduce { from: rank(from), local, into }
}

fn copy(from: Slice, into: Slice) -> Op {
    Op::Copy { from, into }
}

/// A thread of a channel, one operation a step.
fn thread(channel: u16, ops: impl IntoIterator<Item = Op>) -> Thread {
    Thread { channel, steps: ops.into_iter().map(|op| vec![op]).collect() }
}

/// One thread a rank.
fn ranks<const N: usize>(ops: [Vec<Op>; N]) -> Program {
    let ranks = ops.map(|ops| vec![thread(0, ops)]).into();
    Program { pieces: 1, scratch: 1, ranks }
}

fn call(collective: Collective) -> Call {
    Call::bytes(collective, 8)
}

fn violation(program: Program, call: &Call) -> Violation {
    verify(&program.into_plan(), call).unwrap_err()
}

#[track_caller]
fn says(program: Program, collective: Collective, text: &str) {
    assert_eq!(violation(program, &call(collective)).to_string(), text);
}

/// An all-reduce of two ranks that is right.
fn pair() -> [Vec<Op>; 2] {
    [1, 0].map(|other| {
        let (input, output) = (at(IN, 0), at(OUT, 0));
        vec![send(other, input), add(other, input, output)]
    })
}

#[test]
fn a_plan_that_is_right_is_proved() {
    let proof = verify(&ranks(pair()).into_plan(), &call(Collective::AllReduce)).unwrap();
    // Each sends all of its 8 bytes, which is 2 (n - 1) / n of them for two ranks.
    assert_eq!((proof.sent.most.get(), proof.sent.total.get()), (8, 16));
    assert_eq!((proof.bound.sent, proof.bound.received), (proof.sent, proof.received));
    assert_eq!((proof.message_count, proof.chain), (2, 1));
    // Both send before they receive: without a buffer both wait.
    assert!(!proof.rendezvous);
}

#[test]
fn calls_that_fit_no_plan() {
    let program = || ranks(pair());
    let wrong = |call: Call| violation(program(), &call);
    let root = Call { root: rank(2), ..call(Collective::Broadcast) };
    assert_eq!(wrong(root), Violation::Call(CallFault::Root { rank: rank(2), ranks: 2 }));
    let counts = Call { counts: Counts::PerRank(Arc::from([1, 2, 3])), ..call(Collective::AllGather) };
    assert_eq!(
        wrong(counts).to_string(),
        "the call does not fit the plan: 3 counts, where all-gather over 2 ranks takes 2"
    );
    let counts = Call { counts: Counts::PerRank(Arc::from([1, 2])), ..call(Collective::AllReduce) };
    assert_eq!(
        wrong(counts).to_string(),
        "the call does not fit the plan: 2 counts, where all-reduce over 2 ranks takes one count for all"
    );
    let counts = Counts::PerPair(Arc::from([0, 1, 2, 0]));
    let uneven = Call { counts, in_place: true, ..call(Collective::AllToAll) };
    let fault = CallFault::Asymmetric { one: rank(0), other: rank(1) };
    assert_eq!(wrong(uneven), Violation::Call(fault));
    let bytes = Call::bytes(Collective::AllReduce, u64::MAX);
    assert_eq!(wrong(bytes), Violation::Call(CallFault::Bytes));
    let nobody = Program { pieces: 1, scratch: 0, ranks: Vec::new() };
    assert_eq!(violation(nobody, &call(Collective::Barrier)), Violation::Call(CallFault::NoRanks));
    let huge = Program { pieces: u32::MAX, ..program() };
    assert!(matches!(violation(huge, &call(Collective::AllReduce)), Violation::TooLarge { .. }));
    let large = Program { pieces: 1 << 25, ..program() };
    let most = 1 << 26;
    // Input, output and one scratch buffer of two ranks, and a thread each.
    let blocks = 2 * (3 * (1 << 25) + 1);
    assert_eq!(
        violation(large, &call(Collective::AllReduce)),
        Violation::TooLarge { block_count: blocks, limit_count: most }
    );
}

#[test]
fn ranks_threads_and_buffers_that_do_not_exist() {
    says(
        ranks([vec![send(7, at(IN, 0))], vec![]]),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (send to rank 7) names rank 7, but there are 2 ranks",
    );
    says(
        ranks([vec![], vec![recv(1, at(OUT, 0))]]),
        Collective::AllReduce,
        "rank 1, thread 0, step 0, operation 0 (receive from rank 1) is a message from a rank to itself; a copy does that",
    );
    let others = Ranks { first: rank(1), stride: 1, count: 1 };
    says(
        ranks([vec![Op::Multicast { to: others, from: at(IN, 0) }], vec![]]),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (multicast) is done for a group of ranks of which the rank itself is none",
    );
    let beyond = Ranks { first: rank(0), stride: u32::MAX, count: u32::MAX };
    let (local, into) = (at(IN, 0), at(OUT, 0));
    let program = ranks([vec![Op::SwitchReduce { of: beyond, local, into }], vec![]]);
    let named = u64::from(u32::MAX) * u64::from(u32::MAX - 1);
    let found = violation(program, &call(Collective::AllReduce));
    assert!(matches!(found, Violation::UnknownRank { rank, ranks: 2, .. } if rank == named));
    says(
        ranks([vec![copy(at(IN, 0), at(Buffer::Scratch(3), 0))], vec![]]),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (copy) uses scratch buffer 3, but the plan asks for 1",
    );
    says(
        ranks([vec![copy(at(IN, 0), Slice::range(OUT, 1, 2))], vec![]]),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (copy) reaches output block 2, but that buffer has 1 blocks",
    );
    let slice = Slice { wrap: 0, ..at(OUT, 0) };
    says(
        ranks([vec![copy(at(IN, 0), slice)], vec![]]),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (copy) has a slice with `wrap` or `run` 0, or with more chunks than its buffer has blocks",
    );
    let slice = Slice { count: u32::MAX, run: u32::MAX, ..at(OUT, 0) };
    assert!(matches!(
        violation(ranks([vec![copy(at(IN, 0), slice)], vec![]]), &call(Collective::AllReduce)),
        Violation::Malformed { .. }
    ));
    says(
        ranks([vec![Op::Await { thread: 1, steps: 1 }], vec![]]),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (wait for thread 1) waits for 1 steps of thread 1, which never come",
    );
}

#[test]
fn blocks_that_get_into_each_others_way() {
    says(
        ranks([vec![recv(1, at(IN, 0))], vec![send(0, at(IN, 0))]]),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (receive from rank 1) writes input block 0, but the input must stay as it is",
    );
    let twice = Slice { wrap: 2, unit: 1, count: 2, run: 1, stride: 2, ..at(OUT, 0) };
    let both = Slice { base: 0, ..Slice::range(IN, 0, 1) };
    says(
        Program {
            pieces: 2,
            ..ranks([vec![copy(Slice { count: 2, wrap: 2, run: 2, ..both }, twice)], vec![]])
        },
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (copy) writes output block 0 twice",
    );
    let moved = copy(Slice::range(OUT, 0, 2), Slice::range(OUT, 1, 2));
    says(
        Program { pieces: 3, ..ranks([vec![moved], vec![]]) },
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (copy) reads output block 1 for one place and overwrites it from another",
    );
    let step = vec![send(1, at(OUT, 0)), recv(1, at(OUT, 0))];
    let mut program = ranks([vec![], vec![]]);
    program.ranks[0][0].steps = vec![step];
    says(
        program,
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (send to rank 1) and rank 0, thread 0, step 0, operation 1 (receive from rank 1) run side by side, and at least one of them writes output block 0",
    );
}

#[test]
fn in_place_only_the_own_part_may_be_written() {
    let scatter = Call { in_place: true, ..call(Collective::ReduceScatter) };
    let reduce = |other: u32, own: u32| vec![send(other, at(IN, other)), add(other, at(IN, own), at(OUT, 0))];
    assert!(verify(&ranks([reduce(1, 0), reduce(0, 1)]).into_plan(), &scatter).is_ok());
    let program = ranks([vec![send(1, at(IN, 1)), add(1, at(IN, 1), at(IN, 1))], reduce(0, 1)]);
    assert!(matches!(violation(program, &scatter), Violation::InputWritten { .. }));
    // The own part is what the output is, so reading it after the sum has come reads the sum.
    let program = ranks([
        vec![recv(1, at(SPARE, 0)), copy(at(SPARE, 0), at(OUT, 0)), copy(at(IN, 0), at(OUT, 0))],
        reduce(0, 1).into_iter().take(1).collect(),
    ]);
    assert_eq!(violation(program, &scatter).to_string(), "output block 0 of rank 0 lacks what rank 0 brings");
}

#[test]
fn sizes_that_do_not_match() {
    let program =
        Program { pieces: 2, ..ranks([vec![send(1, Slice::range(IN, 0, 2))], vec![recv(0, at(OUT, 0))]]) };
    says(
        program.clone(),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (send to rank 1) gives 2 blocks, but rank 1, thread 0, step 0, operation 0 (receive from rank 0) takes 1",
    );
    // Seven bytes in two pieces: three and four.
    let program = Program { pieces: 2, ..ranks([vec![send(1, at(IN, 0))], vec![recv(0, at(OUT, 1))]]) };
    assert_eq!(
        violation(program, &Call::bytes(Collective::AllReduce, 7)).to_string(),
        "rank 0, thread 0, step 0, operation 0 (send to rank 1) gives 3 bytes for output block 1 of rank 1, thread 0, step 0, operation 0 (receive from rank 0), which has 4"
    );
}

#[test]
fn what_is_read_must_have_been_written() {
    says(
        ranks([vec![send(1, at(OUT, 0))], vec![recv(0, at(OUT, 0))]]),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (send to rank 1) reads output block 0 before anything was written to it",
    );
    // Whoever is not the root brings nothing to a broadcast.
    says(
        ranks([vec![copy(at(IN, 0), at(OUT, 0))], vec![copy(at(IN, 0), at(OUT, 0))]]),
        Collective::Broadcast,
        "rank 1, thread 0, step 0, operation 0 (copy) reads input block 0 before anything was written to it",
    );
    // No byte, nothing to miss.
    let program = ranks([vec![send(1, at(OUT, 0))], vec![recv(0, at(OUT, 0))]]);
    assert!(verify(&program.into_plan(), &Call::bytes(Collective::AllReduce, 0)).is_ok());
}

/// Rank 0 receives on one thread what it copies on another one, which waits for it or not.
fn two_threads(waits: bool) -> Program {
    let wait = waits.then_some(Op::Await { thread: 0, steps: 1 });
    let copies = wait.into_iter().chain([copy(at(SPARE, 0), at(OUT, 0))]);
    Program {
        pieces: 1,
        scratch: 1,
        ranks: vec![
            vec![thread(0, [recv(1, at(SPARE, 0))]), thread(1, copies)],
            vec![thread(0, [send(0, at(IN, 0)), copy(at(IN, 0), at(OUT, 0))])],
        ],
    }
}

#[test]
fn threads_that_share_blocks_must_be_ordered() {
    let broadcast = Call { root: rank(1), ..call(Collective::Broadcast) };
    assert!(verify(&two_threads(true).into_plan(), &broadcast).is_ok());
    // Thread 1 is played when the message has come or before: what it would have read is found out either way.
    let found = violation(two_threads(false), &broadcast);
    assert!(matches!(found, Violation::Race { .. } | Violation::Undefined { .. }), "{found}");
    // Here it has always been written, by someone.
    let mut program = two_threads(false);
    program.ranks[0][1].steps.insert(0, vec![copy(at(IN, 0), at(SPARE, 0))]);
    let reduce = Call { root: rank(0), ..call(Collective::Reduce) };
    assert_eq!(
        violation(program, &reduce).to_string(),
        "nothing orders rank 0, thread 0, step 0, operation 0 (receive from rank 1) and rank 0, thread 1, step 0, operation 0 (copy), and at least one of them writes block 0 of scratch buffer 0"
    );
}

#[test]
fn messages_order_too() {
    // Thread 1 of rank 0 overwrites what thread 0 sends, when rank 1 says that it has it.
    let replaced = |answered: bool| {
        let told = answered.then_some(recv(1, at(OUT, 0)));
        let first = [copy(at(IN, 0), at(SPARE, 0)), send(1, at(SPARE, 0))];
        let ordered = [Op::Await { thread: 0, steps: 1 }];
        let second = ordered.into_iter().chain(told).chain([copy(at(IN, 0), at(SPARE, 0))]);
        let answer = answered.then_some(Op::Send { to: rank(0), from: at(OUT, 0) });
        let channel = |thread: Thread| Thread { channel: 1, ..thread };
        Program {
            pieces: 1,
            scratch: 1,
            ranks: vec![
                vec![thread(0, first), channel(thread(1, second))],
                vec![
                    thread(0, [recv(0, at(OUT, 0))]),
                    channel(thread(1, [Op::Await { thread: 0, steps: 1 }].into_iter().chain(answer))),
                ],
            ],
        }
    };
    let send_recv = call(Collective::SendRecv);
    assert!(verify(&replaced(true).into_plan(), &send_recv).is_ok());
    assert!(matches!(violation(replaced(false), &send_recv), Violation::Race { .. }));
}

#[test]
fn users_of_a_channel_must_be_ordered() {
    let receiver = |waits: bool| {
        let wait = waits.then_some(Op::Await { thread: 0, steps: 1 });
        let second = wait.into_iter().chain([recv(0, at(SPARE, 0))]);
        Program {
            pieces: 1,
            scratch: 1,
            ranks: vec![
                vec![thread(0, [send(1, at(IN, 0)), send(1, at(IN, 0))])],
                vec![thread(0, [recv(0, at(OUT, 0))]), thread(0, second)],
            ],
        }
    };
    let send_recv = call(Collective::SendRecv);
    assert!(verify(&receiver(true).into_plan(), &send_recv).is_ok());
    assert_eq!(
        violation(receiver(false), &send_recv).to_string(),
        "nothing orders rank 1, thread 0, step 0, operation 0 (receive from rank 0) and rank 1, thread 1, step 0, operation 0 (receive from rank 0), so that either may have the other's message"
    );
}

#[test]
fn switches_copy_and_add() {
    let all = Ranks { first: rank(0), stride: 1, count: 2 };
    let (input, output) = (at(IN, 0), at(OUT, 0));
    let reduce = Op::SwitchReduce { of: all, local: input, into: output };
    let cast = Op::Multicast { to: all, from: output };
    let give = Op::Contribute { to: rank(0), from: input };
    let program = ranks([vec![reduce, cast], vec![give, recv(0, output)]]);
    let all_reduce = call(Collective::AllReduce);
    let proof = verify(&program.into_plan(), &all_reduce).unwrap();
    // Eight bytes up, eight down.
    assert_eq!((proof.sent.total.get(), proof.received.total.get(), proof.chain), (16, 16, 2));
    assert!(proof.bound.assistance.multicast && proof.bound.assistance.reduction && proof.rendezvous);
    says(
        ranks([vec![reduce, cast], vec![give, add(0, input, output)]]),
        Collective::AllReduce,
        "rank 1, thread 0, step 1, operation 0 (receive and reduce from rank 0) takes the multicast of rank 0, thread 0, step 1, operation 0 (multicast), which can only be received",
    );
    says(
        ranks([vec![reduce, cast], vec![recv(0, output)]]),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (reduce in switch) waits for a message that nobody sends",
    );
    says(
        ranks([vec![], vec![give]]),
        Collective::AllReduce,
        "rank 1, thread 0, step 0, operation 0 (contribute to rank 0) gives something that nobody takes",
    );
}

#[test]
fn messages_without_another_end() {
    says(
        ranks([vec![recv(1, at(OUT, 0))], vec![]]),
        Collective::AllReduce,
        "rank 0, thread 0, step 0, operation 0 (receive from rank 1) waits for a message that nobody sends",
    );
    says(
        ranks([vec![], vec![send(0, at(IN, 0))]]),
        Collective::AllReduce,
        "rank 1, thread 0, step 0, operation 0 (send to rank 0) gives something that nobody takes",
    );
}

#[test]
fn ranks_that_wait_for_each_other() {
    let late = |other: u32| vec![add(other, at(IN, 0), at(OUT, 0)), send(other, at(IN, 0))];
    says(
        ranks([late(1), late(0)]),
        Collective::AllReduce,
        "deadlock: these wait for each other: rank 0, thread 0, step 0, operation 0 (receive and reduce from rank 1); rank 1, thread 0, step 0, operation 0 (receive and reduce from rank 0)",
    );
    let waits = |other: u16| thread(0, [Op::Await { thread: other, steps: 1 }]);
    let program = Program { pieces: 1, scratch: 0, ranks: vec![vec![waits(1), waits(0)]] };
    says(
        program,
        Collective::Barrier,
        "deadlock: these wait for each other: rank 0, thread 0, step 0, operation 0 (wait for thread 1); rank 0, thread 1, step 0, operation 0 (wait for thread 0)",
    );
    let ring = |rank: u32| vec![recv((rank + 9) % 10, at(OUT, 0)), send((rank + 1) % 10, at(OUT, 0))];
    let found = violation(ranks([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(ring)), &call(Collective::AllReduce));
    assert!(found.to_string().ends_with("; and 4 more"), "{found}");
}

#[test]
fn outputs_that_are_not_what_was_promised() {
    let [right, _] = pair();
    says(
        ranks([right, vec![send(0, at(IN, 0)), recv(0, at(SPARE, 0))]]),
        Collective::AllReduce,
        "rank 1 ends without anything in output block 0, which should hold the sum of input block 0 over 2 ranks, of which rank 0 is the first",
    );
    let [right, _] = pair();
    says(
        ranks([right, vec![send(0, at(IN, 0)), recv(0, at(OUT, 0))]]),
        Collective::AllReduce,
        "output block 0 of rank 1 lacks what rank 1 brings",
    );
    let swapped = |other: u32| {
        vec![send(other, at(IN, 0)), copy(at(IN, 0), at(OUT, other)), recv(other, at(OUT, 1 - other))]
    };
    says(
        ranks([swapped(1), swapped(0)]),
        Collective::AllGather,
        "output block 0 of rank 0 should hold input block 0 of rank 0, but holds input block 0 of rank 1",
    );
    let own = Op::Reduce { from: at(IN, 0), into: at(OUT, 0) };
    let again = |other| vec![send(other, at(IN, 0)), add(other, at(IN, 0), at(OUT, 0)), own];
    says(
        ranks([again(1), again(0)]),
        Collective::AllReduce,
        "output block 0 of rank 0 is wrong, because rank 0, thread 0, step 2, operation 0 (reduce) adds input block 0 of rank 0 a second time",
    );
    let mixed = |other: u32| vec![send(other, at(IN, 0)), add(other, at(IN, 1), at(OUT, 0))];
    says(
        ranks([mixed(1), mixed(0)]),
        Collective::ReduceScatter,
        "output block 0 of rank 0 is wrong, because rank 0, thread 0, step 1, operation 0 (receive and reduce from rank 1) adds input block 0 to input block 1",
    );
}

#[test]
fn a_barrier_needs_to_hear_of_everyone() {
    // 0 to 1 to 2 and back to 0: rank 1 has heard only of 0.
    let nothing = Slice::range(OUT, 0, 0);
    let chain = || {
        [
            vec![send(1, nothing), recv(2, nothing)],
            vec![recv(0, nothing), send(2, nothing)],
            vec![recv(1, nothing), send(0, nothing)],
        ]
    };
    says(
        ranks(chain()),
        Collective::Barrier,
        "rank 1 leaves the barrier without having heard of rank 2, directly or through others",
    );
    let [mut zero, mut one, two] = chain();
    zero.push(send(1, nothing));
    one.push(recv(0, nothing));
    let proof = verify(&ranks([zero, one, two]).into_plan(), &call(Collective::Barrier)).unwrap();
    assert_eq!((proof.chain, proof.sent.total.get()), (4, 0));
}
