//! `weft gather`: what this machine's tools say, in one archive that can be shared.

mod anonymise;
mod names;
mod run;
mod table;

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;
use weft_base::Diagnostic;
use weft_formats::{FORMATS, Source, Text};

use self::anonymise::Anonymiser;
use self::run::End;
use self::table::{COMMANDS, Command, FILES, FOLDERS, Keep, VARIABLES, When};
use crate::codes::OUTPUT_IS_TERMINAL;
use crate::exit::{Exit, Failure};
use crate::output;

/// Interfaces that are asked, at most: virtual functions can be hundreds.
const INTERFACES_MAX: usize = 64;
/// What the archive says of itself.
const MANIFEST: &str = "manifest.txt";

/// Run this machine's tools and pack what they print into one archive
///
/// Runs the read-only commands that exist here (nvidia-smi, lspci, ibstat, ethtool and others), each with a limit
/// of time, and writes a gzip'ed tar to standard output. Names of hosts and users, GUIDs, serial numbers, UUIDs and
/// network addresses are replaced by made-up ones, the same everywhere in the archive.
#[derive(Debug, clap::Args)]
#[command(after_help = "weft gather > case.tar.gz\nweft show case.tar.gz")]
pub struct Args {
    /// The most seconds that one command may run
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Also ask all switches of the InfiniBand network (ibnetdiscover, iblinkinfo), which loads it
    #[arg(long)]
    fabric: bool,
    /// Leave names and addresses as they are
    #[arg(long)]
    keep_names: bool,
    /// Make up the same names in every archive that is gathered with this text
    #[arg(long, value_name = "TEXT", conflicts_with = "keep_names")]
    seed: Option<String>,
    /// List what would be run and read, and do nothing
    #[arg(long)]
    list: bool,
}

/// A file of the archive.
struct Entry {
    name: String,
    bytes: Vec<u8>,
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    if args.list {
        return Ok(output::text(&list()));
    }
    if io::stdout().is_terminal() {
        return Err(on_terminal());
    }
    let mut manifest = format!("weft gather {}\n\n", env!("CARGO_PKG_VERSION"));
    let mut entries = commands(args, &mut manifest);
    entries.extend(files(&mut manifest));
    entries.extend(environment(&mut manifest));
    let replaced = if args.keep_names {
        manifest.push_str("\nNames and addresses are as they were.\n");
        0
    } else {
        manifest.push_str(
            "\nNames of hosts and users, GUIDs, serial numbers, UUIDs and addresses are made up.\n",
        );
        replace(args, &mut entries, &mut manifest)
    };
    entries.push(Entry { name: MANIFEST.to_owned(), bytes: manifest.into_bytes() });
    let count = entries.len();
    let archive = match packed(&entries) {
        Ok(archive) => archive,
        Err(error) => {
            output::talk(&format!("weft: failed to pack the archive: {error}\n"));
            return Ok(Exit::Environment);
        }
    };
    let exit = output::bytes(&archive);
    if exit == Exit::Done {
        output::talk(&format!("{count} files, {replaced} names and addresses replaced\n"));
    }
    Ok(exit)
}

/// An archive would be noise on a terminal.
fn on_terminal() -> Failure {
    let why = Diagnostic::error(OUTPUT_IS_TERMINAL, "an archive is not for a terminal")
        .hint("write it to a file: `weft gather > case.tar.gz`");
    Failure::new(Exit::Usage, "gather a case", why)
}

/// What would be run, for a reader.
fn list() -> String {
    let mut text = String::from("Runs, where they exist:\n");
    for command in COMMANDS {
        let note = match command.when {
            When::Always => "",
            When::Fabric => "  (with --fabric)",
            When::EachInterface => "  (for each network interface)",
        };
        let line = format!("{} {}", command.program, command.arguments.join(" ").replace("{}", "DEV"));
        let _ = writeln!(text, "  {}{note}", line.trim_end());
    }
    text.push_str("Reads, where they exist:\n");
    for (path, _) in FILES {
        let _ = writeln!(text, "  {path}");
    }
    for (folder, _) in FOLDERS {
        let _ = writeln!(text, "  {folder}/*");
    }
    let variables: Vec<String> = VARIABLES.iter().map(|name| format!("{name}*")).collect();
    let _ = writeln!(text, "  variables of the environment: {}", variables.join(", "));
    text
}

fn commands(args: &Args, manifest: &mut String) -> Vec<Entry> {
    let interfaces = interfaces();
    let mut entries = Vec::new();
    for command in COMMANDS.iter().filter(|command| command.when != When::Fabric || args.fabric) {
        let Some(program) = run::find(command.program) else {
            let line = format!("{} {}", command.program, command.arguments.join(" "));
            let _ = writeln!(manifest, "{}: not here", line.trim_end());
            continue;
        };
        let devices: Vec<&str> = match command.when {
            When::EachInterface => interfaces.iter().map(String::as_str).collect(),
            When::Always | When::Fabric => vec![""],
        };
        for device in devices {
            entries.extend(entry(command, &program, device, args, manifest));
        }
    }
    entries
}

/// What one command prints; nothing where it prints nothing.
fn entry(
    command: &Command,
    program: &Path,
    device: &str,
    args: &Args,
    manifest: &mut String,
) -> Option<Entry> {
    let arguments: Vec<String> =
        command.arguments.iter().map(|argument| argument.replace("{}", device)).collect();
    let line = format!("{} {}", command.program, arguments.join(" "));
    let line = line.trim_end();
    let limit = command.limit_seconds.unwrap_or(0).max(args.timeout);
    let ran = run::run(program, &arguments, Duration::from_secs(limit));
    let how = match &ran.end {
        End::Status(Some(0)) => "ended".to_owned(),
        End::Status(Some(status)) => format!("ended with status {status}"),
        End::Status(None) => "was ended by a signal".to_owned(),
        End::TimedOut => format!("was stopped after {limit} s"),
        End::Refused(why) => format!("could not be run: {why}"),
    };
    let seconds = ran.took.as_secs_f64();
    output::talk(&format!("{line}: {how} ({seconds:.1} s)\n"));
    let _ = writeln!(manifest, "{line}: {how} ({seconds:.1} s, {} bytes)", ran.output.len());
    let bytes = match command.keep {
        Keep::All => ran.output,
        Keep::WithCommand => [format!("$ {line}\n").as_bytes(), &ran.output].concat(),
        Keep::LinesOf(format) => claimed(format, &ran.output),
    };
    (!bytes.is_empty()).then(|| Entry { name: command.output.replace("{}", device), bytes })
}

/// The lines that the reader called `format` claims; where it claims none, nothing.
fn claimed(format: &str, bytes: &[u8]) -> Vec<u8> {
    let source = Source::file("-", String::from_utf8_lossy(bytes));
    let lines = weft_formats::lines(&source);
    let text = Text { origin: source.origin, lines: &lines };
    let reader = FORMATS.iter().find(|known| known.name() == format);
    let runs = reader.into_iter().flat_map(|reader| reader.find(&text)).flat_map(|claim| claim.runs);
    let kept = runs.flat_map(|run| lines.get(run).unwrap_or_default());
    kept.flat_map(|line| [line.text.as_bytes(), b"\n"].concat()).collect()
}

/// Network interfaces with a device behind them, in order of their names.
fn interfaces() -> Vec<String> {
    let with_device = |name: &String| Path::new("/sys/class/net").join(name).join("device").exists();
    let mut names: Vec<String> = names_in("/sys/class/net").into_iter().filter(with_device).collect();
    names.truncate(INTERFACES_MAX);
    names
}

fn names_in(folder: &str) -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "the command line is where folders are read")]
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[expect(clippy::disallowed_methods, reason = "the command line is where files are read")]
fn file(path: &str, name: String, manifest: &mut String) -> Option<Entry> {
    let Ok(bytes) = fs::read(path) else {
        let _ = writeln!(manifest, "{path}: not here");
        return None;
    };
    let _ = writeln!(manifest, "{path}: {} bytes", bytes.len());
    Some(Entry { name, bytes })
}

fn files(manifest: &mut String) -> Vec<Entry> {
    let mut entries: Vec<Entry> =
        FILES.iter().filter_map(|(path, name)| file(path, (*name).to_owned(), manifest)).collect();
    for (folder, prefix) in FOLDERS {
        for name in names_in(folder) {
            let path = format!("{folder}/{name}");
            // The file does not say which bond it is of.
            let headed = |entry: Entry| {
                let bytes = [format!("$ cat {path}\n").as_bytes(), &entry.bytes].concat();
                Entry { bytes, ..entry }
            };
            entries.extend(file(&path, format!("{prefix}-{name}.txt"), manifest).map(headed));
        }
    }
    entries
}

/// Variables that libraries of collectives read, one a line.
fn environment(manifest: &mut String) -> Option<Entry> {
    let mut lines: Vec<String> = env::vars_os()
        .map(|(name, value)| {
            format!("{}={}", name.to_string_lossy(), value.to_string_lossy().replace('\n', " "))
        })
        .filter(|line| VARIABLES.iter().any(|prefix| line.starts_with(prefix)))
        .collect();
    lines.sort();
    let _ = writeln!(manifest, "environment: {} variables", lines.len());
    let bytes: Vec<u8> = lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
    (!bytes.is_empty()).then(|| Entry { name: "environment.txt".to_owned(), bytes })
}

/// Replaces names in all files and in the manifest, and says how many different ones there were.
fn replace(args: &Args, entries: &mut [Entry], manifest: &mut String) -> usize {
    let mut names = names::of_this_machine();
    for entry in entries.iter() {
        names.learn(&String::from_utf8_lossy(&entry.bytes));
    }
    let mut anonymiser = match &args.seed {
        Some(seed) => Anonymiser::seeded(seed, names),
        None => Anonymiser::random(names),
    };
    for entry in entries.iter_mut() {
        entry.bytes = anonymiser.text(&String::from_utf8_lossy(&entry.bytes)).into_bytes();
        entry.name = anonymiser.text(&entry.name);
    }
    *manifest = anonymiser.text(manifest);
    anonymiser.count()
}

fn packed(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for entry in entries {
        // No time, no owner: they would tell of the machine, and make equal cases differ.
        let mut header = tar::Header::new_ustar();
        header.set_size(entry.bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, &entry.name, entry.bytes.as_slice())?;
    }
    let mut encoder = builder.into_inner()?;
    encoder.flush()?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_where_an_archive_goes() {
        let failure = on_terminal();
        assert_eq!((failure.exit, failure.diagnostics[0].code.name), (Exit::Usage, "output-is-terminal"));
    }

    #[test]
    fn lines_that_no_reader_claims_are_left_out() {
        let log = b"[1.0] hello\n[2.0] NVRM: Xid (PCI:0000:1b:00): 31, pid=1\n";
        assert_eq!(claimed("kernel-log", log), b"[2.0] NVRM: Xid (PCI:0000:1b:00): 31, pid=1\n");
    }
}
