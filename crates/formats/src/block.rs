//! Formats that are blocks of lines and give a report: what begins a block, what goes on in it, and which
//! records it makes. Tools that run a command on many hosts put a prefix before each line (`node-17: `); a
//! block is then all lines with the prefix of its first one, wherever they stand.

use std::cell::Cell;

use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, Record, Report, Value};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::prefix::is_chatter;
use crate::ranges;

/// Lines of others between two of a block with a prefix, at most.
const FOREIGN_MAX: usize = 200;
/// Lines of other programs in a block without a prefix, at most.
const CHATTER_MAX: usize = 200;
/// Lines in a row that only what follows can tell to be of the block, at most.
const PENDING_MAX: usize = 4;
/// Longest prefix, in bytes.
const PREFIX_MAX: usize = 160;

/// Whether a line belongs to the block before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It does.
    More,
    /// It does if one does that follows: blank lines, headings.
    Perhaps,
    /// It does not, nor does what follows.
    End,
}

/// A format of blocks.
#[derive(Debug)]
pub struct BlockFormat {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) command: Option<&'static str>,
    pub(crate) marks: &'static [&'static str],
    /// The byte where the tool's own text begins in the line at that index, if a block begins there.
    pub(crate) starts: fn(&[Line<'_>], usize) -> Option<usize>,
    /// Whether own text, given the last text of the block that is not blank, belongs to it.
    pub(crate) step: fn(&str, &str) -> Step,
    /// What the block says.
    pub(crate) records: fn(&Block<'_>) -> Vec<Record>,
}

/// The lines of one block, without their prefix.
#[derive(Debug)]
pub(crate) struct Block<'p> {
    /// The lines.
    pub lines: Vec<Own<'p>>,
    /// The host that the prefix names.
    pub host: Option<String>,
}

/// A line of a block.
#[derive(Debug)]
pub(crate) struct Own<'p> {
    /// What the tool printed.
    pub text: &'p str,
    /// From 1.
    pub number: u32,
    used: Cell<bool>,
}

impl Own<'_> {
    /// Says that the line was understood.
    pub fn using(&self) {
        self.used.set(true);
    }

    /// Blanks before its text; a tab counts as one.
    pub fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }
}

impl Format for BlockFormat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn command(&self) -> Option<&'static str> {
        self.command
    }

    fn marks(&self) -> &'static [&'static str] {
        self.marks
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut taken = vec![false; text.lines.len()];
        let mut claims = Vec::new();
        let mut index = 0;
        while index < text.lines.len() {
            match (self.starts)(text.lines, index).filter(|_| !taken[index]) {
                Some(offset) => {
                    let (indices, next) = self.gather(text.lines, index, offset, &taken);
                    for index in &indices {
                        taken[*index] = true;
                    }
                    claims.push(Claim::lines(indices));
                    index = next;
                }
                None => index += 1,
            }
        }
        claims
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let block = self.block(part);
        let records = (self.records)(&block);
        if records.is_empty() {
            return Read { unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        }
        let used: Vec<usize> = block
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| line.used.get())
            .map(|(index, _)| index)
            .collect();
        let value = Evidence::Report(Box::new(Report { format: self.name, host: block.host, records }));
        Read {
            evidence: vec![Located { value, place: part.start() }],
            diagnostics: Vec::new(),
            unused: ranges::unused(&part.lines, &used),
        }
    }
}

impl BlockFormat {
    /// The lines of the block that begins at `first`, and where to look on.
    fn gather(&self, lines: &[Line<'_>], first: usize, offset: usize, taken: &[bool]) -> (Vec<usize>, usize) {
        let prefix = lines[first].text.get(..offset).unwrap_or_default();
        let bare = prefix.trim_start().is_empty();
        let mut indices = vec![first];
        let mut pending = Vec::new();
        let mut last = lines[first].text.get(offset..).unwrap_or_default();
        let (mut foreign, mut chatter) = (0, 0);
        let mut index = first + 1;
        while let Some(line) = lines.get(index) {
            let Some(text) = own(&line.text, prefix).filter(|_| !taken[index]) else {
                foreign += 1;
                if bare || foreign > FOREIGN_MAX {
                    break;
                }
                index += 1;
                continue;
            };
            foreign = 0;
            match (self.step)(text, last) {
                Step::More => {
                    indices.append(&mut pending);
                    indices.push(index);
                    last = text;
                }
                Step::Perhaps if pending.len() < PENDING_MAX => pending.push(index),
                // Other programs talk in between.
                Step::End if chatter < CHATTER_MAX && is_chatter(text) => chatter += 1,
                Step::Perhaps | Step::End => break,
            }
            index += 1;
        }
        let end = indices.last().map_or(first + 1, |last| last + 1);
        // Blocks of several hosts lie in each other.
        (indices, if bare { end } else { first + 1 })
    }

    fn block<'p>(&self, part: &'p Part<'_>) -> Block<'p> {
        let start = (0..part.lines.len()).find_map(|index| {
            let offset = (self.starts)(&part.lines, index)?;
            part.lines[index].text.get(..offset)
        });
        let prefix = start.unwrap_or_default();
        let lines = part.lines.iter().map(|line| Own {
            text: own(&line.text, prefix).unwrap_or(&line.text),
            number: line.number,
            used: Cell::new(false),
        });
        Block { lines: lines.collect(), host: host(prefix) }
    }
}

/// `text` behind `prefix`; blank prefixes need not be whole. Nothing where it has another prefix.
fn own<'l>(text: &'l str, prefix: &str) -> Option<&'l str> {
    if let Some(rest) = text.strip_prefix(prefix) {
        return Some(rest);
    }
    let short = prefix.trim_end();
    if short.is_empty() {
        let indent = text.len() - text.trim_start().len();
        return text.get(indent.min(prefix.len())..);
    }
    // Blank lines lose the blank behind the prefix.
    (text.trim_end() == short).then_some("")
}

/// The host that a prefix names: `node-17: `, not a rank, a quote or a stream's name.
fn host(prefix: &str) -> Option<String> {
    let name = prefix.trim().strip_suffix([':', '|'])?.trim_end();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = name.chars().all(plain) && name.contains(|c: char| c.is_ascii_alphabetic());
    is_name.then(|| name.to_owned())
}

/// The byte at which `mark` stands, where what is before it can be a prefix: blank, a quote's `> `, or a
/// word or a bracket that ends in a colon or a bar.
pub(crate) fn behind_prefix(text: &str, mark: &str) -> Option<usize> {
    let offset = text.find(mark)?;
    is_prefix(&text[..offset]).then_some(offset)
}

/// Whether `before` can be what a tool put before each line.
pub(crate) fn is_prefix(before: &str) -> bool {
    before.len() <= PREFIX_MAX && before.split_whitespace().all(is_prefix_word)
}

/// A rank, a pod, a host, a quote mark: some launchers stand behind each other.
fn is_prefix_word(word: &str) -> bool {
    let is_bracket = word.starts_with('[') && word.ends_with(']');
    word.ends_with([':', '|']) && word.len() > 1 || is_bracket || word.chars().all(|c| c == '>')
}

/// What stands behind `command` on a line of a shell: `eth0` of `root@node-3:~# ethtool eth0`.
pub(crate) fn asked<'l>(text: &'l str, command: &str) -> Option<&'l str> {
    let offset = text.find(command)?;
    let before = text.get(..offset)?.trim_end();
    let before = before.strip_suffix("sudo").map_or(before, str::trim_end);
    let is_prompt = before.is_empty() || before.ends_with(['$', '#', '%', '>']);
    let rest = text.get(offset + command.len()..)?;
    (is_prompt && before.len() <= PREFIX_MAX && (rest.is_empty() || rest.starts_with(' ')))
        .then(|| rest.trim())
}

/// The byte where a block begins that `head` knows by its first line, or that a shell's line with `command`
/// above that one begins.
pub(crate) fn asked_start(
    lines: &[Line<'_>],
    index: usize,
    command: &str,
    head: fn(&str) -> Option<usize>,
) -> Option<usize> {
    if let Some(offset) = head(&lines[index].text) {
        return Some(offset);
    }
    asked(&lines[index].text, command)?;
    let next = lines.iter().skip(index + 1).find(|line| !line.is_blank())?;
    head(&next.text).map(|_| 0)
}

/// The last word of what was asked that is no option: the device of `ethtool -S eth0`.
pub(crate) fn last_word(asked: &str) -> Option<&str> {
    asked.split_whitespace().rfind(|word| !word.starts_with(['-', '|', '>', '2']))
}

/// The name of a field: lower case, `-` between words, no other signs.
pub(crate) fn field_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_alphanumeric() {
            name.extend(c.to_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') && !matches!(c, '\'' | '(' | ')') {
            name.push('-');
        }
    }
    name.truncate(name.trim_end_matches('-').len());
    name
}

/// What a word says: a whole number, yes or no, else text.
pub(crate) fn value(text: &str) -> Value {
    let text = text.trim();
    match text {
        "Enabled" | "enabled" | "Yes" | "yes" | "Active" | "on" | "On" | "ON" => Value::Flag(true),
        "Disabled" | "disabled" | "No" | "no" | "Not Active" | "off" | "Off" | "OFF" => Value::Flag(false),
        _ => number(text).map_or_else(|| Value::Text(text.to_owned()), Value::Count),
    }
}

/// A whole number that is all of `text`.
pub(crate) fn number(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Key and value of `Key : value` or `Key: value`, without the blanks around.
pub(crate) fn pair(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let key = key.trim();
    (!key.is_empty()).then(|| (key, value.trim()))
}

/// Whether `text` is a PCI address: `00000000:1B:00.0`, `0000:1b:00.0`, `1b:00.0`.
pub(crate) fn is_pci_address(text: &str) -> bool {
    let hex = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let Some((front, function)) = text.rsplit_once('.') else { return false };
    let mut parts = front.rsplit(':');
    let (device, bus, domain, more) = (parts.next(), parts.next(), parts.next(), parts.next());
    hex(function, 1..=1)
        && device.is_some_and(|text| hex(text, 2..=2))
        && bus.is_some_and(|text| hex(text, 2..=2))
        && domain.is_none_or(|text| hex(text, 4..=8))
        && more.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_with_dashes() {
        assert_eq!(field_name("PCIe Generation"), "pcie-generation");
        assert_eq!(field_name("  Pages Pending (Blacklist)?"), "pages-pending-blacklist");
        assert_eq!(field_name("tx_prio3_pause"), "tx-prio3-pause");
    }

    #[test]
    fn words_are_typed_where_that_is_clear() {
        assert_eq!(value(" 42 "), Value::Count(42));
        assert_eq!(value("Not Active"), Value::Flag(false));
        assert_eq!(value("16x"), Value::Text("16x".to_owned()));
        assert_eq!(value("99999999999999999999999"), Value::Text("99999999999999999999999".to_owned()));
    }

    #[test]
    fn prefixes_are_told_from_text() {
        for good in ["", "   ", "node-17: ", "[1,0]<stdout>:", " 0: ", "> ", ">> ", "[pod/a/b] 3: "] {
            assert!(is_prefix(good), "{good}");
        }
        assert!(!is_prefix("node-17 | "));
        assert!(!is_prefix("I saw "));
        assert_eq!(host("node-17: "), Some("node-17".to_owned()));
        assert_eq!((host("0: "), host("[1,0]<stdout>:"), host("> ")), (None, None, None));
    }

    #[test]
    fn addresses_are_told_from_other_words() {
        assert!(
            ["00000000:1B:00.0", "0000:1b:00.0", "1b:00.0", "000f:01:00.0"].iter().all(|a| is_pci_address(a))
        );
        assert!(!["1b:00", "1:2:3:4.5", "GPU 0", ""].iter().any(|a| is_pci_address(a)));
    }
}
