//! What launchers, pods and mails put before a line that a tool printed.

/// The longest prefix that is looked for; names of pods are long.
const LENGTH_MAX: usize = 160;

/// Prefixes that may stand behind each other: a time, a pod, a rank.
const DEPTH_MAX: usize = 4;

/// A line taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Body<'a> {
    /// Whose line it is: `[1,0]<stdout>:`, `0:`; empty where nothing says so. Times and quote marks do not count.
    pub label: &'a str,
    /// What the tool printed, without leading blanks.
    pub text: &'a str,
    /// Where that begins, in bytes.
    pub offset: usize,
}

/// `text` without `[1,0]<stdout>:`, `0: `, `node-17: `, `2025-01-31T10:00:00Z `, `> ` and their like.
pub(crate) fn body(text: &str) -> Body<'_> {
    let (mut label, mut offset) = ("", 0);
    for _ in 0..DEPTH_MAX {
        offset += blanks(&text[offset..]);
        let rest = &text[offset..];
        let Some((length, is_label)) = prefix(rest) else { break };
        if is_label {
            label = rest[..length].trim_end();
        }
        offset += length;
    }
    offset += blanks(&text[offset..]);
    Body { label, text: &text[offset..], offset }
}

fn blanks(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_whitespace).count()
}

/// Length of the prefix that `rest` begins with, and whether it names a process or a host.
fn prefix(rest: &str) -> Option<(usize, bool)> {
    match rest.as_bytes().first()? {
        b'>' | b'|' => return Some((1, false)),
        b'#' | b'-' | b'(' => return None,
        b'[' => return bracketed(rest),
        _ => {}
    }
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'#';
    let length =
        rest.bytes().take(LENGTH_MAX).position(|byte| is_end(&byte)).unwrap_or(rest.len().min(LENGTH_MAX));
    let word = rest.get(..length)?;
    let bytes = word.as_bytes();
    if bytes.len() > 1 && bytes.ends_with(b":") {
        return Some((length, true));
    }
    // Few words hold the sign, and a search for a text costs more than one for a byte.
    if bytes.contains(&b'<') {
        if let Some(at) = word.find("<stdout>:").or_else(|| word.find("<stderr>:")) {
            return Some((at + "<stdout>:".len(), true));
        }
    }
    is_time(bytes).then_some((length, false))
}

/// `[1,0]<stdout>:`, `[0] `, `[pod/launcher/main] `.
fn bracketed(rest: &str) -> Option<(usize, bool)> {
    let close = rest.bytes().take(LENGTH_MAX).position(|byte| byte == b']')?;
    let behind = rest.get(close + 1..)?;
    let mark = ["<stdout>:", "<stderr>:", ":"].into_iter().find(|mark| behind.starts_with(mark));
    Some((close + 1 + mark.map_or(0, str::len), true))
}

/// `2025-01-31`, `10:00:00.123`, `2025-01-31T10:00:00Z`.
fn is_time(word: &[u8]) -> bool {
    if word.len() < 8 || !word[0].is_ascii_digit() {
        return false;
    }
    // `0000:20:01.1` is a device.
    if word[4] == b':' {
        return false;
    }
    let known = |byte: &u8| byte.is_ascii_digit() || b"-:.,/TZ+".contains(byte);
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    let marks = word.iter().filter(|byte| matches!(byte, b':' | b'-' | b'/')).count();
    digits >= 6 && marks >= 2 && word.iter().all(known)
}

/// Whether a line is of a program that goes on talking while another prints: `INFO:trainer:…`, `W0301 10:00:00.4 …`,
/// `[rank0]: …`, `2026-03-01 10:00:00,318 - loader - WARNING - …`, `  warnings.warn(…`.
pub(crate) fn is_chatter(text: &str) -> bool {
    let text = text.trim_start();
    let Some(first) = text.split_whitespace().next() else { return false };
    let levels = ["DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL"];
    let bytes = first.as_bytes();
    let is_level = levels
        .iter()
        .any(|level| first.strip_prefix(level).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')));
    let is_glog =
        bytes.len() == 5 && b"IWEF".contains(&bytes[0]) && bytes[1..].iter().all(u8::is_ascii_digit);
    let is_rank = first.starts_with("[rank") && first.ends_with("]:");
    let is_dated = bytes.len() >= 8
        && is_time(bytes)
        && text
            .split_whitespace()
            .take(8)
            .any(|word| levels.contains(&word.trim_matches(['[', ']', ':', '-', '|'])));
    is_level || is_glog || is_rank || is_dated || first.starts_with("warnings.warn(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_other_programs_are_told() {
        for text in [
            "INFO:trainer:step 3",
            "INFO 07-19 20:11 [a.py:1] x",
            "W0301 10:00:00.412000 4242 run.py:793] x",
            "[rank0]: saving",
            "2026-03-01 10:00:00,318 - loader - WARNING - slow",
            "  warnings.warn(\"x\")",
        ] {
            assert!(is_chatter(text), "{text}");
        }
        for text in ["nvidia 1 2", "ERROR-FREE", "RxErr 3", "\tState: Active", "10:02:11", "W01 x", ""] {
            assert!(!is_chatter(text), "{text}");
        }
    }

    #[test]
    fn prefixes_of_launchers_are_taken_off() {
        for (text, label, rest) in [
            ("[1,0]<stdout>:#  size", "[1,0]<stdout>:", "#  size"),
            ("0:           8   2 float", "0:", "8   2 float"),
            (" 0: # Avg", "0:", "# Avg"),
            ("10.3.35.83: 8 2", "10.3.35.83:", "8 2"),
            ("> > # Avg", "", "# Avg"),
            ("2025-01-31T10:00:00Z 8 2 float", "", "8 2 float"),
            ("2025-01-31 10:00:00.5 [pod/a/b] 8 2 float", "[pod/a/b]", "8 2 float"),
            ("   #   Rank  0 Pid", "", "#   Rank  0 Pid"),
            ("pod-1[1,3]<stderr>:x", "pod-1[1,3]<stderr>:", "x"),
            ("1: 0000:20:01.1 PCI bridge", "1:", "0000:20:01.1 PCI bridge"),
            ("host:1:2 [0] NCCL INFO x", "", "host:1:2 [0] NCCL INFO x"),
            ("", "", ""),
            ("é", "", "é"),
        ] {
            let found = body(text);
            assert_eq!((found.label, found.text), (label, rest), "{text}");
            assert_eq!(&text[found.offset..], rest);
        }
    }
}
