use std::ops::Range;

use crate::format::Line;

/// The runs of lines that may be one YAML document each: what stands between `---` and the next `---`, `...` or a
/// line that no YAML document holds. Comments above the first key belong to it; blank lines around do not.
pub(crate) fn yaml(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start: Option<usize> = None;
    let close = |start: &mut Option<usize>, end: usize, found: &mut Vec<Range<usize>>| {
        let Some(first) = start.take() else { return };
        let last =
            lines[first..end].iter().rposition(|line| !line.is_blank()).map_or(first, |last| first + last);
        if lines[first..=last].iter().any(|line| is_entry(&line.text)) {
            found.push(first..last + 1);
        }
    };
    for (index, line) in lines.iter().enumerate() {
        let text = line.text.as_ref();
        if text.starts_with("---") && text.trim_end_matches(['-', ' ']).is_empty() {
            close(&mut start, index, &mut found);
            start = Some(index);
        } else if text.trim_end() == "..." {
            if start.is_some() {
                close(&mut start, index + 1, &mut found);
            }
        } else if line.is_blank() {
        } else if text.starts_with('#') || is_entry(text) {
            start.get_or_insert(index);
        } else if !text.starts_with([' ', '\t']) || start.is_none() {
            close(&mut start, index, &mut found);
        }
    }
    close(&mut start, lines.len(), &mut found);
    found
}

/// `key:`, `key: value` or `- item` at the left margin.
fn is_entry(text: &str) -> bool {
    if text == "-" || text.starts_with("- ") {
        return true;
    }
    let Some((key, rest)) = text.split_once(':') else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '"' | '\'');
    (rest.is_empty() || rest.starts_with(' ')) && !key.is_empty() && key.len() < 80 && key.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;
    use crate::text;

    #[test]
    fn documents_are_found_between_other_lines() {
        let source = Source::file(
            "t",
            "$ cat t.yaml\n---\n- a: 1\n  b: 2\n\n---\n# why\nk:\n- x\n\nThat is all, folks.\n",
        );
        let found = yaml(&text::lines(&source));
        assert_eq!(found, [1..4, 5..9]);
    }
}
