//! `nvidia-smi -L`: one line per GPU with model and UUID, and one per MIG device.

use crate::block::{self, Block, BlockFormat, Step, is_prefix};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const NVIDIA_SMI_LIST: BlockFormat = BlockFormat {
    name: "nvidia-smi-list",
    title: "GPUs by model and UUID: nvidia-smi -L",
    command: Some("nvidia-smi -L"),
    marks: &["(UUID: "],
    starts,
    step,
    records,
};

/// `GPU 0: NVIDIA A40 (UUID: GPU-…)`.
pub(crate) struct GpuLine<'l> {
    /// NVML's number.
    pub number: u64,
    /// As printed.
    pub model: &'l str,
    /// As printed.
    pub uuid: &'l str,
}

impl GpuLine<'_> {
    /// A record that says this.
    pub fn record(&self, line: u32) -> Record {
        let mut record = Record::new("gpu", format!("GPU {}", self.number), line);
        record.push("model", Value::Text(self.model.to_owned()), line);
        if !self.uuid.is_empty() {
            record.push("uuid", Value::Text(self.uuid.to_owned()), line);
        }
        record
    }
}

pub(crate) fn gpu_line(text: &str) -> Option<GpuLine<'_>> {
    let (number, rest) = text.trim().strip_prefix("GPU ")?.split_once(':')?;
    let number = block::number(number.trim())?;
    let (model, uuid) = rest.split_once("(UUID:")?;
    let uuid = uuid.trim().trim_end_matches(')');
    let model = model.trim();
    (!model.is_empty()).then_some(GpuLine { number, model, uuid })
}

/// Profile, number and UUID of `MIG 1g.10gb     Device  0: (UUID: MIG-…)`.
fn mig_line(text: &str) -> Option<(&str, u64, &str)> {
    let rest = text.trim().strip_prefix("MIG ")?;
    let (profile, rest) = rest.split_once("Device")?;
    let (number, uuid) = rest.split_once(':')?;
    let uuid = uuid.trim().strip_prefix("(UUID:")?.trim().trim_end_matches(')');
    Some((profile.trim(), block::number(number.trim())?, uuid))
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let offset = text.find("GPU ").filter(|offset| is_prefix(&text[..*offset]))?;
    gpu_line(&text[offset..])?;
    // With links below it, the line is a heading of `nvidia-smi nvlink`.
    let next = lines.get(index + 1).map_or("", |line| &line.text);
    let heads_links = next.contains("Link ") || next.contains("all links are inActive");
    (!heads_links).then_some(offset)
}

fn step(text: &str, _: &str) -> Step {
    if gpu_line(text).is_some() || mig_line(text).is_some() {
        return Step::More;
    }
    Step::End
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut gpu = 0;
    for line in &block.lines {
        if let Some(found) = gpu_line(line.text) {
            line.using();
            gpu = found.number;
            records.push(found.record(line.number));
        } else if let Some((profile, number, uuid)) = mig_line(line.text) {
            line.using();
            let mut record = Record::new("mig", format!("GPU {gpu} device {number}"), line.number);
            record.push("profile", Value::Text(profile.to_owned()), line.number);
            record.push("uuid", Value::Text(uuid.to_owned()), line.number);
            records.push(record);
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpus_line_is_taken_apart() {
        let line = gpu_line("GPU 11: NVIDIA H100 80GB HBM3 (UUID: GPU-0a1b)").expect("a GPU's line");
        assert_eq!((line.number, line.model, line.uuid), (11, "NVIDIA H100 80GB HBM3", "GPU-0a1b"));
        assert!(gpu_line("GPU 0: (UUID: x)").is_none());
        assert!(gpu_line("GPU0\t X \tNV12").is_none());
        assert_eq!(mig_line("  MIG 1g.10gb     Device  0: (UUID: MIG-2)"), Some(("1g.10gb", 0, "MIG-2")));
    }
}
