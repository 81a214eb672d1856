//! From the sources of a command line to a machine: read, joined, built, named as in the input.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser};
use weft_base::{Diagnostic, Severity};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_formats::{Case, CaseGraph, Evidence, FORMATS, Located, Overrides, Reading, Source, join};
use weft_topology::{Subnet, Topology, oneliner};

use crate::codes::{FILE_UNUSED, NO_MACHINE};
use crate::exit::{Exit, Failure};
use crate::input::{self, Given};

/// What the machine is, and what its description leaves open.
#[derive(Debug, clap::Args)]
pub struct SourceArgs {
    /// A file, a folder or an archive (every file in it), `-` for standard input, `local` for this machine, a
    /// machine in one line, or the name of a system; several are joined into one machine
    #[arg(value_name = "SOURCE", required = true)]
    pub sources: Vec<OsString>,
    #[command(flatten)]
    pub open: OpenArgs,
}

/// What the input does not say.
#[derive(Debug, Clone, clap::Args)]
pub struct OpenArgs {
    /// The GPU model, where the input does not say it: `a100-sxm4-80gb`, `rtx-3090`
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// The NIC model, where the input does not say it: `cx7`
    #[arg(long, value_name = "NAME")]
    pub nic: Option<String>,
    /// The CPU model, where the input does not say it: `epyc-rome`
    #[arg(long, value_name = "NAME")]
    pub cpu: Option<String>,
    /// Read the input as this format instead of recognising it; `weft show --list formats` names them
    #[arg(long = "as", value_name = "FORMAT", value_parser = format_names(), hide_possible_values = true)]
    pub forced: Option<String>,
}

fn format_names() -> PossibleValuesParser {
    let value = |format: &&dyn weft_formats::Format| PossibleValue::new(format.name()).help(format.title());
    PossibleValuesParser::new(FORMATS.iter().map(value))
}

/// A machine, ready for questions.
#[derive(Debug)]
pub struct Loaded {
    /// The texts, for excerpts.
    pub sources: Vec<Source>,
    /// What was read and joined.
    pub case: Case,
    /// Its graphs, nodes called as in the input; empty where the input describes no machine.
    pub graph: CaseGraph,
    /// What is worth telling.
    pub diagnostics: Vec<Diagnostic>,
}

/// What happens to input that contradicts itself or the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnError {
    /// There is no answer.
    Fail,
    /// It is among the diagnostics, and what could be saved is used.
    Keep,
}

/// Reads, joins and builds. `verb` is what the user wants done with the machine: `show`.
pub fn load(
    sources: &[OsString],
    open: &OpenArgs,
    verb: &str,
    catalogue: &Catalogue,
) -> Result<Loaded, Failure> {
    loaded(sources, open, verb, OnError::Fail, catalogue)
}

/// The same for who wants to know what is wrong: input that contradicts itself is no failure.
pub fn patient(
    sources: &[OsString],
    open: &OpenArgs,
    verb: &str,
    catalogue: &Catalogue,
) -> Result<Loaded, Failure> {
    loaded(sources, open, verb, OnError::Keep, catalogue)
}

fn loaded(
    sources: &[OsString],
    open: &OpenArgs,
    verb: &str,
    on_error: OnError,
    catalogue: &Catalogue,
) -> Result<Loaded, Failure> {
    if let Some(finding) = unquoted(sources, catalogue).or_else(|| collective(sources)) {
        return Err(bad_input(format!("{verb} a machine"), vec![finding], Vec::new()));
    }
    let mut given = Vec::new();
    for argument in sources.iter().filter(|argument| !is_local(argument)) {
        given.extend(input::read(argument, catalogue)?);
    }
    joined(given, sources, open, verb, on_error, catalogue)
}

/// The same of texts that were read already.
pub fn load_read(
    given: Vec<Given>,
    sources: &[OsString],
    open: &OpenArgs,
    verb: &str,
    catalogue: &Catalogue,
) -> Result<Loaded, Failure> {
    joined(given, sources, open, verb, OnError::Fail, catalogue)
}

fn joined(
    given: Vec<Given>,
    sources: &[OsString],
    open: &OpenArgs,
    verb: &str,
    on_error: OnError,
    catalogue: &Catalogue,
) -> Result<Loaded, Failure> {
    let here =
        sources.iter().any(is_local).then(|| weft_probe::survey(&weft_probe::Disk, &weft_probe::SystemNvml));
    let what = match sources {
        [one] if one == "-" => format!("{verb} standard input"),
        [one] if is_local(one) => format!("{verb} this machine"),
        [one] => format!("{verb} {}", one.to_string_lossy()),
        _ => format!("{verb} the machine that {} sources describe", sources.len()),
    };
    let (evidence, mut diagnostics, texts) = read_all(given, here, open.forced.as_deref(), catalogue);
    let fails = |diagnostics: &[Diagnostic]| on_error == OnError::Fail && has_error(diagnostics);
    if evidence.is_empty() || fails(&diagnostics) {
        let worth_pasting = evidence.is_empty() && diagnostics.iter().any(is_unrecognised);
        return Err(Failure { worth_pasting, ..bad_input(what, diagnostics, texts) });
    }
    let overrides = Overrides { gpu: open.gpu.clone(), nic: open.nic.clone(), cpu: open.cpu.clone() };
    let place = evidence.first().map(|evidence| evidence.place.clone());
    let (case, found) = join(evidence, &overrides, catalogue);
    diagnostics.extend(found);
    if fails(&diagnostics) {
        return Err(bad_input(what, diagnostics, texts));
    }
    let graph = case.graph(catalogue).unwrap_or_else(|error| {
        let finding = error.finding();
        diagnostics.push(match place {
            Some(place) => finding.at(place),
            None => finding,
        });
        CaseGraph::default()
    });
    if fails(&diagnostics) {
        return Err(bad_input(what, diagnostics, texts));
    }
    diagnostics.extend(graph.diagnostics.iter().cloned());
    Ok(Loaded { sources: texts, case, graph, diagnostics })
}

impl Loaded {
    /// A refusal: what the input has to tell, and why there is no answer. `what` follows "failed to".
    pub fn refused(&self, exit: Exit, what: impl Into<String>, why: Diagnostic) -> Failure {
        let mut diagnostics = self.diagnostics.clone();
        diagnostics.push(why);
        Failure::because(exit, what, diagnostics, self.sources.clone())
    }

    /// The first network in the input.
    pub fn subnet(&self) -> Option<&Subnet> {
        self.case.evidence.iter().find_map(|evidence| {
            if let Evidence::Subnet(subnet) = &evidence.value { Some(&**subnet) } else { None }
        })
    }

    /// What is drawn: the machine, else the first network in the input.
    pub fn drawing(&self, catalogue: &Catalogue) -> Cow<'_, Topology> {
        match self.subnet().filter(|_| self.case.machine.is_none()) {
            Some(subnet) => Cow::Owned(subnet.topology(catalogue)),
            None => Cow::Borrowed(&self.graph.topology),
        }
    }
}

/// The same, where an answer needs a machine.
pub fn machine(
    sources: &[OsString],
    open: &OpenArgs,
    verb: &str,
    catalogue: &Catalogue,
) -> Result<Loaded, Failure> {
    let loaded = load(sources, open, verb, catalogue)?;
    if loaded.case.machine.is_some() {
        return Ok(loaded);
    }
    let names: Vec<&str> = loaded.sources.iter().map(|source| source.name.as_str()).collect();
    let mut why = Diagnostic::error(NO_MACHINE, format!("{} says nothing of the machine", names.join(", ")))
        .hint(
            "give the machine too: the output of `nvidia-smi topo -m`, or a system's name such as `dgx-a100`",
        );
    why.place = loaded.case.evidence.first().map(|evidence| evidence.place.clone());
    let mut diagnostics = loaded.diagnostics;
    diagnostics.push(why);
    Err(bad_input(format!("{verb} a machine"), diagnostics, loaded.sources))
}

/// A machine in one line that the shell cut at its blanks.
fn unquoted(sources: &[OsString], catalogue: &Catalogue) -> Option<Diagnostic> {
    if sources.len() < 2 || sources.iter().any(|source| Path::new(source).exists()) {
        return None;
    }
    let words: Vec<_> = sources.iter().map(|source| source.to_string_lossy()).collect();
    let line = words.join(" ");
    oneliner::parse(&line, catalogue).ok()?;
    let message = format!("a machine in one line is one argument, but this one came in {}", sources.len());
    Some(Diagnostic::error(oneliner::SYNTAX, message).hint(format!("put it into quotes: '{line}'")))
}

/// The name of a collective, where only machines are named without an option.
fn collective(sources: &[OsString]) -> Option<Diagnostic> {
    let named = |source: &OsString| Collective::from_name(source.to_str()?);
    let collective = sources.iter().filter(|source| !Path::new(source).exists()).find_map(named)?.name();
    let finding = Diagnostic::error(NO_MACHINE, format!("`{collective}` is a collective and not a machine"));
    Some(finding.hint(format!("`--collective {collective}` says what a machine is to do")))
}

/// Whether an argument names this machine rather than a file; a file of that name is `./local`.
fn is_local(argument: &OsString) -> bool {
    argument == weft_probe::SOURCE
}

type ReadAll = (Vec<Located<Evidence>>, Vec<Diagnostic>, Vec<Source>);

fn read_all(
    given: Vec<Given>,
    here: Option<Reading>,
    forced: Option<&str>,
    catalogue: &Catalogue,
) -> ReadAll {
    let (mut evidence, mut diagnostics, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(reading) = here {
        evidence.extend(reading.evidence);
        diagnostics.extend(reading.diagnostics);
        texts.push(Source::file(weft_probe::SOURCE, ""));
    }
    for Given { source, from_folder, diagnostics: found } in given {
        let reading = weft_formats::read(&source, catalogue, forced);
        // Where all of it is no text, a wrong byte is no news.
        if !reading.is_binary && reading.diagnostics.iter().all(|finding| finding.code.name != "not-text") {
            diagnostics.extend(found);
        }
        if from_folder && reading.evidence.is_empty() {
            diagnostics.extend(reading.diagnostics.first().map(|reason| {
                let message = format!("{} was left out: {}", source.name, reason.message);
                let finding = Diagnostic::note(FILE_UNUSED, message);
                reason.place.clone().map_or(finding.clone(), |place| finding.at(place))
            }));
        } else {
            diagnostics.extend(reading.diagnostics);
        }
        evidence.extend(reading.evidence);
        texts.push(source);
    }
    if evidence.is_empty() && !has_error(&diagnostics) {
        let message = "none of these files holds a machine";
        diagnostics.push(Diagnostic::error(FILE_UNUSED, message));
    }
    (evidence, diagnostics, texts)
}

/// Whether nothing at all was recognised, rather than something misread.
fn is_unrecognised(finding: &Diagnostic) -> bool {
    ["empty-input", "not-text", "no-device", "file-unused"].contains(&finding.code.name)
}

fn has_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|finding| finding.severity == Severity::Error)
}

fn bad_input(what: String, diagnostics: Vec<Diagnostic>, sources: Vec<Source>) -> Failure {
    Failure::because(Exit::BadInput, what, diagnostics, sources)
}
