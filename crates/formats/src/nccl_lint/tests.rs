use weft_base::Severity;

use super::*;
use crate::format::Source;

/// Code, line and message of each finding.
fn findings(text: &str) -> Vec<(String, u32, String)> {
    let reading = crate::read(&Source::file("t.xml", text), Catalogue::embedded(), None);
    assert!(!reading.failed(), "{:?}", reading.diagnostics);
    let said = reading.diagnostics.into_iter().map(|finding| {
        (finding.code.name.to_owned(), finding.place.map_or(0, |place| place.line), finding.message)
    });
    said.collect()
}

fn has(text: &str, code: &str, line: u32, part: &str) {
    let found = findings(text);
    let fits =
        |(name, at, message): &(String, u32, String)| name == code && *at == line && message.contains(part);
    assert!(found.iter().any(fits), "{part}: {found:#?}");
}

/// A file of one CPU with that inside.
fn with(inside: &str) -> String {
    format!(
        "<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"ff\" arch=\"x86_64\" vendor=\"AuthenticAMD\" \
         familyid=\"143\" modelid=\"49\">\n{inside}\n</cpu>\n</system>\n"
    )
}

fn pci(busid: &str, rest: &str, inside: &str) -> String {
    format!("<pci busid=\"{busid}\" class=\"0x030200\" {rest}>{inside}</pci>")
}

const FAST: &str = "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"";

#[test]
fn good_files_have_no_findings() {
    for text in [
        include_str!("../../../../examples/formats/nccl-topology/server.xml"),
        include_str!("../../../../examples/formats/nccl-topology/vm.xml"),
        include_str!("../../../../examples/formats/nccl-graph/rings.xml"),
    ] {
        assert_eq!(findings(text), []);
    }
    let rccl = findings(include_str!("../../../../examples/formats/nccl-topology/rccl.xml"));
    assert_eq!(rccl.len(), 1, "{rccl:?}");
}

#[test]
fn what_nccls_reader_stops_at_is_refused() {
    has("<?xml version=\"1.0\"?>\n<system version=\"1\"/>", "nccl-refuses", 1, "declaration");
    has(&with("\t<nic/>"), "nccl-refuses", 3, "a tab stands between tags");
    has(&with("0\n<nic/>"), "nccl-refuses", 3, "text stands between tags");
    has(&with("<nic\nname=\"x\"/>"), "nccl-refuses", 3, "line break");
    has(&with("<nic name = \"x\"/>"), "nccl-refuses", 3, "equals sign");
    has(&with("<nic name=\"x\"></nic >"), "nccl-refuses", 3, "closing tag");
    has("<system version=\"3\"/>", "nccl-refuses", 1, "version");
    has(&with("<pci class=\"0x060400\"/>"), "nccl-refuses", 3, "busid");
    assert_eq!(findings(&with("<!-- a comment -->\n<!-- another\n of two lines -->")), []);
}

#[test]
fn a_cut_file_is_read_up_to_the_cut() {
    let text = with(&pci("0000:01:00.0", FAST, ""));
    has(text.split_at(text.len() - 20).0, "xml-damaged", 3, "the document ends inside");
}

#[test]
fn defaults_that_nccl_takes_are_told() {
    let link = |rest: &str| with(&pci("0000:01:00.0", rest, ""));
    has(&link("link_speed=\"32.0 GT/s\" link_width=\"16\""), "nccl-assumes", 3, "takes 8 GT/s");
    has(&link("link_speed=\"\" link_width=\"0\""), "nccl-assumes", 3, "16 lanes");
    assert_eq!(findings(&link("link_speed=\"16 GT/s\" link_width=\"16\"")), []);
    let net = "<nic><net name=\"a\" dev=\"0\" speed=\"-1\" port=\"1\" guid=\"0x1\"/></nic>";
    has(&with(net), "nccl-assumes", 3, "10 Gb/s");
    has(&with("<pci busid=\"0000:01:00.0\" class=\"030200\"/>"), "nccl-assumes", 3, "takes a bridge");
    has(&with("<xgmi count=\"1\"/>"), "nccl-ignores", 3, "reads over <xgmi> in <cpu>");
}

#[test]
fn contradictions_and_slips_are_told() {
    let twice = [pci("0000:01:00.0", FAST, ""), pci("0000:01:00.0", FAST, "")].join("\n");
    has(&with(&twice), "nccl-contradiction", 4, "stands twice; first in line 3");
    let net = "<nic><net name=\"a\" dev=\"0\" speed=\"200000000\" port=\"1\" guid=\"0x1\"/></nic>";
    has(&with(net), "nccl-doubtful", 3, "200 Tb/s");
    has(&with(&pci("0000:0A:00.0", FAST, "")), "nccl-doubtful", 3, "compares the text");
    let gpu = |dev: u32, target: &str, count: u32| {
        format!(
            "<gpu dev=\"{dev}\" sm=\"80\" rank=\"{dev}\" gdr=\"1\"><nvlink target=\"{target}\" count=\"{count}\" \
             tclass=\"0x030200\"/></gpu>"
        )
    };
    let uneven = [
        pci("0000:01:00.0", FAST, &gpu(0, "0000:02:00.0", 4)),
        pci("0000:02:00.0", FAST, &gpu(1, "0000:01:00.0", 2)),
    ];
    has(&with(&uneven.join("\n")), "nccl-contradiction", 3, "counts 4 links");
    has(&with(&pci("0000:01:00.0", FAST, &gpu(0, "0000:09:00.0", 4))), "nccl-contradiction", 3, "nowhere");
    let many = pci(
        "0000:01:00.0",
        &format!("vendor=\"0x10de\" device=\"0x20b0\" {FAST}"),
        &gpu(0, "0000:09:00.0", 14),
    );
    has(&with(&many), "impossible-nvlink", 3, "14 links are counted");
    let narrow = format!(
        "<pci busid=\"0000:01:00.0\" class=\"0x060400\" link_speed=\"5.0 GT/s PCIe\" link_width=\"16\">\n{}\n</pci>",
        pci("0000:02:00.0", FAST, "")
    );
    has(&with(&narrow), "nccl-doubtful", 3, "carries 80.0 GT/s in all, one device below 256.0");
}

#[test]
fn graphs_are_checked_too() {
    let text = "<graphs version=\"1\">\n<graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"2\" speedintra=\"1\" \
                speedinter=\"1\" typeintra=\"QQQ\" typeinter=\"PIX\" samechannels=\"0\">\n<channel><gpu \
                dev=\"10\"/></channel>\n</graph>\n</graphs>\n";
    has(text, "nccl-contradiction", 2, "1 channels follow");
    has(text, "nccl-assumes", 2, "QQQ");
    has(text, "nccl-doubtful", 3, "hexadecimal");
}

#[test]
fn only_a_check_calls_a_refusal_an_error() {
    let reading = crate::read(&Source::file("t", with("\t<nic/>")), Catalogue::embedded(), None);
    assert!(!reading.failed());
    let judged = as_the_tool_would(reading.diagnostics);
    assert!(judged.iter().any(|finding| finding.severity == Severity::Error));
}
