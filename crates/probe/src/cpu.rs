//! Sockets and NUMA nodes.

use std::collections::BTreeMap;

use weft_base::Bytes;
use weft_formats::{Host, NumaNode, Package};

use crate::files::Files;

const NODES: &str = "/sys/devices/system/node";

pub(crate) fn read(files: &dyn Files, host: &mut Host) {
    let described = described(&files.text("/proc/cpuinfo").unwrap_or_default());
    let arch =
        files.text("/proc/sys/kernel/arch").map(|arch| plain_arch(&arch)).or_else(|| described.arch.clone());
    for (number, model) in &described.sockets {
        let package =
            Package { number: Some(*number), vendor: described.vendor.clone(), model: model.clone() };
        host.packages.push(package);
    }
    let number = |name: &String| name.strip_prefix("node")?.parse::<u32>().ok();
    let mut numbers: Vec<u32> = files.list(NODES).iter().filter_map(number).collect();
    numbers.sort_unstable();
    for number in numbers {
        let text = |name: &str| files.text(&format!("{NODES}/node{number}/{name}"));
        let cpus = text("cpulist");
        let socket = cpus.as_deref().and_then(first_cpu).and_then(|cpu| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
            files.text(&path)?.parse().ok()
        });
        let model = socket.and_then(|socket| described.sockets.get(&socket).cloned().flatten());
        host.numa.push(NumaNode {
            number: Some(number),
            socket,
            arch: arch.clone(),
            vendor: described.vendor.clone(),
            cpu_family: described.family,
            cpu_model: described.model,
            model: model.or_else(|| described.sockets.values().next().cloned().flatten()),
            cpus,
            memory: text("meminfo").and_then(|text| total(&text)),
        });
    }
}

/// `0-27,56-83` begins with CPU 0.
fn first_cpu(list: &str) -> Option<u32> {
    list.split([',', '-']).next()?.parse().ok()
}

/// `Node 0 MemTotal:       131072 kB`: the kernel means KiB.
fn total(text: &str) -> Option<Bytes> {
    let line = text.lines().find(|line| line.contains("MemTotal:"))?;
    let count: u64 = line.split_once("MemTotal:")?.1.split_whitespace().next()?.parse().ok()?;
    count.checked_mul(1024).map(Bytes::new)
}

fn plain_arch(arch: &str) -> String {
    match arch {
        "aarch64" => "arm64",
        "ppc64le" => "ppc64",
        other => other,
    }
    .to_owned()
}

/// What `/proc/cpuinfo` says.
#[derive(Default)]
struct Described {
    arch: Option<String>,
    vendor: Option<String>,
    /// Numbers that x86 CPUs go by.
    family: Option<u32>,
    model: Option<u32>,
    /// Model in words by socket.
    sockets: BTreeMap<u32, Option<String>>,
}

fn described(text: &str) -> Described {
    let mut described = Described::default();
    let (mut model, mut part): (Option<String>, Option<String>) = (None, None);
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match key.trim() {
            "vendor_id" => {
                described.arch.get_or_insert_with(|| "x86_64".to_owned());
                described.vendor.get_or_insert_with(|| value.to_owned());
            }
            "cpu family" => described.family = value.parse().ok(),
            "model" => described.model = value.parse().ok(),
            "model name" => model = Some(value.to_owned()),
            "physical id" => {
                if let Ok(socket) = value.parse() {
                    described.sockets.entry(socket).or_insert_with(|| model.clone());
                }
            }
            "CPU implementer" => {
                described.arch.get_or_insert_with(|| "arm64".to_owned());
                described
                    .vendor
                    .get_or_insert_with(|| if value == "0x41" { "ARM" } else { value }.to_owned());
            }
            "CPU part" => part = Some(format!("part {value}")),
            // POWER: `cpu : POWER9, altivec supported`.
            "cpu" => {
                described.arch.get_or_insert_with(|| "ppc64".to_owned());
                model = Some(value.split(',').next().unwrap_or(value).to_owned());
            }
            _ => {}
        }
    }
    if described.sockets.is_empty() && (model.is_some() || part.is_some()) {
        described.sockets.insert(0, model.or(part));
    }
    described
}
