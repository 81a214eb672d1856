//! Host lists as Slurm writes them: `im[0-1,3],grp[10,11]`. Read with bounds, and written in the same way.

use std::collections::BTreeMap;

use crate::ranges::short;

/// Names that one file may hold; a typo such as `n[0-4294967295]` must not fill the memory.
pub(crate) const NAMES_MAX: usize = 1_000_000;

/// Bracket groups in one name: Slurm itself stops earlier.
const GROUPS_MAX: usize = 8;

/// Digits of a number in brackets.
const DIGITS_MAX: usize = 18;

/// Why a list cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListFault {
    /// Byte in the text where it begins.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
    /// In words.
    pub message: String,
    /// Whether the list is too long rather than misspelt.
    pub is_too_long: bool,
}

/// The names of `text`, each with the byte where the item it came from begins. `budget` is what may still be
/// named; items that cannot be read are faults.
pub(crate) fn expand(text: &str, budget: &mut usize) -> (Vec<(String, usize)>, Vec<ListFault>) {
    let (mut names, mut faults) = (Vec::new(), Vec::new());
    for (offset, item) in items(text) {
        let fault =
            |message: String, is_too_long| ListFault { offset, length: item.len(), message, is_too_long };
        match parts(item) {
            Ok(parts) => {
                let count = parts.iter().try_fold(1usize, |count, part| count.checked_mul(part.count()));
                if let Some(count) = count.filter(|count| count <= budget) {
                    *budget -= count;
                    names.extend(product(&parts).into_iter().map(|name| (name, offset)));
                } else {
                    let message = format!("`{}` goes beyond the {NAMES_MAX} names of one file", short(item));
                    faults.push(fault(message, true));
                }
            }
            Err(message) => faults.push(fault(message, false)),
        }
    }
    (names, faults)
}

/// What stands between commas outside of brackets, with its offset; blanks around are left out.
fn items(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut start, mut depth) = (0, 0usize);
    let mut close = |start: usize, end: usize| {
        let item = &text[start..end];
        let blanks = item.len() - item.trim_start().len();
        if !item.trim().is_empty() {
            found.push((start + blanks, item.trim()));
        }
    };
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                close(start, offset);
                start = offset + 1;
            }
            _ => {}
        }
    }
    close(start, text.len());
    found
}

enum Part<'t> {
    Text(&'t str),
    Ranges(Vec<Range>),
}

struct Range {
    first: u64,
    last: u64,
    width: usize,
}

impl Part<'_> {
    fn count(&self) -> usize {
        match self {
            Part::Text(_) => 1,
            Part::Ranges(ranges) => ranges.iter().fold(0usize, |sum, range| {
                sum.saturating_add(usize::try_from(range.last - range.first).unwrap_or(usize::MAX))
                    .saturating_add(1)
            }),
        }
    }
}

fn parts(item: &str) -> Result<Vec<Part<'_>>, String> {
    let mut found = Vec::new();
    let mut rest = item;
    while let Some(open) = rest.find('[') {
        let Some(close) = rest[open..].find(']').map(|close| open + close) else {
            return Err(format!("the bracket of `{item}` is never closed"));
        };
        if open > 0 {
            found.push(Part::Text(&rest[..open]));
        }
        found.push(Part::Ranges(ranges(&rest[open + 1..close])?));
        rest = &rest[close + 1..];
    }
    if rest.contains(']') {
        return Err(format!("`{item}` closes a bracket that was not opened"));
    }
    if !rest.is_empty() {
        found.push(Part::Text(rest));
    }
    if found.len() > 2 * GROUPS_MAX {
        return Err(format!("`{}` has more than {GROUPS_MAX} bracket groups", short(item)));
    }
    Ok(found)
}

fn ranges(text: &str) -> Result<Vec<Range>, String> {
    let mut found = Vec::new();
    for item in text.split(',').map(str::trim) {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let number = |digits: &str| {
            let is_number =
                (1..=DIGITS_MAX).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { digits.parse::<u64>().ok() } else { None }
        };
        match (number(first), number(last)) {
            (Some(from), Some(to)) if from <= to => {
                found.push(Range { first: from, last: to, width: first.len() });
            }
            (Some(_), Some(_)) => return Err(format!("the range `{item}` runs backwards")),
            _ => {
                return Err(format!("`{}` is no number and no range of numbers", short(item)));
            }
        }
    }
    Ok(found)
}

/// All combinations; the last group runs fastest.
fn product(parts: &[Part<'_>]) -> Vec<String> {
    let mut names = vec![String::new()];
    for part in parts {
        match part {
            Part::Text(text) => names.iter_mut().for_each(|name| name.push_str(text)),
            Part::Ranges(ranges) => {
                let numbers: Vec<String> = ranges
                    .iter()
                    .flat_map(|range| {
                        (range.first..=range.last)
                            .map(|number| format!("{number:0width$}", width = range.width))
                    })
                    .collect();
                names = names
                    .iter()
                    .flat_map(|name| numbers.iter().map(move |number| format!("{name}{number}")))
                    .collect();
            }
        }
    }
    names
}

/// What stands before and behind a number.
type Around<'n> = (&'n str, &'n str);

/// Digits and value.
type Number = (usize, u64);

/// `names` as one list with ranges: names that differ in their last number only share a bracket. Bare names come
/// in the order of the input, each group where its first name stands.
pub(crate) fn compress<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut groups: BTreeMap<Around<'_>, usize> = BTreeMap::new();
    let mut listed: Vec<(Around<'_>, Vec<Number>)> = Vec::new();
    for name in names {
        let Some((before, digits, behind)) = numbered(name) else {
            listed.push(((name, ""), Vec::new()));
            continue;
        };
        let number = digits.parse().unwrap_or(0);
        let group = *groups.entry((before, behind)).or_insert_with(|| {
            listed.push(((before, behind), Vec::new()));
            listed.len() - 1
        });
        listed[group].1.push((digits.len(), number));
    }
    let written = listed.into_iter().map(|((before, behind), mut numbers)| {
        numbers.sort_unstable();
        numbers.dedup();
        match numbers.as_slice() {
            [] => before.to_owned(),
            [(width, number)] => format!("{before}{number:0width$}{behind}"),
            _ => format!("{before}[{}]{behind}", runs(&numbers)),
        }
    });
    written.collect::<Vec<_>>().join(",")
}

/// `0-3,7` of numbers in order; a run keeps one width, and may grow out of it only if nothing is padded.
fn runs(numbers: &[Number]) -> String {
    let mut found: Vec<(Number, Number)> = Vec::new();
    for &(width, number) in numbers {
        match found.last_mut() {
            Some((first, last)) if last.1 + 1 == number && fits(first.0, width, number) => {
                *last = (width, number);
            }
            Some(_) | None => found.push(((width, number), (width, number))),
        }
    }
    let written = found.into_iter().map(|((width, first), (last_width, last))| {
        if first == last {
            format!("{first:0width$}")
        } else {
            format!("{first:0width$}-{last:0last_width$}")
        }
    });
    written.collect::<Vec<_>>().join(",")
}

/// Whether `number`, written in `width` digits, is what a range whose first has `first_width` digits would print.
fn fits(first_width: usize, width: usize, number: u64) -> bool {
    let digits = number.checked_ilog10().map_or(1, |log| log as usize + 1);
    width == first_width.max(digits)
}

/// A name around its last number: `rack3-n`, `07`, ``.
fn numbered(name: &str) -> Option<(&str, &str, &str)> {
    let end = name.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = name[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |before| before + name[before..].chars().next().map_or(1, char::len_utf8));
    // A name that is all number, or holds what lists use, is better left alone.
    let plain = start > 0 && end - start <= DIGITS_MAX && !name.contains(['[', ']', ',']);
    plain.then(|| (&name[..start], &name[start..end], &name[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<String> {
        let (names, faults) = expand(text, &mut NAMES_MAX.clone());
        assert_eq!(faults, [], "{text}");
        names.into_iter().map(|(name, _)| name).collect()
    }

    fn faults(text: &str) -> Vec<ListFault> {
        expand(text, &mut NAMES_MAX.clone()).1
    }

    #[test]
    fn ranges_lists_and_padding_expand() {
        assert_eq!(names("im[0-1,3], grp[10,11]"), ["im0", "im1", "im3", "grp10", "grp11"]);
        assert_eq!(names("n[008-011]"), ["n008", "n009", "n010", "n011"]);
        assert_eq!(names("r[1-2]n[01-02]-ib"), ["r1n01-ib", "r1n02-ib", "r2n01-ib", "r2n02-ib"]);
        assert_eq!(names("switch.1.[9-10],lone"), ["switch.1.9", "switch.1.10", "lone"]);
        assert_eq!(names(""), [] as [&str; 0]);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        let fault = &faults("a,n[0-4294967295]")[0];
        assert!(fault.is_too_long && fault.offset == 2, "{fault:?}");
        assert!(faults("n[0-999999999999]r[0-999999999999]")[0].is_too_long);
        assert!(faults("n[3-1]")[0].message.contains("backwards"));
        assert!(faults("n[1-2")[0].message.contains("never closed"));
        assert!(faults("n1]")[0].message.contains("not opened"));
        assert!(faults("n[a-b]")[0].message.contains("no number"));
        assert!(faults("n[]")[0].message.contains("no number"));
        assert!(faults("n[99999999999999999999]")[0].message.contains("no number"));
    }

    #[test]
    fn a_budget_is_of_the_whole_file() {
        let mut budget = 3;
        assert_eq!(expand("a[1-2]", &mut budget).0.len(), 2);
        assert!(expand("b[1-2]", &mut budget).1[0].is_too_long);
    }

    #[test]
    fn names_compress_as_slurm_does() {
        assert_eq!(compress(["n1", "n2", "n3", "n7", "login"]), "n[1-3,7],login");
        assert_eq!(compress(["n08", "n09", "n10"]), "n[08-10]");
        assert_eq!(compress(["n9", "n10", "n11"]), "n[9-11]");
        assert_eq!(compress(["n1", "n01"]), "n[1,01]");
        assert_eq!(compress(["r1-n1-ib", "r1-n2-ib"]), "r1-n[1-2]-ib");
        assert_eq!(compress(["5"]), "5");
    }

    proptest! {
        #[test]
        fn what_was_compressed_expands_to_the_same(
            numbers in prop::collection::vec((0u32..1200, 0usize..4, 0usize..3), 0..60)
        ) {
            let mut given: Vec<String> = numbers
                .iter()
                .map(|(number, width, prefix)| format!("{}{number:0width$}", ["n", "rack2-", "gpu.a"][*prefix]))
                .collect();
            let mut back = names(&compress(given.iter().map(String::as_str)));
            given.sort();
            given.dedup();
            back.sort();
            prop_assert_eq!(back, given);
        }
    }
}
