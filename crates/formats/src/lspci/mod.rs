//! `lspci`: PCI functions as a list (`lspci`, `-nn`, `-D`, `-mm`), with their registers (`-vvv`, `-xxxx`), or as
//! the tree of their buses (`-tv`).

mod attributes;
mod header;
mod list;
mod tree;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, Host};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::pci::{arrange, settle_links};
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct Lspci;

impl Format for Lspci {
    fn name(&self) -> &'static str {
        "lspci"
    }

    fn title(&self) -> &'static str {
        "PCI functions, as a list, with their registers, or as a tree"
    }

    fn command(&self) -> Option<&'static str> {
        Some("sudo lspci -D -nn -vvv")
    }

    fn marks(&self) -> &'static [&'static str] {
        &[
            " controller",
            "controller\"",
            "PCI bridge",
            "Host bridge",
            "ISA bridge",
            "Bridge: ",
            "Bridge [",
            "Processing accelerators",
            "System peripheral",
            "Co-processor",
            "Audio device",
            "InfiniBand",
            "IOMMU",
            "0 0200: ",
            "0 0207: ",
            "0 0300: ",
            "0 0302: ",
            "0 0380: ",
            "0 0600: ",
            "0 0604: ",
            "0 0680: ",
            "0 1200: ",
            "-[0",
            "-[1",
            "-+-[",
        ]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let lists = list::scan(text.lines).into_iter().map(|list| list.lines());
        let trees = tree::scan(text.lines);
        lists.chain(trees).map(Claim::lines).collect()
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        let mut read = Read::default();
        let mut used = Vec::new();
        for list in list::scan(&part.lines) {
            let indices = list.lines();
            let host = list::read(&list, part, &mut read.diagnostics);
            read.push(host, part, &indices);
            used.extend(indices);
        }
        for indices in tree::scan(&part.lines) {
            let (host, placed) = tree::read(&indices, part, &mut read.diagnostics);
            read.push(host, part, &indices);
            used.extend(placed);
        }
        used.sort_unstable();
        ranges::sort(&mut read.diagnostics);
        Read { unused: ranges::unused(&part.lines, &used), ..read }
    }
}

impl Read {
    fn push(&mut self, mut host: Host, part: &Part<'_>, indices: &[usize]) {
        if host.devices.is_empty() {
            return;
        }
        arrange(&mut host.devices);
        settle_links(&mut host.devices);
        let place = part.start_at(indices.first().copied().unwrap_or(0));
        self.evidence.push(Located { value: Evidence::Host(Box::new(host)), place });
    }
}

/// A finding about `length` bytes at `offset` of a line.
fn at(finding: Diagnostic, part: &Part<'_>, index: usize, offset: usize, text: &str) -> Diagnostic {
    match part.lines.get(index) {
        Some(line) => finding.at(part.place(line, offset, u32::try_from(text.chars().count()).unwrap_or(0))),
        None => finding,
    }
}

#[cfg(test)]
mod tests;
