//! Traces made by the encoder that belongs to the messages, and what happens to damaged ones.

use weft_base::Severity;

use super::message::Inputs;
use super::*;
use crate::evidence::{Workload, WorkloadNodeKind};
use crate::format::Source;

fn attribute(name: &str) -> Attribute {
    Attribute { name: name.to_owned(), ..Attribute::default() }
}

fn collective(id: u64, kind: i64, bytes: i64, depends: &[u64]) -> Node {
    Node {
        id,
        name: format!("ncclDevKernel_{id}"),
        kind: 7,
        data_deps: depends.to_vec(),
        duration_micros: 150,
        attr: vec![
            Attribute { flag: Some(false), ..attribute("is_cpu_op") },
            Attribute { int64: Some(kind), ..attribute("comm_type") },
            Attribute { int64: Some(bytes), ..attribute("comm_size") },
            Attribute { text: Some("dp".to_owned()), ..attribute("pg_name") },
        ],
        ..Node::default()
    }
}

fn compute(id: u64, on_host: bool, duration_micros: u64, depends: &[u64]) -> Node {
    let flag = Attribute { flag: Some(on_host), ..attribute("is_cpu_op") };
    Node {
        id,
        name: format!("op-{id}"),
        kind: 4,
        ctrl_deps: depends.to_vec(),
        duration_micros,
        attr: vec![flag],
        ..Node::default()
    }
}

/// One step: a launch, two kernels, two all-reduces of 64 MiB and an all-gather.
fn step() -> Vec<u8> {
    let schema = Attribute { text: Some("1.1.0-chakra.0.0.4".to_owned()), ..attribute("schema") };
    let mut bytes =
        GlobalMetadata { version: String::new(), attr: vec![schema] }.encode_length_delimited_to_vec();
    for node in [
        compute(1, true, 20, &[]),
        compute(2, false, 900, &[1]),
        compute(3, false, 1100, &[2]),
        collective(4, 0, 67_108_864, &[2]),
        collective(5, 0, 67_108_864, &[3]),
        collective(6, 2, 4096, &[4, 5]),
    ] {
        bytes.extend(node.encode_length_delimited_to_vec());
    }
    bytes
}

fn read(bytes: &[u8]) -> (Workload, Vec<&'static str>) {
    let read = Chakra.read_bytes("t.et", bytes).unwrap();
    let Evidence::Workload(workload) = &read.evidence[0].value else { panic!() };
    (*workload.clone(), read.diagnostics.iter().map(|finding| finding.code.name).collect())
}

#[test]
fn the_example_is_what_the_encoder_writes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/formats/chakra/step.et");
    #[expect(clippy::disallowed_methods, reason = "a test reads its example")]
    let example = std::fs::read(path).unwrap();
    assert_eq!(example, step());
}

#[test]
fn nodes_collectives_and_times_are_counted() {
    let (workload, findings) = read(&step());
    assert_eq!((workload.version.as_str(), findings), ("1.1.0-chakra.0.0.4", vec![]));
    let counts: Vec<_> = workload.counts.iter().map(|one| (one.kind, one.count)).collect();
    assert_eq!(counts, [(WorkloadNodeKind::Compute, 3), (WorkloadNodeKind::Collective, 3)]);
    let collectives: Vec<_> = workload
        .collectives
        .iter()
        .map(|one| (one.kind.as_deref().unwrap(), one.bytes.unwrap().get(), one.count))
        .collect();
    assert_eq!(collectives, [("all-reduce", 67_108_864, 2), ("all-gather", 4096, 1)]);
    // 900 + 1100 us on the GPU, 20 us on the CPU, 3 x 150 us of communication; 1 + 1 + 1 + 1 + 2 dependencies.
    let microseconds = [workload.compute_time, workload.host_time, workload.communication_time]
        .map(|span| span.get() / 1_000_000);
    assert_eq!((microseconds, workload.dependencies), ([2000, 20, 450], 6));
    assert_eq!((workload.groups, workload.is_complete), (vec!["dp".to_owned()], true));
}

#[test]
fn a_cut_trace_keeps_what_was_there() {
    let bytes = step();
    let (workload, findings) = read(&bytes[..bytes.len() - 5]);
    assert_eq!(workload.counts.iter().map(|one| one.count).sum::<u64>(), 5);
    assert_eq!(findings, ["trace-damaged"]);
    // A length that no input has is refused without reserving anything.
    let mut huge = step();
    huge.extend([0xff, 0xff, 0xff, 0xff, 0x0f]);
    assert_eq!(read(&huge).1, ["trace-damaged"]);
    assert!(Chakra.read_bytes("t", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").is_none());
}

#[test]
fn nodes_that_contradict_each_other_are_named() {
    let mut bytes = GlobalMetadata::default().encode_length_delimited_to_vec();
    let data = |node: Node| Node { data_deps: node.ctrl_deps, ctrl_deps: vec![9], ..node };
    for node in [
        compute(1, false, 1, &[2]),
        compute(2, false, 1, &[1]),
        compute(3, false, 1, &[]),
        compute(3, false, 1, &[77]),
    ] {
        bytes.extend(data(node).encode_length_delimited_to_vec());
    }
    // Two of one id, one that waits for 77, two in a circle; and all are called by 9, which is only a note.
    let (workload, findings) = read(&bytes);
    assert_eq!((findings, workload.is_complete), (vec!["trace-graph"; 4], false));
}

#[test]
fn json_of_both_kinds_is_read() {
    let all = "{\"workload_graph\": [\n{\"Id\": 1, \"Name\": \"c10d::allreduce_\", \"NodeType\": 7, \"runtime\": 5,\n\
               \"ctrlDeps\": [], \"comm_size\": 8, \"comm_type\": 0, \"is_cpu_op\": false}]}\n";
    let messages = "{\n\"version\": \"0.0.4\"\n}{\n\"id\": \"1\", \"name\": \"x\", \"type\": \"COMM_COLL_NODE\",\n\
                    \"durationMicros\": \"5\",\n\"attr\": [{\"name\": \"comm_size\", \"int64Val\": \"8\"}, {\"name\": \"comm_type\",\n\
                    \"int64Val\": \"0\"}]\n}\n";
    for text in [all, messages] {
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        let Evidence::Workload(workload) = &reading.evidence[0].value else { panic!("{text}") };
        let one = &workload.collectives[0];
        assert_eq!(
            (one.kind.as_deref(), one.bytes.map(weft_base::Bytes::get)),
            (Some("all-reduce"), Some(8)),
            "{text}"
        );
        assert_eq!((one.time.get(), reading.diagnostics.len()), (5_000_000, 0), "{:?}", reading.diagnostics);
    }
}

fn rows(nodes: &[Node]) -> (ExecutionTrace, Vec<Diagnostic>) {
    let mut bytes =
        GlobalMetadata { version: "0.0.4".to_owned(), attr: vec![] }.encode_length_delimited_to_vec();
    bytes.extend(nodes.iter().flat_map(Message::encode_length_delimited_to_vec));
    execution_trace("t.0.et", &bytes)
}

fn said(found: &[Diagnostic]) -> Vec<(&'static str, &str)> {
    found.iter().map(|finding| (finding.code.name, finding.message.as_str())).collect()
}

#[test]
fn rows_come_after_what_they_wait_for() {
    let data =
        |id, deps: &[u64]| Node { data_deps: deps.to_vec(), ctrl_deps: vec![], ..compute(id, false, 5, &[]) };
    let send = Node {
        kind: 5,
        attr: vec![
            Attribute { int32: Some(3), ..attribute("comm_dst") },
            Attribute { uint32: Some(9), ..attribute("comm_tag") },
            Attribute { int64: Some(4096), ..attribute("comm_size") },
        ],
        ..data(4, &[1])
    };
    // 7 waits for 9, so that 4 comes before it although it stands behind.
    let (trace, found) = rows(&[data(7, &[9]), data(9, &[4]), send, data(1, &[])]);
    assert_eq!((said(&found), trace.version.as_str()), (vec![], "0.0.4"));
    let ids: Vec<u64> = trace.nodes.iter().map(|node| node.id_number).collect();
    assert_eq!(ids, [1, 4, 9, 7]);
    let waits: Vec<&[u32]> = trace.nodes.iter().map(|node| &*node.data_deps).collect();
    assert_eq!(waits, [&[][..], &[0], &[1], &[2]]);
    let sent = &trace.nodes[1];
    assert_eq!((sent.kind, sent.destination_rank, sent.tag_number), (WorkloadNodeKind::Send, Some(3), 9));
    assert_eq!((sent.bytes.map(weft_base::Bytes::get), sent.duration.get()), (Some(4096), 5_000_000));
}

#[test]
fn rows_that_cannot_be_played_are_named() {
    let data =
        |id, deps: &[u64]| Node { data_deps: deps.to_vec(), ctrl_deps: vec![], ..compute(id, false, 5, &[]) };
    let (trace, found) = rows(&[data(1, &[77])]);
    let why = "node 1 (`op-1`) needs the result of node 77, which is not there";
    assert_eq!((said(&found), trace.nodes.len()), (vec![("trace-graph", why)], 0));
    assert_eq!(found[0].place.as_ref().unwrap().file, "t.0.et");
    // 5 waits for 3, which waits for 2, which waits for 5; 8 stands behind them.
    let (_, found) = rows(&[data(2, &[5]), data(3, &[2]), data(5, &[3]), data(8, &[5])]);
    let why = "nodes wait for each other in a circle: 3 (`op-3`) before 5 (`op-5`) before 2 (`op-2`) before 3 (`op-3`)";
    assert_eq!(said(&found), [("trace-graph", why)]);
    let (_, found) = rows(&[data(2, &[]), data(2, &[])]);
    assert!(
        found[0].message.contains("1 nodes have the id of another one, the first of them 2"),
        "{found:?}"
    );
    let (_, found) = rows(&[collective(4, 12, 8, &[])]);
    let why = "node 4 (`ncclDevKernel_4`) is no known collective: `comm_type` 12 is none that Chakra lists";
    assert_eq!(said(&found), [("trace-collective", why)]);
    let long = Node { name: "k".repeat(300), ..data(1, &[77]) };
    assert!(rows(&[long]).1[0].message.len() < 120);
    // An empty message is no node.
    let mut bytes = step();
    bytes.extend([0, 0, 0]);
    let (_, found) = execution_trace("t.0.et", &bytes);
    assert!(found[0].code.name == "trace-damaged" && found[0].message.contains("behind node 6"), "{found:?}");
    // A caller that was not recorded is only worth a note.
    let (trace, found) = rows(&[compute(2, false, 1, &[1])]);
    assert_eq!((trace.nodes.len(), found[0].severity), (1, Severity::Note));
}

#[test]
fn callers_that_wait_for_what_they_call_are_not_waited_for() {
    // As in traces of PyTorch: 2 calls kernel 3 and needs its result; 1 calls 2, 4 is called by 3.
    let node = |id, data: &[u64], control: &[u64]| Node {
        data_deps: data.to_vec(),
        ctrl_deps: control.to_vec(),
        ..compute(id, false, 5, &[])
    };
    let nodes = [node(1, &[], &[]), node(2, &[3], &[1]), node(3, &[], &[2]), node(4, &[], &[3])];
    let (trace, found) = rows(&nodes);
    let why = "1 control dependencies contradict the data dependencies, the first of them that of node 3 (`op-3`) on 2 (`op-2`); they are not waited for";
    assert_eq!((said(&found), found[0].severity), (vec![("trace-graph", why)], Severity::Warning));
    let ids: Vec<u64> = trace.nodes.iter().map(|node| node.id_number).collect();
    assert_eq!(ids, [1, 3, 2, 4]);
    let waits: Vec<&[u32]> = trace.nodes.iter().map(|node| &*node.control_deps).collect();
    assert_eq!(waits, [&[][..], &[], &[0], &[1]]);
    let observed = "{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": [{\"id\": 2, \"name\": \"[pytorch|profiler|execution_trace|thread]\", \"ctrl_deps\": 1}]}";
    let (_, found) = execution_trace("t.0.json", observed.as_bytes());
    assert!(found[0].message.starts_with("this is PyTorch's own execution trace"), "{found:?}");
}

#[test]
fn rows_of_damaged_files_say_where() {
    let bytes = step();
    let (trace, found) = execution_trace("t.0.et", &bytes[..bytes.len() - 5]);
    assert!(trace.nodes.is_empty() && found[0].message.contains("behind node 5"), "{found:?}");
    let (_, found) = execution_trace("t.0.et", b"\x89PNG\r\n");
    assert_eq!(said(&found), [("trace-damaged", "there is no node of an execution trace in it")]);
    let (_, found) = execution_trace("t.json", b"{\"nodes\": [{\"id\": 1, \"type\": 4},\n {\"id\":");
    assert_eq!((found[0].code.name, found[0].place.as_ref().unwrap().line), ("document-syntax", 2));
    let text = b"{\n\"version\": \"1\"\n}{\n\"id\": 1, \"type\": 4\n}{\n\"id\": 2, \"type\": 4, \"data_deps\": [9]\n}";
    let (_, found) = execution_trace("t.json", text);
    assert_eq!((found[0].code.name, found[0].place.as_ref().unwrap().line), ("trace-graph", 5));
}

#[test]
fn groups_are_read_where_pytorch_and_the_simulator_have_them() {
    let list = "['[{\"pg_name\": \"0\", \"ranks\": []}, {\"pg_name\": \"7\", \"ranks\": [4, 6]}]']";
    let groups = Node { id: 1, kind: 1, inputs: Some(Inputs { values: list.to_owned() }), ..Node::default() };
    let (trace, found) = rows(&[groups]);
    assert!(found.is_empty(), "{found:?}");
    let wanted = [("0".to_owned(), vec![]), ("7".to_owned(), vec![4, 6])];
    assert_eq!(trace.groups.into_iter().collect::<Vec<_>>(), wanted);
    let file = rank_groups("{\"0\": [0, 1], \"x\": [2, 3]}").unwrap();
    assert_eq!((file["0"].as_slice(), file["x"].as_slice()), (&[0, 1][..], &[2, 3][..]));
    assert!(rank_groups("{\"nodes\": [{\"id\": 1}]}").is_none() && rank_groups("{}").is_none());
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let (trace, found) = execution_trace("t.0.et", &bytes);
        proptest::prop_assert!(!trace.nodes.is_empty() || !found.is_empty());
    }

    #[test]
    fn no_damage_panics(at in 0usize..400, to: u8, cut in 0usize..400) {
        let mut bytes = step();
        let (at, cut) = (at % bytes.len(), cut % bytes.len());
        bytes[at] = to;
        let (trace, found) = execution_trace("t.0.et", &bytes[..bytes.len() - cut]);
        // Whatever is left waits only for what comes before it.
        for (place, node) in (0u32..).zip(&trace.nodes) {
            proptest::prop_assert!(node.data_deps.iter().chain(&node.control_deps).all(|before| *before < place));
        }
        proptest::prop_assert!(!trace.nodes.is_empty() || !found.is_empty());
    }
}
