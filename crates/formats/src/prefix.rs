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
    let known = |byte: &u8| byte.is_ascii_digit() || b"-:.,/TZ+".contains(byte);
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    let marks = word.iter().filter(|byte| matches!(byte, b':' | b'-' | b'/')).count();
    digits >= 6 && marks >= 2 && word.iter().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

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
