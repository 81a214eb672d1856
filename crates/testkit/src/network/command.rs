//! Running `ip` and `tc`, and ending what runs in a namespace.
#![expect(
    clippy::disallowed_methods,
    reason = "the names of namespaces that are left over stand in a folder"
)]

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::Unavailable;

/// What the names of all namespaces of tests begin with; the process that made them follows.
pub(super) const PREFIX: &str = "weft-test-";

/// A process that ends with this value, at the latest.
#[derive(Debug)]
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Runs a command in a namespace, or outside of all.
pub(super) fn run(program: &str, namespace: Option<&str>, arguments: &[&str]) -> Result<(), Unavailable> {
    let output =
        prepared(program, namespace).args(arguments).output().map_err(|error| lacking(program, &error))?;
    judge(program, &arguments.join(" "), &output)
}

/// Runs the lines of a batch.
pub(super) fn batch(program: &str, namespace: Option<&str>, lines: &[String]) -> Result<(), Unavailable> {
    let mut command = prepared(program, namespace);
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| lacking(program, &error))?;
    if let Some(mut input) = child.stdin.take() {
        // A command that fails at once reads no more; what it says tells more than the pipe.
        input.write_all((lines.join("\n") + "\n").as_bytes()).ok();
    }
    let output = child.wait_with_output().map_err(|error| lacking(program, &error))?;
    judge(program, &lines.join("; "), &output)
}

fn prepared(program: &str, namespace: Option<&str>) -> Command {
    let mut command = Command::new(program);
    if let Some(namespace) = namespace {
        command.args(["-n", namespace]);
    }
    command.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    command
}

fn lacking(program: &str, error: &std::io::Error) -> Unavailable {
    Unavailable(format!("`{program}` cannot be run: {error}"))
}

fn judge(program: &str, what: &str, output: &Output) -> Result<(), Unavailable> {
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Unavailable(format!("`{program}` of `{what}`: {}", said.trim())))
}

/// Ends what runs in a namespace, and removes it.
pub(super) fn remove(namespace: &str) {
    if let Ok(output) = prepared("ip", None).args(["netns", "pids", namespace]).output() {
        let processes = String::from_utf8_lossy(&output.stdout).into_owned();
        for process in processes.split_whitespace().filter_map(|text| Pid::from_raw(text.parse().ok()?)) {
            kill_process(process, Signal::KILL).ok();
        }
    }
    run("ip", None, &["netns", "delete", namespace]).ok();
}

/// Removes what a test process left behind that was killed itself.
pub(super) fn remove_leftovers() {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return };
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if process.is_some_and(|process| !std::path::Path::new("/proc").join(process).exists()) {
            remove(&name);
        }
    }
}
