//! The errors that are in print, and no others.

use weft_advisor::tables::{Table, check, is_table};
use weft_advisor::{COUNT_UNEVEN, COUNT_WRONG, SHARE_WRONG, SUM_WRONG, TABLE_UNKNOWN};
use weft_base::{Diagnostic, Severity};

#[expect(clippy::disallowed_methods, reason = "a test reads its examples")]
fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).ok()
}

fn example(name: &str) -> Table {
    let text = read(&format!("examples/tables/{name}.csv")).expect("the example is there");
    assert!(is_table(&text), "{name}");
    Table::read(name, &text).expect("a table")
}

fn findings(names: &[&str]) -> Vec<String> {
    let tables: Vec<Table> = names.iter().map(|name| example(name)).collect();
    check(&tables).iter().map(Diagnostic::to_string).collect()
}

/// Each has one finding, at the cell that is wrong, with the arithmetic.
#[track_caller]
fn only(names: &[&str], expected: &str) {
    let found = findings(names);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with(expected), "{}", found[0]);
}

#[test]
fn gpus_of_the_largest_b300_row_are_a_slip() {
    only(
        &["superpod-b300-xdr"],
        "superpod-b300-xdr:5:9: error[count-wrong]: 1,296 nodes of 8 GPUs are 10,368, not 9,216, and so many cables lead to \
         them",
    );
}

#[test]
fn a_third_of_llama_3s_interruptions_were_gpus() {
    only(
        &["llama-3-interruptions"],
        "llama-3-interruptions:3:16: error[share-wrong]: 148 of 419 are 35.3 %, not 30.1 %",
    );
}

#[test]
fn october_is_not_the_sum_of_its_days() {
    only(
        &["fire-flyer-network-months", "fire-flyer-network-days"],
        "fire-flyer-network-months:3:9: error[sum-wrong]: the days of 2023-10 add up to 13, not 29",
    );
    assert!(findings(&["fire-flyer-network-months"]).is_empty(), "months alone say nothing wrong");
}

#[test]
fn two_tiers_end_at_2048() {
    only(
        &["two-tier-sheet"],
        "two-tier-sheet:4:6: error[count-wrong]: two tiers of 64-port switches end at 64 x 64 / 2 = 2,048 endpoints, and \
         these are 4,096: three tiers take 128 + 128 + 64 = 320 switches (the table has 192)",
    );
}

#[test]
fn published_tables_have_no_other_errors() {
    let Some(text) = read("../shared/facts/advice/superpod_fabric_counts.csv") else {
        println!("skipped: superpod_fabric_counts.csv is not beside the repository");
        return;
    };
    let table = Table::read("counts", &text).expect("a table");
    assert_eq!(table.rows.len(), 20);
    let found: Vec<String> = check(&[table]).iter().map(Diagnostic::to_string).collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("1,296 nodes of 8 GPUs are 10,368, not 9,216"), "{}", found[0]);
    let Some(text) = read("../shared/facts/advice/llama3_interruptions_table5.csv") else { return };
    let found = check(&[Table::read("llama", &text).expect("a table")]);
    assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [SHARE_WRONG]);
}

/// Findings of one row of a fabric.
fn row(cells: &str) -> Vec<Diagnostic> {
    let text = format!(
        "nodes,gpus,leaf,spine,core,node-leaf cables,leaf-spine cables,spine-core cables,radix\n{cells}\n"
    );
    check(&[Table::read("t", &text).expect("a table")])
}

#[test]
fn switches_with_too_few_ports_are_found() {
    assert_eq!(row("95,760,24,16,0,760,768,0,64"), []);
    // 24 leaves x 32 = 768 uplinks; 11 spines hold 704. 12 hold them, but 32 does not divide by 12.
    let found = row("95,760,24,11,0,760,768,0,64");
    assert_eq!(found[0].code, COUNT_WRONG);
    assert!(
        found[0].message.contains("768 links up, and 11 spines of 64 ports down hold 704"),
        "{}",
        found[0]
    );
    let found = row("95,760,24,12,0,760,768,0,64");
    assert_eq!((found.len(), found[0].code, found[0].severity), (1, COUNT_UNEVEN, Severity::Warning));
    assert_eq!(found[0].hint.as_deref(), Some("16 is the fewest that are even"));
    // 512 nodes: 64 cores hold the 4,096 uplinks of 128 spines, 63 do not.
    assert_eq!(row("512,4096,128,128,64,4096,4096,4096,64"), []);
    assert!(
        row("512,4096,128,128,63,4096,4096,4096,64")[0].message.contains("63 cores of 64 ports hold 4,032")
    );
    assert!(row("512,4096,128,128,64,4000,4096,4096,64")[0].message.contains("take 4,096 cables, not 4,000"));
    assert!(row("512,4096,128,128,64,4096,4096,4000,64")[0].message.contains("take 4,096 cables, not 4,000"));
    assert!(
        row("512,4096,128,64,0,4096,4096,0,64")[0].message.contains("two tiers of 64-port switches end at")
    );
}

#[test]
fn a_table_of_something_else_is_said_to_be_that() {
    assert!(!is_table("name,colour\na,red\n") && !is_table("") && !is_table("GPU0 GPU1\nX NV12\n"));
    let found = check(&[Table::read("t", "name,colour\na,red\n").expect("a table")]);
    assert_eq!(found[0].code, TABLE_UNKNOWN);
    assert_ne!(SUM_WRONG, SHARE_WRONG);
}
