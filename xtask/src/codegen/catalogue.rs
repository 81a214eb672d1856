//! The page of facts: every entry of the catalogue with its rates in one direction and its grade.

use std::fmt::{Display, Write};

use anyhow::{Context, Result};
use weft_base::{Bytes, Rate};
use weft_catalogue::{Attachment, Catalogue, Cpu, Fact, Gpu, Grade, LinkKind, Machine, Nic, Retimer, Switch};

use super::supply;

use super::table::table;

const INTRODUCTION: &str = "\
# The catalogue

Rates are those of **one direction**. \"Rate\" is what the link carries after its line encoding, \"usable\" what \
well-tuned programs reach with large messages where that is known, else what packet headers leave. The grade is \
the weakest of the facts behind a figure: `measured` on hardware, from a `datasheet` or standard, `derived` from \
such, `assumed` as typical, or `announced` for hardware that does not ship. `weft explain NAME` prints the facts of \
an entry with their sources.
";

/// The whole page.
pub fn page(catalogue: &Catalogue) -> Result<String> {
    let mut text = String::from(super::HEAD);
    text.push_str(INTRODUCTION);
    let sections = [
        ("Links", links(catalogue)),
        ("GPUs and other accelerators", gpus(catalogue)?),
        ("NICs", nics(catalogue)?),
        ("Switches", switches(catalogue)?),
        ("CPUs", cpus(catalogue)?),
        ("Retimers", retimers(catalogue)),
        ("Systems", systems(catalogue)),
        ("Transceivers", supply::transceivers(catalogue)),
        ("Cables", supply::cables(catalogue)),
        ("What stands around GPUs", supply::servers(catalogue)),
        ("Prices", supply::prices(catalogue)),
        ("Failure rates", supply::failures(catalogue)),
        ("Checkpoints and restarts", supply::restarts(catalogue)),
    ];
    for (title, section) in sections {
        write!(text, "\n## {title}\n\n{section}")?;
    }
    Ok(text)
}

fn links(catalogue: &Catalogue) -> String {
    let heads = ["name", "link", "family", "lane", "lanes:", "rate:", "usable:", "latency:"];
    table(&heads, &catalogue.links.iter().map(link).collect::<Vec<_>>())
}

/// Links that are sold by the lane are shown at their widest.
fn link(link: &LinkKind) -> Vec<String> {
    let count = link.widths.iter().copied().max().unwrap_or(1);
    let lanes = if link.widths.is_empty() { link.lanes.value } else { count };
    let usable = link.achieved.as_ref().or(link.protocol.as_ref());
    let usable = usable.map(|share| format!("{} ({})", link.usable(count), share.grade.word()));
    let cells = [
        code(&link.name),
        link.title.clone(),
        link.family.word().to_owned(),
        link.lane.value.to_string(),
        lanes.to_string(),
        format!("{} ({})", link.rate(count), rate_grade(link).word()),
        usable.unwrap_or_default(),
        link.latency.as_ref().map(graded).unwrap_or_default(),
    ];
    cells.into()
}

/// `100 ns (assumed)`.
pub(super) fn graded<T: Display>(fact: &Fact<T>) -> String {
    format!("{} ({})", fact.value, fact.grade.word())
}

/// The weakest grade behind a link's rate.
fn rate_grade(link: &LinkKind) -> Grade {
    let encoding = link.encoding.as_ref().map_or(Grade::Measured, |encoding| encoding.grade);
    link.lane.grade.max(link.lanes.grade).max(encoding)
}

/// A link bundle of a device, its rate in one direction, and the weakest grade behind that.
fn bundle(catalogue: &Catalogue, attachment: &Attachment) -> Result<(String, Rate, Grade)> {
    let link = catalogue.link(&attachment.link).context("failed to describe a link")?;
    let count = attachment.count.value;
    let name = if link.widths.is_empty() {
        format!("{count} x {}", link.title)
    } else {
        format!("{} x{count}", link.title)
    };
    Ok((name, link.rate(count), rate_grade(link).max(attachment.count.grade)))
}

/// Three cells: what, rate, grade; empty where there is nothing.
fn bundle_cells(catalogue: &Catalogue, attachment: Option<&Attachment>) -> Result<[String; 3]> {
    let Some(attachment) = attachment else { return Ok(Default::default()) };
    let (name, rate, grade) = bundle(catalogue, attachment)?;
    Ok([name, rate.to_string(), grade.word().to_owned()])
}

fn gpus(catalogue: &Catalogue) -> Result<String> {
    let heads = [
        "name",
        "GPU",
        "memory:",
        "PCIe",
        "rate:",
        "grade",
        "fabric",
        "rate:",
        "grade",
        "peer-to-peer over PCIe",
    ];
    let rows = catalogue.gpus.iter().map(|entry| gpu(catalogue, entry)).collect::<Result<Vec<_>>>()?;
    Ok(table(&heads, &rows))
}

fn gpu(catalogue: &Catalogue, gpu: &Gpu) -> Result<Vec<String>> {
    let peer = gpu.peer_to_peer.as_ref().map(|peer| {
        let word = if peer.pcie.value { "yes" } else { "no" };
        format!("{word} ({})", peer.pcie.grade.word())
    });
    let memory = format!("{} at {}", capacity(gpu.memory.value), graded(&gpu.memory_rate));
    let mut cells = vec![code(&gpu.name), gpu.title.clone(), memory];
    cells.extend(bundle_cells(catalogue, gpu.pcie.as_ref())?);
    cells.extend(bundle_cells(catalogue, gpu.fabric.as_ref())?);
    cells.push(peer.unwrap_or_default());
    Ok(cells)
}

/// As vendors write it: `80 GB` rather than 74.506 GiB.
pub(super) fn capacity(bytes: Bytes) -> String {
    let giga = 1_000_000_000;
    if bytes.get().is_multiple_of(giga) { format!("{} GB", bytes.get() / giga) } else { bytes.to_string() }
}

fn nics(catalogue: &Catalogue) -> Result<String> {
    let heads = ["name", "NIC", "ports", "rate of a port:", "grade", "PCIe", "rate:", "grade"];
    let rows = catalogue.nics.iter().map(|entry| nic(catalogue, entry)).collect::<Result<Vec<_>>>()?;
    Ok(table(&heads, &rows))
}

fn nic(catalogue: &Catalogue, nic: &Nic) -> Result<Vec<String>> {
    let fastest = nic.links.first().context("a NIC without links")?;
    let link = catalogue.link(fastest).context("failed to describe a port")?;
    let ports = format!("{} x {}", nic.ports.value, link.title);
    let grade = rate_grade(link).max(nic.ports.grade).word().to_owned();
    let mut cells = vec![code(&nic.name), nic.title.clone(), ports, link.rate(1).to_string(), grade];
    cells.extend(bundle_cells(catalogue, Some(&nic.pcie))?);
    Ok(cells)
}

fn switches(catalogue: &Catalogue) -> Result<String> {
    let heads = ["name", "switch", "ports", "rate of a port:", "latency:", "reduces", "grade"];
    let rows = catalogue.switches.iter().map(|entry| switch(catalogue, entry)).collect::<Result<Vec<_>>>()?;
    Ok(table(&heads, &rows))
}

fn switch(catalogue: &Catalogue, switch: &Switch) -> Result<Vec<String>> {
    let link = catalogue.link(&switch.link).context("failed to describe a port")?;
    let unit = if link.widths.is_empty() { "x" } else { "lanes of" };
    let reduces = switch.reduces.as_ref().is_some_and(|reduces| reduces.value);
    let cells = [
        code(&switch.name),
        switch.title.clone(),
        format!("{} {unit} {}", switch.ports.value, link.title),
        link.rate(1).to_string(),
        switch.latency.as_ref().map(graded).unwrap_or_default(),
        if reduces { "yes" } else { "" }.to_owned(),
        rate_grade(link).max(switch.ports.grade).word().to_owned(),
    ];
    Ok(cells.into())
}

fn cpus(catalogue: &Catalogue) -> Result<String> {
    let heads =
        ["name", "CPU", "PCIe of a socket", "rate:", "grade", "between sockets", "rate:", "grade", "memory:"];
    let rows = catalogue.cpus.iter().map(|entry| cpu(catalogue, entry)).collect::<Result<Vec<_>>>()?;
    Ok(table(&heads, &rows))
}

fn cpu(catalogue: &Catalogue, cpu: &Cpu) -> Result<Vec<String>> {
    let mut cells = vec![code(&cpu.name), cpu.title.clone()];
    cells.extend(bundle_cells(catalogue, Some(&cpu.pcie))?);
    cells.extend(bundle_cells(catalogue, cpu.socket.as_ref())?);
    cells.push(graded(&cpu.memory_rate));
    Ok(cells)
}

fn retimers(catalogue: &Catalogue) -> String {
    let row = |retimer: &Retimer| {
        let links: Vec<&str> = retimer.links.iter().map(String::as_str).collect();
        vec![code(&retimer.name), retimer.title.clone(), links.join(", "), graded(&retimer.latency)]
    };
    let rows: Vec<Vec<String>> = catalogue.retimers.iter().map(row).collect();
    table(&["name", "retimer", "links", "latency:"], &rows)
}

fn systems(catalogue: &Catalogue) -> String {
    let rows: Vec<Vec<String>> = catalogue.systems.iter().map(|entry| system(catalogue, entry)).collect();
    table(&["name", "system", "hosts:", "of each: GPUs", "NICs", "CPUs", "fabric", "grade"], &rows)
}

fn system(catalogue: &Catalogue, system: &Machine) -> Vec<String> {
    let gpus = system.gpus.iter().map(|group| counted(group.count, group.model.as_deref()));
    let nics = system.nics.iter().map(|group| counted(group.count, group.model.as_deref()));
    let fabric = system.fabric.as_ref().map(|fabric| match &fabric.switch {
        Some(switch) => {
            let title = catalogue.switch(switch).map_or(switch.as_str(), |switch| switch.title.as_str());
            format!("{} x {title}", fabric.switches)
        }
        None => "direct links".to_owned(),
    });
    let cells = [
        code(&system.name),
        system.title.clone(),
        system.host.count.to_string(),
        gpus.collect::<Vec<_>>().join(", "),
        nics.collect::<Vec<_>>().join(", "),
        counted(system.host.sockets, system.host.cpu.as_deref()),
        fabric.unwrap_or_default(),
        system.grade.map(Grade::word).unwrap_or_default().to_owned(),
    ];
    cells.into()
}

fn counted(count: u16, model: Option<&str>) -> String {
    format!("{count} x {}", model.map_or_else(|| "unknown".to_owned(), code))
}

pub(super) fn code(name: &str) -> String {
    format!("`{name}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_entry() {
        let catalogue = Catalogue::embedded();
        let text = page(catalogue).unwrap();
        let names = catalogue.links.iter().map(|link| &link.name);
        let names = names.chain(catalogue.gpus.iter().map(|gpu| &gpu.name));
        let names = names.chain(catalogue.systems.iter().map(|system| &system.name));
        for name in names.chain(catalogue.switches.iter().map(|switch| &switch.name)) {
            assert!(text.contains(&format!("| `{name}` |")), "{name}");
        }
    }

    #[test]
    fn a_rate_is_of_one_direction_and_as_weak_as_its_weakest_fact() {
        let catalogue = Catalogue::embedded();
        let a100 = catalogue.gpu("a100-sxm4-80gb").unwrap();
        let cells = bundle_cells(catalogue, a100.fabric.as_ref()).unwrap();
        assert_eq!(cells, ["12 x NVLink 3", "300 GB/s", "datasheet"]);
        assert_eq!(bundle_cells(catalogue, None).unwrap(), [const { String::new() }; 3]);
    }
}
