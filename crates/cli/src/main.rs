//! `weft`: what is my machine, what should it reach, and where does each number come from.
//!
//! The only crate that prints, reads files and looks at the environment. Commands are one file each in
//! [`commands`]; their doc comments are the help, the completions and the man page.

mod advise;
mod arguments;
mod bench;
mod calibration;
mod cells;
mod changes;
mod codes;
mod commands;
mod doctor;
mod exit;
mod explain;
mod fabric;
mod frames;
mod gpus;
mod input;
mod json;
mod load;
mod measured;
mod names;
mod output;
mod page;
mod pairs;
mod picture;
mod plan;
mod predict;
mod replay;
mod report;
mod schedule;
mod serve;
mod settings;
mod show;
mod simulate;
mod style;
mod subsets;
mod table;
mod train;
mod validate;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Cli;
use crate::exit::Exit;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(exit::report_bug));
    let exit = match Cli::try_parse() {
        Ok(cli) => commands::run(cli),
        Err(error) => {
            // Help and version come as errors too; clap knows which stream each belongs to. A closed pipe
            // leaves no one to tell.
            let _ = error.print();
            if error.use_stderr() { Exit::Usage } else { Exit::Done }
        }
    };
    ExitCode::from(exit.code())
}
