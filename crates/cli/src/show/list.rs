//! `--list`: the names that may be given.

use weft_catalogue::{Catalogue, SwitchKind};
use weft_collective::ALGORITHMS;
use weft_simulator::network::NETWORK_MODELS;

use crate::table::{Cell, Table};

/// What to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum List {
    /// Everything below.
    All,
    /// Systems.
    Systems,
    /// GPUs and other accelerators.
    Gpus,
    /// Network adapters.
    Nics,
    /// CPUs.
    Cpus,
    /// PCIe, GPU-fabric and network switches.
    Switches,
    /// Kinds of links.
    Links,
    /// Formats that are read.
    Formats,
    /// Algorithms of collectives.
    Algorithms,
    /// Models of networks.
    Networks,
    /// Models that are trained.
    Models,
    /// Programs that train them.
    Frameworks,
    /// Programs that serve them.
    Engines,
}

const KINDS: [List; 12] = [
    List::Systems,
    List::Gpus,
    List::Nics,
    List::Cpus,
    List::Switches,
    List::Links,
    List::Formats,
    List::Algorithms,
    List::Networks,
    List::Models,
    List::Frameworks,
    List::Engines,
];

/// The names of one kind, or of all.
pub fn list(kind: List, catalogue: &Catalogue) -> String {
    if kind == List::All {
        return KINDS.map(|kind| one(kind, catalogue)).join("\n");
    }
    one(kind, catalogue)
}

fn one(kind: List, catalogue: &Catalogue) -> String {
    let same = |name: &str, title: &str| (name.to_owned(), title.to_owned());
    let (heading, names): (&str, Vec<(String, String)>) = match kind {
        List::All | List::Systems => {
            ("Systems", catalogue.systems.iter().map(|system| same(&system.name, &system.title)).collect())
        }
        List::Algorithms => (
            "Algorithms",
            ALGORITHMS.iter().map(|algorithm| same(algorithm.name(), algorithm.title())).collect(),
        ),
        List::Networks => {
            ("Networks", NETWORK_MODELS.iter().map(|model| same(model.name(), model.title())).collect())
        }
        List::Models => {
            ("Models", catalogue.models.iter().map(|model| same(&model.name, &model.title)).collect())
        }
        List::Frameworks => (
            "Frameworks",
            catalogue.frameworks.iter().map(|program| same(&program.name, &program.title)).collect(),
        ),
        List::Engines => {
            ("Engines", catalogue.engines.iter().map(|program| same(&program.name, &program.title)).collect())
        }
        List::Gpus => ("GPUs", catalogue.gpus.iter().map(|gpu| same(&gpu.name, &gpu.title)).collect()),
        List::Nics => ("NICs", catalogue.nics.iter().map(|nic| same(&nic.name, &nic.title)).collect()),
        List::Cpus => ("CPUs", catalogue.cpus.iter().map(|cpu| same(&cpu.name, &cpu.title)).collect()),
        List::Switches => {
            let titled =
                |switch: &weft_catalogue::Switch| format!("{} ({})", switch.title, word(switch.kind));
            let names = catalogue.switches.iter().map(|switch| (switch.name.clone(), titled(switch)));
            ("Switches", names.collect())
        }
        List::Links => ("Links", catalogue.links.iter().map(|link| same(&link.name, &link.title)).collect()),
        List::Formats => {
            let titled = |format: &dyn weft_formats::Format| match format.command() {
                Some(command) => format!("{} ({command})", format.title()),
                None => format.title().to_owned(),
            };
            let formats = weft_formats::FORMATS.iter();
            ("Formats", formats.map(|format| (format.name().to_owned(), titled(*format))).collect())
        }
    };
    let mut table = Table::default();
    for (name, title) in names {
        table.row([Cell::new(name), Cell::new(title)]);
    }
    super::titled(heading, &table.lines())
}

fn word(kind: SwitchKind) -> &'static str {
    match kind {
        SwitchKind::GpuFabric => "GPU fabric",
        SwitchKind::Pcie => "PCIe",
        SwitchKind::Network => "network",
    }
}
