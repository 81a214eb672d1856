//! What a line of such a log is, told as cheaply as can be: most lines are none of ours.

use super::row::{Columns, Row, tail};
use crate::evidence::BenchmarkRank;
use crate::find::holds;
use crate::prefix::{Body, body};

/// Programs and the collectives they measure.
const PROGRAMS: &[(&str, &str)] = &[
    ("all_reduce_perf", "all-reduce"),
    ("all_gather_perf", "all-gather"),
    ("reduce_scatter_perf", "reduce-scatter"),
    ("broadcast_perf", "broadcast"),
    ("reduce_perf", "reduce"),
    ("alltoall_perf", "all-to-all"),
    ("alltoallv_perf", "all-to-all"),
    ("all_to_all_perf", "all-to-all"),
    ("sendrecv_perf", "send-recv"),
    ("gather_perf", "gather"),
    ("scatter_perf", "scatter"),
    ("hypercube_perf", "hypercube"),
];

/// The collective that a program measures.
pub(super) fn collective(program: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|(name, _)| *name == program).map(|(_, collective)| *collective)
}

/// A line of one of the tools.
#[derive(Debug, PartialEq)]
pub(super) enum Kind<'a> {
    /// A row of figures.
    Row(Row<'a>),
    /// The end of a torn row, if there is one.
    Tail(Vec<&'a str>),
    /// The header of a table.
    Header(Columns),
    /// `(B)    (elements) …`.
    Units,
    /// `out-of-place    in-place`: whether each half is in place.
    Halves(Vec<bool>),
    /// A rank.
    Rank(BenchmarkRank),
    /// `nThread 1 nGpus 8 …`.
    Parameters,
    /// `nccl-tests version 2.17.6 nccl-headers=…`; the text from the version on.
    Version(&'a str),
    /// `Using devices`.
    Using,
    /// A command line or a message that names the program.
    Program(&'static str),
    /// `Collective test starting`, which begins a run.
    Starting(&'a str),
    /// `Collective test concluded`, which ends one.
    Concluded(&'a str),
    /// `Avg bus bandwidth`; the text behind the colon.
    Average(&'a str),
    /// `Out of bounds values`; the text behind the colon.
    OutOfBounds(&'a str),
    /// A remark without figures.
    Remark,
    /// A lone `#`.
    Bare,
}

/// What `text` is; `None` if it is none of ours.
pub(super) fn kind(text: &str) -> Option<(Body<'_>, Kind<'_>)> {
    let body = body(text);
    let kind = match body.text.as_bytes().first()? {
        b'#' => comment(body.text.trim_start_matches('#').trim()),
        b'0'..=b'9' => row(body.text),
        b'A'..=b'Z' | b'a'..=b'z' | b'(' if may_be_comment(body.text) => comment(body.text.trim_end()),
        _ => None,
    };
    let kind = kind.or_else(|| program(text).map(Kind::Program))?;
    Some((body, kind))
}

/// A page that renders `#` as a heading drops it; these are the words that such lines begin with.
fn may_be_comment(text: &str) -> bool {
    let words = [
        "nThread",
        "nccl-tests",
        "rccl-tests",
        "Using",
        "Rank",
        "size",
        "bytes",
        "(B)",
        "out-of-place",
        "in-place",
        "Out of",
        "Avg",
        "Collective",
        "Blocking",
        "Errors",
    ];
    // Most lines differ from all of them in their first byte.
    let first = text.as_bytes().first();
    words.iter().any(|word| word.as_bytes().first() == first && text.starts_with(word))
}

fn row(text: &str) -> Option<Kind<'_>> {
    match Row::new(text) {
        Some(row) => Some(Kind::Row(row)),
        None => tail(text).map(Kind::Tail),
    }
}

fn comment(text: &str) -> Option<Kind<'_>> {
    if text.is_empty() {
        return Some(Kind::Bare);
    }
    if text.as_bytes()[0].is_ascii_digit() {
        return Row::new(text).map(Kind::Row);
    }
    if let Some(columns) =
        Columns::new(text).filter(|_| text.starts_with("size") || text.starts_with("bytes"))
    {
        return Some(Kind::Header(columns));
    }
    if text.starts_with("Rank") {
        return rank(text).map(Kind::Rank);
    }
    if text.starts_with("nThread") {
        return text.contains("inBytes").then_some(Kind::Parameters);
    }
    if text.starts_with("(B)") {
        return Some(Kind::Units);
    }
    if text.starts_with("out-of-place") || text.starts_with("in-place") {
        return halves(text).map(Kind::Halves);
    }
    if text.starts_with("nccl-tests") || text.starts_with("rccl-tests") {
        let rest = text["nccl-tests".len()..].trim_start_matches([' ', ':']);
        return rest.to_ascii_lowercase().starts_with("version").then_some(Kind::Version(text));
    }
    if text.starts_with("Using devices") {
        return Some(Kind::Using);
    }
    if text.starts_with("Blocking Enabled") || text.starts_with("Errors with asterisks") {
        return Some(Kind::Remark);
    }
    statement(text)
}

/// A statement about the whole run, with its value behind a colon.
fn statement(text: &str) -> Option<Kind<'_>> {
    let (name, value) = text.split_once(':')?;
    let value = value.trim();
    match name.trim_end() {
        "Avg bus bandwidth" => Some(Kind::Average(value)),
        "Out of bounds values" => Some(Kind::OutOfBounds(value)),
        "Collective test starting" => Some(Kind::Starting(value)),
        "Collective test concluded" => Some(Kind::Concluded(value)),
        _ => None,
    }
}

/// Nothing but `out-of-place` and `in-place`, in any order.
fn halves(text: &str) -> Option<Vec<bool>> {
    let half = |word: &str| match word {
        "out-of-place" => Some(false),
        "in-place" => Some(true),
        _ => None,
    };
    text.split_ascii_whitespace().map(half).collect()
}

/// `Rank  0 Group  0 Pid 204199 on  node001 device  0 [0009:01:00] NVIDIA GH200 120GB`, or
/// `Rank  0 uses device  0 [0x04] Tesla P100`.
fn rank(text: &str) -> Option<BenchmarkRank> {
    let mut words = text.split_ascii_whitespace().peekable();
    words.next()?;
    let mut rank = BenchmarkRank { rank: words.next()?.parse().ok()?, ..BenchmarkRank::default() };
    while let Some(word) = words.next() {
        match word {
            "Group" => rank.group = words.next()?.parse().ok(),
            "Pid" => rank.process = words.next()?.parse().ok(),
            "on" => rank.host = words.next().map(str::to_owned),
            "uses" => {}
            "device" => {
                rank.device = words.next()?.parse().ok();
                if let Some(bus) = words.peek().and_then(|word| word.strip_prefix('[')?.strip_suffix(']')) {
                    rank.bus = Some(bus.to_owned());
                    words.next();
                }
                let model = words.collect::<Vec<_>>().join(" ");
                rank.gpu = Some(model).filter(|model| !model.is_empty());
                break;
            }
            _ => return None,
        }
    }
    (rank.device.is_some() || rank.process.is_some()).then_some(rank)
}

/// The program of a command line such as `mpirun -np 8 ./build/all_reduce_perf -b 8`.
fn program(text: &str) -> Option<&'static str> {
    // Asked of nearly every line of a log.
    if !holds(text, "_perf") {
        return None;
    }
    let last = |word: &'_ str| word.rfind(['/', '=']).map_or(0, |at| at + 1);
    let known = |word: &str| {
        let name = &word[last(word)..];
        PROGRAMS
            .iter()
            .find(|(known, _)| *known == name.trim_matches(['"', '\'', '`', ';']))
            .map(|(name, _)| *name)
    };
    let mut found = text.split_ascii_whitespace().filter_map(known);
    let first = found.next()?;
    found.all(|next| next == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_all_ages_are_read() {
        let Some((_, Kind::Rank(new))) =
            kind("#  Rank 12 Group  0 Pid 204199 on  node001 device  4 [0009:01:00] NVIDIA GH200 120GB")
        else {
            panic!("no rank");
        };
        assert_eq!((new.rank, new.process, new.device), (12, Some(204_199), Some(4)));
        assert_eq!((new.host.as_deref(), new.bus.as_deref()), (Some("node001"), Some("0009:01:00")));
        assert_eq!(new.gpu.as_deref(), Some("NVIDIA GH200 120GB"));
        let Some((_, Kind::Rank(old))) = kind("#   Rank  1 uses device  3 [0x04] Tesla P100") else {
            panic!("no rank");
        };
        assert_eq!((old.rank, old.host, old.gpu.as_deref()), (1, None, Some("Tesla P100")));
    }

    #[test]
    fn lines_of_other_tools_are_left_alone() {
        for text in [
            "node001:120044:120285 [7] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC",
            "[1,7]<stdout>:node001:1:2 [7] NCCL INFO Connected all rings",
            "# a comment",
            "8 2 apples 1 2 3",
            "Rank and file",
            "size matters",
            "",
        ] {
            assert_eq!(kind(text).map(|(_, kind)| kind), None, "{text}");
        }
    }

    #[test]
    fn a_command_line_names_the_program() {
        let found = kind("$ mpirun -np 8 -x A=b ./build/all_gather_perf -b 8");
        assert_eq!(found.map(|(_, kind)| kind), Some(Kind::Program("all_gather_perf")));
        assert_eq!(kind("for t in all_gather_perf reduce_perf; do"), None);
    }
}
