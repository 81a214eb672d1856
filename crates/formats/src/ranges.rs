//! Small help that every reader needs: lines left over, findings in order, long text cut.

use weft_base::Diagnostic;

use crate::format::{Line, LineRange};

/// The lines that are neither blank nor in `used` (ascending indices), as ranges; blank lines between two
/// such lines join them.
pub(crate) fn unused(lines: &[Line<'_>], used: &[usize]) -> Vec<LineRange> {
    let mut used = used.iter().copied().peekable();
    let mut found: Vec<LineRange> = Vec::new();
    let mut open = false;
    for (index, line) in lines.iter().enumerate() {
        while used.peek().is_some_and(|next| *next < index) {
            used.next();
        }
        if used.peek() == Some(&index) {
            open = false;
        } else if !line.says_nothing() {
            match found.last_mut() {
                Some(last) if open => last.last = line.number,
                Some(_) | None => found.push(LineRange { first: line.number, last: line.number }),
            }
            open = true;
        }
    }
    found
}

/// Ranges of several parts as one list: those with only blank lines between them become one.
pub(crate) fn joined(mut ranges: Vec<LineRange>, lines: &[Line<'_>]) -> Vec<LineRange> {
    ranges.sort_by_key(|range| range.first);
    let mut found: Vec<LineRange> = Vec::new();
    for range in ranges {
        let blank = |from: u32, to: u32| {
            let index = |number: u32| lines.partition_point(|line| line.number < number);
            let between = lines.get(index(from.saturating_add(1))..index(to));
            between.is_none_or(|lines| lines.iter().all(Line::is_blank))
        };
        match found.last_mut() {
            Some(last) if blank(last.last, range.first) => last.last = range.last,
            Some(_) | None => found.push(range),
        }
    }
    found
}

/// By place, those without one first.
pub(crate) fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|a, b| {
        let key = |diagnostic: &Diagnostic| diagnostic.place.as_ref().map(|place| (place.line, place.column));
        key(a).cmp(&key(b))
    });
}

/// `GPU4 to GPU7` for labels in a row, `GPU1, GPU3` for others.
pub(crate) fn listed(labels: &[&str]) -> String {
    let number = |label: &str| {
        let digits = label.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |last| last + 1);
        let (name, digits) = label.split_at_checked(digits)?;
        Some((name.to_owned(), digits.parse::<u64>().ok()?))
    };
    let follows = |pair: &[&str]| match (number(pair[0]), number(pair[1])) {
        (Some((name, before)), Some((other, after))) => name == other && before.checked_add(1) == Some(after),
        _ => false,
    };
    match labels {
        [first, _, .., last] if labels.windows(2).all(follows) => format!("{first} to {last}"),
        _ => labels.join(", "),
    }
}

/// At most 40 characters of `text`, so that a message stays one line.
pub(crate) fn short(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    text.chars().take(39).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;
    use crate::text;

    #[test]
    fn unused_lines_join_over_blank_ones() {
        let source = Source::file("t", "a\n\nb\nused\nc\n");
        let lines = text::lines(&source);
        let ranges = unused(&lines, &[3]);
        assert_eq!(ranges, [LineRange { first: 1, last: 3 }, LineRange { first: 5, last: 5 }]);
        assert_eq!(short(&"x".repeat(50)).chars().count(), 40);
    }

    #[test]
    fn labels_in_a_row_are_a_range() {
        assert_eq!(listed(&["GPU4", "GPU5", "GPU6"]), "GPU4 to GPU6");
        assert_eq!(listed(&["GPU1", "GPU3", "GPU5"]), "GPU1, GPU3, GPU5");
        assert_eq!(listed(&["mlx5_2", "mlx5_0"]), "mlx5_2, mlx5_0");
        assert_eq!((listed(&["GPU0"]), listed(&["x", "é"])), ("GPU0".to_owned(), "x, é".to_owned()));
    }
}
