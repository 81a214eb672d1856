//! How the program ends.

use std::io::Write;

use weft_base::Diagnostic;
use weft_formats::Source;

/// Exit codes; part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, whatever warnings there were.
    Done,
    /// An answer could not be given, or a finding of severity error, though the input was good.
    Findings,
    /// The command line is wrong.
    Usage,
    /// The input holds no machine, or contradicts the hardware.
    BadInput,
    /// A file cannot be read, or the output cannot be written.
    Environment,
    /// A mistake of ours.
    Bug,
}

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::BadInput => 3,
            Self::Environment => 4,
            Self::Bug => 70,
        }
    }
}

/// Why a command gave no answer.
#[derive(Debug)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// What failed, to follow "failed to": "read `topo.txt`".
    pub what: String,
    /// Why, and what else was found on the way.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that the findings point into.
    pub sources: Vec<Source>,
    /// Whether the commands whose output can be read would help.
    pub worth_pasting: bool,
    /// What a script that asked for JSON gets nevertheless.
    pub document: Option<String>,
}

impl Failure {
    /// A failure with one reason and no text to point into.
    pub fn new(exit: Exit, what: impl Into<String>, why: Diagnostic) -> Self {
        Self::because(exit, what, vec![why], Vec::new())
    }

    /// A failure with its findings, which point into `sources`.
    pub fn because(
        exit: Exit,
        what: impl Into<String>,
        diagnostics: Vec<Diagnostic>,
        sources: Vec<Source>,
    ) -> Self {
        Self { exit, what: what.into(), diagnostics, sources, worth_pasting: false, document: None }
    }
}

/// Says that the program is at fault, and ends it: the release build aborts, which would hide the code.
pub fn report_bug(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
    let what = panic
        .payload()
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.payload().downcast_ref::<String>().cloned())
        .unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(
        std::io::stderr(),
        "weft {version} failed because of a mistake of its own{place}: {what}\n\
         Nothing is wrong with your command. Please report this line, and the input if you may share it."
    );
    std::process::exit(i32::from(Exit::Bug.code()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_the_reference() {
        let all = [Exit::Done, Exit::Findings, Exit::Usage, Exit::BadInput, Exit::Environment, Exit::Bug];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 3, 4, 70]);
    }
}
