//! `weft check` as a user sees it, of tables; files of NCCL are tested where they are read.

use std::path::Path;
use std::process::Command;

fn check(names: &[&str]) -> (String, Option<i32>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    command.current_dir(root).arg("check").env("NO_COLOR", "1");
    let output = command
        .args(names.iter().map(|name| format!("examples/tables/{name}.csv")))
        .output()
        .expect("it runs and prints text");
    (
        String::from_utf8(output.stdout).expect("it runs and prints text")
            + &String::from_utf8(output.stderr).expect("it runs and prints text"),
        output.status.code(),
    )
}

#[test]
fn a_table_with_a_wrong_count_is_an_error_at_its_cell() {
    let (text, code) = check(&["superpod-b300-xdr"]);
    assert_eq!(code, Some(1), "{text}");
    for part in
        ["error[count-wrong]: 1,296 nodes of 8 GPUs are 10,368, not 9,216", "superpod-b300-xdr.csv:5:9"]
    {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn months_are_held_against_days_of_another_file() {
    let (text, code) = check(&["fire-flyer-network-months", "fire-flyer-network-days"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the days of 2023-10 add up to 13, not 29"), "{text}");
    let (text, code) = check(&["fire-flyer-network-days"]);
    assert_eq!((text.as_str(), code), ("nothing wrong\n", Some(0)));
}
