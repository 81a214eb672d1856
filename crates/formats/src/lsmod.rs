//! `lsmod`: loaded kernel modules. Those that GPUs and networks need are recorded; the others are counted.

use memchr::memrchr2;

use crate::block::{self, Block, BlockFormat, Step, is_prefix};
use crate::evidence::{Record, Value};
use crate::find::position;
use crate::format::Line;

/// The reader.
pub(crate) const LSMOD: BlockFormat = BlockFormat {
    name: "lsmod",
    title: "kernel modules of GPUs and networks: lsmod",
    command: Some("lsmod"),
    marks: &[
        "Used by",
        "nvidia ",
        "nvidia_",
        "nv_peer_mem",
        "gdrdrv",
        "mlx5_",
        "mlx4_",
        "ib_core",
        "amdgpu ",
        "efa ",
        "bnxt_re",
        "irdma",
    ],
    starts,
    step,
    records,
};

/// How the names of modules begin that matter here.
const KEPT: &[&str] = &[
    "nvidia",
    "nv_peer_mem",
    "nvidia_peermem",
    "gdrdrv",
    "mlx",
    "ib_",
    "rdma",
    "iw_",
    "amdgpu",
    "amdkfd",
    "amdttm",
    "efa",
    "bnxt",
    "irdma",
    "i40iw",
    "ice",
    "hfi1",
    "rdmavt",
    "qede",
    "qedr",
    "cxi",
    "knem",
    "xpmem",
    "nouveau",
    "vfio",
    "bonding",
    "habanalabs",
    "peer_mem",
    "infiniband",
];

fn is_head(text: &str) -> bool {
    text.starts_with("Module ") && text.contains(" Size ") && text.contains("Used by")
}

/// Name, users and the modules that use it, of `mlx5_core  1556480  1 mlx5_ib`.
fn row(text: &str) -> Option<(&str, u64, Option<&str>)> {
    let mut words = text.split_whitespace();
    let name = words.next()?;
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let size = words.next().and_then(block::number)?;
    let users = words.next()?;
    let users = if users == "-2" { 0 } else { block::number(users)? };
    let by = words.next();
    (plain && size >= 1024 && words.next().is_none()).then_some((name, users, by))
}

fn is_kept(name: &str) -> bool {
    KEPT.iter().any(|kept| name.starts_with(kept))
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    if let Some(offset) = position(text, "Module ", 0).filter(|offset| is_prefix(&text[..*offset])) {
        return is_head(&text[offset..]).then_some(offset);
    }
    // `lsmod | grep nvidia` has no head.
    let offset = memrchr2(b':', b'>', text.as_bytes()).map_or(0, |end| end + 1);
    let own = text.get(offset..)?;
    let offset = offset + own.len() - own.trim_start().len();
    let (name, ..) = row(own)?;
    (is_kept(name) && is_prefix(&text[..offset])).then_some(offset)
}

fn step(text: &str, _: &str) -> Step {
    if row(text).is_some() { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records = Vec::new();
    let mut count = 0;
    for line in &block.lines {
        if is_head(line.text) {
            line.using();
        } else if let Some((name, users, by)) = row(line.text) {
            line.using();
            count += 1;
            if is_kept(name) {
                let mut record = Record::new("module", name, line.number);
                record.push("users", Value::Count(users), line.number);
                if let Some(by) = by {
                    record.push("used-by", Value::Text(by.to_owned()), line.number);
                }
                records.push(record);
            }
        }
    }
    if let Some(head) = block.lines.first().filter(|line| is_head(line.text)) {
        let mut all = Record::new("setting", "all modules", head.number);
        all.push("modules", Value::Count(count), head.number);
        records.push(all);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_from_prose() {
        assert_eq!(row("mlx5_core            1556480  1 mlx5_ib"), Some(("mlx5_core", 1, Some("mlx5_ib"))));
        assert_eq!(row("nvidia_peermem 16384 0"), Some(("nvidia_peermem", 0, None)));
        assert!(row("ice 1556480 is what it says").is_none());
        assert!(row("GPU0 12 4").is_none());
    }
}
