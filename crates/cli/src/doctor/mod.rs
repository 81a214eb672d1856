//! `weft doctor`: findings for readers, for health checks and for collectors of metrics.

mod fleet;
mod health;
mod text;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use weft_base::{Diagnostic, Severity};

pub use fleet::{fleet_lines, fleet_prometheus, fleet_text};
pub use health::{line, prometheus};
pub use text::text;

/// What reading found that the doctor's reader should know: lines that nobody used are no news here.
pub fn worth_telling(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    diagnostics.iter().filter(|finding| finding.severity > Severity::Note).cloned().collect()
}

/// What machines are called whose evidence lies in these folders or archives: the last part of the path; the whole path
/// where that is not enough to tell them apart.
pub fn names(sources: &[OsString]) -> Vec<String> {
    let whole = |source: &OsString| source.to_string_lossy().trim_end_matches('/').to_owned();
    let short = |source: &OsString| {
        let name = Path::new(source)
            .file_name()
            .map_or_else(|| whole(source), |name| name.to_string_lossy().into_owned());
        let ends = [".tar.gz", ".tgz", ".tar", ".zip"];
        ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
    };
    let mut found: Vec<String> = sources.iter().map(short).collect();
    let mut sorted = found.clone();
    sorted.sort();
    if sorted.windows(2).any(|two| two[0] == two[1]) {
        found = sources.iter().map(whole).collect();
    }
    found
}

/// One line for each round: its pairs of hosts.
pub fn schedule(names: &[String], rounds: &[Vec<(u32, u32)>]) -> String {
    let name = |number: u32| usize::try_from(number).ok().and_then(|number| names.get(number));
    let mut text = String::new();
    for (number, round) in (1..).zip(rounds) {
        let pairs = round.iter().filter_map(|(a, b)| Some(format!("{} {}", name(*a)?, name(*b)?)));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "round {number}: {}", pairs.collect::<Vec<_>>().join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use weft_predictor::pairs::rounds;

    use super::*;

    #[test]
    fn machines_are_called_by_their_folder_or_archive_where_that_tells_them_apart() {
        let of = |paths: &[&str]| names(&paths.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of(&["nodes/a/", "b.tar.gz"]), ["a", "b"]);
        assert_eq!(of(&["x/case", "y/case/"]), ["x/case", "y/case"]);
    }

    #[test]
    fn each_round_has_each_host_once() {
        let names: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        assert_eq!(schedule(&names, &rounds(4)).lines().next(), Some("round 1: a d, b c"));
    }
}
