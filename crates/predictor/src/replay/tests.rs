//! Steps that can be followed with a pencil: a collective takes as many seconds as it has bytes, a message as well.

use weft_collective::Collective;
use weft_formats::execution_trace;

use super::*;

/// A second for each byte; servers of two GPUs, whose ports a group takes half of, if one of them is in it.
struct Pencil;

impl Prices for Pencil {
    fn communication(&self, _: Collective, ranks: &[u32], bytes: f64) -> Result<Priced, String> {
        let mut servers: Vec<u32> = ranks.iter().map(|rank| rank / 2).collect();
        servers.sort_unstable();
        servers.dedup();
        let ports_share = if servers.len() < 2 {
            0.0
        } else if ranks.len() > servers.len() {
            1.0
        } else {
            0.75
        };
        Ok(Priced { alone_s: bytes, ports_share, servers })
    }

    fn computation_s(&self, operations_count: f64, bytes: f64) -> Option<f64> {
        Some(operations_count.max(bytes))
    }

    fn gpus(&self) -> u32 {
        8
    }
}

/// A node in JSON: `kind` and what else it has, such as `"comm_size": 3`.
fn node(id: u32, kind: &str, deps: &[u32], seconds: u32, more: &str) -> String {
    let micros = u64::from(seconds) * 1_000_000;
    let more = if more.is_empty() { String::new() } else { format!(", {more}") };
    format!(
        "{{\"id\": {id}, \"name\": \"n{id}\", \"type\": \"{kind}_NODE\", \"data_deps\": {deps:?}, \"duration_micros\": {micros}{more}}}"
    )
}

fn compute(id: u32, deps: &[u32], seconds: u32) -> String {
    node(id, "COMP", deps, seconds, "")
}

fn reduce(id: u32, deps: &[u32], bytes: u32, group: &str) -> String {
    let group = if group.is_empty() { String::new() } else { format!(", \"pg_name\": \"{group}\"") };
    node(id, "COMM_COLL", deps, 0, &format!("\"comm_type\": 0, \"comm_size\": {bytes}{group}"))
}

fn recording(ranks: &[Vec<String>], groups: &[(&str, &[u32])]) -> Recording {
    let mut recording = Recording { compute_scale: 1.0, ..Recording::default() };
    for (rank, nodes) in (0..).zip(ranks) {
        let text = format!("{{\"nodes\": [{}]}}", nodes.join(",\n"));
        let (trace, found) = execution_trace(&format!("t.{rank}.json"), text.as_bytes());
        assert!(found.is_empty(), "{found:?}");
        recording.traces.insert(rank, trace);
    }
    recording.groups = groups.iter().map(|(name, ranks)| ((*name).to_owned(), ranks.to_vec())).collect();
    recording
}

fn play(ranks: &[Vec<String>], groups: &[(&str, &[u32])]) -> Replayed {
    played(&recording(ranks, groups), &Pencil).unwrap()
}

/// What is said of a recording that cannot be played: codes and messages.
fn refused(ranks: &[Vec<String>], groups: &[(&str, &[u32])]) -> Vec<(&'static str, String)> {
    let found = played(&recording(ranks, groups), &Pencil).unwrap_err();
    found.into_iter().map(|finding| (finding.code.name, finding.message)).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn two_ranks_by_hand() {
    // Rank 0 computes 2 s, rank 1 5 s; both sum up 3 bytes: from 5 to 8; rank 0 computes 1 s more, rank 1 4 s.
    let rank = |first, last| vec![compute(1, &[], first), reduce(2, &[1], 3, ""), compute(3, &[2], last)];
    let step = play(&[rank(2, 1), rank(5, 4)], &[]);
    assert!(close(step.step_s, 12.0), "{step:?}");
    let own = |rank: usize| {
        let own = step.ranks[rank];
        (own.compute_s, own.exposed_s, own.waiting_s, own.idle_s)
    };
    // Rank 0: 2 + 1 computing, 3 sent, 3 waited for rank 1, 3 idle at the end.
    assert_eq!(own(0), (3.0, 3.0, 3.0, 3.0));
    assert_eq!(own(1), (9.0, 3.0, 0.0, 0.0));
    // What the end waits for: 5 s and 4 s of rank 1, and what is sent between them.
    let way: Vec<_> = step.critical.iter().map(|part| (part.lane, part.nodes_count, part.seconds)).collect();
    assert_eq!(way, [(ReplayLane::Compute, 2, 9.0), (ReplayLane::Communication, 1, 3.0)]);
    let longest = &step.critical[0].longest;
    assert_eq!((longest.rank, longest.node_number, longest.from_s), (1, 1, 0.0));
    assert_eq!(step.critical[1].group.as_deref(), Some("all ranks"));
    assert_eq!((step.slowest_rank, step.ranks[1].waited_for_s), (Some(1), 3.0));
    let group = &step.groups[0];
    assert_eq!((group.operations_count, group.bytes, group.exposed_s, group.hidden_s), (1, 3, 3.0, 0.0));
}

#[test]
fn computing_hides_what_does_not_wait_for_it() {
    // The sum of 3 bytes waits for the first second of computing only; 2 of its seconds are hidden by the next node.
    let rank =
        || vec![compute(1, &[], 1), reduce(2, &[1], 3, ""), compute(3, &[1], 2), compute(4, &[2, 3], 1)];
    let step = play(&[rank(), rank()], &[]);
    assert!(close(step.step_s, 5.0));
    let group = &step.groups[0];
    assert_eq!((group.seconds, group.exposed_s, group.hidden_s), (3.0, 1.0, 2.0));
    assert_eq!((step.ranks[0].compute_s, step.ranks[0].communication_s), (4.0, 3.0));
    // 1 s, 3 s of which the network is waited for, 1 s; what computes beside it is not on the way.
    let way: Vec<_> = step.critical.iter().map(|part| (part.lane, part.seconds)).collect();
    assert_eq!(way, [(ReplayLane::Communication, 3.0), (ReplayLane::Compute, 2.0)]);
    // Computing twice as slow hides all of it: 2 + 4 + 2.
    let slow = Recording { compute_scale: 2.0, ..recording(&[rank(), rank()], &[]) };
    let step = played(&slow, &Pencil).unwrap();
    assert!(close(step.step_s, 8.0) && close(step.groups[0].exposed_s, 0.0));
}

#[test]
fn collectives_of_a_group_follow_each_other_and_groups_share_the_ports() {
    // Two of one group: 3 s, then 4 s.
    let both = || vec![reduce(1, &[], 3, ""), reduce(2, &[], 4, "")];
    let step = play(&[both(), both()], &[]);
    assert!(close(step.step_s, 7.0));
    assert_eq!((step.critical.len(), step.critical[0].nodes_count, step.critical[0].seconds), (1, 2, 7.0));
    // Ranks 0 and 2, 1 and 3, on servers {0, 1} and {2, 3}: each takes 0.75 of the ports, together 1.5 of them. Both go
    // at 2/3: the 2 bytes are over after 3 s, by when 2 of the 4 are left, alone again: 5 s.
    let groups: [(&str, &[u32]); 2] = [("a", &[0, 2]), ("b", &[1, 3])];
    let rank = |bytes, group| vec![reduce(1, &[], bytes, group)];
    let step = play(&[rank(2, "a"), rank(4, "b"), rank(2, "a"), rank(4, "b")], &groups);
    assert!(close(step.step_s, 5.0), "{}", step.step_s);
    let shared: Vec<f64> = step.groups.iter().map(|group| group.shared_s).collect();
    assert!(close(shared[0], 1.0) && close(shared[1], 1.0), "{shared:?}");
    // Within servers nothing is shared.
    let groups: [(&str, &[u32]); 2] = [("a", &[0, 1]), ("b", &[2, 3])];
    let step = play(&[rank(2, "a"), rank(2, "a"), rank(4, "b"), rank(4, "b")], &groups);
    assert!(close(step.step_s, 4.0) && step.diagnostics.is_empty());
}

#[test]
fn messages_are_on_their_way_before_they_are_asked_for() {
    let send = |id, to, tag| {
        node(id, "COMM_SEND", &[], 0, &format!("\"comm_dst\": {to}, \"comm_tag\": {tag}, \"comm_size\": 2"))
    };
    let receive = |id, deps: &[u32], from, tag| {
        node(
            id,
            "COMM_RECV",
            deps,
            0,
            &format!("\"comm_src\": {from}, \"comm_tag\": {tag}, \"comm_size\": 2"),
        )
    };
    // Rank 1 asks at 1 s for what is there at 2 s, then computes 1 s.
    let step = play(
        &[vec![send(1, 1, 7)], vec![compute(1, &[], 1), receive(2, &[1], 0, 7), compute(3, &[2], 1)]],
        &[],
    );
    assert!(close(step.step_s, 3.0), "{step:?}");
    let way: Vec<_> =
        step.critical.iter().map(|part| (part.operation, part.group.clone(), part.seconds)).collect();
    assert_eq!(way, [(Some("send"), None, 2.0), (None, None, 1.0)]);
    assert_eq!((step.groups[0].name.as_deref(), step.ranks[1].exposed_s), (None, 1.0));
    // Asked for at 4 s, it costs nothing.
    let step = play(&[vec![send(1, 1, 7)], vec![compute(1, &[], 4), receive(2, &[1], 0, 7)]], &[]);
    assert!(close(step.step_s, 4.0) && close(step.ranks[1].exposed_s, 0.0));
    // Another tag is another message; another rank as well.
    let said = refused(&[vec![send(1, 1, 7)], vec![receive(2, &[], 0, 8)]], &[]);
    assert_eq!(said.iter().map(|(code, _)| *code).collect::<Vec<_>>(), ["replay-unmatched"; 2]);
    assert!(
        said[0].1.contains("the send of node 1 (`n1`) on rank 0 to rank 1 with tag 7 is alone"),
        "{}",
        said[0].1
    );
    assert!(
        said[1].1.contains("the receive of node 2 (`n2`) on rank 1 from rank 0 with tag 8"),
        "{}",
        said[1].1
    );
    let said = refused(&[vec![node(1, "COMM_SEND", &[], 0, "\"comm_size\": 2")]], &[]);
    assert!(said[0].0 == "replay-mismatch" && said[0].1.contains("it has no `comm_dst`"), "{said:?}");
}

#[test]
fn collectives_whose_ranks_never_come_name_them() {
    let groups: [(&str, &[u32]); 1] = [("dp", &[0, 1, 2, 3])];
    let two = || vec![reduce(1, &[], 3, "dp"), reduce(5, &[1], 3, "dp")];
    let one = || vec![reduce(1, &[], 3, "dp")];
    let said = refused(&[two(), one(), two(), one()], &groups);
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].0, "replay-mismatch");
    assert!(
        said[0].1.contains("node 5 (`n5`) on rank 0") && said[0].1.contains("for ranks 1, 3: "),
        "{}",
        said[0].1
    );
    // Without a file at all.
    let said = refused(&[two(), two()], &groups);
    assert!(said[0].1.contains("for ranks 2, 3: they have no trace"), "{}", said[0].1);
    // Another operation.
    let gather = vec![node(1, "COMM_COLL", &[], 0, "\"comm_type\": 2, \"comm_size\": 3")];
    let said = refused(&[vec![reduce(1, &[], 3, "")], gather], &[]);
    assert!(
        said[0].1.contains("is all-reduce on rank 0 (node 1) but all-gather on rank 1 (node 1)"),
        "{}",
        said[0].1
    );
}

#[test]
fn ranks_that_wait_for_each_other_are_named() {
    // Rank 0 goes into `a` before `b`, rank 1 into `b` before `a`.
    let rank = |first, second| vec![reduce(1, &[], 1, first), reduce(2, &[1], 1, second)];
    let groups: [(&str, &[u32]); 2] = [("a", &[0, 1]), ("b", &[0, 1])];
    let said = refused(&[rank("a", "b"), rank("b", "a")], &groups);
    assert_eq!(said[0].0, "replay-stuck");
    let named = "rank 0 waits in node 1 (`n1`) for rank 1, rank 1 waits in node 1 (`n1`) for rank 0";
    assert!(said[0].1.contains(named), "{}", said[0].1);
}

#[test]
fn computing_without_times_is_refused_or_estimated_and_said() {
    let empty = || vec![compute(1, &[], 0), reduce(2, &[1], 3, "")];
    let said = refused(&[empty(), empty()], &[]);
    assert_eq!(said[0].0, "replay-no-times");
    assert!(
        said[0].1.contains("none of 2 computations") && said[0].1.contains("node 1 (`n1`)"),
        "{}",
        said[0].1
    );
    let counted =
        || vec![node(1, "COMP", &[], 0, "\"num_ops\": 6, \"tensor_size\": 2"), reduce(2, &[1], 3, "")];
    let step = play(&[counted(), counted()], &[]);
    assert!(close(step.step_s, 9.0), "{}", step.step_s);
    assert_eq!(
        step.diagnostics.iter().map(|finding| finding.code.name).collect::<Vec<_>>(),
        ["replay-assumed"]
    );
}

#[test]
fn what_has_no_price_is_refused() {
    let one = |more: &str| vec![node(1, "COMM_COLL", &[], 0, more)];
    for (more, why) in [
        ("\"comm_type\": 3, \"comm_size\": 3", "there is no model of gather"),
        ("\"comm_type\": 0", "it does not say its size"),
    ] {
        let said = refused(&[one(more), one(more)], &[]);
        assert!(said[0].0 == "replay-no-price" && said[0].1.contains(why), "{said:?}");
    }
    let many: Vec<Vec<String>> = (0..9).map(|_| one("\"comm_type\": 0, \"comm_size\": 3")).collect();
    assert!(refused(&many, &[])[0].1.contains("rank 8 has no GPU: the machine has 8"));
    // A checkpoint is of no kind that is played.
    let kept = vec!["{\"id\": 1, \"name\": \"save\", \"type\": 10, \"duration_micros\": 5}".to_owned()];
    let step = play(&[kept], &[]);
    assert!(close(step.step_s, 0.0) && step.diagnostics[0].message.starts_with("1 nodes are of no kind"));
    // A barrier sends next to nothing; an all-gather of 3 bytes of each of two ranks is one of 6.
    let step = play(&[one("\"comm_type\": 9"), one("\"comm_type\": 9")], &[]);
    assert!(close(step.step_s, 1.0));
    let gather = "\"comm_type\": 2, \"comm_size\": 3";
    assert!(close(play(&[one(gather), one(gather)], &[]).step_s, 6.0));
}

#[test]
fn the_host_and_a_group_that_nothing_defines() {
    // The CPU launches for 2 s; the collective that it calls has no size of its own and is in the recorded time.
    let host = |id, kind, deps: &[u32]| node(id, kind, deps, 1, "\"is_cpu_op\": true");
    let rank = || vec![host(1, "COMP", &[]), host(2, "COMM_COLL", &[1]), reduce(3, &[2], 3, "x")];
    let step = play(&[rank(), rank()], &[]);
    assert!(close(step.step_s, 5.0) && close(step.ranks[0].idle_s, 2.0), "{step:?}");
    assert!(step.diagnostics[0].message.contains("taken to be the ranks that use it: ranks 0, 1"));
}

#[test]
fn collectives_without_a_size_take_what_was_recorded_and_that_is_said() {
    // Recorded were 4 s on rank 0, which came first, and 3 s on rank 1.
    let rank = |seconds| vec![node(1, "COMM_COLL", &[], seconds, "\"comm_type\": 0")];
    let step = play(&[rank(4), rank(3)], &[]);
    assert!(close(step.step_s, 3.0), "{}", step.step_s);
    let said = &step.diagnostics[0];
    assert_eq!((said.code.name, said.severity), ("replay-assumed", Severity::Warning));
    assert!(said.message.contains("1 collectives do not say their size, the first of them node 1 (`n1`)"));
}

#[test]
fn a_rank_without_others_says_so() {
    let step = play(&[vec![compute(1, &[], 2), reduce(2, &[1], 3, "")]], &[]);
    assert!(close(step.step_s, 2.0));
    assert!(step.diagnostics[0].message.starts_with("there is the trace of one rank only: 1 of"), "{step:?}");
}

#[test]
fn many_findings_are_told_up_to_a_bound() {
    let unknown = |id| node(id, "COMM_COLL", &[], 0, "\"comm_type\": 3, \"comm_size\": 3");
    let rank = || (0..100).map(unknown).collect::<Vec<_>>();
    assert_eq!(refused(&[rank(), rank()], &[]).len(), 20);
    let grouped = || (0..12).map(|id| reduce(id, &[], 3, &format!("g{id}"))).collect::<Vec<_>>();
    let step = play(&[grouped(), grouped()], &[]);
    assert_eq!(step.diagnostics.len(), 9);
    assert!(step.diagnostics[8].message.starts_with("nothing defines 4 more groups"));
}
