//! Modules of the kernel that matter for GPUs and networks.

use weft_formats::{Record, Value};

use crate::files::Files;
use crate::survey::Probe;

/// Modules, and what the absence of one costs is for others to judge.
const MODULES: [&str; 10] = [
    "nvidia",
    "nvidia_peermem",
    "nv_peer_mem",
    "gdrdrv",
    "amdgpu",
    "mlx5_core",
    "mlx5_ib",
    "ib_uverbs",
    "efa",
    "irdma",
];

pub(crate) fn read(files: &dyn Files, probe: &mut Probe) {
    for module in MODULES {
        let folder = format!("/sys/module/{module}");
        if files.list(&folder).is_empty() {
            continue;
        }
        let mut record = Record::new("module", module, 0);
        record.push("loaded", Value::Flag(true), 0);
        if let Some(version) = files.text(&format!("{folder}/version")) {
            record.push("version", Value::Text(version), 0);
        }
        probe.records.push(record);
    }
}
