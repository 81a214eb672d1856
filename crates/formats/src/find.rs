//! Texts found in lines. The standard library prepares each search for long texts, which costs more than the
//! search itself where a line has a hundred bytes.

use memchr::memchr;

/// Where `mark` stands in `text` from byte `from` on.
pub(crate) fn position(text: &str, mark: &str, from: usize) -> Option<usize> {
    let (bytes, mark) = (text.as_bytes(), mark.as_bytes());
    // Blanks are the most frequent bytes of all.
    let skip = mark.iter().position(|byte| *byte != b' ').unwrap_or(0);
    let rare = *mark.get(skip)?;
    let mut at = from + skip;
    loop {
        at += memchr(rare, bytes.get(at..)?)?;
        if bytes[at - skip..].starts_with(mark) {
            return Some(at - skip);
        }
        at += 1;
    }
}

/// Whether `mark` stands in `text`.
pub(crate) fn holds(text: &str, mark: &str) -> bool {
    position(text, mark, 0).is_some()
}

/// `text` before and behind the first `mark`.
pub(crate) fn cut<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let at = position(text, mark, 0)?;
    Some((&text[..at], &text[at + mark.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_where_the_standard_library_finds_them() {
        assert_eq!(position("a vi via b via c", " via ", 0), Some(4));
        assert_eq!(position("a vi via b via c", " via ", 5), Some(10));
        assert_eq!(
            (position("via ", " via ", 0), position("", "x", 0), position("x", "x", 9)),
            (None, None, None)
        );
        assert_eq!(position("a  b", "  ", 0), Some(1));
        assert!(holds("x, y", ", ") && !holds("x,y", ", "));
        assert_eq!(cut("é via ü", " via "), Some(("é", "ü")));
    }
}
