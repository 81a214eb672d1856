//! Runs the built `weft` and puts what it did into one string.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The repository's root, in which all tests run.
pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The measurements beside the project; `None`, said aloud, where they are absent.
#[allow(clippy::print_stdout, reason = "a skipped test says so")]
pub fn measured() -> Option<PathBuf> {
    let folder = root().join("../shared/measured");
    if !folder.is_dir() {
        println!("skipped: no measurements at {}", folder.display());
        return None;
    }
    Some(folder)
}

/// Runs `weft` with `args`, `input` on its standard input, in the root.
pub fn run(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weft"))
        .args(args)
        .current_dir(root())
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the built program starts");
    // A program that refuses its arguments does not read its input.
    let _ = child.stdin.take().expect("standard input is a pipe").write_all(input);
    child.wait_with_output().expect("the program ends")
}

/// Standard output, standard error and exit status as one text.
pub fn weft(args: &[&str]) -> String {
    weft_reading(args, b"")
}

/// The same with standard input.
pub fn weft_reading(args: &[&str], input: &[u8]) -> String {
    let output = run(args, input);
    let status = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let ended =
        |text: &str, mark: &str| if text.is_empty() { String::new() } else { format!("{text}{mark}\n") };
    let (stdout, stderr) = (ended(&stdout, "[stdout ends]"), ended(&stderr, "[stderr ends]"));
    format!("{stdout}{stderr}exit {status}\n")
}

/// Standard output of a run that must succeed.
pub fn stdout(args: &[&str]) -> String {
    let output = run(args, b"");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is UTF-8")
}

/// Exit status and standard error.
pub fn refused(args: &[&str], input: &[u8]) -> (i32, String) {
    let output = run(args, input);
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}
