//! Text as terminals, browsers and editors mangle it, made into lines whose columns still point into it.

use std::borrow::Cow;

use memchr::memchr_iter;

use crate::format::{Cut, Line, Source};
use crate::wrapping;

/// The lines of `source` without terminal escapes, carriage returns, invisible characters and what collectors of logs put
/// around each; a line that these cut into pieces has the number of the first.
pub fn lines(source: &Source) -> Vec<Line<'_>> {
    let text = source.text.as_str();
    let mut start = 0;
    let mut lines = Vec::new();
    for (end, number) in memchr_iter(b'\n', text.as_bytes()).chain([text.len()]).zip(1u32..) {
        let raw = &text[start..end];
        lines.push(Line { number, text: cleaned(raw), raw, cut: Cut::default() });
        start = end + 1;
    }
    wrapping::unwrap(&mut lines);
    lines
}

/// How much of a source is looked at to tell whether it is text.
const SAMPLE: usize = 1 << 20;

/// Whether the text is bytes of something else: it holds NUL, or many characters that no text has.
pub(crate) fn is_binary(text: &str) -> bool {
    let strange = |c: &char| {
        *c == char::REPLACEMENT_CHARACTER || (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{1b}'))
    };
    let sample = sample(text);
    let count = sample.chars().filter(strange).count();
    // One or two bad bytes in a short paste are damage, not another kind of file.
    text.contains('\0') || count > 2 && count * 10 > sample.chars().count()
}

/// Whether every second byte is NUL, as where PowerShell's `>` wrote UTF-16; programs hold longer runs of NUL.
pub(crate) fn is_utf16(text: &str) -> bool {
    let text = sample(text);
    let nul = text.chars().filter(|c| *c == '\0').count();
    nul * 5 > text.chars().count() * 2 && !text.contains("\0\0")
}

fn sample(text: &str) -> &str {
    let end = (0..=text.len().min(SAMPLE)).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or(text)
}

/// `raw` itself where nothing has to go, as in nearly all lines.
pub(crate) fn cleaned(raw: &str) -> Cow<'_, str> {
    let body = raw.strip_suffix('\r').unwrap_or(raw);
    // Without an early end, so that many bytes are looked at in one step.
    if body.bytes().fold(true, |plain, byte| plain & (byte == b'\t' || (b' '..=b'~').contains(&byte))) {
        return Cow::Borrowed(body);
    }
    let (text, _) = clean(raw);
    if text == body { Cow::Borrowed(body) } else { Cow::Owned(text) }
}

/// The column in `raw` of each character that is kept, from 1, and of the end.
pub(crate) fn columns(raw: &str) -> Vec<u32> {
    clean(raw).1
}

fn clean(raw: &str) -> (String, Vec<u32>) {
    let mut text = String::with_capacity(raw.len());
    let mut columns = Vec::with_capacity(raw.len() + 1);
    let mut column = 1u32;
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        let here = column;
        column += 1;
        if c == '\u{1b}' {
            column += skip_escape(&mut chars);
        } else if let Some(kept) = kept(c) {
            text.push(kept);
            columns.push(here);
        }
    }
    columns.push(column);
    (text, columns)
}

/// The character to keep, a blank for the many kinds of blanks, nothing for what no one sees.
fn kept(c: char) -> Option<char> {
    match c {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(' '),
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\r' => None,
        '\t' => Some('\t'),
        _ if c.is_control() => None,
        _ => Some(c),
    }
}

/// Skips the rest of an escape sequence and returns how many characters that were.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> u32 {
    let mut skipped = 0;
    let Some(&introducer) = chars.peek() else { return 0 };
    if !matches!(introducer, '[' | ']') {
        // `ESC (B` selects a character set; `ESC c` and its like stand alone; a lone ESC takes nothing along.
        let length =
            if matches!(introducer, '(' | ')') { 2 } else { u32::from("c=>78".contains(introducer)) };
        return (0..length).take_while(|_| chars.next().is_some()).count().try_into().unwrap_or(0);
    }
    chars.next();
    skipped += 1;
    while let Some(&c) = chars.peek() {
        let inside = if introducer == '[' { !c.is_ascii_alphabetic() } else { c != '\u{7}' && c != '\u{1b}' };
        if introducer == '[' && !(c.is_ascii_graphic() || c == ' ') {
            // Not an escape sequence after all; what follows is text.
            break;
        }
        chars.next();
        skipped += 1;
        if !inside {
            break;
        }
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Line<'_> {
        Line { number: 1, text: cleaned(text), raw: text, cut: Cut::default() }
    }

    #[test]
    fn escapes_go_and_columns_stay_true() {
        let line = first("\t\u{1b}[4mGPU0\tGPU1\u{1b}[0m\r");
        assert_eq!(line.text, "\tGPU0\tGPU1");
        assert_eq!(line.column(1), 6);
        assert_eq!(line.column(line.text.len()), 20);
    }

    #[test]
    fn blanks_of_the_web_become_blanks_and_marks_vanish() {
        let line = first("\u{feff}GPU0\u{a0}X\u{200b}Y");
        assert_eq!(line.text, "GPU0 XY");
        assert_eq!((line.column(0), line.column(5), line.column(6)), (2, 7, 9));
    }

    #[test]
    fn titles_and_cut_escapes_do_not_eat_the_line() {
        assert_eq!(first("\u{1b}]0;user@host\u{7}GPU0").text, "GPU0");
        assert_eq!(first("a\u{1b}").text, "a");
        assert_eq!(first("a\u{1b}[4").text, "a");
        assert_eq!(first("a\u{1b}(Bb").text, "ab");
    }

    #[test]
    fn binary_and_utf16_are_told_from_text() {
        assert!(is_binary("\u{7f}ELF\0\0\0"));
        assert!(is_binary("\u{fffd}\u{fffd}\u{fffd}ab"));
        assert!(!is_binary("\t\u{1b}[4mGPU0\u{1b}[0m\r\n"));
        assert!(is_utf16("G\0P\0U\0"));
        assert!(!is_utf16("\u{7f}ELF\0abcdef"));
    }
}
