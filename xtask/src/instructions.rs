//! How many instructions the everyday commands take: a measure that does not depend on who else uses the
//! machine, so that a slowdown fails here and not in someone's terminal.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Commands, and the most instructions that each may take: a tenth to a quarter more than when it was last looked at,
/// which was when some hundred and twenty models, programs that train and engines that serve had come: all facts are
/// parsed at the start, which is what most of these instructions are. Kinds that are parsed when first asked for would
/// take less.
const BUDGETS: &[(&[&str], u64)] = &[
    (&["predict", "dgx-a100"], 31_000_000),
    (&["show", "dgx-a100"], 30_000_000),
    (&["predict", "examples/topo/dgx-a100.txt", "--gpu", "a100-sxm4-80gb"], 36_500_000),
];

/// Counts under callgrind; whether all are within their budgets. Says so where there is no valgrind.
pub fn run(binary: &Path, root: &Path) -> Result<bool> {
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no valgrind here to count instructions with");
        return Ok(true);
    }
    let mut within = true;
    for (arguments, budget) in BUDGETS {
        let count = count(binary, arguments, root)?;
        println!("weft {}: {count} instructions (at most {budget})", arguments.join(" "));
        within &= count <= *budget;
    }
    Ok(within)
}

fn count(binary: &Path, arguments: &[&str], root: &Path) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(binary)
        .args(arguments)
        .current_dir(root)
        .output()
        .context("failed to run valgrind")?;
    ensure!(output.status.success(), "`weft {}` failed under valgrind", arguments.join(" "));
    let report = String::from_utf8_lossy(&output.stderr);
    collected(&report).context("valgrind reported no count")
}

/// The number of a line `==12== Collected : 13454339`.
fn collected(report: &str) -> Option<u64> {
    report.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_the_report() {
        assert_eq!(collected("==1== x\n==1== Collected : 13454339\n==1==\n"), Some(13_454_339));
        assert_eq!(collected("==1== Collected : many\n"), None);
    }
}
