//! The portable build: one binary for every x86-64 Linux with glibc 2.28 or newer, with what goes beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::glibc;

/// With the oldest glibc that the linker may assume.
const TARGET: &str = "x86_64-unknown-linux-gnu.2.28";
/// Where cargo puts it.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
const INSTALL: &str = "\
the portable build needs cargo-zigbuild and zig; both come as wheels:
    python3 -m venv target/zig && . target/zig/bin/activate && pip install cargo-zigbuild ziglang
(and `rustup target add x86_64-unknown-linux-gnu` on other machines)";

/// Shells, and where each looks for completions of `weft`.
const COMPLETIONS: &[(&str, &str)] = &[("bash", "weft.bash"), ("zsh", "_weft"), ("fish", "weft.fish")];

/// Builds everything into `target/dist`; whether the binary is portable.
pub fn run(root: &Path) -> Result<bool> {
    let built = build(root)?;
    if !glibc::run(&built)? {
        return Ok(false);
    }
    let folder = target(root).join("dist");
    std::fs::create_dir_all(&folder)?;
    let binary = folder.join("weft");
    std::fs::copy(&built, &binary).with_context(|| format!("failed to copy to {}", binary.display()))?;
    for (shell, file) in COMPLETIONS {
        std::fs::write(folder.join(file), output(&binary, &["completions", shell])?)?;
    }
    let manual = output(&binary, &["man"])?;
    for command in commands(&manual) {
        std::fs::write(folder.join(format!("weft-{command}.1")), output(&binary, &["man", command])?)?;
    }
    std::fs::write(folder.join("weft.1"), manual)?;
    println!("{}: weft, completions and manual pages", folder.display());
    Ok(true)
}

/// What the new binary prints.
fn output(binary: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(binary).args(arguments).output().context("failed to run the new binary")?;
    ensure!(output.status.success(), "`weft {}` failed", arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}

/// The commands that have a page of their own, as the manual refers to them: `weft\-show(1)`.
fn commands(manual: &str) -> impl Iterator<Item = &str> {
    manual.lines().filter_map(|line| line.strip_prefix("weft\\-")?.strip_suffix("(1)"))
}

fn build(root: &Path) -> Result<PathBuf> {
    let found = Command::new("cargo-zigbuild").arg("--version").output();
    ensure!(found.is_ok_and(|output| output.status.success()), "{INSTALL}");
    let status = Command::new("cargo-zigbuild")
        .args(["zigbuild", "--release", "--locked", "--target", TARGET, "--bin", "weft"])
        .current_dir(root)
        .status()
        .context("failed to run cargo-zigbuild")?;
    ensure!(status.success(), "the portable build failed");
    Ok(target(root).join(TRIPLE).join("release").join("weft"))
}

/// Where cargo builds.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_names_the_commands() {
        let manual = ".SH NAME\nweft \\- a toolkit\n.TP\nweft\\-show(1)\nWhat is it\n.TP\nweft\\-man(1)\n";
        assert_eq!(commands(manual).collect::<Vec<_>>(), ["show", "man"]);
    }
}
