//! Where a PCIe signal loses more than it may on its way from the root port.

use weft_catalogue::{Branch, Catalogue, LinkKind, Machine};
use weft_topology::channel_budgets;

use crate::style::Tone;
use crate::table::{Cell, Table};

/// The channels that the description has; `None` where it has none.
pub fn section(machine: &Machine, catalogue: &Catalogue) -> Option<String> {
    let mut table = Table::default();
    for (index, branch) in machine.pcie.iter().enumerate() {
        let Some(link) = (!branch.channel.is_empty()).then(|| link_of(machine, branch, catalogue)).flatten()
        else {
            continue;
        };
        let Ok(budgets) = channel_budgets(&branch.channel, link, catalogue) else { continue };
        let name = branch.name.clone().unwrap_or_else(|| format!("branch {index}"));
        let stretches = budgets.len();
        for (number, budget) in budgets.iter().enumerate() {
            let stretch = if stretches > 1 { format!(", stretch {}", number + 1) } else { String::new() };
            let (verdict, tone) = if budget.needs_retimer() {
                ("a retimer is needed", Tone::Slow)
            } else {
                ("holds without a retimer", Tone::Plain)
            };
            let parts: Vec<String> = budget
                .parts
                .iter()
                .map(|(part, amount, loss)| format!("{amount} x {part}: {loss}"))
                .collect();
            table.row([
                Cell::new(format!("{name} ({}){stretch}", devices(branch))),
                Cell::new(link.title.clone()),
                Cell::new(format!("loses {} of {}", budget.loss, budget.budget)),
                Cell::new(verdict).tone(tone),
                Cell::new(parts.join(", ")).tone(Tone::Faint),
            ]);
        }
    }
    (!table.is_empty()).then(|| super::titled("Signal loss from the root port to the device", &table.lines()))
}

/// The link kind that the branch's devices run: of their slot, else their own.
fn link_of<'c>(machine: &Machine, branch: &Branch, catalogue: &'c Catalogue) -> Option<&'c LinkKind> {
    let slot = branch.device_link.as_ref().or(branch.link.as_ref()).map(String::as_str);
    let own = || {
        let gpu = branch.gpus.first().and_then(|number| {
            let name =
                model(machine.gpus.iter().map(|group| (group.model.as_deref(), group.count)), *number)?;
            catalogue.gpu(name).ok()?.pcie.as_ref()
        });
        let nic = || {
            let number = branch.nics.first()?;
            let name =
                model(machine.nics.iter().map(|group| (group.model.as_deref(), group.count)), *number)?;
            Some(&catalogue.nic(name).ok()?.pcie)
        };
        gpu.or_else(nic).map(|port| port.link.as_str())
    };
    catalogue.link(slot.or_else(own)?).ok()
}

/// The model of device `number` among `groups`.
fn model<'m>(groups: impl Iterator<Item = (Option<&'m str>, u16)>, number: u16) -> Option<&'m str> {
    let mut first = 0u16;
    for (model, count) in groups {
        if number < first.saturating_add(count) {
            return model;
        }
        first = first.saturating_add(count);
    }
    None
}

fn devices(branch: &Branch) -> String {
    let gpus = branch.gpus.iter().map(|number| format!("GPU{number}"));
    let nics = branch.nics.iter().map(|number| format!("NIC{number}"));
    crate::names::ranges(&gpus.chain(nics).collect::<Vec<_>>())
}
