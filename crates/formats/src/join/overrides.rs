//! What the user says besides the input.

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, Machine, NotFound};
use weft_topology::oneliner::UNKNOWN_NAME;

use super::Overrides;
use crate::codes;

/// The overrides under their catalogue names; those that name nothing are reported and left out.
pub(super) fn known(
    given: &Overrides,
    catalogue: &Catalogue,
    diagnostics: &mut Vec<Diagnostic>,
) -> Overrides {
    let mut check =
        |name: &Option<String>, look: &dyn Fn(&str) -> Result<String, NotFound>| match look(name.as_deref()?)
        {
            Ok(name) => Some(name),
            Err(error) => {
                let mut finding = Diagnostic::error(UNKNOWN_NAME, error.to_string());
                finding.hint = Some(error.hint());
                diagnostics.push(finding);
                None
            }
        };
    Overrides {
        gpu: check(&given.gpu, &|name| catalogue.gpu(name).map(|gpu| gpu.name.clone())),
        nic: check(&given.nic, &|name| catalogue.nic(name).map(|nic| nic.name.clone())),
        cpu: check(&given.cpu, &|name| catalogue.cpu(name).map(|cpu| cpu.name.clone())),
    }
}

/// Puts the given models where the description leaves them open.
pub(super) fn fill(
    mut machine: Machine,
    overrides: &Overrides,
    diagnostics: &mut Vec<Diagnostic>,
) -> Machine {
    let mut settled = |name: &str, given: &Option<String>, open: Vec<&mut Option<String>>| {
        let Some(given) = given else { return };
        if open.is_empty() {
            diagnostics.push(unused(name, "the description names the model itself, or has no such device"));
        }
        for slot in open {
            *slot = Some(given.clone());
        }
    };
    let gpus = machine.gpus.iter_mut().map(|group| &mut group.model).filter(|model| model.is_none());
    settled("--gpu", &overrides.gpu, gpus.collect());
    let nics = machine.nics.iter_mut().map(|group| &mut group.model).filter(|model| model.is_none());
    settled("--nic", &overrides.nic, nics.collect());
    let cpu = Some(&mut machine.host.cpu).filter(|cpu| cpu.is_none());
    settled("--cpu", &overrides.cpu, cpu.into_iter().collect());
    machine
}

pub(super) fn unused(option: &str, why: &str) -> Diagnostic {
    Diagnostic::warning(codes::OVERRIDE_UNUSED, format!("{option} changes nothing: {why}"))
}
