//! Tasks for developers: `cargo xtask tidy | codegen | glibc BINARY | dist | instructions BINARY |
//! big-log FILE SIZE | big-ibnetdiscover FILE ADAPTERS`.
//!
//! `tidy` holds the rules of the house; each of its checks is also a test of this package, so that
//! `cargo test` runs them. A check takes text and gives findings, and has a test with bad text: one that
//! cannot fail is worthless.
#![allow(
    clippy::unnecessary_wraps,
    reason = "all checks have one shape, whether they can fail to look or not"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a tool for developers reads the tree and talks to a terminal"
)]

mod big;
mod checks;
mod codegen;
mod dist;
mod fabric;
mod finding;
mod glibc;
mod house;
mod instructions;
mod metadata;
mod rust;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::house::House;

const USAGE: &str = "\
usage: cargo xtask TASK

  tidy          check the rules of the house
  codegen       write the generated pages of docs/reference
  glibc BINARY  check which glibc a binary needs, and its size
  dist          build the portable binary, completions and manual pages into target/dist
  big-log FILE SIZE    write a made-up job log of 64 nodes, as large as SIZE (200MB)
  big-ibnetdiscover FILE ADAPTERS  write a text of ibnetdiscover to measure with; 100000 give 100 MB
  instructions BINARY  count what everyday commands take, where valgrind is
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["tidy"] => tidy(),
        ["codegen"] => write_generated(),
        ["glibc", binary] => glibc::run(Path::new(binary)),
        ["instructions", binary] => std::path::absolute(binary)
            .map_err(Into::into)
            .and_then(|binary| instructions::run(&binary, &house::root())),
        ["big-log", path, size] => big::log(Path::new(path), size),
        ["big-ibnetdiscover", file, adapters] => fabric::run(Path::new(file), adapters).map(|()| true),
        ["dist"] => dist::run(&house::root()),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every check is content.
fn tidy() -> Result<bool> {
    let house = House::load()?;
    let mut total = 0;
    for check in checks::CHECKS {
        let findings = (check.run)(&house)?;
        let verdict =
            if findings.is_empty() { "ok".to_owned() } else { format!("{} findings", findings.len()) };
        println!("{:<22} {verdict}", check.name);
        for finding in &findings {
            println!("  {finding}");
        }
        total += findings.len();
    }
    Ok(total == 0)
}

fn write_generated() -> Result<bool> {
    let house = House::load()?;
    for page in codegen::pages(&house)? {
        let path = house.root.join(page.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, &page.text)?;
        println!("wrote {}", page.path);
    }
    Ok(true)
}
