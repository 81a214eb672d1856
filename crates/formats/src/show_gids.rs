//! `show_gids`: which GIDs each port has, which of them are RoCE v2, and for which address.

use crate::block::{Block, BlockFormat, Step, is_prefix, number};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const SHOW_GIDS: BlockFormat = BlockFormat {
    name: "show-gids",
    title: "GIDs of RDMA ports: show_gids",
    command: Some("show_gids"),
    marks: &["INDEX"],
    starts,
    step,
    records,
};

fn is_head(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.starts_with(&["DEV", "PORT", "INDEX", "GID"])
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let offset = text.find("DEV")?;
    (is_prefix(&text[..offset]) && is_head(&text[offset..])).then_some(offset)
}

/// The words of `mlx5_0  1  3  0000:…:0a00:0001  10.0.0.1  v2  eth0`.
fn row(text: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, port, index, gid, ..] = words.as_slice() else { return None };
    let is_gid = gid.matches(':').count() == 7 || gid.contains("::");
    (number(port).is_some() && number(index).is_some() && is_gid).then_some(words)
}

fn step(text: &str, _: &str) -> Step {
    let own = text.trim();
    let rule = !own.is_empty() && own.chars().all(|c| matches!(c, '-' | ' ' | '\t'));
    if row(text).is_some() || rule || own.starts_with("n_gids_found=") { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records = Vec::new();
    for line in &block.lines {
        if let Some(words) = row(line.text) {
            line.using();
            let subject = format!("{} port {} gid {}", words[0], words[1], words[2]);
            let mut record = Record::new("gid", subject, line.number);
            record.push("gid", Value::Text(words[3].to_owned()), line.number);
            let mut rest = words[4..].iter().copied().peekable();
            if let Some(address) = rest.next_if(|word| word.contains('.') && !word.starts_with('v')) {
                record.push("ipv4", Value::Text(address.to_owned()), line.number);
            }
            if let Some(version) = rest.next_if(|word| word.starts_with('v') || *word == "RoCE") {
                record.push("version", Value::Text(version.to_owned()), line.number);
            }
            if let Some(interface) = rest.next() {
                record.push("interface", Value::Text(interface.to_owned()), line.number);
            }
            records.push(record);
        } else if step(line.text, "") == Step::More || is_head(line.text) {
            line.using();
        }
    }
    records
}
