//! What the InfiniBand commands say, by the examples.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what is not as expected must stop the test")]

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Record, Source, Value, read};
use weft_topology::Subnet;

/// What was read of a text.
struct Found {
    records: Vec<Record>,
    subnets: Vec<Subnet>,
    diagnostics: Vec<Diagnostic>,
}

fn found(name: &str, text: &str) -> Found {
    let reading = read(&Source::file(name, text), Catalogue::embedded(), None);
    let mut found = Found { records: Vec::new(), subnets: Vec::new(), diagnostics: reading.diagnostics };
    for located in reading.evidence {
        if let Evidence::Report(report) = located.value {
            found.records.extend(report.records);
        } else if let Evidence::Subnet(subnet) = located.value {
            found.subnets.push(*subnet);
        }
    }
    found
}

#[expect(clippy::disallowed_methods, reason = "tests read examples from disk")]
fn example(path: &str) -> Found {
    let path = format!("{}/../../examples/formats/{path}", env!("CARGO_MANIFEST_DIR"));
    found(&path, &std::fs::read_to_string(&path).unwrap())
}

impl Found {
    fn record(&self, subject: &str) -> &Record {
        self.records.iter().find(|record| record.subject == subject).unwrap_or_else(|| panic!("no {subject}"))
    }

    fn said(&self) -> Vec<String> {
        self.diagnostics.iter().map(|finding| format!("{}: {}", finding.code.name, finding.message)).collect()
    }
}

fn gigabits(record: &Record) -> Option<u64> {
    match record.get("rate")? {
        Value::Rate(rate) => Some(rate.get() * 8 / 1_000_000_000),
        Value::Text(_) | Value::Count(_) | Value::Flag(_) => None,
    }
}

#[test]
fn ibstat_names_adapters_and_ports() {
    let found = example("ibstat/two-adapters.txt");
    let port = found.record("mlx5_0 port 1");
    assert_eq!((gigabits(port), port.count("base-lid")), (Some(400), Some(2)));
    assert_eq!(port.text("port-guid"), Some("0x0c42a10300a1b201"));
    assert_eq!(found.record("mlx5_1").text("firmware-version"), Some("28.39.1002"));
    assert_eq!(found.said(), ["port-not-active: mlx5_1 port 1 is Down (Polling)"]);
}

#[test]
fn ibstatus_and_ibv_devinfo_say_what_a_port_runs() {
    let found = example("ibstatus/two-ports.txt");
    let port = found.record("mlx5_0 port 1");
    assert_eq!(
        (gigabits(port), port.text("signalling"), port.count("base-lid")),
        (Some(200), Some("4X HDR"), Some(2))
    );
    assert_eq!(found.said(), ["port-not-active: mlx5_1 port 1 is DOWN (Disabled)"]);
    let found = example("ibv-devinfo/verbose.txt");
    let port = found.record("mlx5_0 port 1");
    // Four lanes of 100 Gb/s.
    assert_eq!((gigabits(port), port.count("active-mtu")), (Some(400), Some(4096)));
    assert_eq!(port.text("gid-0"), Some("fe80:0000:0000:0000:0c42:a103:00a1:b201"));
    assert!(found.said().is_empty(), "{:?}", found.said());
}

#[test]
fn counters_are_numbers_by_port() {
    let found = example("ibqueryerrors/leaf.txt");
    let port = found.record("0x0c42a10300a1b100 port 3");
    assert_eq!((port.count("symbol-error-counter"), port.count("link-downed-counter")), (Some(17), Some(2)));
    assert_eq!(found.record("0x0c42a10300a1b203 port 1").text("node"), Some("node-3 mlx5_0"));
    assert!(found.subnets.is_empty() && found.said().is_empty(), "{:?}", found.said());
    let found = example("perfquery/port.txt");
    assert_eq!(found.record("Lid 4 port 1").count("port-xmit-wait"), Some(4711));
}

#[test]
fn the_other_commands_give_their_fields() {
    let found = example("sminfo/master.txt");
    let manager = found.record("subnet manager");
    assert_eq!((manager.count("lid"), manager.count("priority")), (Some(1), Some(14)));
    assert_eq!(manager.text("guid"), Some("0x0c42a10300a1b2f0"));
    let found = example("show-gids/roce.txt");
    let gid = found.record("mlx5_0 port 1 gid 3");
    assert_eq!(
        (gid.text("version"), gid.text("ipv4"), gid.text("interface")),
        (Some("v2"), Some("10.0.0.1"), Some("ens1np0"))
    );
    let found = example("ibdev2netdev/verbose.txt");
    let port = found.record("mlx5_0 port 1");
    assert_eq!((port.text("interface"), port.text("address")), (Some("ibp27s0"), Some("0000:1b:00.0")));
    let found = example("mlxlink/hdr.txt");
    let port = found.record("port");
    assert_eq!(
        (port.text("speed"), port.count("link-down-counter"), port.text("raw-physical-ber")),
        (Some("IB-HDR"), Some(2), Some("3E-11"))
    );
    assert!(found.said().is_empty(), "{:?}", found.said());
}
