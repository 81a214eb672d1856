//! What `weft show` prints for a reader, section by section.

mod assumed;
mod cluster;
mod devices;
mod evidence;
mod extremes;
mod groups;
mod links;
mod list;
mod peers;
mod retimers;
mod summary;
mod ties;

use weft_catalogue::{Catalogue, Machine};

use crate::load::Loaded;
use crate::pairs::{Pairs, Routes, only_peers};
use crate::style::heading;

pub use assumed::section as assumed;
pub use list::{List, list};
pub use summary::{composition, title};

/// The whole text: sections that have something to say, with a blank line between.
pub fn text(loaded: &Loaded, catalogue: &Catalogue) -> String {
    let mut sections = Vec::new();
    if let Some(machine) = &loaded.case.machine {
        sections.extend(machine_sections(loaded, machine, catalogue));
    }
    sections.extend(ties::section(&loaded.case.ties));
    sections.extend(evidence::sections(&loaded.case.evidence, loaded.case.machine.is_some()));
    sections.join("\n")
}

fn machine_sections(loaded: &Loaded, machine: &Machine, catalogue: &Catalogue) -> Vec<String> {
    let pairs = Pairs::new(loaded);
    let mut routes = Routes::new(&loaded.graph.host);
    let mut sections = vec![summary::section(loaded, catalogue)];
    sections.extend(cluster::section(loaded, catalogue));
    sections.push(devices::section(loaded, catalogue));
    if only_peers(loaded).is_none() {
        sections.extend(links::section(&pairs, &mut routes, &loaded.graph.host, catalogue));
        sections.extend(extremes::section(&pairs, &mut routes, &loaded.graph.host));
        sections.extend(groups::section(loaded, catalogue));
    }
    sections.extend(peers::section(loaded));
    sections.extend(retimers::section(machine, catalogue));
    sections.extend(assumed::section(&loaded.graph.assumed));
    sections
}

/// A section: its heading and its lines, which end with a line break.
fn titled(title: &str, lines: &str) -> String {
    format!("{}\n{lines}", heading(title))
}
