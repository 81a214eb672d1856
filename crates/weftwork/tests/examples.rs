//! The examples, run as a user runs them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests may fail, and say what they skip")]

use std::process::Command;

/// What an example prints; nothing where only this test was built, and not the examples.
fn printed(name: &str) -> Option<String> {
    let folder = std::env::current_exe().unwrap().parent()?.parent()?.join("examples");
    if !folder.join(name).exists() {
        println!("skipped: `{name}` is not built");
        return None;
    }
    let output = Command::new(folder.join(name)).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    Some(text)
}

#[test]
fn three_ranks_train_the_line_that_one_process_trains() {
    let Some(text) = printed("train") else { return };
    let line = |start: &str| text.lines().find_map(|line| Some(line.strip_prefix(start)?.split_once(';')?.0));
    let together = text.lines().find_map(|line| line.strip_prefix("3 ranks: ")).unwrap();
    assert_eq!(Some(together), line("1 process: "));
    assert!(together.starts_with("y = 2.9"), "{text}");
}

#[test]
fn a_training_that_loses_a_rank_ends_with_the_same_line() {
    let Some(text) = printed("shrink") else { return };
    assert!(text.contains("rank 0 is now 0: without 1, since rank 1 is dead"), "{text}");
    assert!(text.contains("rank 2 is now 1: without 1, since rank 1 is dead"), "{text}");
    assert!(
        text.contains("2 ranks in the end: y = 2.9") && text.contains("the same to 1e-9: true"),
        "{text}"
    );
}
