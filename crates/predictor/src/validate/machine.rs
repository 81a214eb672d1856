//! The machine behind a published row: GPU, number of GPUs and how they are tied.

use weft_catalogue::{BridgeUse, Catalogue, Fabric, Form, Gpu, GpuGroup, Host, Machine, MeshLink};

use super::Measurement;

/// Describes the machine that `row` ran on; the error names the field that is missing or unknown.
pub(crate) fn of(row: &Measurement, catalogue: &Catalogue) -> Result<Machine, String> {
    let gpu = catalogue.gpu(&row.gpu).map_err(|missing| format!("gpu: {missing}"))?;
    let count = row.gpus.ok_or("num_gpus is empty")?;
    let mut machine = Machine {
        name: row.system.clone(),
        host: Host { cpu: None, sockets: usual_sockets(gpu, count), count: 1 },
        gpus: vec![GpuGroup { model: Some(gpu.name.clone()), count }],
        ..Machine::default()
    };
    let link = row.intra_link.to_lowercase();
    if link.contains("pair") || link.contains("bridge") {
        machine.bridges = pairs(count);
    } else if link.contains("mesh") {
        machine.fabric = Some(full_mesh(gpu, count));
    } else if matches!(gpu.form, Form::Sxm | Form::Superchip) && !link.starts_with("pcie") {
        machine.fabric = Some(usual_fabric(gpu, count, catalogue)?);
    }
    Ok(machine)
}

/// Servers of more than four data-center GPUs have two sockets; boards for GeForce cards have one.
fn usual_sockets(gpu: &Gpu, count: u16) -> u16 {
    if count > 4 && !gpu.family.starts_with("GeForce") { 2 } else { 1 }
}

/// GPUs 0-1, 2-3, … bridged; a last single one is not.
fn pairs(count: u16) -> Vec<BridgeUse> {
    let first = (0..count / 2).map(|pair| 2 * pair);
    first
        .map(|first| BridgeUse {
            kind: "nvlink-bridge".to_owned(),
            gpus: vec![first, first + 1],
            links: None,
        })
        .collect()
}

/// Every pair joined by as many links as there are.
fn full_mesh(gpu: &Gpu, count: u16) -> Fabric {
    let links = gpu.fabric.as_ref().map_or(1, |fabric| fabric.count.value / (count - 1).max(1));
    let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| MeshLink { a, b, links }));
    Fabric { mesh: pairs.collect(), ..Fabric::default() }
}

/// How servers with modules of this generation are built.
fn usual_fabric(gpu: &Gpu, count: u16, catalogue: &Catalogue) -> Result<Fabric, String> {
    let system = match (gpu.architecture.as_str(), count) {
        ("pascal", 8) => "dgx-1-p100",
        ("volta", 8) => "dgx-1",
        ("volta", 9..) => "dgx-2",
        ("pascal" | "volta", _) => return Ok(full_mesh(gpu, count)),
        ("ampere", _) => "hgx-a100-8",
        ("hopper", _) => "hgx-h100-8",
        ("blackwell", _) if gpu.form == Form::Superchip => "gb200-nvl72",
        ("blackwell", _) => "hgx-b200-8",
        (other, _) => return Err(format!("gpu: no usual server with {other} modules is known")),
    };
    let system = catalogue.system(system).map_err(|missing| missing.to_string())?;
    let fabric = system.fabric.clone().ok_or_else(|| format!("{} has no GPU fabric", system.name))?;
    Ok(Fabric { links: None, ..fabric })
}
