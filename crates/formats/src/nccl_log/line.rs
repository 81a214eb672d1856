//! One line of a log: its prefix (host, process, thread, device), its level, its words.

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
    pub speaker: Option<Speaker<'a>>,
    /// `transport/net_ib.cc:839`, of warnings.
    pub source: Option<&'a str>,
    pub message: &'a str,
}

/// Errors that frameworks print in words of their own.
const FRAMEWORK_MARKS: &[&str] = &["WorkNCCL(", "NCCL error in", "NCCL error:", "Failed, NCCL error"];

/// Whether the line may be the library's: a test that costs next to nothing for all others.
pub(super) fn may_be(text: &str) -> bool {
    text.contains("CCL ") || text.contains("WorkNCCL(")
}

/// The line, if it is the library's.
pub(super) fn parse(text: &str) -> Option<Spoken<'_>> {
    if !may_be(text) {
        return None;
    }
    let mut from = 0;
    while let Some(at) = position(text, "NCCL ", from) {
        from = at + "NCCL ".len();
        let before = text[..at].trim_end();
        let Some((level, message)) = level(&text[from..]) else { continue };
        if ends_prefix(before) {
            let (speaker, source) = prefix(before);
            return Some(Spoken { level, speaker, source, message });
        }
    }
    version(text).or_else(|| framework(text))
}

/// Where `mark` stands in `text` from byte `from` on. Quicker than `str::find`, which prepares for long texts
/// where a line has but a few dozen characters before the mark.
pub(super) fn position(text: &str, mark: &str, from: usize) -> Option<usize> {
    let (bytes, mark) = (text.as_bytes(), mark.as_bytes());
    // Blanks are the most frequent bytes of all.
    let skip = mark.iter().position(|byte| *byte != b' ')?;
    let rare = mark[skip];
    let mut at = from + skip;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == rare)?;
        if bytes[at - skip..].starts_with(mark) {
            return Some(at - skip);
        }
        at += 1;
    }
}

/// `text` before and behind the first `mark`.
pub(super) fn cut<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let at = position(text, mark, 0)?;
    Some((&text[..at], &text[at + mark.len()..]))
}

fn level(rest: &str) -> Option<(Level, &str)> {
    let word_end = rest.find(' ').unwrap_or(rest.len());
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

/// Who spoke, and the place in the source where that stands.
fn prefix(before: &str) -> (Option<Speaker<'_>>, Option<&str>) {
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

/// `[1,0]<stdout>:node001:120037:120133`.
fn speaker(word: &str) -> Option<Speaker<'_>> {
    let (rest, thread) = word.rsplit_once(':')?;
    let (rest, process) = rest.rsplit_once(':')?;
    // `12:34:56` is a time.
    if process.len() == 2 && thread.len() == 2 || !is_number(process) || !is_number(thread) {
        return None;
    }
    let host = rest.rsplit([':', '>', ']', '|']).next().filter(|host| !host.is_empty())?;
    Some(Speaker { host, process: process.parse().ok()?, thread: thread.parse().ok()? })
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `NCCL version 2.18.3+cuda12.2` stands alone on its line, but for what a launcher puts before it.
fn version(text: &str) -> Option<Spoken<'_>> {
    const MARK: &str = "CCL version";
    let at = text.find(MARK)?.checked_sub(1)?;
    let level = match text.as_bytes().get(at)? {
        b'N' => Level::NcclVersion,
        b'R' => Level::RcclVersion,
        _ => return None,
    };
    let before = text[..at].trim_end();
    let message = text[at + 1 + MARK.len()..].trim_start_matches([' ', ':', '\t']).trim_end();
    let numbered = message.starts_with(|c: char| c.is_ascii_digit()) && message.contains('.');
    let alone = !before.trim_start().starts_with('#');
    (numbered && alone && ends_prefix(before)).then_some(Spoken {
        level,
        speaker: None,
        source: None,
        message,
    })
}

fn framework(text: &str) -> Option<Spoken<'_>> {
    let marked = FRAMEWORK_MARKS.iter().any(|mark| text.contains(mark));
    marked.then(|| Spoken { level: Level::Framework, speaker: None, source: None, message: text.trim() })
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
    let mut rest = text.split_once(mark)?.1.trim_start_matches([' ', '=', ':']);
    take_number(&mut rest)
}

/// The word that follows `mark` in `text`, to the next blank or comma.
pub(super) fn word_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let rest = text.split_once(mark)?.1.trim_start();
    let word = rest.split([' ', ',', '\t']).next()?;
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Option<(&str, u32, u32)> {
        let speaker = parse(text)?.speaker?;
        Some((speaker.host, speaker.process, speaker.thread))
    }

    #[test]
    fn prefixes_of_all_launchers_and_versions_are_read() {
        assert_eq!(host("a1:3255:3261 [0] NCCL INFO Using network IB"), Some(("a1", 3255, 3261)));
        assert_eq!(host("[1,0]<stdout>:a1:7:9 [0] NCCL INFO x"), Some(("a1", 7, 9)));
        assert_eq!(host(" 3: a1:7:9 [0] NCCL INFO x"), Some(("a1", 7, 9)));
        assert_eq!(host("[2025-03-01 12:34:56] a1:123:456 [0] NCCL INFO x"), Some(("a1", 123, 456)));
        assert_eq!(host("2025-03-01 12:34:56 [0] NCCL INFO x"), None);
        let bare = parse("[1] NCCL INFO Channel 00/0 : 1[21000] -> 0[1000] via P2P/direct pointer");
        assert_eq!(bare.map(|spoken| spoken.level), Some(Level::Info));
        let warned = parse("w:946:988 [0] transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion");
        assert_eq!(warned.and_then(|spoken| spoken.source), Some("transport/net_ib.cc:839"));
        let named = parse("w:946:988 [0] init.cc:12 (ncclInit) NCCL WARN Cuda failure");
        assert_eq!(named.and_then(|spoken| spoken.source), Some("init.cc:12"));
    }

    #[test]
    fn prose_and_names_that_only_look_alike_are_not_the_librarys() {
        assert_eq!(parse("I set it so that NCCL INFO lines are printed"), None);
        assert_eq!(parse("# nccl-tests version 2.19.6 nccl-headers=22203"), None);
        assert_eq!(parse("set NCCL_DEBUG=INFO and NCCL WARNINGS appear"), None);
        assert_eq!(parse("torch 2.1, NCCL version 2.18.1"), None);
    }

    #[test]
    fn marks_are_found_where_they_begin() {
        assert_eq!(position("a vi via b via c", " via ", 0), Some(4));
        assert_eq!(position("a vi via b via c", " via ", 5), Some(10));
        assert_eq!(
            (position("via ", " via ", 0), position("", "x", 0), position("x", "x", 9)),
            (None, None, None)
        );
        assert_eq!(cut("é via ü", " via "), Some(("é", "ü")));
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
