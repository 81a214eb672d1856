//! Runs every `console` block of README.md and docs/, and compares what is printed with what stands there.
//!
//! A block holds commands after `$ ` and below each what it prints: standard output, then standard error. A
//! line `…` stands for any number of lines. Commands of other programs are left alone. Understood are
//! `weft ARGS`, `cargo run … --bin weft -- ARGS`, `cat FILE |` before, `| weft ARGS` and `| head -N` behind,
//! and `> FILE`, which drops the output. `WEFT_BLESS=1 cargo test -p weft-cli --test docs` rewrites the blocks.

#![expect(clippy::disallowed_methods, reason = "tests read files to compare with")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::root;

/// A command of a block.
struct Step {
    /// As typed, continued lines joined.
    command: String,
    /// Lines of the file that hold the expected output.
    output: std::ops::Range<usize>,
}

/// The commands of all console blocks of `lines`.
fn steps(lines: &[String]) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    let (mut inside, mut number) = (false, 0);
    while number < lines.len() {
        let line = &lines[number];
        if line.starts_with("```") {
            inside = !inside && line.trim_end() == "```console";
            // Blocks of other kinds end with a fence too.
            if !inside && line.trim_end() != "```" {
                number += 1;
                while number < lines.len() && lines[number].trim_end() != "```" {
                    number += 1;
                }
            }
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            let mut command = command.to_owned();
            while let Some(start) = command.strip_suffix('\\') {
                number += 1;
                command = format!("{start}{}", lines.get(number).map_or("", |line| line.trim_start()));
            }
            found.push(Step { command, output: number + 1..number + 1 });
        } else if let Some(step) = found.last_mut().filter(|_| inside) {
            step.output.end = number + 1;
        }
        number += 1;
    }
    found
}

/// What a command prints; `None` if it is none of ours.
fn printed(command: &str) -> Option<Vec<String>> {
    let words = shlex::split(command)?;
    let mut input = Vec::new();
    let mut talk = String::new();
    let mut ours = false;
    for stage in words.split(|word| word == "|") {
        let (stage, dropped) = match stage.iter().position(|word| word == ">") {
            Some(at) => (&stage[..at], true),
            None => (stage, false),
        };
        let stage: Vec<&str> = stage.iter().map(String::as_str).collect();
        match stage.as_slice() {
            ["cat", file] => input = fs::read(root().join(file)).ok()?,
            ["head", count] => {
                let count: usize = count.trim_start_matches('-').parse().ok()?;
                let text = String::from_utf8_lossy(&input).into_owned();
                input =
                    text.lines().take(count).flat_map(|line| [line, "\n"]).collect::<String>().into_bytes();
            }
            ["weft", args @ ..] => (ours, input) = (true, run(args, &input, &mut talk)),
            ["cargo", "run", rest @ ..] if rest.contains(&"weft") => {
                let args = rest.iter().position(|word| *word == "--").map(|at| &rest[at + 1..])?;
                (ours, input) = (true, run(args, &input, &mut talk));
            }
            _ => return None,
        }
        if dropped {
            input.clear();
        }
    }
    let text = format!("{}{talk}", String::from_utf8_lossy(&input));
    ours.then(|| text.lines().map(|line| line.trim_end().to_owned()).collect())
}

fn run(args: &[&str], input: &[u8], talk: &mut String) -> Vec<u8> {
    let output = common::run(args, input);
    talk.push_str(&String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Whether the lines are those, `…` standing for any.
fn same(expected: &[String], printed: &[String]) -> bool {
    let mut parts = expected.split(|line| line == "…");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let parts: Vec<&[String]> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = (0..=rest.len()).find(|at| rest[*at..].starts_with(part)) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// What to write below a command: all that was printed, or as much of it before and behind a `…` as stood
/// there.
fn blessed(expected: &[String], printed: Vec<String>) -> Vec<String> {
    let Some(at) = expected.iter().position(|line| line == "…") else { return printed };
    let behind = expected.len() - at - 1;
    if at + behind >= printed.len() {
        return printed;
    }
    let mut lines = printed[..at].to_vec();
    lines.push("…".to_owned());
    lines.extend_from_slice(&printed[printed.len() - behind..]);
    lines
}

/// README.md and every page below docs/.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        [root().join("README.md")].into_iter().filter(|page| page.is_file()).collect();
    let mut open = vec![root().join("docs")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn check(page: &Path, bless: bool, wrong: &mut Vec<String>) -> usize {
    let text = fs::read_to_string(page).expect("a page can be read");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut ran = 0;
    // From the end, so that rewriting moves no line that is still to come.
    for step in steps(&lines).into_iter().rev() {
        let Some(printed) = printed(&step.command) else { continue };
        ran += 1;
        let expected = lines[step.output.clone()].to_vec();
        // Blank lines between two commands belong to neither.
        let kept = expected.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        let end = printed.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        if same(&expected[..kept], &printed[..end]) {
            continue;
        }
        let name = page.strip_prefix(root()).unwrap_or(page).display();
        if bless {
            let new = blessed(&expected[..kept], printed[..end].to_vec());
            lines.splice(step.output.start..step.output.start + kept, new);
        } else {
            wrong.push(format!(
                "{name}:{}: `{}` prints\n{}",
                step.output.start,
                step.command,
                printed[..end].join("\n")
            ));
        }
    }
    if bless {
        fs::write(page, lines.join("\n") + "\n").expect("a page can be written");
    }
    ran
}

#[test]
fn transcripts_are_what_the_program_prints() {
    let bless = std::env::var("WEFT_BLESS").is_ok();
    let mut wrong = Vec::new();
    let ran: usize = pages().iter().map(|page| check(page, bless, &mut wrong)).sum();
    println!("{ran} commands ran");
    assert!(wrong.is_empty(), "{}\n\nWEFT_BLESS=1 rewrites the blocks", wrong.join("\n\n"));
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[test]
fn blocks_are_taken_apart_into_commands_and_outputs() {
    let page = lines(
        "a\n```sh\n$ weft no\n```\n```console\n$ weft a \\\n  b\nout\n\n$ weft c > d\n```\n$ weft no\n",
    );
    let found = steps(&page);
    let commands: Vec<&str> = found.iter().map(|step| step.command.as_str()).collect();
    assert_eq!(commands, ["weft a b", "weft c > d"]);
    assert_eq!(page[found[0].output.clone()], ["out", ""]);
    assert!(found[1].output.is_empty());
}

#[test]
fn an_ellipsis_stands_for_any_lines() {
    let all = lines("a\nb\nc\nd");
    assert!(same(&lines("a\n…\nd"), &all) && same(&all, &all) && same(&lines("…"), &all));
    assert!(same(&lines("a\n…\nc\n…"), &all));
    assert!(!same(&lines("a\n…\nc"), &all) && !same(&lines("a"), &all));
    assert_eq!(blessed(&lines("x\n…\ny"), all.clone()), lines("a\n…\nd"));
    assert_eq!(blessed(&lines("x"), all.clone()), all);
}

#[test]
fn only_our_commands_are_run() {
    assert!(printed("nvidia-smi topo -m").is_none());
    assert!(printed("weft --version").is_some_and(|lines| lines.len() == 1));
    assert!(printed("weft --version > version.txt").is_some_and(|lines| lines.is_empty()));
    assert!(printed("cargo run --release --bin weft -- --version").is_some());
    assert!(
        printed("cat examples/topo/dgx-a100.txt | weft show - | head -1")
            .is_some_and(|lines| lines.len() == 1)
    );
}
