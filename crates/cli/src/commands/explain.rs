use weft_base::{Diagnostic, nearest};
use weft_catalogue::Catalogue;
use weft_doctor::{cause_named, causes};

use super::Answer;
use crate::codes::{self, NOTHING_TO_EXPLAIN};
use crate::exit::{Exit, Failure};
use crate::explain::{self, Entry};
use crate::style::heading;

/// Where does it come from: a diagnostic code, a cause that the doctor names, or the facts of a link, device or system
///
/// Every fact is shown with its grade (measured, datasheet, derived, assumed, announced) and its source.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A code such as `pair-asymmetric`, a cause such as `D014` or `acs-iommu`, or a name such as `nvlink3`, `a100-sxm4-80gb`, `dgx-a100`
    #[arg(value_name = "WHAT", required = true)]
    what: Vec<String>,
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    // `weft explain A100 80GB` is as good as one with quotes.
    let what = args.what.join(" ");
    if let Some(code) = codes::all().find(|code| code.name == what) {
        return Ok(Answer::text(format!("{}\n{}\n", heading(code.name), wrapped(code.explanation))));
    }
    if let Ok(cause) = cause_named(&what) {
        let title = format!("{} {}: {}", cause.code, cause.word, cause.title);
        return Ok(Answer::text(format!("{}\n{}\n", heading(title), wrapped(cause.explanation))));
    }
    let entries = explain::entries(&what, catalogue);
    if entries.is_empty() {
        return Err(nothing(&what, catalogue));
    }
    let texts: Vec<String> = entries.iter().map(|entry: &Entry<'_>| entry.text(catalogue)).collect();
    Ok(Answer::text(texts.join("\n")))
}

fn nothing(what: &str, catalogue: &Catalogue) -> Failure {
    let of_causes = causes().into_iter().flat_map(|cause| [cause.word, cause.code]);
    let known = explain::names(catalogue).chain(codes::all().map(|code| code.name)).chain(of_causes);
    let near = nearest(what, known, 3);
    let named: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    let hint = if named.is_empty() {
        "`weft show --list` prints the names of the catalogue".to_owned()
    } else {
        format!("did you mean {}?", named.join(" or "))
    };
    let message = format!("`{what}` is neither a diagnostic code nor a name of the catalogue");
    let why = Diagnostic::error(NOTHING_TO_EXPLAIN, message).hint(hint);
    Failure::new(Exit::BadInput, format!("explain {what}"), why)
}

/// Words in lines of at most 100 characters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < 100 => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
