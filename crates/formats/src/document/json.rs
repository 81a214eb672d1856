use std::ops::Range;

use crate::format::{Claim, Line};

/// The runs of lines that hold one JSON object or array each: from a line that begins with a bracket to the line
/// that closes it. What is never closed is a run to the end, so that a cut document is still found.
pub(crate) fn json(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut depth = Depth::default();
    for (index, line) in lines.iter().enumerate() {
        if depth.open == 0 {
            // A log line such as `[0] NCCL INFO` opens and closes at once, and is no document.
            if !line.text.trim_start().starts_with(['{', '[']) {
                continue;
            }
            start = index;
        }
        depth.take(&line.text);
        if depth.open == 0 {
            if line.text.trim_end().ends_with(['}', ']']) {
                found.push(start..index + 1);
            }
            depth = Depth::default();
        }
    }
    if depth.open > 0 {
        found.push(start..lines.len());
    }
    found
}

/// Claims on those of them in which one of `marks` stands.
pub(crate) fn json_with(lines: &[Line<'_>], marks: &[&str]) -> Vec<Claim> {
    let is_own = |run: &Range<usize>| {
        lines[run.clone()].iter().any(|line| marks.iter().any(|mark| line.text.contains(mark)))
    };
    json(lines).into_iter().filter(is_own).map(Claim::yes).collect()
}

/// How deep in brackets a scanner is.
#[derive(Debug, Default)]
struct Depth {
    open: usize,
    in_string: bool,
}

impl Depth {
    /// Goes on over one line; strings do not go beyond it.
    fn take(&mut self, text: &str) {
        self.in_string = false;
        let mut escaped = false;
        for byte in text.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if self.in_string => escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.open += 1,
                b'}' | b']' if !self.in_string => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;
    use crate::text;

    fn runs(text_of: &str) -> Vec<Range<usize>> {
        let source = Source::file("t", text_of);
        json(&text::lines(&source))
    }

    #[test]
    fn documents_are_found_between_other_lines() {
        assert_eq!(runs("$ tool\n{\n \"a\": [1,\n 2]\n}\nend\n[]"), [1..5, 6..7]);
        assert_eq!(runs("{\"brace\": \"}\"\n}"), vec![0..2]);
        assert_eq!(runs("[0] NCCL INFO x\n{\"a\": 1").len(), 1);
    }
}
