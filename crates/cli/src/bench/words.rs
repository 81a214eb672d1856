//! Command lines that start ranks, made of the one that this process was started with.

use std::ffi::{OsStr, OsString};

/// Options that say where ranks are, each with a value; whoever starts ranks gives them anew.
const PLACING: [&str; 8] =
    ["--hosts", "--per-host", "--remote-shell", "--program", "--port", "--ranks", "--join", "--rank"];
/// Such options without a value.
const PLACING_ALONE: [&str; 2] = ["--ssh", "--tied"];
/// Those that only a start on hosts gives anew.
const MEETING: &str = "--meet-within";

/// The words of a command line that say what is measured, and not where.
pub fn measuring(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    without(words, |name| PLACING.contains(&name) || name == MEETING || name == "-n")
}

/// All words but those that say which rank this is, and where it meets others.
pub fn rankless(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    without(words, |name| name == "--rank" || name == "--join")
}

fn without(words: impl IntoIterator<Item = OsString>, dropped: impl Fn(&str) -> bool) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let (name, value) = match text.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value)),
            Some(_) | None => (text.as_str(), None),
        };
        // `-n4`: a short option may touch its value.
        let short = name.strip_prefix("-n").is_some_and(|value| !value.is_empty()) && dropped("-n");
        if dropped(name) && value.is_none() {
            words.next();
        } else if !dropped(name) && !short && !PLACING_ALONE.contains(&name) {
            kept.push(word);
        }
    }
    kept
}

/// A word as a shell reads it back.
pub fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Words as one line for a shell.
pub fn line<'w>(words: impl IntoIterator<Item = &'w OsString>) -> String {
    words.into_iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn what_is_measured_is_kept_and_where_is_not() {
        let given =
            "bench pairs --hosts n[1-2] --max 1MiB --per-host=2 --ssh -n 4 --tcp --port 7 --repeats=3";
        assert_eq!(measuring(words(given)), words("bench pairs --max 1MiB --tcp --repeats=3"));
        assert_eq!(measuring(words("bench -n4 -n=4 --rank 1 --join x:1 -b 8B")), words("bench -b 8B"));
        let given = "bench -n 4 --rank 1-3 --join x:1 --tied --meet-within 9";
        assert_eq!(rankless(words(given)), words("bench -n 4 --meet-within 9"));
    }

    #[test]
    fn shells_read_words_back() {
        let is = |word: &str| quoted(OsStr::new(word));
        assert_eq!(
            [is("64MiB"), is("64 MiB"), is("it's"), is("$(x)"), is("")],
            ["64MiB", "'64 MiB'", r"'it'\''s'", "'$(x)'", "''"]
        );
    }
}
