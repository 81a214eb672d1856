//! From the devices of a host to its machine: sockets and PCIe switches as they are listed, models by the numbers by
//! which hardware names itself, links between GPUs as counted.

mod links;
mod models;
mod pcie;
mod pick;
mod said;
#[cfg(test)]
mod tests;

use weft_base::{Diagnostic, Place};
use weft_catalogue::{Catalogue, GpuGroup, Machine, NicGroup};
use weft_topology::{Assumption, build};

use crate::evidence::Host;
use crate::infer::Inferred;
use crate::join::{Observation, Overrides, Seen};

use pick::Picked;
pub(crate) use said::{Said, said, with_sockets};

/// A machine inferred from a host, with what its devices are called there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InferredHost {
    /// The machine, what was assumed for it, and what contradicts it.
    pub inferred: Inferred,
    /// Name of each GPU in the input, by its number in the machine.
    pub gpu_labels: Vec<String>,
    /// Name of each NIC in the input, by its number in the machine.
    pub nic_labels: Vec<String>,
    /// Lanes that run, where they are fewer than the device has.
    pub observed: Vec<Observation>,
}

/// The machine that `host`, read from `file`, describes. Names in `overrides` must be known to the catalogue. GPUs are
/// numbered as the input numbers them, else by address.
pub fn machine_of_host(
    host: &Host,
    file: &str,
    overrides: &Overrides,
    catalogue: &Catalogue,
) -> Option<InferredHost> {
    let picked = Picked::of(host, catalogue);
    if picked.gpus.is_empty() && picked.nics.is_empty() {
        return None;
    }
    let mut out = Inferred::default();
    out.machine.name = format!("from {}", host.format);
    let gpus = models::gpus(host, &picked, overrides, catalogue, &mut out.assumed);
    let nics = models::nics(host, &picked, overrides, catalogue, &mut out.assumed);
    out.machine.host.cpu = models::cpu(host, overrides, catalogue, &mut out.assumed);
    out.machine.gpus = gpus.iter().fold(Vec::new(), |mut groups: Vec<GpuGroup>, model| {
        match groups.last_mut() {
            Some(last) if last.model == *model => last.count += 1,
            Some(_) | None => groups.push(GpuGroup { model: model.clone(), count: 1 }),
        }
        groups
    });
    out.machine.nics = nics.into_iter().fold(Vec::new(), |mut groups: Vec<NicGroup>, nic| {
        match groups.last_mut() {
            Some(last) if last.model == nic.model && last.link == nic.link => last.count += 1,
            Some(_) | None => groups.push(nic),
        }
        groups
    });
    pcie::place(host, &picked, &gpus, catalogue, &mut out);
    links::lay(host, &picked, &gpus, catalogue, &mut out);
    make_buildable(&mut out, catalogue);
    let (gpu_labels, nic_labels) = picked.labels(host);
    let observed = observed(host, &picked, file);
    Some(InferredHost { inferred: out, gpu_labels, nic_labels, observed })
}

/// Addresses of a host's GPUs and NICs, in the order in which its machine numbers them; `None` where it has none.
pub(crate) fn addresses_of_host(host: &Host, catalogue: &Catalogue) -> Option<(Vec<String>, Vec<String>)> {
    let picked = Picked::of(host, catalogue);
    let of = |list: &[usize]| list.iter().map(|index| host.devices[*index].address.clone()).collect();
    let (gpus, nics): (Vec<String>, Vec<String>) = (of(&picked.gpus), of(&picked.nics));
    (!gpus.is_empty() || !nics.is_empty()).then_some((gpus, nics))
}

/// What the input says of links may contradict the models that it names; then what is surer stays: the PCIe tree, and
/// the links before the models.
fn make_buildable(out: &mut Inferred, catalogue: &Catalogue) {
    let Err(error) = build(&out.machine, catalogue) else { return };
    let tries: [fn(&mut Machine); 3] = [
        |machine| machine.gpus.iter_mut().for_each(|group| group.model = None),
        |machine| machine.fabric = None,
        |machine| {
            machine.fabric = None;
            machine.pcie.clear();
        },
    ];
    for change in tries {
        let mut changed = out.machine.clone();
        change(&mut changed);
        if build(&changed, catalogue).is_ok() {
            out.machine = changed;
            break;
        }
    }
    let finding = error.finding();
    out.diagnostics.push(Diagnostic { severity: weft_base::Severity::Warning, ..finding });
    let why = format!("{error}, so that not all the input says can be true");
    out.assumed.push(Assumption::new("GPU", "model and links", "as far as they fit", why));
}

/// Lanes that run, where the device has more; those are what the machine is built with.
fn observed(host: &Host, picked: &Picked, file: &str) -> Vec<Observation> {
    let narrow = |device: usize| {
        let device = &host.devices[device];
        let (up, has) = (device.link.lanes?, device.link_capability.lanes?);
        (up < has).then(|| (up, Place::new(file, device.line.max(1), 1, 0)))
    };
    let gpus = picked.gpus.iter().enumerate().filter_map(|(number, device)| {
        narrow(*device).map(|(up, place)| Observation { seen: Seen::GpuLanes(number, up), place })
    });
    let nics = picked.nics.iter().enumerate().filter_map(|(number, device)| {
        narrow(*device).map(|(up, place)| Observation { seen: Seen::NicLanes(number, up), place })
    });
    gpus.chain(nics).collect()
}
