//! Slurm's `topology.conf`, and what `scontrol show topology` prints, which has the same form.

use weft_base::{Diagnostic, nearest};
use weft_catalogue::Catalogue;

use crate::codes;
use crate::evidence::{Evidence, HierarchyKind};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::hierarchy::{At, Builder, Declared, Named};
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct SlurmTopologyConf;

/// Keys that stand in the file, or in what `scontrol` prints; the first of a line says what it defines.
const KEYS: [&str; 12] = [
    "SwitchName",
    "BlockName",
    "BlockSizes",
    "Nodes",
    "Switches",
    "LinkSpeed",
    "Level",
    "BlockIndex",
    "BlockSize",
    "AggregatedBlock",
    "RingName",
    "RingIndex",
];

impl Format for SlurmTopologyConf {
    fn name(&self) -> &'static str {
        "slurm-topology-conf"
    }

    fn title(&self) -> &'static str {
        "Slurm's topology.conf: hosts under switches or in blocks"
    }

    fn command(&self) -> Option<&'static str> {
        Some("scontrol show topology")
    }

    fn marks(&self) -> &'static [&'static str] {
        &[
            "SwitchName",
            "switchname",
            "SWITCHNAME",
            "Switchname",
            "BlockName",
            "blockname",
            "BLOCKNAME",
            "Blockname",
        ]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let lines = text.lines;
        let own = |line: &Line<'_>| begin(&line.text).is_some();
        let Some(first) = lines.iter().position(own) else { return Vec::new() };
        let last = lines.iter().rposition(own).unwrap_or(first);
        let mut taken: Vec<usize> = Vec::new();
        // Comments right above belong to the file; `#` is also a root prompt, but then a command follows it.
        let comment = |line: &Line<'_>| line.is_blank() || line.text.trim_start().starts_with('#');
        let head = lines[..first].iter().rev().take_while(|line| comment(line)).count();
        let mut continued = false;
        for (index, line) in lines.iter().enumerate().skip(first - head) {
            let is_inside = index <= last && (comment(line) || begins_like_a_key(&line.text));
            if continued || is_inside || (index <= last && own(line)) {
                taken.push(index);
                continued = continues(&line.text);
            } else if index > last {
                break;
            }
        }
        // Blank lines above and below are nobody's.
        let written = |index: &usize| !lines[*index].is_blank();
        let (start, end) = (taken.iter().position(written), taken.iter().rposition(written));
        match (start, end) {
            (Some(start), Some(end)) => vec![Claim::lines(taken[start..=end].iter().copied())],
            _ => Vec::new(),
        }
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let mut builder = Builder::new(part);
        let (mut used, mut comments) = (Vec::new(), Vec::new());
        let mut alias: Option<String> = None;
        let mut has_switch = false;
        let mut index = 0;
        while index < part.lines.len() {
            let text = part.lines[index].text.trim();
            if let Some(comment) = text.strip_prefix('#') {
                comments.push(index);
                alias = Some(comment.trim().to_owned());
                index += 1;
                continue;
            }
            if text.is_empty() {
                index += 1;
                continue;
            }
            let statement = Statement::read(part, index);
            let line = alias.take();
            if let Some(is_switch) = define(&statement, line.as_deref(), &mut builder) {
                has_switch |= is_switch;
                used.extend(index..index + statement.lines);
            }
            index += statement.lines;
        }
        if builder.is_empty() {
            let diagnostics = builder.diagnostics;
            return Read { diagnostics, unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        }
        used.extend(comments);
        used.sort_unstable();
        let kind = if has_switch { HierarchyKind::Tree } else { HierarchyKind::Blocks };
        let hierarchy = builder.finish(self.name(), kind);
        let evidence = Evidence::Hierarchy(Box::new(hierarchy));
        let mut diagnostics = builder.diagnostics;
        ranges::sort(&mut diagnostics);
        Read {
            evidence: vec![Located { value: evidence, place: part.start() }],
            diagnostics,
            unused: ranges::unused(&part.lines, &used),
        }
    }
}

/// The byte where a definition begins: at the start, or behind a short prefix such as `topology.conf:12:`.
fn begin(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(equals) = text.get(from..)?.find('=').map(|found| from + found) {
        let key = text[..equals].trim_end();
        for defining in ["SwitchName", "BlockName", "BlockSizes", "AggregatedBlock", "RingName"] {
            let Some(start) = key.len().checked_sub(defining.len()) else { continue };
            let (Some(before), Some(word)) = (key.get(..start), key.get(start..)) else { continue };
            let is_key = word.eq_ignore_ascii_case(defining);
            let is_prefix = before.len() < 60 && !before.contains(['=', '#']);
            if is_key && is_prefix && (before.is_empty() || before.ends_with([' ', '\t', ':', '>', '|'])) {
                return Some(start);
            }
        }
        // Only the first key of a line defines anything.
        if from > 0 || equals > 80 {
            return None;
        }
        from = equals + 1;
    }
    None
}

/// Whether a line has the form `Key=`, so that one with a misspelt key is seen.
fn begins_like_a_key(text: &str) -> bool {
    let key = text.trim_start().split('=').next().unwrap_or("");
    let is_key =
        !key.is_empty() && key.len() <= 24 && key.trim_end().bytes().all(|byte| byte.is_ascii_alphabetic());
    is_key
        && text.contains('=')
        && ["odes", "ODES", "witches", "SWITCHES"].iter().any(|word| text.contains(word))
}

fn continues(text: &str) -> bool {
    uncommented(text).trim_end().ends_with('\\')
}

fn uncommented(text: &str) -> &str {
    text.find('#').map_or(text, |at| &text[..at])
}

/// `Key=value` pairs of one line and of those that continue it.
struct Statement {
    pairs: Vec<Pair>,
    lines: usize,
}

struct Pair {
    key: String,
    key_at: At,
    value: String,
    at: At,
}

impl Statement {
    fn read(part: &Part<'_>, first: usize) -> Self {
        let mut statement = Self { pairs: Vec::new(), lines: 0 };
        for (index, line) in part.lines.iter().enumerate().skip(first) {
            let text = uncommented(&line.text);
            let start = if index == first { begin(text).unwrap_or(line.indent().min(text.len())) } else { 0 };
            let body = text.trim_end();
            let body = body.strip_suffix('\\').unwrap_or(body);
            statement.take(
                body.get(start..).unwrap_or(""),
                index,
                text.get(..start).map_or(0, |before| before.chars().count()),
            );
            statement.lines += 1;
            if !continues(&line.text) {
                break;
            }
        }
        statement
    }

    /// Splits at blanks; blanks around `=` and inside quotes and brackets do not count.
    fn take(&mut self, body: &str, index: usize, column: usize) {
        let mut rest = body;
        let at = |rest: &str| At { index, column: column + body[..body.len() - rest.len()].chars().count() };
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return;
            }
            let key_end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
            let behind = rest[key_end..].trim_start();
            let Some(value) = behind.strip_prefix('=') else {
                // A word without a key goes on with the value before, as where a list was continued.
                let end = value_end(rest);
                let (key_at, word) = (at(rest), &rest[..end]);
                match self.pairs.last_mut() {
                    Some(last) => last.value.push_str(word),
                    None => self.pairs.push(Pair {
                        key: word.to_owned(),
                        key_at,
                        value: String::new(),
                        at: key_at,
                    }),
                }
                rest = &rest[end..];
                continue;
            };
            let value = value.trim_start();
            let end = value_end(value);
            let pair = Pair {
                key: rest[..key_end].to_owned(),
                key_at: at(rest),
                value: value[..end].trim_matches('"').to_owned(),
                at: at(value).plus(usize::from(value.starts_with('"'))),
            };
            self.pairs.push(pair);
            rest = &value[end..];
        }
    }

    fn get(&self, key: &str) -> Option<&Pair> {
        self.pairs.iter().find(|pair| pair.key.eq_ignore_ascii_case(key))
    }
}

fn value_end(text: &str) -> usize {
    let (mut depth, mut quoted) = (0usize, false);
    for (offset, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if c.is_whitespace() && depth == 0 && !quoted => return offset,
            _ => {}
        }
    }
    text.len()
}

/// Declares what the statement defines; `Some(true)` for a switch, `None` if it defines nothing.
fn define(statement: &Statement, comment: Option<&str>, builder: &mut Builder<'_, '_>) -> Option<bool> {
    for pair in &statement.pairs {
        if !KEYS.iter().any(|key| pair.key.eq_ignore_ascii_case(key)) {
            let near = nearest(&pair.key, KEYS, 1);
            let message = format!("`{}` is no key of a topology", ranges::short(&pair.key));
            let finding = Diagnostic::warning(codes::HIERARCHY_KEY, message);
            let finding = match near.first() {
                Some(near) => finding.hint(format!("did you mean `{near}`?")),
                None => finding.hint("it was left out"),
            };
            builder.find(finding, pair.key_at, pair.key.chars().count());
        }
    }
    // A block that scontrol puts together from others says nothing new.
    if statement.get("AggregatedBlock").is_some() {
        return Some(false);
    }
    if let Some(sizes) = statement.get("BlockSizes") {
        block_sizes(sizes, builder);
        return Some(false);
    }
    let name = ["SwitchName", "BlockName", "RingName"].iter().find_map(|key| statement.get(key))?;
    let is_block = name.key.eq_ignore_ascii_case("BlockName");
    let mut declared = Declared::new(Named { name: name.value.clone(), at: name.at }, is_block);
    // Topograph writes `# switch.1.1=leaf-7` above a name that it made.
    declared.alias = comment
        .and_then(|comment| comment.split_once('='))
        .filter(|(made, _)| made.trim() == name.value)
        .map(|(_, real)| real.trim().to_owned());
    if let Some(nodes) = statement.get("Nodes") {
        declared.hosts = builder.names(&nodes.value, nodes.at);
    }
    if let Some(switches) = statement.get("Switches") {
        declared.children = builder.names(&switches.value, switches.at);
    }
    if let Some(speed) = statement.get("LinkSpeed") {
        declared.link_speed = speed.value.parse().ok();
        if declared.link_speed.is_none() {
            let message = format!("`LinkSpeed={}` is no number", ranges::short(&speed.value));
            builder.find(Diagnostic::warning(codes::HIERARCHY_KEY, message), speed.at, speed.value.len());
        }
    }
    builder.declare(declared);
    Some(!is_block)
}

fn block_sizes(sizes: &Pair, builder: &mut Builder<'_, '_>) {
    let mut column = 0;
    for size in sizes.value.split(',') {
        let at = sizes.at.plus(column);
        column += size.chars().count() + 1;
        if let Ok(size) = size.trim().parse() {
            builder.block_size(size, at);
        } else {
            let message = format!("`{}` is no block size", ranges::short(size));
            builder.find(Diagnostic::warning(codes::BLOCK_SIZES, message), at, size.len());
        }
    }
}
