use std::collections::BTreeMap;

use weft_base::Bytes;
use weft_collective::{
    ALGORITHMS, Call, Collective, Edge, Op, Plan, Rank, Shape, Terrain, Vertex, Violation, verify,
};

use super::*;

fn about(name: &str) -> MscclAbout {
    MscclAbout {
        name: name.to_owned(),
        protocol: "Simple".to_owned(),
        smallest: Bytes::new(0),
        largest: None,
    }
}

/// Two GPUs that exchange what they have and add it, in one thread block each.
const PAIR: &str = r#"<algo name="pair" proto="LL" nchannels="1" nchunksperloop="1" ngpus="2" coll="allreduce" inplace="0" outofplace="1" minBytes="0" maxBytes="65536">
  <gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rrc" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="1" s_chunks="0">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rrc" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
"#;

fn algorithm(text: &str) -> MscclAlgorithm {
    let (algorithm, findings) = read("a.xml", text);
    assert_eq!(findings, [], "{text}");
    algorithm.unwrap()
}

#[test]
fn a_pair_is_read_and_proved() {
    let pair = algorithm(PAIR);
    assert_eq!((pair.name.as_str(), pair.collective, pair.ranks()), ("pair", Some(Collective::AllReduce), 2));
    assert_eq!((pair.thread_blocks, pair.steps, pair.chunks, pair.protocol.as_str()), (2, 4, 1, "LL"));
    let MscclVerdict::Right(proofs) = pair.prove() else { panic!("{:?}", pair.prove()) };
    assert_eq!(proofs.len(), 1);
    assert_eq!((proofs[0].proof.message_count, proofs[0].proof.chain), (2, 1));
    assert_eq!(pair.line(Rank::new(1), 0, 1), Some(11));
}

#[test]
fn what_is_wrong_has_its_line() {
    // GPU 1 takes without adding, in line 11; the outputs are judged, so the line is that of GPU 1.
    let broken = PAIR.replacen("rrc", "r", 2).replacen("type=\"r\"", "type=\"rrc\"", 1);
    let MscclVerdict::Wrong { violation, line, .. } = algorithm(&broken).prove() else { panic!() };
    assert_eq!(violation.to_string(), "output block 0 of rank 1 lacks what rank 1 brings");
    assert_eq!(line, Some(8));
    // Nothing is in the output before it is received.
    let broken = PAIR.replacen("type=\"s\" srcbuf=\"i\"", "type=\"s\" srcbuf=\"o\"", 1);
    let MscclVerdict::Wrong { violation, line, .. } = algorithm(&broken).prove() else { panic!() };
    assert!(matches!(violation, Violation::Undefined { .. }), "{violation}");
    assert_eq!(line, Some(4));
}

#[test]
fn sums_are_passed_on_without_being_kept() {
    // 0 sends to 1, which adds and passes on to 2, which has the sum of all three.
    let text = r#"<algo name="chain" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="3" coll="reduce" inplace="0">
<gpu id="2" i_chunks="2" o_chunks="2" s_chunks="0"><tb id="7" send="-1" recv="1" chan="0">
<step s="0" type="rrc" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
<gpu id="0" i_chunks="2" o_chunks="2" s_chunks="0"><tb id="0" send="1" recv="-1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
<gpu id="1" i_chunks="2" o_chunks="2" s_chunks="0"><tb id="0" send="2" recv="0" chan="0">
<step s="0" type="rrs" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
</algo>"#;
    let MscclVerdict::Right(proofs) = algorithm(text).prove() else { panic!() };
    // The file does not say its root: it is found.
    assert_eq!(proofs[0].call.root, Rank::new(2));
    assert_eq!(proofs[0].proof.chain, 2);
}

#[test]
fn waiting_is_for_the_next_step_that_says_so() {
    let text = |signals: &str| {
        format!(
            r#"<algo name="w" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2" coll="broadcast" inplace="0">
<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0"><tb id="0" send="1" recv="-1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
<gpu id="1" i_chunks="1" o_chunks="1" s_chunks="1"><tb id="0" send="-1" recv="0" chan="0">
<step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="{signals}"/></tb>
<tb id="1" send="-1" recv="-1" chan="0">
<step s="0" type="cpy" srcbuf="s" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0"/></tb></gpu>
</algo>"#
        )
    };
    assert!(matches!(algorithm(&text("1")).prove(), MscclVerdict::Right(_)));
    // Nobody says that the step is over: the wait never ends.
    let MscclVerdict::Wrong { violation, line, .. } = algorithm(&text("0")).prove() else { panic!() };
    assert!(matches!(violation, Violation::UnknownStep { thread: 0, .. }), "{violation}");
    assert_eq!(line, Some(8));
    // Without waiting it is a race, or reads what is not there.
    let raced = text("1").replace("depid=\"0\" deps=\"0\"", "depid=\"-1\" deps=\"-1\"");
    let MscclVerdict::Wrong { violation, .. } = algorithm(&raced).prove() else { panic!() };
    assert!(matches!(violation, Violation::Race { .. } | Violation::Undefined { .. }), "{violation}");
}

#[test]
fn what_msccl_refuses_is_said_with_its_place() {
    let refused = |from: &str, to: &str| {
        let (algorithm, findings) = read("a.xml", &PAIR.replacen(from, to, 1));
        assert!(algorithm.is_none(), "{to}");
        let place = findings[0].place.as_ref().unwrap();
        assert_eq!(findings[0].code.name, "msccl-refuses");
        (place.line, findings[0].message.trim_start_matches("MSCCL refuses the algorithm: ").to_owned())
    };
    assert_eq!(refused("type=\"rrc\"", "type=\"rrd\""), (5, "there is no step of type `rrd`".to_owned()));
    assert_eq!(refused(" hasdep=\"0\"", ""), (4, "<step> has no `hasdep`".to_owned()));
    assert_eq!(refused("cnt=\"1\"", "cnt=\"72\""), (4, "`cnt` is 72, and must be less than 72".to_owned()));
    assert_eq!(refused("srcoff=\"0\"", "srcoff=\"x\"").1, "`srcoff` is `x`, which is no whole number");
    assert_eq!(refused("srcbuf=\"i\"", "srcbuf=\"q\"").1, "there is no buffer `q`");
    assert_eq!(refused("send=\"1\"", "send=\"2\"").1, "`send` is 2, which is no other GPU of 2");
    assert_eq!(
        refused("send=\"1\"", "send=\"-1\"").1,
        "the step needs a peer, but `send` of its thread block is -1"
    );
    assert_eq!(refused("ngpus=\"2\"", "ngpus=\"3\"").1, "`ngpus` is 3, but the file has 2 different GPUs");
    assert_eq!(
        refused(
            "dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n    </tb>",
            "dstbuf=\"s\" dstoff=\"3\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n    </tb>"
        )
        .1,
        "GPU 0 uses 4 chunks of scratch space, but has 0"
    );
}

const ALL_PAIRS: &str = include_str!("../../../../examples/formats/msccl-algorithm/all-pairs.xml");
const NO_WAIT: &str = include_str!("../../../../examples/formats/msccl-algorithm/all-pairs-no-wait.xml");
const GATHER_RING: &str = include_str!("../../../../examples/formats/msccl-algorithm/gather-ring.xml");

#[test]
fn the_examples_are_what_they_say() {
    let MscclVerdict::Right(proofs) = algorithm(ALL_PAIRS).prove() else { panic!() };
    let proof = proofs[0].proof;
    // Each of 4 GPUs sends 3 others a chunk of 4 bytes, and then its sum: 2 x 3 x 4 bytes, the least for 4 chunks.
    assert_eq!((proof.message_count, proof.chain, proof.sent.most.get()), (24, 2, 24));
    assert_eq!(proof.bound.sent, proof.sent);
    // Everyone sends before it receives.
    assert!(proofs[0].call.in_place && !proof.rendezvous);
    let MscclVerdict::Right(proofs) = algorithm(GATHER_RING).prove() else { panic!() };
    assert_eq!((proofs[0].proof.message_count, proofs[0].proof.chain), (6, 2));
    let MscclVerdict::Wrong { violation, .. } = algorithm(NO_WAIT).prove() else { panic!() };
    // Thread block 0 adds up chunk 2 in steps 3 to 5, thread block 1 sends it in step 2.
    let Violation::Race { first, second, block } = violation else { panic!("{violation}") };
    let both = [(first.thread, first.step), (second.thread, second.step)];
    assert!(
        both.contains(&(1, 2)) && both.iter().any(|(thread, step)| *thread == 0 && (3..6).contains(step))
    );
    assert_eq!((first.rank, second.rank, block.number), (Rank::new(2), Rank::new(2), 2));
}

#[test]
fn findings_stand_at_the_step() {
    let read = |text: &str| {
        let reading =
            crate::read(&crate::Source::file("a.xml", text), weft_catalogue::Catalogue::embedded(), None);
        let finding = reading.diagnostics[0].clone();
        (finding.code.name, finding.place.unwrap().line, finding.message)
    };
    assert_eq!(
        read(ALL_PAIRS),
        (
            "msccl-proved",
            2,
            "the algorithm is an all-reduce over 4 GPUs, in place, in every order of events; its longest chain has 2 \
             messages, and the busiest GPU sends 6 chunks, where 6 are the least"
                .to_owned()
        )
    );
    let (code, line, message) = read(NO_WAIT);
    assert_eq!(code, "msccl-wrong");
    assert!(NO_WAIT.lines().nth(line as usize - 1).unwrap().contains("<step"), "{line}");
    assert!(
        message.starts_with("the algorithm is no all-reduce in place: nothing orders rank 2, "),
        "{message}"
    );
    let (code, ..) = read(&PAIR.replace("allreduce", "custom"));
    assert_eq!(code, "msccl-unchecked");
}

/// Blocks that each rank sends each other one.
fn sent(program: &Program) -> BTreeMap<(usize, u32), u64> {
    let mut sent = BTreeMap::new();
    for (rank, threads) in program.ranks.iter().enumerate() {
        for op in threads.iter().flat_map(|thread| thread.steps.iter().flatten()) {
            if let Op::Send { to, from } = op {
                *sent.entry((rank, to.get())).or_default() += u64::from(from.blocks());
            }
        }
    }
    sent
}

#[test]
fn every_algorithm_that_fits_is_written_read_and_proved_again() {
    let mut written = 0;
    for algorithm in ALGORITHMS {
        for (collective, ranks) in
            algorithm.collectives().iter().flat_map(|one| [2, 3, 4, 8].map(|ranks| (*one, ranks)))
        {
            for in_place in [false, true] {
                let call = Call { in_place, ..Call::bytes(collective, 5040) };
                for terrain in [Terrain::flat(ranks), Terrain::hosts(ranks / 2, 2), mesh(ranks)] {
                    if terrain.ranks() != ranks || algorithm.suits(&call, &terrain).is_err() {
                        continue;
                    }
                    let usual = algorithm.shape(&call, &terrain);
                    for shape in [usual, Shape { channels: 2, pipeline: 3 }] {
                        let plan = algorithm.plan_with(&call, &terrain, shape);
                        written += u32::from(is_the_same_again(&plan, &call, algorithm.name()));
                    }
                }
            }
        }
    }
    assert!(written >= 600, "only {written} plans were written");
}

/// A full mesh of which the graph is known.
fn mesh(ranks: u32) -> Terrain {
    let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
    let edge = |(from, to)| Edge { from: Vertex(from), to: Vertex(to), capacity: 1 };
    let edges = pairs.filter(|(from, to)| from != to).map(edge).collect();
    Terrain::flat(ranks).with_graph(Vec::new(), edges)
}

/// Whether a plan can be written; then what is read again moves the same blocks between the same ranks, and is right.
fn is_the_same_again(plan: &Plan, call: &Call, name: &str) -> bool {
    let text = match write(plan, call, &about(name)) {
        Ok(text) => text,
        Err(MscclRefusal::Collective(_) | MscclRefusal::Switches) => return false,
        Err(refusal) => panic!("{name} {}: {refusal}", call.collective.name()),
    };
    let again = self::algorithm(&text);
    assert_eq!(sent(&Program::of(plan)), sent(&again.program), "{name} {}", call.collective.name());
    let (before, after) = (
        verify(plan, &again_call(&again, call)).unwrap(),
        verify(&again.program.clone().into_plan(), &again_call(&again, call)).unwrap(),
    );
    assert_eq!((before.sent, before.received), (after.sent, after.received));
    assert_eq!(before.bound, after.bound);
    // A message that is cut into several is sent one after the other there, and so is what is received and passed on.
    assert!(2 * after.chain <= 5 * before.chain, "{name}: {} in a row, not {}", after.chain, before.chain);
    assert!(matches!(again.prove(), MscclVerdict::Right(_)));
    true
}

fn again_call(algorithm: &MscclAlgorithm, call: &Call) -> Call {
    Call { root: call.root, ..algorithm.call(call.in_place).unwrap() }
}

/// Kinds of the steps of each thread block of a GPU.
fn kinds(text: &str, gpu: usize) -> Vec<String> {
    let gpu = text.split("<gpu ").nth(gpu + 1).unwrap();
    let kind = |step: &str| step.split("type=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let block = |block: &str| block.split("<step ").skip(1).map(kind).collect::<Vec<_>>().join(" ");
    gpu.split("<tb ").skip(1).map(block).collect()
}

#[test]
fn a_ring_passes_on_in_the_step_in_which_it_receives() {
    let call = Call::bytes(Collective::AllReduce, 1024);
    let plan = weft_collective::algorithm("ring").unwrap().plan(&call, &Terrain::flat(4));
    let text = write(&plan, &call, &about("a \"ring\" & more")).unwrap();
    let ring = algorithm(&text);
    // One thread block each. Two sums are passed on and not kept, the third is whole: it is kept and passed on; two
    // whole ones of others are passed on, and one comes last.
    assert_eq!(kinds(&text, 2), ["s rrs rrs rrcs rcs rcs r"]);
    assert_eq!((ring.thread_blocks, ring.steps, ring.chunks), (4, 28, 4));
    assert_eq!(ring.name, "a \"ring\" & more");
    let MscclVerdict::Right(proofs) = ring.prove() else { panic!() };
    assert_eq!((proofs[0].proof.chain, proofs[0].proof.message_count), (6, 24));
}

#[test]
fn trees_pass_on_to_one_child_and_send_to_the_other() {
    // A chain of 4 from rank 0, in 2 chunks: those on the way pass on what comes.
    let call = Call::bytes(Collective::Broadcast, 1024);
    let ring = weft_collective::algorithm("ring").unwrap();
    let shape = Shape { channels: 1, pipeline: 2 };
    let text = write(&ring.plan_with(&call, &Terrain::flat(4), shape), &call, &about("chain")).unwrap();
    assert_eq!([kinds(&text, 1), kinds(&text, 3)], [["rcs rcs"], ["r r"]]);
    // Of the sums of a tree that are passed on none is kept but the root's: scratch space is read by nobody else.
    let call = Call::bytes(Collective::Reduce, 1024);
    let tree = weft_collective::algorithm("double-binary-tree").unwrap();
    let text = write(&tree.plan(&call, &Terrain::flat(8)), &call, &about("tree")).unwrap();
    assert!(text.contains("\"rrs\"") && !text.contains("\"rrcs\""), "{text}");
    // Pairs that exchange pass nothing on.
    let call = Call::bytes(Collective::AllToAll, 1024);
    let direct = weft_collective::algorithm("direct").unwrap();
    let text = write(&direct.plan(&call, &Terrain::flat(3)), &call, &about("direct")).unwrap();
    assert_eq!(kinds(&text, 0), ["s", "s", "cpy", "r", "r"]);
}

#[test]
fn plans_that_do_not_fit_are_refused() {
    let call = Call::bytes(Collective::AllReduce, 1024);
    let ring = weft_collective::algorithm("ring").unwrap();
    let plan = ring.plan(&call, &Terrain::flat(200));
    // 2 x 199 steps with one peer.
    assert_eq!(write(&plan, &call, &about("x")), Err(MscclRefusal::Steps { rank: 0, steps: 398 }));
    let barrier = Call::bytes(Collective::Barrier, 0);
    assert_eq!(write(&plan, &barrier, &about("x")), Err(MscclRefusal::Collective(Collective::Barrier)));
    let gather = Call::bytes(Collective::AllGather, 1024);
    assert!(matches!(write(&plan, &gather, &about("x")), Err(MscclRefusal::Wrong(_))));
}
