//! The page of often-quoted figures holds what the catalogue computes: `WEFT_BLESS=1` rewrites its tables.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail a test")]

use std::fmt::Write as _;
use std::path::PathBuf;

use weft_catalogue::{Catalogue, Gpu, LinkKind, Machine};

/// What a figure would count, and what follows if it is that.
struct Reading {
    what: String,
    value: f64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The quote means this, and it is right.
    Meant,
    /// Both directions added.
    Sum,
    /// Right for this one, but not for what the quote speaks of in general.
    Some,
    /// A figure of something else.
    Other,
}

/// A figure as people quote it, with its readings.
struct Claim {
    key: &'static str,
    quote: &'static str,
    value: f64,
    unit: &'static str,
    /// How far a reading may be off, of the quoted value: quotes are rounded.
    tolerance: f64,
    /// Significant digits to print.
    digits: usize,
    /// The quote says that more is impossible, rather than that it is so much.
    at_most: bool,
    readings: Vec<Reading>,
}

impl Claim {
    fn new(key: &'static str, quote: &'static str, value: f64, unit: &'static str) -> Self {
        Self { key, quote, value, unit, tolerance: 0.001, digits: 4, at_most: false, readings: Vec::new() }
    }

    fn within(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    fn at_most(mut self) -> Self {
        self.at_most = true;
        self
    }

    fn digits(mut self, digits: usize) -> Self {
        self.digits = digits;
        self
    }

    fn reading(mut self, kind: Kind, what: impl Into<String>, value: f64) -> Self {
        self.readings.push(Reading { what: what.into(), value, kind });
        self
    }

    /// One direction, both, and what is reached in one direction, of `count` links or lanes.
    fn link(self, kind: Kind, of: &str, link: &LinkKind, count: u16) -> Self {
        let (one, reached) = (link.rate(count).as_gigabytes(), link.usable(count).as_gigabytes());
        let sum = if kind == Kind::Meant { Kind::Sum } else { kind };
        let mut claim = self.reading(kind, format!("{of}, one direction"), one);
        if link.achieved.is_some() {
            claim = claim.reading(Kind::Other, format!("{of}, one direction, reached"), reached);
        }
        claim.reading(sum, format!("{of}, both directions"), 2.0 * one)
    }

    fn fits(&self, reading: &Reading) -> bool {
        (reading.value - self.value).abs() <= self.tolerance * self.value
    }

    fn verdict(&self) -> &'static str {
        if self.at_most {
            let more = self.readings.iter().any(|reading| reading.value > self.value);
            return if more { "false" } else { "true" };
        }
        let mut kinds: Vec<Kind> = Vec::new();
        for reading in self.readings.iter().filter(|reading| self.fits(reading)) {
            if reading.kind != Kind::Other && !kinds.contains(&reading.kind) {
                kinds.push(reading.kind);
            }
        }
        match kinds[..] {
            [] => "false",
            [Kind::Meant] => "true",
            [Kind::Sum] => "true of the sum",
            _ => "half true",
        }
    }

    /// What the quoted figure counts, by the readings that it fits.
    fn counts(&self) -> String {
        let fitting: Vec<&Reading> = self.readings.iter().filter(|reading| self.fits(reading)).collect();
        let named: Vec<&str> = fitting.iter().map(|reading| reading.what.as_str()).collect();
        let named = named.join("; or: ");
        if fitting.is_empty() {
            "nothing: no reading gives it".to_owned()
        } else if self.at_most {
            format!("holds for: {named}")
        } else if fitting.iter().all(|reading| reading.kind == Kind::Other) {
            format!("something else: {named}")
        } else {
            named
        }
    }

    fn table(&self) -> String {
        let mut text = format!("**Verdict: {}.** What it counts: {}.\n\n", self.verdict(), self.counts());
        let _ = writeln!(text, "| what | {} |\n|---|---:|", self.unit);
        for reading in &self.readings {
            let value = number(reading.value, self.digits);
            let value = if self.fits(reading) { format!("**{value}**") } else { value };
            let _ = writeln!(text, "| {} | {value} |", reading.what);
        }
        text
    }
}

/// `digits` significant digits at most, halves up, trailing zeros cut.
fn number(value: f64, digits: usize) -> String {
    let value = value * (1.0 + 1e-9);
    let whole = format!("{:.0}", value.trunc()).len();
    let text = format!("{value:.0$}", digits.saturating_sub(whole));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn link(name: &str) -> &'static LinkKind {
    Catalogue::embedded().link(name).unwrap()
}

fn gpu(name: &str) -> &'static Gpu {
    Catalogue::embedded().gpu(name).unwrap()
}

fn system(name: &str) -> &'static Machine {
    Catalogue::embedded().system(name).unwrap()
}

/// NVLink (or xGMI) of a GPU: its kind and how many.
fn fabric(name: &str) -> (&'static LinkKind, u16) {
    let fabric = gpu(name).fabric.as_ref().unwrap();
    (link(&fabric.link), fabric.count.value)
}

/// The bridge of a GPU that carries data.
fn bridge(name: &str) -> (&'static LinkKind, u16) {
    let bridge = gpu(name).bridges.iter().find(|bridge| bridge.carries_data && !bridge.bridgeless).unwrap();
    (link(&bridge.link), bridge.links)
}

fn gpus(name: &str) -> u16 {
    let machine = system(name);
    machine.gpus.iter().map(|group| group.count).sum()
}

fn gpus_on_switches(name: &str) -> f64 {
    let machine = system(name);
    let spans = machine.fabric.as_ref().is_some_and(|fabric| fabric.spans_hosts);
    let hosts = if spans { machine.host.count } else { 1 };
    f64::from(u32::from(gpus(name)) * hosts)
}

/// `signal` is the rate on the wire, before the encoding.
fn pcie(key: &'static str, quote: &'static str, value: f64, kind: &LinkKind) -> Claim {
    let signal = kind.lane.value.rate(16, weft_base::Ratio::ONE).as_gigabytes();
    Claim::new(key, quote, value, "GB/s")
        .reading(Kind::Meant, "16 lanes, one direction, signalled", signal)
        .link(Kind::Meant, "16 lanes after the encoding", kind, 16)
        .reading(Kind::Sum, "16 lanes, both directions, signalled", 2.0 * signal)
}

/// NVLink of a GPU against PCIe of the same GPU, each in one direction after the encoding.
fn times_pcie(claim: Claim) -> Claim {
    let names =
        ["p100-sxm2-16gb", "v100-sxm2-32gb", "a100-sxm4-80gb", "h100-sxm5-80gb", "b200-sxm", "rtx-3090"];
    names.iter().fold(claim, |claim, name| {
        let (kind, count) = if gpu(name).bridges.is_empty() { fabric(name) } else { bridge(name) };
        let port = gpu(name).pcie.as_ref().unwrap();
        let lanes = link(&port.link).rate(port.count.value).as_gigabytes();
        let what = format!(
            "{}: {} x {count} to {} x{}",
            gpu(name).title,
            kind.title,
            link(&port.link).title,
            port.count.value
        );
        claim.reading(Kind::Some, what, kind.rate(count).as_gigabytes() / lanes)
    })
}

fn nvlink_claims() -> Vec<Claim> {
    let (a100, a100_links) = fabric("a100-sxm4-80gb");
    let (v100, v100_links) = fabric("v100-sxm2-32gb");
    let (h100, h100_links) = fabric("h100-sxm5-80gb");
    let (b200, b200_links) = fabric("b200-sxm");
    let (ga102, ga102_links) = bridge("rtx-3090");
    let latency = |kind: &LinkKind| kind.latency.as_ref().unwrap().value.as_microseconds();
    let lane = |kind: &LinkKind| gigabits(kind.lane.value.bits_per_second());
    let built_on = ["nvlink1", "nvlink2", "nvlink3", "nvlink4", "nvlink5"].iter().fold(
        Claim::new(
            "nvlink-on-pcie",
            "NVLink is built on PCIe Gen 4",
            lane(link("pcie4")),
            "Gb/s signalled by a lane",
        )
        .digits(5)
        .reading(Kind::Other, link("pcie4").title.as_str(), lane(link("pcie4"))),
        |claim, name| claim.reading(Kind::Some, link(name).title.as_str(), lane(link(name))),
    );
    vec![
        times_pcie(Claim::new("five-times", "NVLink is 5x PCIe", 5.0, "times").within(0.06).digits(3)),
        times_pcie(Claim::new("ten-times", "NVLink is 10x PCIe", 10.0, "times").within(0.06).digits(3)),
        Claim::new("nvlink-300", "NVLink: 300 GB/s", 300.0, "GB/s")
            .link(Kind::Meant, "V100, 6 NVLink 2", v100, v100_links)
            .link(Kind::Meant, "A100, 12 NVLink 3", a100, a100_links),
        Claim::new("nvlink-latency", "NVLink: 1.5 us", 1.5, "us")
            .reading(Kind::Meant, "NVLink 2, the link alone (assumed)", latency(v100))
            .reading(Kind::Meant, "NVLink 3, the link alone (assumed)", latency(a100)),
        Claim::new("nvlink3-600", "NVLink 3: 600 GB/s", 600.0, "GB/s")
            .link(Kind::Meant, "one link", a100, 1)
            .link(Kind::Meant, "A100, 12 links", a100, a100_links),
        Claim::new("a100-links", "An A100 has up to 18 NVLinks", 18.0, "links")
            .reading(Kind::Meant, "A100", f64::from(a100_links))
            .reading(Kind::Other, "V100", f64::from(v100_links))
            .reading(Kind::Other, "H100", f64::from(h100_links)),
        Claim::new("dgx-a100-300", "DGX A100: 300 GB/s per GPU", 300.0, "GB/s").link(
            Kind::Meant,
            "each GPU, 12 NVLinks to 6 NVSwitches",
            a100,
            a100_links,
        ),
        built_on,
        Claim::new("h100-900", "H100: 900 GB/s NVLink", 900.0, "GB/s").link(
            Kind::Meant,
            "each GPU, 18 NVLinks",
            h100,
            h100_links,
        ),
        Claim::new("b200-1800", "B200: 1.8 TB/s NVLink", 1800.0, "GB/s").link(
            Kind::Meant,
            "each GPU, 18 NVLinks",
            b200,
            b200_links,
        ),
        Claim::new("bridge-112", "RTX 3090 bridge: 112.5 GB/s", 112.5, "GB/s")
            .link(Kind::Meant, "one link", ga102, 1)
            .link(Kind::Meant, "the bridge, four links", ga102, ga102_links),
        Claim::new("bridge-600", "RTX 3090: 600 GB/s NVLink", 600.0, "GB/s")
            .link(Kind::Meant, "the bridge, four links", ga102, ga102_links)
            .link(Kind::Other, "A100, 12 NVLinks", a100, a100_links),
        Claim::new("rtx-4090", "The RTX 4090 takes an NVLink bridge", f64::from(ga102_links), "links")
            .reading(Kind::Meant, "RTX 4090", links_or_none("rtx-4090"))
            .reading(Kind::Other, "RTX 3090", f64::from(ga102_links)),
    ]
}

/// Links of the GPU over fabric or bridge; 0 where it has neither.
fn links_or_none(name: &str) -> f64 {
    let fabric = gpu(name).fabric.as_ref().map(|fabric| fabric.count.value);
    let bridges = gpu(name).bridges.iter().filter(|bridge| bridge.carries_data).map(|bridge| bridge.links);
    f64::from(fabric.into_iter().chain(bridges).max().unwrap_or(0))
}

#[expect(clippy::cast_precision_loss, reason = "lane rates are far below 2^53")]
fn gigabits(bits_per_second: u64) -> f64 {
    bits_per_second as f64 / 1e9
}

fn system_claims() -> Vec<Claim> {
    let (b200, b200_links) = fabric("gb200");
    let (xgmi, xgmi_links) = fabric("mi300x");
    let rack = gpus_on_switches("gb200-nvl72");
    let each = b200.rate(b200_links).as_gigabytes() / 1e3;
    let coherent = gpu("gh200-96gb").coherent.as_ref().unwrap();
    let ndr = link("infiniband-ndr");
    let ranks = f64::from(gpus("hgx-h100-8"));
    let factor = |ranks: f64| 2.0 * (ranks - 1.0) / ranks;
    vec![
        Claim::new("nvswitch-16", "NVSwitch joins 16 GPUs or CPUs", 16.0, "GPUs on one set of switches")
            .reading(Kind::Some, "DGX-2", gpus_on_switches("dgx-2"))
            .reading(Kind::Other, "HGX A100", gpus_on_switches("hgx-a100-8"))
            .reading(Kind::Other, "HGX H100", gpus_on_switches("hgx-h100-8"))
            .reading(Kind::Other, "HGX B200", gpus_on_switches("hgx-b200-8"))
            .reading(Kind::Other, "GB200 NVL72", rack),
        Claim::new("nvl72-130", "NVL72: 130 TB/s", 130.0, "TB/s")
            .within(0.005)
            .reading(Kind::Meant, "one GPU, one direction", each)
            .reading(Kind::Meant, "what half of the GPUs can send to the other half", rack / 2.0 * each)
            .reading(Kind::Meant, "all GPUs, one direction", rack * each)
            .reading(Kind::Sum, "all GPUs, both directions", 2.0 * rack * each),
        Claim::new("c2c-900", "Grace Hopper: 900 GB/s between CPU and GPU", 900.0, "GB/s").link(
            Kind::Meant,
            "NVLink-C2C of one superchip",
            link(&coherent.link),
            coherent.count.value,
        ),
        Claim::new("mi300x-896", "MI300X: 896 GB/s Infinity Fabric", 896.0, "GB/s")
            .link(Kind::Meant, "the link between two GPUs", xgmi, 1)
            .link(Kind::Meant, "each GPU, all links to others", xgmi, xgmi_links),
        Claim::new("ndr-400", "400G InfiniBand: 400 GB/s", 400.0, "GB/s")
            .link(Kind::Meant, "one port", ndr, 1)
            .reading(Kind::Other, "one port, one direction, in Gb/s", 8.0 * ndr.rate(1).as_gigabytes()),
        Claim::new(
            "busbw",
            "A busbw above the wire is a mistake",
            1.0,
            "busbw of an all-reduce, as a multiple of what the wire carries",
        )
        .at_most()
        .reading(Kind::Meant, "ring", 1.0)
        .reading(Kind::Meant, "one node of 8, reduced in the NVSwitch (NVLS)", factor(ranks))
        .reading(Kind::Meant, "tree over 2 nodes of 8, by the network", factor(2.0 * ranks)),
    ]
}

fn claims() -> Vec<Claim> {
    let mut claims = vec![
        pcie("pcie4-64", "PCIe 4.0 x16: 64 GB/s", 64.0, link("pcie4")),
        pcie("pcie5-128", "PCIe 5.0 x16: 128 GB/s", 128.0, link("pcie5")),
    ];
    claims.extend(nvlink_claims());
    claims.extend(system_claims());
    claims
}

fn overview(claims: &[Claim]) -> String {
    let mut text = "| quoted | verdict | what the figure counts |\n|---|---|---|\n".to_owned();
    for claim in claims {
        let _ = writeln!(
            text,
            "| [{}](#{}) | {} | {} |",
            claim.quote,
            claim.key,
            claim.verdict(),
            claim.counts()
        );
    }
    text
}

/// The page with each block between its markers replaced by what the catalogue computes now.
fn computed(page: &str, claims: &[Claim]) -> String {
    let (open, close) = ("<!-- computed: ", "<!-- /computed -->");
    let mut parts = page.split(open);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (key, rest) = part.split_once(" -->").expect("a marker ends with -->");
        let (_, rest) = rest.split_once(close).expect("a block has an end");
        let block = if key == "overview" {
            overview(claims)
        } else {
            claims.iter().find(|claim| claim.key == key).expect("a block names a claim").table()
        };
        let _ = write!(text, "{open}{key} -->\n\n{block}\n{close}{rest}");
    }
    text
}

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/concepts/quoted-figures.md")
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this test compares a page with the catalogue, or rewrites it")]
fn the_page_says_what_the_catalogue_computes() {
    let claims = claims();
    let written = std::fs::read_to_string(page()).unwrap();
    let now = computed(&written, &claims);
    if std::env::var("WEFT_BLESS").is_ok() {
        std::fs::write(page(), now).unwrap();
        return;
    }
    for (line, (written, now)) in written.lines().zip(now.lines()).enumerate() {
        assert_eq!(written, now, "line {}; WEFT_BLESS=1 rewrites the page", line + 1);
    }
    assert_eq!(written, now, "WEFT_BLESS=1 rewrites the page");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this test reads the page")]
fn every_claim_has_its_section() {
    let written = std::fs::read_to_string(page()).unwrap();
    for claim in claims() {
        let (key, quote) = (claim.key, claim.quote);
        assert!(written.contains(&format!("## \"{quote}\" {{#{key}}}")), "no section `{quote}`");
        assert!(written.contains(&format!("<!-- computed: {key} -->")), "no block `{key}`");
    }
}

/// The verdicts that a reader may rely on; a change of the catalogue that turns one is worth a look.
#[test]
fn verdicts() {
    let expected = [
        ("pcie4-64", "true of the sum"),
        ("pcie5-128", "true of the sum"),
        ("five-times", "half true"),
        ("ten-times", "half true"),
        ("nvlink-300", "half true"),
        ("nvlink-latency", "false"),
        ("nvlink3-600", "true of the sum"),
        ("a100-links", "false"),
        ("dgx-a100-300", "true"),
        ("nvlink-on-pcie", "false"),
        ("h100-900", "true of the sum"),
        ("b200-1800", "true of the sum"),
        ("bridge-112", "true of the sum"),
        ("bridge-600", "false"),
        ("rtx-4090", "false"),
        ("nvswitch-16", "half true"),
        ("nvl72-130", "true of the sum"),
        ("c2c-900", "true of the sum"),
        ("mi300x-896", "true of the sum"),
        ("ndr-400", "false"),
        ("busbw", "false"),
    ];
    let found: Vec<(&str, &str)> = claims().iter().map(|claim| (claim.key, claim.verdict())).collect();
    assert_eq!(found, expected);
}
