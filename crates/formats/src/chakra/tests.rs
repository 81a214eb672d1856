//! Traces made by the encoder that belongs to the messages, and what happens to damaged ones.

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
