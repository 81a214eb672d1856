use proptest::prelude::*;
use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Source, Value, read};

/// Where users live, in two pieces: no file of the repository names such a folder.
const HOMES: &str = concat!("/Us", "ers/");

use super::*;
use crate::commands::gather::names::Names;

/// What must not leave a machine.
#[derive(Debug, Clone)]
struct Planted {
    host: String,
    domain: String,
    user: String,
    guid: u64,
    serial: String,
    uuid: u128,
    ipv4: [u8; 4],
    ipv6: u128,
    mac: [u8; 6],
}

/// GUIDs; those that are digits only look like decimal numbers.
fn guids() -> impl Strategy<Value = u64> {
    let decimal = "[1-9][0-9]{12,15}";
    prop_oneof![
        (1u64 << 40)..u64::MAX / 2,
        decimal.prop_map(|digits| u64::from_str_radix(&digits, 16).unwrap_or(u64::MAX / 3)),
    ]
}

fn planted() -> impl Strategy<Value = Planted> {
    let nibbles = |bits: u128| bits | 0x1000_0000_0000_0000_0000_0000_0000_0000;
    (
        ("(rack|pod|gpunode)[a-z]{2,6}[0-9]{2,4}", "[a-z]{4,8}\\.(example|corp)", "(jo|an|mi)[a-z]{4,8}"),
        guids(),
        "[A-Z]{2}[0-9]{8,10}",
        any::<u128>().prop_map(nibbles),
        (11u8..126, any::<u8>(), any::<u8>(), 1u8..254),
        any::<u64>().prop_map(|low| 0x2001_0db8_0001_0002_0000_0000_0000_0000 | u128::from(low | 1 << 60)),
        any::<[u8; 5]>(),
    )
        .prop_map(|((host, domain, user), guid, serial, uuid, (a, b, c, d), ipv6, mac)| Planted {
            host,
            domain,
            user,
            guid,
            serial,
            uuid,
            ipv4: [a, b, c, d],
            ipv6,
            mac: [0xb8, mac[0], mac[1], mac[2], mac[3], mac[4]],
        })
}

/// `0123…` in groups of `size` with `sign` between.
fn grouped(digits: &str, size: usize, sign: &str) -> String {
    let parts: Vec<&str> = (0..digits.len() / size).map(|at| &digits[at * size..(at + 1) * size]).collect();
    parts.join(sign)
}

/// Each form in which tools print the planted names.
fn forms(planted: &Planted) -> Vec<String> {
    let guid = format!("{:016x}", planted.guid);
    let uuid = format!("{:032x}", planted.uuid);
    let uuid = [&uuid[..8], &uuid[8..12], &uuid[12..16], &uuid[16..20], &uuid[20..]].join("-");
    let mac: Vec<String> = planted.mac.iter().map(|octet| format!("{octet:02x}")).collect();
    let ipv4 = std::net::Ipv4Addr::from(planted.ipv4);
    let ipv6 = std::net::Ipv6Addr::from_bits(planted.ipv6);
    vec![
        planted.host.clone(),
        planted.host.to_uppercase(),
        planted.domain.clone(),
        planted.user.clone(),
        format!("{:x}", planted.guid),
        grouped(&guid, 4, ":"),
        grouped(&guid, 2, "-"),
        planted.serial.clone(),
        uuid,
        ipv4.to_string(),
        ipv6.to_string(),
        mac.join(":"),
        mac.join("-").to_uppercase(),
    ]
}

/// Outputs of several tools with the planted names in them.
fn files(planted: &Planted) -> Vec<String> {
    let Planted { host, domain, user, guid, serial, .. } = planted;
    let form = forms(planted);
    let (groups, dashes, uuid, ipv4, ipv6, mac) =
        (&form[5], &form[6], &form[8], &form[9], &form[10], &form[11]);
    vec![
        format!(
            "{host}.{domain}\nLinux {host} 5.15\nMar 12 10:00:00 {host} nv-fabricmanager[22]: on {}\n",
            form[1]
        ),
        format!(
            "Ca\t1 \"H-{guid:016x}\"\t\t# \"{host} mlx5_0\"\ncaguid=0x{guid:x}\n[1]({guid:x}) \t\"S-{guid:016x}\"[3]\t\t# \"MF0;{host}:MQM9700/U1\"\n"
        ),
        format!(
            "\tnode_guid:\t\t\t{groups}\n\t\tGID[  0]:\t\tfe80:0000:0000:0000:{groups}, RoCE v1\n\tNode GUID: 0x{guid:016x}\n"
        ),
        format!(
            "\tCapabilities: [148 v1] Device Serial Number {dashes}\n\t\t\t[SN] Serial number: {serial}\n"
        ),
        format!(
            "    Serial Number                         : {serial}\n    GPU UUID                              : GPU-{uuid}\n"
        ),
        format!(
            "    link/ether {mac} brd ff:ff:ff:ff:ff:ff\n    inet {ipv4}/24\n    inet6 {ipv6}/64 scope global\nHWADDR={}\n",
            form[12]
        ),
        format!(
            "NCCL_COMM_ID={ipv4}:29500\nNCCL_X=[{ipv6}]:1\nNCCL_TOPO_FILE={HOMES}{user}/topo.xml\nNCCL_NODE={host}\n"
        ),
        format!("|  0  N/A  N/A   1234  C   {HOMES}{user}/venv/bin/python  100MiB |\n{serial},{uuid}.\n"),
    ]
}

fn anonymiser(texts: &[String]) -> Anonymiser {
    let mut names = Names::default();
    for text in texts {
        names.learn(text);
    }
    // What the machine calls itself comes from the machine, not from outputs.
    let own = texts.first().and_then(|text| text.lines().next()).unwrap_or_default();
    names.add_host(own);
    Anonymiser::seeded("a secret", names)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_planted_survives_in_any_file(planted in planted()) {
        let texts = files(&planted);
        let mut anonymiser = anonymiser(&texts);
        for text in &texts {
            let made_up = anonymiser.text(text).to_lowercase();
            for form in forms(&planted) {
                prop_assert!(!made_up.contains(&form.to_lowercase()), "{form} in\n{made_up}of\n{text}");
            }
            prop_assert_eq!(made_up.lines().count(), text.lines().count());
        }
    }

    #[test]
    fn any_text_is_survived_and_changed_the_same_way_twice(text in "\\PC{0,60}[0-9a-f:.\\-x]{0,60}") {
        let mut anonymiser = anonymiser(&[]);
        prop_assert_eq!(anonymiser.text(&text), anonymiser.text(&text));
    }
}

#[test]
fn one_guid_becomes_one_other_in_all_its_forms() {
    let mut anonymiser = anonymiser(&[]);
    let text = anonymiser
        .text("0x0002c90300a1b2c3 2c90300a1b2c3 0002:c903:00a1:b2c3 S-0002c90300a1b2c3 fe80::2:c903:a1:b2c3");
    let words: Vec<&str> = text.split(' ').collect();
    let digits = words[0].strip_prefix("0x").expect("a GUID");
    assert!(
        digits.starts_with("000") && !digits.starts_with("0000") && digits != "0002c90300a1b2c3",
        "{text}"
    );
    assert_eq!(words[1], digits.trim_start_matches('0'));
    assert_eq!(words[2].replace(':', ""), digits);
    assert_eq!(words[3].strip_prefix("S-"), Some(digits));
    let bits = words[4].parse::<std::net::Ipv6Addr>().expect("an address").to_bits();
    assert_eq!(format!("{:016x}", bits & u128::from(u64::MAX)), digits);
}

#[test]
fn a_guid_that_looks_like_a_decimal_number_does_not_stay() {
    let node = "Ca\t1 \"H-1544316758654403\"\t\t# \"rack4-n17 mlx5_0\"\n[1](154431675865440) \t\"S-1544316758654409\"[3]\n";
    // Where they stand alone, they could be counters, had they not stood elsewhere.
    let elsewhere = "1544316758654403 154431675865440 1544316758654409 1544316758654999";
    let mut anonymiser = anonymiser(&[node.to_owned(), elsewhere.to_owned()]);
    let alone = anonymiser.text(elsewhere);
    let fabric = anonymiser.text(node);
    let words: Vec<&str> = alone.split(' ').collect();
    for real in ["1544316758654403", "154431675865440", "1544316758654409"] {
        assert!(!alone.contains(real) && !fabric.contains(real), "{real} in {alone}\n{fabric}");
    }
    assert_eq!(words[3], "1544316758654999");
    assert!(fabric.contains(&format!("\"H-{}\"", words[0])), "{alone}\n{fabric}");
    assert!(fabric.contains(&format!("[1]({}) ", words[1])), "{alone}\n{fabric}");
    assert!(fabric.contains(&format!("\"S-{}\"[3]", words[2])), "{alone}\n{fabric}");
}

#[test]
fn what_names_no_one_stays() {
    let mut anonymiser = anonymiser(&[]);
    for text in [
        "GPU 00000000:1B:00.0 0000:3b:00.0 mlx5_0 NVIDIA H100 80GB HBM3",
        "0000:3b:00 PCI:0000:18:00 10:14:06 ff:ff:ff:ff:ff:ff 127.0.0.1 0.0.0.0 ::1",
        "Driver Version : 550.54.14, VBIOS 96.00.89.00.01, firmware 28.39.1002",
        "ClusterUUID : 00000000-0000-0000-0000-000000000000",
        "rx_bytes: 8127364501928371 cpuset 0xffffffff,0xffffffff 0x0000000000000000 0xffffffffffffffff",
        "0x233010DE 131072 MiB 0x00000001/0x0000a000",
    ] {
        assert_eq!(anonymiser.text(text), text);
    }
}

#[test]
fn another_secret_makes_up_other_names() {
    let made_up = |seed: &str| Anonymiser::seeded(seed, Names::default()).text("0x0002c90300a1b2c3 10.1.2.3");
    assert_eq!(made_up("a"), made_up("a"));
    assert_ne!(made_up("a"), made_up("b"));
    let random = || Anonymiser::random(Names::default()).text("0x0002c90300a1b2c3");
    assert_ne!(random(), random());
}

/// Kind and fields of a record; texts may hold names.
fn record(record: &weft_formats::Record) -> String {
    let field = |field: &weft_formats::Field| {
        let is_text = matches!(field.value, Value::Text(_));
        if is_text { field.name.clone() } else { format!("{} {:?}", field.name, field.value) }
    };
    format!("{} {:?}", record.kind, record.fields.iter().map(field).collect::<Vec<_>>())
}

/// What is read, without the names in it.
fn read_as(text: &str) -> Vec<String> {
    let reading = read(&Source::file("t", text), Catalogue::embedded(), None);
    let shape = |evidence: &Evidence| {
        if let Evidence::Report(report) = evidence {
            return format!("{} {:?}", report.format, report.records.iter().map(record).collect::<Vec<_>>());
        }
        if let Evidence::Topology(matrix) = evidence {
            let cells = matrix.cells().iter().map(|cell| (cell.row, cell.column, cell.class));
            return format!("{:?}", cells.collect::<Vec<_>>());
        }
        if let Evidence::Subnet(subnet) = evidence {
            return format!("{} nodes, {} links", subnet.nodes.len(), subnet.links.len());
        }
        if let Evidence::Host(host) = evidence {
            return format!("{} devices, {} links", host.devices.len(), host.gpu_links.len());
        }
        format!("{:?}", std::mem::discriminant(evidence))
    };
    reading.evidence.iter().map(|found| shape(&found.value)).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests read the examples from disk")]
fn anonymised_examples_read_as_before_but_for_names() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/formats");
    let mut count = 0;
    for format in std::fs::read_dir(folder).expect("the examples").flatten() {
        for file in std::fs::read_dir(format.path()).expect("examples of a format").flatten() {
            let Ok(text) = std::fs::read_to_string(file.path()) else { continue };
            let mut names = Names::default();
            names.learn(&text);
            let made_up = Anonymiser::seeded("s", names).text(&text);
            assert_eq!(read_as(&made_up), read_as(&text), "{}\n{made_up}", file.path().display());
            count += 1;
        }
    }
    assert!(count > 20, "{count} examples");
}
