//! All of it, in order: what is built in, who drives it, what the libraries add.

use weft_base::{Diagnostic, Place};
use weft_formats::{Evidence, Host, Located, Reading, Record, Report, settle_links};

use crate::files::Files;
use crate::nvml::{self, Nvml};
use crate::{codes, cpu, drivers, kfd, network, nvidia, pci, rdma};

/// What the source is called, on the command line and in places.
pub const SOURCE: &str = "local";

/// Reads the machine behind `files` and `nvml`. Fails only where there is nothing at all to read.
pub fn survey(files: &dyn Files, nvml: &dyn Nvml) -> Reading {
    let mut probe = Probe {
        host: Host { format: "local", ..Host::default() },
        records: Vec::new(),
        diagnostics: Vec::new(),
    };
    probe.host.name = files.text("/proc/sys/kernel/hostname");
    cpu::read(files, &mut probe.host);
    let paths = pci::read(files, &mut probe.host);
    settle_links(&mut probe.host.devices);
    drivers::read(files, &mut probe);
    pci::read_counters(files, &paths, &mut probe);
    rdma::read(files, &mut probe);
    network::read(files, &mut probe);
    nvidia::read(files, &mut probe.host);
    kfd::read(files, &mut probe.host);
    let peers = nvml::read(nvml, &mut probe);
    probe.remark(files);
    let Probe { host, records, diagnostics } = probe;
    let mut evidence = Vec::new();
    if !(host.devices.is_empty() && host.numa.is_empty()) {
        let name = host.name.clone();
        evidence.push(located(Evidence::Host(Box::new(host))));
        evidence.extend(peers.map(|peers| located(Evidence::Peers(peers))));
        if !records.is_empty() {
            let report = Report { format: SOURCE, host: name, records };
            evidence.push(located(Evidence::Report(Box::new(report))));
        }
    }
    Reading { evidence, diagnostics, is_binary: false }
}

/// Where facts come from that stand in no text.
pub(crate) fn place() -> Place {
    Place::new(SOURCE, 1, 1, 0)
}

fn located(value: Evidence) -> Located<Evidence> {
    Located { value, place: place() }
}

/// What was found so far.
pub(crate) struct Probe {
    pub host: Host,
    pub records: Vec<Record>,
    pub diagnostics: Vec<Diagnostic>,
}

impl Probe {
    /// What a reader of the answer must know.
    fn remark(&mut self, files: &dyn Files) {
        let host = &self.host;
        if host.devices.is_empty() && host.numa.is_empty() {
            let message = "this machine shows neither PCI functions nor NUMA nodes";
            let hint = "is /sys mounted? else paste the output of `lspci -vvv` or `nvidia-smi topo -m`";
            self.diagnostics.push(Diagnostic::error(codes::NOTHING_HERE, message).hint(hint));
            return;
        }
        if !host.devices.iter().any(pci::is_gpu) {
            let message = format!("this machine shows no GPU among its {} PCI functions", host.devices.len());
            let hint = "in a container or a virtual machine, look at the host, or pass the GPUs through";
            self.diagnostics.push(Diagnostic::note(codes::NO_GPU_HERE, message).hint(hint));
        }
        let is_hidden = |address: &str| {
            // 64 bytes are what everyone may read; all PCI functions have 256 at least.
            let path = format!("/sys/bus/pci/devices/{address}/config");
            files.bytes(&path).is_some_and(|bytes| bytes.len() <= 64)
        };
        if host.devices.iter().any(|device| is_hidden(&device.address)) {
            let message = "the configuration of PCI functions is hidden from this user: access control (ACS) is unknown";
            self.diagnostics
                .push(Diagnostic::note(codes::CONFIG_HIDDEN, message).hint("run it as root to see it"));
        }
    }
}
