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

/// What is written beside the binary: its arguments, and the file that they fill.
const BESIDE: &[(&[&str], &str)] = &[
    (&["completions", "bash"], "weft.bash"),
    (&["completions", "zsh"], "_weft"),
    (&["completions", "fish"], "weft.fish"),
    (&["man"], "weft.1"),
];

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
    for (arguments, file) in BESIDE {
        let output =
            Command::new(&binary).args(*arguments).output().context("failed to run the new binary")?;
        ensure!(output.status.success(), "`weft {}` failed", arguments.join(" "));
        std::fs::write(folder.join(file), output.stdout)?;
    }
    println!("{}: weft, completions and man page", folder.display());
    Ok(true)
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
