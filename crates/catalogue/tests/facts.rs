//! Every fact in the catalogue parses, has a source that exists, refers to entries that exist, and is sane.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail a test")]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use weft_base::{Loss, Rate, simplify};
use weft_catalogue::{Attachment, Catalogue, Grade, LinkFamily, LinkKind, Machine, SwitchKind};

/// The kinds of entries, without the sources.
const KINDS: [&str; 18] = [
    "links",
    "gpus",
    "nics",
    "switches",
    "cpus",
    "retimers",
    "channels",
    "systems",
    "libraries",
    "transceivers",
    "cables",
    "servers",
    "models",
    "frameworks",
    "engines",
    "prices",
    "failures",
    "restarts",
];

/// The text that the build embeds, as a generic document: no type can hide a field from these tests.
fn document() -> Value {
    serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/catalogue.json"))).unwrap()
}

/// Calls `visit` with every object of every entry and with where it stands (`links/pcie4/lane`).
fn for_each_object(document: &Value, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    for kind in KINDS {
        for entry in document[kind].as_array().unwrap() {
            walk(entry, &format!("{kind}/{}", entry["name"].as_str().unwrap()), visit);
        }
    }
}

fn walk(value: &Value, place: &str, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    if let Some(object) = value.as_object() {
        visit(place, object);
        object.iter().for_each(|(key, inner)| walk(inner, &format!("{place}/{key}"), visit));
    }
    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
        walk(inner, &format!("{place}/{index}"), visit);
    }
}

/// Fails with all complaints at once, so that a reader sees the whole damage.
#[track_caller]
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

fn link(name: &str) -> &'static LinkKind {
    Catalogue::embedded().links.iter().find(|link| link.name == name).unwrap()
}

#[test]
fn the_embedded_catalogue_parses() {
    let catalogue = Catalogue::embedded();
    assert!(catalogue.gpu("A100-SXM4-80GB").is_ok());
    let error = catalogue.gpu("a100-smx4-80gb").unwrap_err();
    assert_eq!(error.near.first().map(String::as_str), Some("a100-sxm4-80gb"));
}

#[test]
fn every_kind_has_entries_and_spellings_lead_to_them() {
    let document = document();
    for kind in KINDS {
        assert!(!document[kind].as_array().unwrap().is_empty(), "no {kind}");
    }
    let catalogue = Catalogue::embedded();
    assert_eq!(catalogue.link("PCIe Gen4").unwrap().name, "pcie4");
    assert_eq!(catalogue.link("ndr").unwrap().name, "infiniband-ndr");
    assert_eq!(catalogue.cpu("EPYC 7742").unwrap().name, "epyc-rome");
    assert_eq!(catalogue.switch("QM9700").unwrap().name, "quantum-2-qm9700");
    assert_eq!(catalogue.library("nccl").unwrap().name, "nccl-2.30");
    assert_eq!(catalogue.retimer("PT5161L").unwrap().name, "aries-pcie5");
    assert!(catalogue.channel("riser-flex").is_ok());
}

#[test]
fn every_value_has_a_grade_and_a_source_that_exists() {
    let document = document();
    let sources = document["sources"].as_object().unwrap();
    let mut complaints = Vec::new();
    let mut facts = 0_u32;
    for_each_object(&document, &mut |place, object| {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        if object.contains_key("value") || object.contains_key("grade") {
            facts += 1;
            if text("grade").is_none() || text("source").is_none() {
                complaints.push(format!("{place} lacks a grade or a source"));
            }
        }
        match text("source") {
            Some(source) if !sources.contains_key(source) => {
                complaints.push(format!("{place} cites `{source}`, which no file of sources has"));
            }
            Some(_) | None => {}
        }
    });
    assert_none(&complaints);
    assert!(facts > 1000, "only {facts} facts were walked over");
}

#[test]
fn what_is_derived_or_assumed_says_from_what() {
    let mut complaints = Vec::new();
    for_each_object(&document(), &mut |place, object| {
        let grade = object.get("grade").and_then(Value::as_str);
        let silent = object.get("note").and_then(Value::as_str).is_none_or(str::is_empty);
        if matches!(grade, Some("derived" | "assumed")) && silent {
            complaints.push(format!("{place} is {} without a note", grade.unwrap()));
        }
    });
    assert_none(&complaints);
}

#[test]
fn every_source_is_used_and_says_where_it_is_found() {
    let document = document();
    let mut used = BTreeSet::new();
    for_each_object(&document, &mut |_, object| {
        used.extend(object.get("source").and_then(Value::as_str).map(str::to_owned));
    });
    let mut complaints = Vec::new();
    for (key, source) in document["sources"].as_object().unwrap() {
        if !used.contains(key) {
            complaints.push(format!("nobody uses the source `{key}`"));
        }
        if ["title", "publisher", "address"].iter().any(|field| source[field].as_str().unwrap().is_empty()) {
            complaints.push(format!("the source `{key}` has an empty field"));
        }
    }
    assert_none(&complaints);
}

#[test]
fn no_spelling_means_two_entries_of_one_kind() {
    let document = document();
    let mut complaints = Vec::new();
    for kind in KINDS {
        let mut owners: BTreeMap<String, &str> = BTreeMap::new();
        for entry in document[kind].as_array().unwrap() {
            let name = entry["name"].as_str().unwrap();
            let others = entry["aliases"].as_array().into_iter().flatten().chain([&entry["title"]]);
            for spelling in others.filter_map(Value::as_str).chain([name]) {
                let owner = owners.entry(simplify(spelling)).or_insert(name);
                if *owner != name {
                    complaints.push(format!("{kind}: `{spelling}` means `{name}` and `{owner}`"));
                }
            }
        }
    }
    assert_none(&complaints);
}

/// Collects references that lead nowhere or to something of another family.
struct References {
    catalogue: &'static Catalogue,
    complaints: Vec<String>,
}

impl References {
    fn new() -> Self {
        Self { catalogue: Catalogue::embedded(), complaints: Vec::new() }
    }

    fn link(&mut self, who: &str, name: &str, families: &[LinkFamily]) {
        match self.catalogue.links.iter().find(|link| link.name == name) {
            None => self.complaints.push(format!("{who} names the link kind `{name}`, which does not exist")),
            Some(link) if !families.contains(&link.family) => {
                self.complaints.push(format!("{who} names `{name}`, which is {}", link.family.word()));
            }
            Some(_) => {}
        }
    }

    fn attachment(&mut self, who: &str, attachment: Option<&Attachment>, families: &[LinkFamily]) {
        if let Some(attachment) = attachment {
            self.link(who, &attachment.link, families);
            if attachment.count.value == 0 {
                self.complaints.push(format!("{who} has no `{}` at all: leave it out", attachment.link));
            }
            let announced = self.catalogue.link(&attachment.link).is_ok_and(is_announced);
            if announced && attachment.count.grade != Grade::Announced {
                self.complaints.push(format!("{who} ships with the announced `{}`", attachment.link));
            }
        }
    }

    fn one_of<'a>(&mut self, who: &str, name: Option<&String>, known: impl Iterator<Item = &'a str>) {
        if let Some(name) = name.filter(|name| known.into_iter().all(|known| known != name.as_str())) {
            self.complaints.push(format!("{who} names `{name}`, which does not exist"));
        }
    }
}

fn is_announced(link: &LinkKind) -> bool {
    link.lane.grade == Grade::Announced
}

#[test]
fn every_reference_of_a_device_exists() {
    use LinkFamily::{Coherent, DisplayBridge, GpuFabric, Network, Pcie, Socket};
    let mut refs = References::new();
    for gpu in &refs.catalogue.gpus {
        refs.attachment(&gpu.name, gpu.pcie.as_ref(), &[Pcie]);
        refs.attachment(&gpu.name, gpu.fabric.as_ref(), &[GpuFabric, Network]);
        refs.attachment(&gpu.name, gpu.coherent.as_ref(), &[Coherent, GpuFabric]);
        for bridge in &gpu.bridges {
            refs.link(&gpu.name, &bridge.link, &[GpuFabric, DisplayBridge]);
            let frames_only =
                refs.catalogue.link(&bridge.link).is_ok_and(|link| link.family == DisplayBridge);
            if frames_only == bridge.carries_data {
                refs.complaints
                    .push(format!("{}: `{}` carries frames or data, not both", gpu.name, bridge.link));
            }
        }
    }
    for nic in &refs.catalogue.nics {
        nic.links.iter().for_each(|name| refs.link(&nic.name, name, &[Network]));
        refs.attachment(&nic.name, Some(&nic.pcie), &[Pcie]);
    }
    for switch in &refs.catalogue.switches {
        let family = match switch.kind {
            SwitchKind::GpuFabric => GpuFabric,
            SwitchKind::Pcie => Pcie,
            SwitchKind::Network => Network,
        };
        refs.link(&switch.name, &switch.link, &[family]);
        if is_announced(link(&switch.link)) && switch.ports.grade != Grade::Announced {
            refs.complaints.push(format!("{} ships with announced ports", switch.name));
        }
    }
    for cpu in &refs.catalogue.cpus {
        refs.attachment(&cpu.name, Some(&cpu.pcie), &[Pcie]);
        refs.attachment(&cpu.name, cpu.socket.as_ref(), &[Socket, Coherent]);
    }
    for retimer in &refs.catalogue.retimers {
        retimer.links.iter().for_each(|name| refs.link(&retimer.name, name, &[Pcie]));
    }
    for part in &refs.catalogue.channels {
        part.loss.iter().for_each(|loss| refs.link(&part.name, &loss.link, &[Pcie]));
    }
    assert_none(&refs.complaints);
}

#[test]
fn every_reference_of_a_system_exists() {
    let mut refs = References::new();
    for machine in &refs.catalogue.systems {
        assert!(machine.grade.is_some() && machine.source.is_some(), "{} has no source", machine.name);
        refer_to_devices(&mut refs, machine);
        refer_to_links(&mut refs, machine);
        numbers_in_range(&mut refs, machine);
    }
    assert_none(&refs.complaints);
}

fn refer_to_devices(refs: &mut References, machine: &Machine) {
    let (catalogue, who) = (refs.catalogue, machine.name.as_str());
    refs.one_of(who, machine.host.cpu.as_ref(), catalogue.cpus.iter().map(|cpu| cpu.name.as_str()));
    for group in &machine.gpus {
        refs.one_of(who, group.model.as_ref(), catalogue.gpus.iter().map(|gpu| gpu.name.as_str()));
    }
    for group in &machine.nics {
        refs.one_of(who, group.model.as_ref(), catalogue.nics.iter().map(|nic| nic.name.as_str()));
    }
    let switches = |kind| {
        catalogue.switches.iter().filter(move |switch| switch.kind == kind).map(|switch| switch.name.as_str())
    };
    for branch in &machine.pcie {
        refs.one_of(who, branch.switch.as_ref(), switches(SwitchKind::Pcie).chain(["any"]));
        for piece in &branch.channel {
            let parts = catalogue.channels.iter().map(|part| part.name.as_str());
            let retimers = catalogue.retimers.iter().map(|retimer| retimer.name.as_str());
            refs.one_of(who, Some(&piece.part), parts.chain(retimers));
        }
    }
    let fabric = machine.fabric.as_ref().and_then(|fabric| fabric.switch.as_ref());
    refs.one_of(who, fabric, switches(SwitchKind::GpuFabric));
    let network = machine.network.as_ref().and_then(|network| network.switch.as_ref());
    refs.one_of(who, network, switches(SwitchKind::Network));
}

fn refer_to_links(refs: &mut References, machine: &Machine) {
    use LinkFamily::{Coherent, DisplayBridge, GpuFabric, Network, Pcie};
    let who = machine.name.as_str();
    for name in machine.nics.iter().filter_map(|group| group.link.as_ref()) {
        refs.link(who, name, &[Network]);
    }
    for branch in &machine.pcie {
        for name in branch.link.iter().chain(&branch.device_link) {
            refs.link(who, name, &[Pcie]);
        }
    }
    if let Some(name) = machine.fabric.as_ref().and_then(|fabric| fabric.link.as_ref()) {
        refs.link(who, name, &[GpuFabric, Coherent, Network]);
    }
    for bridge in machine.bridges.iter().filter(|bridge| bridge.kind != "nvlink-bridge") {
        refs.link(who, &bridge.kind, &[GpuFabric, DisplayBridge, Pcie]);
    }
}

fn numbers_in_range(refs: &mut References, machine: &Machine) {
    let gpus: u16 = machine.gpus.iter().map(|group| group.count).sum();
    let nics: u16 = machine.nics.iter().map(|group| group.count).sum();
    let mesh = machine.fabric.iter().flat_map(|fabric| &fabric.mesh).flat_map(|pair| [pair.a, pair.b]);
    let bridged = machine.bridges.iter().flat_map(|bridge| bridge.gpus.iter().copied());
    let hung = machine.pcie.iter().flat_map(|branch| branch.gpus.iter().copied());
    if mesh.chain(bridged).chain(hung).any(|gpu| gpu >= gpus) {
        refs.complaints.push(format!("{} numbers a GPU beyond its {gpus}", machine.name));
    }
    if machine.pcie.iter().flat_map(|branch| &branch.nics).any(|nic| *nic >= nics) {
        refs.complaints.push(format!("{} numbers a NIC beyond its {nics}", machine.name));
    }
    if machine.pcie.iter().any(|branch| branch.socket >= machine.host.sockets) {
        refs.complaints.push(format!("{} hangs a branch off a socket that it lacks", machine.name));
    }
}

#[test]
fn rates_ratios_and_latencies_of_links_are_in_sane_ranges() {
    let mut complaints = Vec::new();
    for link in &Catalogue::embedded().links {
        let mut demand = |holds: bool, what: &str| {
            if !holds {
                complaints.push(format!("{}: {what}", link.name));
            }
        };
        let rate = link.rate(1);
        demand(
            rate >= Rate::from_gigabytes(0.1) && rate <= Rate::from_gigabytes(200.0),
            "odd rate of one link",
        );
        demand(link.usable(1) <= rate, "more is usable than the link carries");
        for ratio in [&link.encoding, &link.protocol, &link.achieved].into_iter().flatten() {
            let share = ratio.value.as_f64();
            demand(share > 0.5 && share <= 1.0, "an efficiency outside 0.5 to 1");
        }
        if let (Some(protocol), Some(achieved)) = (&link.protocol, &link.achieved) {
            let gain = achieved.value.as_f64() / protocol.value.as_f64();
            demand(gain < 1.02, "programs reach more than the protocol leaves");
        }
        if let Some(latency) = &link.latency {
            let limit = if link.family == LinkFamily::Network { 20.0 } else { 1.0 };
            let microseconds = latency.value.as_microseconds();
            demand(microseconds >= 0.01 && microseconds <= limit, "odd latency");
        }
        demand(link.widths.is_empty() != (link.family == LinkFamily::Pcie), "only PCIe is sold by the lane");
        demand(link.channel_budget.is_none() || link.family == LinkFamily::Pcie, "a budget besides PCIe");
    }
    assert_none(&complaints);
}

#[test]
fn rates_and_latencies_of_cpus_switches_and_retimers_are_in_sane_ranges() {
    let catalogue = Catalogue::embedded();
    for cpu in &catalogue.cpus {
        let gigabytes = cpu.memory_rate.value.as_gigabytes();
        assert!((30.0..1300.0).contains(&gigabytes), "{}: memory at {gigabytes} GB/s", cpu.name);
        let slot = link(&cpu.pcie.link).rate(16);
        for peer in [&cpu.peer_rate, &cpu.nic_peer_rate].into_iter().flatten() {
            assert!(peer.value < slot, "{}: a peer stream of {} in a slot of {slot}", cpu.name, peer.value);
        }
    }
    for switch in &catalogue.switches {
        assert!((18..=256).contains(&switch.ports.value), "{}: odd number of ports", switch.name);
        let nanoseconds =
            switch.latency.as_ref().map_or(100.0, |latency| latency.value.as_microseconds() * 1e3);
        assert!((50.0..1000.0).contains(&nanoseconds), "{}: {nanoseconds} ns", switch.name);
    }
    for retimer in &catalogue.retimers {
        let nanoseconds = retimer.latency.value.as_microseconds() * 1e3;
        assert!((5.0..100.0).contains(&nanoseconds), "{}: {nanoseconds} ns", retimer.name);
    }
}

#[test]
fn years_are_plausible() {
    let document = document();
    let mut complaints = Vec::new();
    for kind in KINDS {
        for entry in document[kind].as_array().unwrap() {
            if let Some(year) = entry["year"].as_u64().filter(|year| !(1999..=2027).contains(year)) {
                complaints.push(format!("{kind}/{}: {year}", entry["name"]));
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn announced_links_are_announced_in_every_fact_and_no_others_are() {
    let announced: Vec<&LinkKind> =
        Catalogue::embedded().links.iter().filter(|link| is_announced(link)).collect();
    let names: Vec<&str> = announced.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["nvlink6", "slingshot-400", "ualink-200", "ultra-ethernet-800g"]);
    let document = document();
    for entry in document["links"].as_array().unwrap() {
        let expected = names.contains(&entry["name"].as_str().unwrap());
        walk(entry, entry["name"].as_str().unwrap(), &mut |place, object| {
            if let Some(grade) = object.get("grade") {
                assert_eq!(grade == "announced", expected, "{place}");
            }
        });
    }
}

#[test]
fn rates_of_links_are_lanes_times_signalling_times_encoding() {
    // PCIe, 16 lanes: 2.5 x 16 / 8 x 8/10 = 4, twice that, 8 x 16 / 8 x 128/130 = 15.75, twice, four times,
    // and 64 x 16 / 8 x 242/256 = 121 GB/s.
    for (name, rate) in [
        ("pcie1", "4"),
        ("pcie2", "8"),
        ("pcie3", "15.75"),
        ("pcie4", "31.51"),
        ("pcie5", "63.02"),
        ("pcie6", "121"),
    ] {
        assert_eq!(link(name).rate(16).to_string(), format!("{rate} GB/s"), "{name} x16");
    }
    // Lanes x Gb/s x encoding / 8 per link, times links: 8 x 20 / 8 x 4 = 80; 8 x 25.78125 x 64/66 / 8 x 6 = 150;
    // 4 x 50 / 8 x 12 = 300; 4 x 28.125 / 8 x 4 = 56.25; 2 x 106.25 x 16/17 / 8 x 18 = 450; twice that;
    // 2 x 200 / 8 x 36 = 1800; 9 x 40 / 8 x 10 = 450; 16 x 32 / 8 x 7 = 448; 800 / 8 x 6 = 600.
    for (name, links, rate) in [
        ("nvlink1", 4, "80"),
        ("nvlink2", 6, "150"),
        ("nvlink3", 12, "300"),
        ("nvlink3-ga102", 4, "56.25"),
        ("nvlink4", 18, "450"),
        ("nvlink5", 18, "900"),
        ("nvlink6", 36, "1800"),
        ("nvlink-c2c", 10, "450"),
        ("xgmi-mi300", 7, "448"),
        ("tpu-ici-v5p", 6, "600"),
    ] {
        assert_eq!(link(name).rate(links).to_string(), format!("{rate} GB/s"), "{links} {name}");
    }
    // Four lanes: 2.5 x 8/10, 10 x 8/10, 14.0625 x 64/66, 25.78125 x 64/66, 53.125 x 16/17 and so on, over 8;
    // HDR100 and NDR200 have two lanes. QPI: 9.6 x 16 / 8; UPI: 10.4 x 16 / 8.
    for (name, rate) in [
        ("infiniband-sdr", "1"),
        ("infiniband-qdr", "4"),
        ("infiniband-fdr", "6.818"),
        ("infiniband-edr", "12.5"),
        ("infiniband-hdr100", "12.5"),
        ("infiniband-hdr", "25"),
        ("infiniband-ndr200", "25"),
        ("infiniband-ndr", "50"),
        ("infiniband-xdr", "100"),
        ("ualink-200", "100"),
        ("qpi", "19.2"),
        ("upi", "20.8"),
    ] {
        assert_eq!(link(name).rate(1).to_string(), format!("{rate} GB/s"), "{name}");
    }
}

#[test]
fn one_wire_carries_less_with_tcp_than_with_roce() {
    for rate in ["25g", "40g", "50g", "100g", "200g", "400g", "800g"] {
        let [wire, tcp, roce] = ["ethernet", "tcp", "roce"].map(|kind| link(&format!("{kind}-{rate}")));
        assert_eq!((wire.rate(1), wire.rate(1)), (tcp.rate(1), roce.rate(1)), "{rate}");
        assert!(tcp.usable(1) < roce.usable(1), "{rate}");
        let latency = |link: &LinkKind| link.latency.as_ref().unwrap().value;
        assert!(latency(tcp) > latency(roce), "{rate}");
    }
    // 100 Gb/s: 12.5 x 0.8 = 10 and 12.5 x 0.96 = 12 GB/s, which NCCL reaches.
    assert_eq!(link("tcp-100g").usable(1).to_string(), "10 GB/s");
    assert_eq!(link("roce-100g").usable(1).to_string(), "12 GB/s");
}

fn loss(part: &str, kind: &str) -> Loss {
    let part = Catalogue::embedded().channel(part).unwrap();
    part.loss.iter().find(|loss| loss.link == kind).unwrap().loss.value
}

#[test]
fn channel_parts_lose_more_at_higher_frequencies_and_better_laminates_lose_less() {
    for part in &Catalogue::embedded().channels {
        let losses = ["pcie3", "pcie4", "pcie5", "pcie6"].map(|kind| loss(&part.name, kind));
        // PCIe 6 signals four levels at the frequency of PCIe 5, so the same metal loses the same.
        assert!(losses[0] < losses[1] && losses[1] < losses[2] && losses[2] == losses[3], "{}", part.name);
    }
    let laminates = ["trace-standard", "trace-mid-loss", "trace-low-loss", "trace-ultra-low-loss"];
    assert!(laminates.map(|part| loss(part, "pcie5")).is_sorted_by(|worse, better| worse > better));
}

#[test]
fn a_mid_loss_board_of_14_inches_needs_a_retimer_from_pcie_5_on() {
    // budget - package - slot - card: 28 - 5 - 1 - 8 = 14 dB and 36 - 9 - 1.5 - 9.5 = 16 dB for the board,
    // which takes 14 x 0.70 = 9.8 dB at 8 GHz and 14 x 1.21 = 16.94 dB at 16 GHz.
    let for_the_board = |kind: &str| {
        let budget = link(kind).channel_budget.as_ref().unwrap().value;
        budget - loss("package", kind) - loss("cem-connector", kind) - loss("add-in-card", kind)
    };
    let board = |kind: &str| loss("trace-mid-loss", kind) * 14;
    assert_eq!(
        (for_the_board("pcie4").to_string(), board("pcie4").to_string()),
        ("14 dB".into(), "9.8 dB".into())
    );
    assert_eq!(
        (for_the_board("pcie5").to_string(), board("pcie5").to_string()),
        ("16 dB".into(), "16.94 dB".into())
    );
}

#[test]
fn nccl_tables_are_complete() {
    let tables = &Catalogue::embedded().library("nccl").unwrap().tables;
    let expected = "base-latency hw-latency-net hw-latency-nvlink hw-latency-pcie link-rate ll-max nvls-efficiency \
        nvls-tree-per-channel pcie-lane-rate ring-ll128-per-channel rules speeds-inter speeds-intra \
        tree-correction tree-ll128-per-channel tree-per-channel";
    let missing: Vec<&str> = expected.split_whitespace().filter(|name| !tables.contains_key(*name)).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    for (name, table) in tables {
        for (row, numbers) in &table.rows {
            let fits = table.columns.is_empty() || table.columns.len() == numbers.len();
            assert!(fits && !numbers.is_empty(), "{name}/{row} does not fit its columns");
            assert!(numbers.iter().all(|number| number.is_finite() && *number >= 0.0), "{name}/{row}");
        }
    }
    for name in ["speeds-intra", "speeds-inter"] {
        assert!(tables[name].rows.values().all(|speeds| speeds.is_sorted_by(|a, b| a > b)), "{name} falls");
    }
    // A tree all-reduce of 1 MiB has index log2(2^20 / 64) = 14 of the correction.
    assert_eq!(tables["tree-correction"].columns[14], "1 MiB");
    assert_eq!(tables["tree-correction"].rows["LL"].len(), 24);
}

#[test]
#[expect(clippy::float_cmp, reason = "constants are copied, not computed")]
fn nccl_counts_less_than_the_wire_carries() {
    let tables = &Catalogue::embedded().library("nccl").unwrap().tables;
    let first = |table: &str, row: &str| tables[table].rows[row][0];
    for (row, kind) in [
        ("nvlink-sm60", "nvlink1"),
        ("nvlink-sm70", "nvlink2"),
        ("nvlink-sm80", "nvlink3"),
        ("nvlink-sm86", "nvlink3-ga102"),
        ("nvlink-sm90", "nvlink4"),
        ("nvlink-sm100", "nvlink5"),
    ] {
        let share = first("link-rate", row) / link(kind).rate(1).as_gigabytes();
        assert!((0.75..=0.95).contains(&share), "{row} counts {share} of {kind}");
    }
    // A lane of generation 4 counts 120, in units of 100 Mb/s: 16 x 120 / 80 = 24 GB/s of 31.5.
    assert_eq!(first("pcie-lane-rate", "gen4") * 16.0 / 80.0, 24.0);
    // 120/128 of a tree with LL128 between nodes, 7/9 within one.
    assert_eq!((first("rules", "tree-ll128-inter"), first("rules", "tree-ll128-intra")), (0.9375, 7.0 / 9.0));
    assert_eq!(tables["nvls-tree-per-channel"].rows["blackwell"], [0.0, 96.0, 80.0]);
    assert_eq!(tables["hw-latency-net"].rows["nvls-tree"], [0.0, 0.0, 20.9]);
}

#[test]
fn nvswitch_reduces_from_the_third_generation_on() {
    let reduces = ["nvswitch1", "nvswitch2", "nvswitch3", "nvswitch4"].map(|name| {
        Catalogue::embedded().switch(name).unwrap().reduces.as_ref().is_some_and(|reduces| reduces.value)
    });
    assert_eq!(reduces, [false, false, true, true]);
    // HGX B200: 8 GPUs x 18 links = 2 chips x 72 ports. NVL72: 72 x 18 = 18 x 72.
    let ports = u32::from(Catalogue::embedded().switch("nvswitch4").unwrap().ports.value);
    assert_eq!((8 * 18, 72 * 18), (2 * ports, 18 * ports));
}
