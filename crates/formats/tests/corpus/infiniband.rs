//! What the InfiniBand commands say.

use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Reading, Record, Value};
use weft_testkit::noted::Noted;
use weft_topology::{Subnet, SubnetNodeKind};

/// What differs from the notes of a command's output.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    if !file.is_of(&["ibstat", "ibv_devinfo", "iblinkinfo", "ibnodes"]) {
        return None;
    }
    let found = Found::new(reading);
    let mut misses = Vec::new();
    for (key, wanted) in &file.expected {
        // 103.125 and 106.25 Gb/s on the wire are sold as 100, 41.25 as 40.
        let near = |found: f64| {
            found == 0.0 && file.number(key) == Some(0.0)
                || file.number(key).is_some_and(|wanted| (found - wanted).abs() <= wanted * 0.07)
        };
        if let Some(value) = value(key, &found).filter(|value| !near(*value)) {
            misses.push(format!("{key} is {value}, wanted {wanted:?}: {:?}", reading.diagnostics));
        }
    }
    for state in file.words("states").into_iter().flatten() {
        if !found.records.iter().any(|record| record.text("state") == Some(&state)) {
            misses.push(format!("no {state}"));
        }
    }
    Some(misses)
}

/// What was read of a text.
struct Found<'a> {
    records: Vec<&'a Record>,
    subnets: Vec<&'a Subnet>,
    reading: &'a Reading,
}

impl<'a> Found<'a> {
    fn new(reading: &'a Reading) -> Self {
        let mut found = Self { records: Vec::new(), subnets: Vec::new(), reading };
        for located in &reading.evidence {
            if let Evidence::Report(report) = &located.value {
                found.records.extend(&report.records);
            } else if let Evidence::Subnet(subnet) = &located.value {
                found.subnets.push(subnet);
            }
        }
        found
    }
}

fn gigabits(record: &Record) -> Option<u64> {
    match record.get("rate")? {
        Value::Rate(rate) => Some(rate.get() * 8 / 1_000_000_000),
        Value::Text(_) | Value::Count(_) | Value::Flag(_) => None,
    }
}

/// The value of one key of the notes in what was read; `None` for keys that these commands do not tell.
fn value(key: &str, found: &Found<'_>) -> Option<f64> {
    // Those that only the cable of another names have no line of their own, and were not counted.
    let nodes = |kind| {
        let all = found.subnets.iter().flat_map(|subnet| &subnet.nodes);
        all.filter(move |node| node.kind == kind && node.line != 0)
    };
    let records = |kind: &'static str| found.records.iter().filter(move |record| record.kind == kind);
    let count = match key {
        "hcas" => records("adapter").count(),
        "cas" => records("adapter").count() + nodes(SubnetNodeKind::Adapter).count(),
        "switches" => nodes(SubnetNodeKind::Switch).count(),
        "ports" => records("port").count(),
        "active" => records("port").filter(|port| port.text("state") == Some("PORT_ACTIVE")).count(),
        "rate" => usize::try_from(records("port").find_map(|port| gigabits(port))?).ok()?,
        "link_gbps" => {
            let rate =
                found.subnets.iter().flat_map(|subnet| &subnet.links).find_map(|link| link.signalling)?;
            let lane = Catalogue::embedded().link(rate.generation.link()).ok()?.lane.value.bits_per_second();
            // The notes round to what the generation is sold as.
            usize::try_from(lane * u64::from(rate.lanes) / 1_000_000_000).ok()?
        }
        "degraded" => {
            found.reading.diagnostics.iter().filter(|finding| finding.code.name == "fabric-link-slow").count()
        }
        _ => return None,
    };
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    Some(count as f64)
}
