//! One line of a log: its prefix (host, process, thread, device), its level, its words.

use memchr::{memchr, memrchr};

use crate::find::{cut, holds, position};

/// How a line is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// `NCCL INFO`.
    Info,
    /// `NCCL WARN`.
    Warn,
    /// `NCCL TRACE`, `NCCL CALL`.
    Trace,
    /// `NCCL version 2.18.3+cuda12.2`.
    NcclVersion,
    /// `RCCL version 2.18.3+hip6.0`.
    RcclVersion,
    /// A framework that reports an error of the library.
    Framework,
}

/// A process and the thread in it that spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Speaker<'a> {
    pub host: &'a str,
    pub process: u32,
    pub thread: u32,
}

/// A line that is the library's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spoken<'a> {
    pub level: Level,
    /// What stands before it: see [`prefix`].
    pub prefix: &'a str,
    pub message: &'a str,
}

/// Errors that frameworks print in words of their own.
const FRAMEWORK_MARKS: &[&str] = &["WorkNCCL(", "NCCL error in", "NCCL error:", "Failed, NCCL error"];

/// The line, if it is the library's.
pub(super) fn parse(text: &str) -> Option<Spoken<'_>> {
    let mut from = 0;
    while let Some(at) = position(text, "NCCL ", from) {
        from = at + "NCCL ".len();
        let prefix = text[..at].trim_end();
        let Some((level, message)) = level(&text[from..]) else { continue };
        if ends_prefix(prefix) {
            return Some(Spoken { level, prefix, message });
        }
    }
    if !holds(text, "CCL ") && !holds(text, "WorkNCCL(") {
        return None;
    }
    version(text).or_else(|| framework(text))
}

fn level(rest: &str) -> Option<(Level, &str)> {
    let word_end = memchr(b' ', rest.as_bytes()).unwrap_or(rest.len());
    let level = match &rest[..word_end] {
        "INFO" => Level::Info,
        "WARN" => Level::Warn,
        "TRACE" | "CALL" | "ABORT" => Level::Trace,
        _ => return None,
    };
    // Only one blank: indentation draws trees.
    let message = &rest[word_end..];
    Some((level, message.strip_prefix(' ').unwrap_or(message)))
}

/// Prose that quotes a line has words before it; a prefix ends in a bracket, a number, a colon or a date.
fn ends_prefix(before: &str) -> bool {
    match before.as_bytes() {
        [] => true,
        [.., digit, b'Z'] => digit.is_ascii_digit(),
        [.., last] => last.is_ascii_digit() || b"]):>|".contains(last),
    }
}

/// Who spoke, and the place in the source where that stands: `transport/net_ib.cc:839`, of warnings.
pub(super) fn prefix(before: &str) -> (Option<Speaker<'_>>, Option<&str>) {
    let mut who = None;
    let mut source = None;
    for word in before.split(' ').filter(|word| !word.is_empty()) {
        if let Some(found) = speaker(word) {
            who = Some(found);
            source = None;
        } else if word.contains('.') && word.rsplit_once(':').is_some_and(|(_, line)| is_number(line)) {
            source = Some(word);
        }
    }
    (who, source)
}

/// `12`, `[12`, `2024-02-11T12`.
fn ends_in_hour(host: &str) -> bool {
    let digits = host.bytes().rev().take_while(u8::is_ascii_digit).count();
    let before = host.as_bytes()[..host.len() - digits].last();
    digits == 2 && before.is_none_or(|byte| b"T[(".contains(byte))
}

/// `[1,0]<stdout>:node001:120037:120133`.
fn speaker(word: &str) -> Option<Speaker<'_>> {
    let (rest, thread) = behind_colon(word)?;
    let (rest, process) = behind_colon(rest)?;
    if !is_number(process) || !is_number(thread) {
        return None;
    }
    let start = rest.bytes().rposition(|byte| b":>]|".contains(&byte)).map_or(0, |last| last + 1);
    let host = Some(&rest[start..]).filter(|host| !host.is_empty())?;
    // `12:34:56` is a time; in a container processes have numbers as small.
    if process.len() == 2 && thread.len() == 2 && ends_in_hour(host) {
        return None;
    }
    Some(Speaker { host, process: process.parse().ok()?, thread: thread.parse().ok()? })
}

/// `word` before and behind its last colon.
fn behind_colon(word: &str) -> Option<(&str, &str)> {
    let at = memrchr(b':', word.as_bytes())?;
    Some((&word[..at], &word[at + 1..]))
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `NCCL version 2.18.3+cuda12.2` stands alone on its line, but for what a launcher puts before it.
fn version(text: &str) -> Option<Spoken<'_>> {
    const MARK: &str = "CCL version";
    let at = position(text, MARK, 0)?.checked_sub(1)?;
    let level = match text.as_bytes().get(at)? {
        b'N' => Level::NcclVersion,
        b'R' => Level::RcclVersion,
        _ => return None,
    };
    let before = text[..at].trim_end();
    let message = text[at + 1 + MARK.len()..].trim_start_matches([' ', ':', '\t']).trim_end();
    let numbered = message.starts_with(|c: char| c.is_ascii_digit()) && message.contains('.');
    let alone = !before.trim_start().starts_with('#');
    // Who says it has no part in it.
    (numbered && alone && ends_prefix(before)).then_some(Spoken { level, prefix: "", message })
}

fn framework(text: &str) -> Option<Spoken<'_>> {
    let marked = FRAMEWORK_MARKS.iter().any(|mark| holds(text, mark));
    marked.then(|| Spoken { level: Level::Framework, prefix: "", message: text.trim() })
}

/// Whether `text` goes on with what RCCL says of itself after its version.
pub(super) fn continues_version(text: &str) -> bool {
    const NAMES: [&str; 5] = ["HIP version", "ROCm version", "Hostname", "Librccl path", "NCCL version"];
    let named = |name: &&str| {
        let Some(at) = text.find(*name) else { return false };
        ends_prefix(text[..at].trim_end()) && text[at + name.len()..].trim_start().starts_with(':')
    };
    NAMES.iter().any(named)
}

/// Whether `text` is a row of the table that follows `Enabled NCCL Func/Proto/Algo Matrix:`.
pub(super) fn continues_matrix(text: &str) -> bool {
    text.matches(" | ").count() == 2
}

/// Takes a number off the front of `text`.
pub(super) fn take_number(text: &mut &str) -> Option<u32> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(end);
    let number = number.parse().ok()?;
    *text = rest;
    Some(number)
}

/// The number that follows `mark` in `text`.
pub(super) fn number_after(text: &str, mark: &str) -> Option<u32> {
    let mut rest = cut(text, mark)?.1.trim_start_matches([' ', '=', ':']);
    take_number(&mut rest)
}

/// The word that follows `mark` in `text`, to the next blank or comma.
pub(super) fn word_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let rest = cut(text, mark)?.1.trim_start();
    let word = rest.split([' ', ',', '\t']).next()?;
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Option<(&str, u32, u32)> {
        let speaker = prefix(parse(text)?.prefix).0?;
        Some((speaker.host, speaker.process, speaker.thread))
    }

    #[test]
    fn prefixes_of_all_launchers_and_versions_are_read() {
        assert_eq!(host("a1:3255:3261 [0] NCCL INFO Using network IB"), Some(("a1", 3255, 3261)));
        assert_eq!(host("[1,0]<stdout>:a1:7:9 [0] NCCL INFO x"), Some(("a1", 7, 9)));
        assert_eq!(host(" 3: a1:7:9 [0] NCCL INFO x"), Some(("a1", 7, 9)));
        assert_eq!(host("[2025-03-01 12:34:56] a1:123:456 [0] NCCL INFO x"), Some(("a1", 123, 456)));
        assert_eq!(host("2025-03-01 12:34:56 [0] NCCL INFO x"), None);
        assert_eq!(host("2025-03-01T12:34:56 [0] NCCL INFO x"), None);
        assert_eq!(host("worker-12:31:77 [0] NCCL INFO x"), Some(("worker-12", 31, 77)));
        let bare = parse("[1] NCCL INFO Channel 00/0 : 1[21000] -> 0[1000] via P2P/direct pointer");
        assert_eq!(bare.map(|spoken| spoken.level), Some(Level::Info));
        let warned = parse("w:946:988 [0] transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion");
        assert_eq!(warned.and_then(|spoken| prefix(spoken.prefix).1), Some("transport/net_ib.cc:839"));
        let named = parse("w:946:988 [0] init.cc:12 (ncclInit) NCCL WARN Cuda failure");
        assert_eq!(named.and_then(|spoken| prefix(spoken.prefix).1), Some("init.cc:12"));
    }

    #[test]
    fn prose_and_names_that_only_look_alike_are_not_the_librarys() {
        assert_eq!(parse("I set it so that NCCL INFO lines are printed"), None);
        assert_eq!(parse("# nccl-tests version 2.19.6 nccl-headers=22203"), None);
        assert_eq!(parse("set NCCL_DEBUG=INFO and NCCL WARNINGS appear"), None);
        assert_eq!(parse("torch 2.1, NCCL version 2.18.1"), None);
    }

    #[test]
    fn versions_stand_alone() {
        let version = |text| parse(text).map(|spoken: Spoken<'_>| (spoken.level, spoken.message));
        assert_eq!(version("NCCL version 2.7.8+cuda10.2"), Some((Level::NcclVersion, "2.7.8+cuda10.2")));
        assert_eq!(
            version("[1,0]<stdout>:RCCL version 2.18.3+hip6.0 develop:8e0258a+"),
            Some((Level::RcclVersion, "2.18.3+hip6.0 develop:8e0258a+"))
        );
        assert_eq!(
            version("RCCL version : 2.22.3-develop:abc"),
            Some((Level::RcclVersion, "2.22.3-develop:abc"))
        );
        assert!(continues_version("HIP version  : 6.4.43483"));
    }
}
