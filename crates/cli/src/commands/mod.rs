//! The commands, one per file.

mod advise;
mod bench;
mod calibrate;
mod check;
mod compare;
mod completions;
mod convert;
mod doctor;
mod explain;
mod frames;
mod gather;
mod man;
mod plan;
mod predict;
mod questions;
mod replay;
mod schedule;
mod serve;
mod show;
mod simulate;
mod train;
mod validate;

use clap::{CommandFactory, Parser, Subcommand};
use weft_catalogue::Catalogue;

use crate::exit::{Exit, Failure};
use crate::{output, report};

/// GPU interconnects: what a machine is, what it should reach, where each number is from
#[derive(Debug, Parser)]
#[command(name = "weft", version, propagate_version = true, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(show::Args),
    Predict(predict::Args),
    Advise(advise::Args),
    Compare(compare::Args),
    Doctor(doctor::Args),
    Calibrate(calibrate::Args),
    Plan(plan::Args),
    Simulate(simulate::Args),
    Train(train::Args),
    Serve(serve::Args),
    Frames(frames::Args),
    Replay(replay::Args),
    Schedule(schedule::Args),
    Bench(bench::Args),
    Validate(validate::Args),
    Check(check::Args),
    Convert(convert::Args),
    Gather(gather::Args),
    Explain(explain::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// What a command made: the text for standard output, and talk for standard error.
#[derive(Debug, Default)]
pub struct Answer {
    /// For standard output; with styles, unless `plain`.
    pub text: String,
    /// For standard error.
    pub talk: String,
    /// Whether `text` is written byte by byte: JSON, SVG, completions.
    pub plain: bool,
    /// Whether the answer is that something is wrong: exit code 1.
    pub is_finding: bool,
}

impl Answer {
    /// Text for a reader.
    pub fn text(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// Text for a program.
    pub fn plain(text: String) -> Self {
        Self { text, plain: true, ..Self::default() }
    }
}

/// Runs a command line.
pub fn run(cli: Cli) -> Exit {
    // Parsing the facts takes longer than all else that some commands do.
    let catalogue = Catalogue::embedded;
    let answer = match cli.command {
        None => Ok(Answer::text(questions::text())),
        Some(Command::Show(args)) => show::run(&args, catalogue()),
        Some(Command::Predict(args)) => predict::run(&args, catalogue()),
        Some(Command::Advise(args)) => advise::run(&args, catalogue()),
        Some(Command::Compare(args)) => compare::run(&args, catalogue()),
        Some(Command::Doctor(args)) => doctor::run(&args, catalogue()),
        Some(Command::Calibrate(args)) => calibrate::run(&args, catalogue()),
        Some(Command::Plan(args)) => plan::run(&args, catalogue()),
        Some(Command::Simulate(args)) => simulate::run(&args, catalogue()),
        Some(Command::Train(args)) => train::run(&args, catalogue()),
        Some(Command::Serve(args)) => serve::run(&args, catalogue()),
        Some(Command::Frames(args)) => frames::run(&args, catalogue()),
        Some(Command::Replay(args)) => replay::run(&args, catalogue()),
        Some(Command::Schedule(args)) => schedule::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Validate(args)) => validate::run(&args, catalogue()),
        Some(Command::Check(args)) => check::run(&args, catalogue()),
        Some(Command::Convert(args)) => convert::run(&args, catalogue()),
        Some(Command::Gather(args)) => return gather::run(&args).unwrap_or_else(|failure| fail(&failure)),
        Some(Command::Explain(args)) => explain::run(&args, catalogue()),
        Some(Command::Completions(args)) => Ok(completions::run(&args)),
        Some(Command::Man(args)) => man::run(&args),
    };
    match answer {
        Ok(answer) => {
            let exit =
                if answer.plain { output::bytes(answer.text.as_bytes()) } else { output::text(&answer.text) };
            output::talk(&answer.talk);
            if answer.is_finding && exit == Exit::Done { Exit::Findings } else { exit }
        }
        Err(failure) => fail(&failure),
    }
}

fn fail(failure: &Failure) -> Exit {
    output::talk(&report::failure(failure));
    if let Some(document) = &failure.document {
        output::bytes(document.as_bytes());
    }
    failure.exit
}

/// The whole command, for completions and the man page.
fn command() -> clap::Command {
    Cli::command()
}
