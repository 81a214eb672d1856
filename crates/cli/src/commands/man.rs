use weft_base::{Diagnostic, nearest};

use super::Answer;
use crate::codes::NOTHING_TO_EXPLAIN;
use crate::exit::{Exit, Failure};

/// Print the manual page, of all or of one command
///
/// `weft man | man -l -` shows it; `weft man > weft.1` keeps it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command; all of them together where none is named
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

pub fn run(args: &Args) -> Result<Answer, Failure> {
    let mut whole = super::command();
    whole.build();
    let page = match &args.command {
        None => whole,
        Some(name) => {
            let found = whole.find_subcommand(name).cloned();
            found
                .map(|page| page.display_name(format!("weft-{name}")))
                .ok_or_else(|| unknown(&whole, name))?
        }
    };
    let mut text = Vec::new();
    let version = concat!("weft ", env!("CARGO_PKG_VERSION"));
    let rendered = clap_mangen::Man::new(page).source(version).render(&mut text);
    rendered.map_err(|error| {
        let why = Diagnostic::error(NOTHING_TO_EXPLAIN, error.to_string());
        Failure::new(Exit::Environment, "render the manual page", why)
    })?;
    Ok(Answer::plain(String::from_utf8_lossy(&text).into_owned()))
}

fn unknown(whole: &clap::Command, name: &str) -> Failure {
    let known: Vec<&str> = whole.get_subcommands().map(clap::Command::get_name).collect();
    let hint = match nearest(name, known.iter().copied(), 1).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the commands are {}", known.join(", ")),
    };
    let why = Diagnostic::error(NOTHING_TO_EXPLAIN, format!("there is no command `{name}`")).hint(hint);
    Failure::new(Exit::Usage, "print the manual page", why)
}
