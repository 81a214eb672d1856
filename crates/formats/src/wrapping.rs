//! What collectors of a cluster's logs put around each line: container runtimes' `2026-03-02T10:11:12.123456789Z stdout
//! F `, Docker's JSON, the times of `kubectl logs --timestamps`, the journal's `Mar 02 10:11:12 node-17 job[4711]: `.
//! Unlike what launchers print it differs from line to line, and it cuts long lines in pieces, so that it is gone before
//! any reader looks. And what stands before each line of a text alike, as the only rank's `[1,0]<stdout>:`.

use std::borrow::Cow;

use crate::format::{Cut, Line};
use crate::text;

/// Digits of a second's fraction from which on a time is a collector's; kernels and libraries print up to six.
const FRACTION_MIN: usize = 7;
/// Longest `[pod/…]` in front, in bytes.
const POD_MAX: usize = 200;
/// What stands before a line in Docker's files.
const DOCKER: &str = "{\"log\":\"";
/// Lines from which on a head that all have is a wrapping.
const LINES_MIN: usize = 3;
/// Longest line that pieces are joined to, in bytes: a file may say of each of its lines that it goes on.
const JOINED_MAX: usize = 1 << 20;

/// Takes it off all lines.
pub(crate) fn unwrap(lines: &mut Vec<Line<'_>>) {
    unwrap_each(lines);
    unwrap_journal(lines);
    unwrap_alike(lines);
}

fn unwrap_each(lines: &mut Vec<Line<'_>>) {
    let mut open: [Option<usize>; 2] = [None; 2];
    let mut joined = Vec::new();
    for index in 0..lines.len() {
        let Some(found) = layer(&lines[index]) else { continue };
        let Layer { text, cut, stream, goes_on } = found;
        let slot = &mut open[usize::from(stream == Stream::Error)];
        match *slot {
            Some(first) if lines[first].text.len() + text.len() <= JOINED_MAX => {
                lines[first].text.to_mut().push_str(&text);
                joined.push(index);
            }
            Some(_) | None => {
                lines[index].text = text;
                lines[index].cut = cut;
                *slot = Some(index);
            }
        }
        if !goes_on {
            *slot = None;
        }
    }
    if !joined.is_empty() {
        let mut joined = joined.into_iter().peekable();
        let mut index = 0;
        lines.retain(|_| {
            index += 1;
            joined.next_if_eq(&(index - 1)).is_none()
        });
    }
}

/// Takes `length` bytes off the front of a line, which are characters of ASCII.
fn cut_front(line: &mut Line<'_>, length: usize) {
    let rest = match &line.text {
        Cow::Borrowed(whole) => Cow::Borrowed(whole.get(length..).unwrap_or_default()),
        Cow::Owned(whole) => Cow::Owned(whole.get(length..).unwrap_or_default().to_owned()),
    };
    line.text = rest;
    line.cut.length += length;
}

/// Takes the journal's head off where most lines have that of one program; what the kernel and others say in between
/// stays whole.
fn unwrap_journal(lines: &mut [Line<'_>]) {
    let Some(first) = lines.iter().find(|line| !line.is_blank()).and_then(|line| journal(&line.text)) else {
        return;
    };
    let who = first.0.to_owned();
    let heads: Vec<Option<usize>> = lines
        .iter()
        .map(|line| {
            journal(&line.text).filter(|(own, _)| *own == who && line.cut.at == 0).map(|(_, length)| length)
        })
        .collect();
    let (own, all) = (heads.iter().flatten().count(), lines.iter().filter(|line| !line.is_blank()).count());
    if own < LINES_MIN || 2 * own < all {
        return;
    }
    for (line, head) in lines.iter_mut().zip(heads) {
        if let Some(length) = head {
            cut_front(line, length);
        }
    }
}

/// Host and program of `Mar 02 10:11:12 node-17 job[4711]: text`, and where the text begins.
fn journal(text: &str) -> Option<(&str, usize)> {
    let bytes = text.as_bytes();
    let is_short =
        bytes.first()?.is_ascii_uppercase() && bytes.get(3) == Some(&b' ') && bytes.get(9) == Some(&b':');
    let is_long = bytes.get(4) == Some(&b'-') && bytes.get(10) == Some(&b'T') && bytes.get(13) == Some(&b':');
    let start = match (is_short, is_long) {
        (true, _) if bytes.get(12) == Some(&b':') && bytes.get(15) == Some(&b' ') => 16,
        (_, true) => text.find(' ').filter(|at| *at < 40)? + 1,
        _ => return None,
    };
    let rest = text.get(start..)?;
    let (host, behind) = rest.split_once(' ')?;
    let (name, _) = behind.split_once('[')?;
    let close = behind.find("]:")?;
    let is_number = behind.get(name.len() + 1..close)?.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = !name.contains([' ', ':']) && !host.contains(['[', ':']) && close < POD_MAX;
    let length = start + host.len() + 1 + close + 2;
    let length = length + usize::from(bytes.get(length) == Some(&b' '));
    let who =
        rest.get(..host.len() + 1 + name.len()).filter(|_| text.get(..length).is_some_and(str::is_ascii))?;
    (is_number && is_plain).then_some((who, length))
}

/// Takes off what a launcher or a mail put before each line alike. The name of a host stays: whose output it is.
fn unwrap_alike(lines: &mut [Line<'_>]) {
    let mut filled = lines.iter().filter(|line| !line.is_blank());
    let Some(prefix) = filled.next().and_then(|line| alike(&line.text)).map(str::to_owned) else { return };
    let short = prefix.trim_end();
    let is_own = |line: &Line<'_>| line.text.starts_with(&prefix) || line.text.trim_end() == short;
    let is_plain = |line: &Line<'_>| line.cut.at == 0;
    if lines.len() < LINES_MIN || !lines.iter().all(|line| line.is_blank() || is_own(line) && is_plain(line))
    {
        return;
    }
    for line in lines.iter_mut().filter(|line| !line.is_blank()) {
        let length = prefix.len().min(line.text.len());
        cut_front(line, length);
    }
}

/// `[1,0]<stdout>:`, ` 0: `, `> ` with the blank behind.
fn alike(text: &str) -> Option<&str> {
    let own = text.trim_start();
    let start = text.len() - own.len();
    let digits = own.bytes().take_while(u8::is_ascii_digit).count();
    let length = match own.as_bytes().first()? {
        b'[' => {
            let close = own.find(']').filter(|close| *close < 24)?;
            let stream =
                ["<stdout>:", "<stderr>:", ":"].into_iter().find(|it| own[close + 1..].starts_with(it))?;
            close + 1 + stream.len()
        }
        b'>' => 1,
        _ if digits > 0 && digits < 6 && own[digits..].starts_with(": ") => digits + 1,
        _ => return None,
    };
    let end = start + length;
    let blank = usize::from(text.as_bytes().get(end) == Some(&b' '));
    text.get(..end + blank).filter(|prefix| prefix.is_ascii())
}

/// Whether the text of a source is inside Docker's JSON, where blanks and signs are written otherwise.
pub(crate) fn is_escaped(line: &Line<'_>) -> bool {
    line.raw.starts_with(DOCKER)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Error,
}

/// What stands in a wrapping.
struct Layer<'a> {
    text: Cow<'a, str>,
    cut: Cut,
    stream: Stream,
    goes_on: bool,
}

fn layer<'a>(line: &Line<'a>) -> Option<Layer<'a>> {
    match line.text.as_bytes().first()? {
        b'{' if line.text.starts_with(DOCKER) => docker(&line.text),
        b'[' if line.text.starts_with("[pod/") => {
            let start = line.text.get(..POD_MAX.min(line.text.len()))?.find("] ")? + 2;
            runtime(line, start)
        }
        byte if byte.is_ascii_digit() => runtime(line, 0),
        _ => None,
    }
}

/// `2026-03-02T10:11:12.123456789Z stdout F text`, `2026-03-02T10:11:12.123456789Z text`.
fn runtime<'a>(line: &Line<'a>, start: usize) -> Option<Layer<'a>> {
    let rest = line.text.get(start..)?;
    let (time, behind) = rest.split_once(' ').unwrap_or((rest, ""));
    let fraction = fraction_of(time)?;
    let (stream, goes_on, text) = match tags(behind) {
        Some(found) => found,
        None if fraction >= FRACTION_MIN => (Stream::Out, false, behind),
        None => return None,
    };
    let cut = Cut { at: start, length: rest.len() - text.len() };
    let text = match &line.text {
        Cow::Borrowed(whole) if start == 0 => Cow::Borrowed(whole.get(cut.length..)?),
        Cow::Borrowed(_) | Cow::Owned(_) => Cow::Owned([line.text.get(..start)?, text].concat()),
    };
    Some(Layer { text, cut, stream, goes_on })
}

/// Stream, whether the line goes on, and text of `stdout F text`.
fn tags(behind: &str) -> Option<(Stream, bool, &str)> {
    let (stream, rest) = if let Some(rest) = behind.strip_prefix("stdout ") {
        (Stream::Out, rest)
    } else {
        (Stream::Error, behind.strip_prefix("stderr ")?)
    };
    let (tag, text) = rest.split_once(' ').unwrap_or((rest, ""));
    // More tags may follow the first, behind colons.
    match tag.split(':').next()? {
        "F" => Some((stream, false, text)),
        "P" => Some((stream, true, text)),
        _ => None,
    }
}

/// How many digits of a second's fraction a time has that is one: `2026-03-02T10:11:12.123456789Z`.
fn fraction_of(time: &str) -> Option<usize> {
    let bytes = time.as_bytes();
    let is_at = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
    let is_date = is_at(4, b'-') && is_at(7, b'-') && is_at(10, b'T') && is_at(13, b':') && is_at(16, b':');
    if !is_date || bytes.len() > 40 {
        return None;
    }
    let fraction = time.get(19..)?.strip_prefix('.').unwrap_or_default();
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let zone = time.get(19..)?.trim_start_matches('.').get(digits..)?;
    let is_zone = zone == "Z" || zone.starts_with(['+', '-']) && zone.len() >= 5;
    is_zone.then_some(digits)
}

/// `{"log":"text\n","stream":"stdout","time":"…"}`.
fn docker<'a>(text: &str) -> Option<Layer<'a>> {
    let entry: serde_json::Value = serde_json::from_str(text).ok()?;
    let log = entry.get("log")?.as_str()?;
    entry.get("stream").or(entry.get("time"))?;
    let is_error = entry.get("stream").and_then(serde_json::Value::as_str) == Some("stderr");
    let line = log.strip_suffix('\n');
    Some(Layer {
        text: Cow::Owned(text::cleaned(line.unwrap_or(log)).into_owned()),
        // Exact up to the first sign that JSON writes otherwise.
        cut: Cut { at: 0, length: DOCKER.len() },
        stream: if is_error { Stream::Error } else { Stream::Out },
        goes_on: line.is_none(),
    })
}

#[cfg(test)]
mod tests {
    use crate::format::Source;
    use crate::text::lines;

    fn texts(text: &str) -> Vec<(u32, String)> {
        let source = Source::file("t", text);
        lines(&source).iter().map(|line| (line.number, line.text.to_string())).collect()
    }

    fn one(text: &str) -> String {
        texts(text)[0].1.clone()
    }

    #[test]
    fn runtimes_and_collectors_are_taken_off() {
        assert_eq!(one("2026-03-02T10:11:12.123456789Z stdout F \t# Avg"), "\t# Avg");
        assert_eq!(one("2026-03-02T10:11:12.1+08:00 stderr F:x [1,0]<stdout>:a"), "[1,0]<stdout>:a");
        assert_eq!(one("2026-03-02T10:11:12.123456789Z stdout F"), "");
        assert_eq!(one("2026-03-02T10:11:12.1234567Z 12: a"), "12: a");
        assert_eq!(one("[pod/job-0/main] 2026-03-02T10:11:12.123456789Z a"), "[pod/job-0/main] a");
        assert_eq!(
            one("{\"log\":\"[1,0]\\u003cstdout\\u003e:\\ta\\n\",\"time\":\"x\"}"),
            "[1,0]<stdout>:\ta"
        );
    }

    #[test]
    fn the_journal_of_one_program_is_taken_off() {
        let head = |time: &str, who: &str| format!("Mar 02 10:11:{time} node-17 {who}: ");
        let text = format!(
            "{}\ta\n{}b\n{}NVRM: Xid\n{}c\n",
            head("12", "job[47]"),
            head("13", "job[47]"),
            head("13", "kernel"),
            head("14", "job[48]")
        );
        let expected = ["\ta", "b", "Mar 02 10:11:13 node-17 kernel: NVRM: Xid", "c", ""];
        assert_eq!(texts(&text).into_iter().map(|(_, text)| text).collect::<Vec<_>>(), expected);
        // Two lines of a daemon in another tool's output are that tool's.
        let few = "Mar 02 10:11:12 a b[1]: x\nActive: yes\nLoaded: yes\nMain: 1\nTasks: 2";
        assert_eq!(one(few), "Mar 02 10:11:12 a b[1]: x");
    }

    #[test]
    fn what_stands_before_each_line_is_taken_off_and_names_of_hosts_stay() {
        assert_eq!(one("[1,0]<stdout>:\ta\n[1,0]<stdout>:\n[1,0]<stdout>:b"), "\ta");
        assert_eq!(one(" 0: a\n 0:\n 0:  b\n"), "a");
        assert_eq!(one("> a\n>\n> b"), "a");
        for text in [
            "[1,0]<stdout>:a\n[1,1]<stdout>:b\n[1,0]<stdout>:c",
            "node-1: a\nnode-1: b\nnode-1: c",
            "0: a\n0: b",
        ] {
            assert_eq!(one(text), text.lines().next().unwrap());
        }
    }

    #[test]
    fn times_of_kernels_and_libraries_stay() {
        for text in [
            "2026-03-02T10:11:12,123456+00:00 NVRM: Xid",
            "2026-03-02T10:11:12+0100 node kernel: x",
            "2026-03-02T10:11:12.123456Z x",
            "[pod/a/b] x",
            "{\"log\": 3}",
            "{\"log\":\"cut",
            "2026",
            "é",
        ] {
            assert_eq!(one(text), text);
        }
    }

    #[test]
    fn pieces_are_joined_per_stream_and_places_stay() {
        let text = "2026-03-02T10:11:12.1Z stdout P ab\n2026-03-02T10:11:12.1Z stderr F x\n\
                    2026-03-02T10:11:12.1Z stdout P cd\n2026-03-02T10:11:12.1Z stdout F ef\nlast";
        let expected = [(1, "abcdef"), (2, "x"), (5, "last")].map(|(n, text)| (n, text.to_owned()));
        assert_eq!(texts(text), expected);
        let source = Source::file(
            "t",
            "2026-03-02T10:11:12.1Z stdout F ab\n[pod/a] 2026-03-02T10:11:12.1Z stdout F b",
        );
        let lines = lines(&source);
        // The texts begin behind 32 characters, and the second one behind those and the pod.
        assert_eq!((lines[0].column(1), lines[1].column(0), lines[1].column(8)), (34, 1, 41));
    }
}
