//! From a matrix to a machine that would print it: sockets, host bridges and switches from the PCIe
//! classes, meshes and NVSwitches from the NVLink counts, models from what only they can show.

mod fabric;
mod guess;
mod hidden;
mod host;
mod tree;
mod weights;

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, Gpu, GpuGroup, Machine, NicGroup};
use weft_topology::{Assumption, ReportedClass};

pub use host::{InferredHost, machine_of_host};
pub(crate) use host::{Said, addresses_of_host, said, with_sockets};
pub use weights::machine_of;

use crate::infer::fabric::Links;
pub(crate) use crate::infer::fabric::links_of;
use crate::join::Overrides;
use crate::matrix::{EndKind, Matrix};

/// A machine inferred from a matrix, and what had to be assumed for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inferred {
    /// The machine; its GPUs and NICs are numbered in the order of the matrix.
    pub machine: Machine,
    /// What the matrix does not say.
    pub assumed: Vec<Assumption>,
    /// Where the matrix contradicts itself or the hardware.
    pub diagnostics: Vec<Diagnostic>,
}

/// The machine that would print `matrix`. Names in `overrides` must be known to the catalogue.
pub fn infer(matrix: &Matrix, overrides: &Overrides, catalogue: &Catalogue) -> Inferred {
    let mut out = Inferred::default();
    let given = overrides.gpu.as_deref().and_then(|name| catalogue.gpu(name).ok());
    let links = Links::of(matrix);
    if let Some(finding) = given.and_then(|gpu| fabric::contradiction(matrix, &links, gpu, catalogue)) {
        out.diagnostics.push(finding);
    }
    let gpu = given.or_else(|| guess::gpu(matrix, &links, catalogue, &mut out.assumed));
    "from topo -m".clone_into(&mut out.machine.name);
    set_models(matrix, &links, gpu, overrides, catalogue, &mut out);
    tree::place(matrix, gpu, &mut out);
    out.diagnostics.extend(hidden::hidden(matrix));
    fabric::lay(matrix, &links, gpu, catalogue, &mut out);
    out
}

/// Fills in GPUs, NICs and the CPU: as given, else as in the best-known system with that GPU.
fn set_models(
    matrix: &Matrix,
    links: &Links,
    gpu: Option<&Gpu>,
    overrides: &Overrides,
    catalogue: &Catalogue,
    out: &mut Inferred,
) {
    let count = |kind| u16::try_from(matrix.of_kind(kind).count()).unwrap_or(u16::MAX);
    let gpus = count(EndKind::Gpu);
    if gpus > 0 {
        out.machine.gpus.push(GpuGroup { model: gpu.map(|gpu| gpu.name.clone()), count: gpus });
    }
    let reference = gpu.and_then(|gpu| guess::reference(gpu, links, catalogue));
    out.machine.host.cpu.clone_from(&overrides.cpu);
    if let (None, Some(system)) = (&overrides.cpu, reference) {
        // A CPU without a link to another is in no machine with pairs across sockets.
        let fits = |cpu: &&String| {
            !crosses_sockets(matrix) || catalogue.cpu(cpu).is_ok_and(|cpu| cpu.socket.is_some())
        };
        if let Some(cpu) = system.host.cpu.as_ref().filter(fits) {
            let why = format!("the matrix does not name it; {} has this one", system.title);
            out.assumed.push(Assumption::new("CPU", "model", cpu, why));
            out.machine.host.cpu = Some(cpu.clone());
        }
    }
    if count(EndKind::Nic) > 0 {
        let (groups, assumed) = nic_groups(matrix, overrides, reference, catalogue);
        out.machine.nics = groups;
        out.assumed.extend(assumed);
    }
}

fn crosses_sockets(matrix: &Matrix) -> bool {
    matrix.cells().iter().any(|cell| cell.class == Some(ReportedClass::Sys))
}

fn nic_groups(
    matrix: &Matrix,
    overrides: &Overrides,
    reference: Option<&Machine>,
    catalogue: &Catalogue,
) -> (Vec<NicGroup>, Option<Assumption>) {
    let mut groups: Vec<NicGroup> = Vec::new();
    let mut assumed = None;
    for index in matrix.of_kind(EndKind::Nic) {
        let device = matrix.ends()[index].device.as_deref();
        let guessed = || guess::nic(device, reference, catalogue);
        let model = overrides.nic.clone().or_else(|| {
            let (name, why) = guessed()?;
            assumed.get_or_insert_with(|| Assumption::new("NIC", "model", &name, why));
            Some(name)
        });
        match groups.last_mut() {
            Some(last) if last.model == model => last.count = last.count.saturating_add(1),
            Some(_) | None => groups.push(NicGroup { model, count: 1, link: None }),
        }
    }
    (groups, assumed)
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Source, join, read};
    use weft_catalogue::Catalogue;

    #[test]
    fn a_cpu_that_stands_alone_is_not_assumed_of_two_sockets() {
        let cpu = |class: &str| {
            let text = format!("\tGPU0\tGPU1\nGPU0\t X \t{class}\nGPU1\t{class}\t X \n");
            let reading = read(&Source::file("topo.txt", text), Catalogue::embedded(), None);
            let given = Overrides { gpu: Some("rtx-4090".to_owned()), ..Overrides::default() };
            join(reading.evidence, &given, Catalogue::embedded()).0.machine.unwrap().host.cpu
        };
        assert!(cpu("PHB").is_some_and(|cpu| cpu.starts_with("ryzen")));
        assert_eq!(cpu("SYS"), None);
    }
}
