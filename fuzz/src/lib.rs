//! What fuzzing does: read, join, build. Nothing may panic, nothing may be lost in silence, and reading may not
//! allocate out of proportion to its input.

mod memory;

use std::sync::Once;

use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Overrides, Reading, Source, execution_trace, join, rank_groups, read};

/// Bytes that reading may hold at once per byte of input.
const BYTES_PER_BYTE: usize = 10;
/// The same per line: a line is a view into the text, which costs as much however short it is.
const BYTES_PER_LINE: usize = 64;
/// What reading needs whatever the input: the searcher for the marks of all formats, messages.
const BYTES_ALWAYS: usize = 1 << 20;

/// The same of a trace that is read to be played: the shortest node has five bytes, and all that is known of one is held.
const NODE_BYTES_PER_BYTE: usize = 128;

static WARM: Once = Once::new();

/// Reads `data` by the format called `name`, or by whichever fits, and builds what comes out.
pub fn run(name: Option<&str>, data: &[u8]) {
    let catalogue = Catalogue::embedded();
    WARM.call_once(|| drop(read(&Source::file("fuzz", "warm"), catalogue, None)));
    let mut source = Source::file("fuzz", String::from_utf8_lossy(data));
    if str::from_utf8(data).is_err() || data.contains(&0) {
        source.bytes = data.to_vec();
    }
    let lines = source.text.matches('\n').count() + 1;
    let (reading, peak) = memory::peak(|| read(&source, catalogue, name));
    let allowed =
        BYTES_PER_BYTE * source.text.len() + BYTES_PER_LINE * lines + BYTES_ALWAYS + named(&reading);
    assert!(peak <= allowed, "{} bytes of input took {peak} bytes to read", data.len());
    assert!(!reading.evidence.is_empty() || reading.failed(), "nothing read and nothing said");
    played(data, &source.text);
    let (mut case, _) = join(reading.evidence, &Overrides::default(), catalogue);
    if let Some(machine) = &mut case.machine {
        // A cluster of millions is valid and only slow.
        machine.host.count = 1;
        let _ = weft_topology::build(machine, catalogue);
    }
}

/// Traces are read a second way, node by node. What it gives waits only for what comes before it.
fn played(data: &[u8], text: &str) {
    let ((trace, found), peak) = memory::peak(|| execution_trace("fuzz.0.et", data));
    assert!(
        peak <= NODE_BYTES_PER_BYTE * data.len() + BYTES_ALWAYS,
        "{} bytes of trace took {peak}",
        data.len()
    );
    assert!(!trace.nodes.is_empty() || !found.is_empty(), "no node read and nothing said");
    for (place, node) in (0u32..).zip(&trace.nodes) {
        assert!(node.data_deps.iter().chain(&node.control_deps).all(|before| *before < place));
    }
    let _ = rank_groups(text);
}

/// What the hosts of host lists may take: `n[1-9000]` is 9,000 names, which must be held however short it is to write.
/// Each counts as if it were written out on a line of its own; the reader bounds how many there may be.
fn named(reading: &Reading) -> usize {
    let hosts = reading.evidence.iter().filter_map(|found| match &found.value {
        Evidence::Hierarchy(hierarchy) => Some(&hierarchy.leaves),
        _ => None,
    });
    hosts.flatten().map(|host| BYTES_PER_BYTE * (host.name.len() + 1) + BYTES_PER_LINE).sum()
}
