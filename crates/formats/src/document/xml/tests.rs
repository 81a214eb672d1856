#![expect(clippy::single_range_in_vec_init, reason = "a list of runs may have one")]

use std::ops::Range;

use super::*;
use crate::format::Source;
use crate::text;

fn runs(text_of: &str) -> Vec<Range<usize>> {
    let source = Source::file("t", text_of);
    xml(&text::lines(&source), &["system", "topology"])
}

/// Names and places of all elements, and the findings.
fn read(text_of: &str) -> (Option<Vec<String>>, Vec<String>) {
    let source = Source::file("t", text_of);
    let lines = text::lines(&source);
    let part = Part { file: "t", lines: lines.into() };
    let (names, findings) = read_xml(&part, &["a"], |tree| {
        let elements = tree.document.descendants().filter(Node::is_element);
        let name = |node: Node<'_, '_>| {
            let attributes: Vec<String> =
                node.attributes().map(|a| format!(" {}={}", a.name(), a.value())).collect();
            let place = tree.tag(node);
            format!("{}{}@{}:{}", node.tag_name().name(), attributes.concat(), place.line, place.column)
        };
        elements.map(name).collect()
    });
    let said = findings.iter().map(|finding| {
        let place = finding.place.as_ref().map(|place| (place.line, place.column));
        format!("{:?} {}", place.unwrap_or_default(), finding.message)
    });
    (names, said.collect())
}

#[test]
fn documents_are_found_with_their_heads_and_nothing_else() {
    assert_eq!(runs("$ cat t.xml\n<system version=\"1\">\n<cpu/>\n</system>\n$ "), [1..4]);
    assert_eq!(runs("text\n<?xml?>\n<!DOCTYPE topology SYSTEM \"x\">\n<topology>\n</topology>"), [1..5]);
    assert_eq!(runs("<!-- licence\nof it\n-->\n\n<system>\n</system>\n"), [0..6]);
    assert_eq!(runs("<system version=\"1\"/>\nrest\n<?xml?><system></system>"), [0..1, 2..3]);
    assert!(runs("<systems>\nsee <system version> for it\n").is_empty());
    assert!(runs("<!--\n<system>\n</system>\n-->\nx").is_empty());
}

#[test]
fn a_cut_document_ends_where_it_stops_being_xml() {
    assert_eq!(runs("<system version=\"1\">\n <cpu>\n  <pci busid=\"0\nand so on\n"), [0..3]);
    assert_eq!(runs("<system>\n<cpu>\n\n<system>\n</system>"), [0..2, 3..5]);
    assert_eq!(runs("n1: <system>\nn1: <cpu/>\nn1: </system>\nn1: done"), [0..3]);
}

#[test]
fn declarations_types_and_marks_of_lines_are_passed_over() {
    let (names, findings) = read("<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY b \"c\">]>\n<a>\n <b/></a>");
    assert_eq!((names, findings), (Some(vec!["a@3:1".into(), "b@4:2".into()]), vec![]));
    let (names, findings) = read("[1,0]<stdout>:<a>\n[1,0]<stdout>: <b/>\n[1,0]<stdout>:</a> ");
    assert_eq!(findings, Vec::<String>::new());
    assert_eq!(names, Some(vec!["a@1:15".into(), "b@2:16".into()]));
}

#[test]
fn what_is_cut_is_closed() {
    let (names, findings) = read("<a>\n <b c=\"1\">\n  <d e=\"2");
    let expected = ["a@1:1", "b c=1@2:2", "d e=2@3:3"].map(String::from).to_vec();
    assert_eq!(names, Some(expected));
    assert_eq!(findings[0], "(3, 3) the document is cut in <d> inside <b>");
    let (names, findings) = read("<a>\n <b>\n");
    assert_eq!(names.map(|names| names.len()), Some(2));
    assert_eq!(findings, ["(2, 4) the document ends inside <b>"]);
}

#[test]
fn faults_are_mended_one_by_one_and_places_stay_true() {
    let text = "<a x=1>\n</q><b y=\"1\"z=\"2\" y=\"3\"><c>\n</b>\n <d w=\"&amp\"/> & </a>";
    let (names, findings) = read(text);
    let expected = ["a x=1@1:1", "b y=1 z=2@2:5", "c@2:25", "d w= amp@4:2"].map(String::from).to_vec();
    assert_eq!(names, Some(expected));
    assert_eq!(
        findings,
        [
            "(1, 4) the value of `x` has not both its quotes",
            "(2, 1) </q> closes nothing that is open",
            "(2, 13) no blank stands before `z`",
            "(2, 19) `y` stands twice in one tag; the first counts",
            "(2, 25) <c> is not closed before </b>",
            "(4, 16) an entity is not read",
        ]
    );
}

#[test]
fn deep_nesting_is_refused() {
    let deep = "<a>".repeat(300) + &"</a>".repeat(300);
    let (names, findings) = read(&deep);
    assert_eq!((names, findings.len()), (None, 1));
    assert!(findings[0].contains("more than 200 deep"), "{findings:?}");
}

#[test]
fn entity_bombs_do_not_go_off() {
    let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
    let (names, findings) = read(bomb);
    assert_eq!(names, Some(vec!["a@1:54".into()]));
    assert_eq!(findings, ["(1, 57) an entity is not read"]);
}
