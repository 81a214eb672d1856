//! What collectors of a cluster's logs put around each line: container runtimes' `2026-03-02T10:11:12.123456789Z stdout
//! F `, Docker's JSON, the times of `kubectl logs --timestamps`. Unlike what launchers print it differs from line to line,
//! and it cuts long lines in pieces, so that it is gone before any reader looks.

use std::borrow::Cow;

use crate::format::{Cut, Line};
use crate::text;

/// Digits of a second's fraction from which on a time is a collector's; kernels and libraries print up to six.
const FRACTION_MIN: usize = 7;
/// Longest `[pod/…]` in front, in bytes.
const POD_MAX: usize = 200;
/// What stands before a line in Docker's files.
const DOCKER: &str = "{\"log\":\"";
/// Longest line that pieces are joined to, in bytes: a file may say of each of its lines that it goes on.
const JOINED_MAX: usize = 1 << 20;

/// Takes it off all lines.
pub(crate) fn unwrap(lines: &mut Vec<Line<'_>>) {
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
