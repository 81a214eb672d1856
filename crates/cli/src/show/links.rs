//! The matrix of classes, and what each class means in bytes per second.

use std::collections::BTreeMap;

use weft_base::Rate;
use weft_catalogue::Catalogue;
use weft_formats::EndKind;
use weft_topology::{ReportedClass, Topology};

use crate::names;
use crate::pairs::{Cell as PairCell, Pairs, Routes};
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Devices of the largest matrix that is shown cell by cell.
const FULL_MAX: usize = 20;
/// GPUs of the largest matrix that is shown at all.
const GPUS_MAX: usize = 32;
/// Characters of the longest title of a column.
const TITLE_MAX: usize = 11;

/// Matrix and legend; `None` for a single device.
pub fn section(
    pairs: &Pairs<'_>,
    routes: &mut Routes<'_>,
    topology: &Topology,
    catalogue: &Catalogue,
) -> Option<String> {
    if pairs.ends.len() < 2 {
        return None;
    }
    let is_amd = pairs.classes().any(|(_, _, class)| class == ReportedClass::Xgmi);
    let from = match (pairs.reported(), is_amd) {
        (true, _) => "as in the input",
        (false, true) => "in the words of nvidia-smi and amd-smi",
        (false, false) => "as nvidia-smi would print them",
    };
    let mut text = super::titled(&format!("Links, {from}"), &matrix(pairs));
    text.push('\n');
    text.push_str(&legend(pairs, routes, topology));
    text.push_str(&without_peer_access(pairs, topology, catalogue));
    Some(text)
}

/// A column: its title and the ends that it stands for.
struct Column {
    title: String,
    ends: Vec<usize>,
}

fn matrix(pairs: &Pairs<'_>) -> String {
    let gpus: Vec<usize> = pairs.of_kind(EndKind::Gpu).collect();
    let full = pairs.ends.len() <= FULL_MAX || gpus.is_empty();
    if gpus.len() > GPUS_MAX || (gpus.is_empty() && pairs.ends.len() > GPUS_MAX) {
        return format!("  {} devices; `--format json` has every pair\n", pairs.ends.len());
    }
    let single = |end: usize| Column { title: pairs.ends[end].label.clone(), ends: vec![end] };
    let (rows, columns): (Vec<usize>, Vec<Column>) = if full {
        let all = 0..pairs.ends.len();
        (all.clone().collect(), all.map(single).collect())
    } else {
        let mut columns: Vec<Column> = gpus.iter().copied().map(single).collect();
        columns.extend(alike_nics(pairs, &gpus));
        (gpus, columns)
    };
    let mut table = Table::default();
    let titles = columns.iter().map(|column| Cell::new(&column.title).tone(Tone::Faint));
    table.row(std::iter::once(Cell::default()).chain(titles));
    for row in rows {
        let cells: Vec<PairCell> = columns.iter().map(|column| pairs.cell(row, column.ends[0])).collect();
        if cells.iter().all(|cell| matches!(cell, PairCell::Absent | PairCell::Same)) {
            continue;
        }
        let label = Cell::new(&pairs.ends[row].label).tone(Tone::Faint);
        table.row(std::iter::once(label).chain(cells.into_iter().map(shown)));
    }
    let mut text = table.lines();
    if !full {
        text.push_str(
            "  (NICs that are alike to every GPU share a column; `--format json` has every cell)\n",
        );
    }
    text
}

/// NICs with the same classes to all GPUs, as one column each.
fn alike_nics(pairs: &Pairs<'_>, gpus: &[usize]) -> Vec<Column> {
    let classes = |nic: usize| -> Vec<PairCell> { gpus.iter().map(|gpu| pairs.cell(*gpu, nic)).collect() };
    let mut groups: Vec<(Vec<PairCell>, Vec<usize>)> = Vec::new();
    for nic in pairs.of_kind(EndKind::Nic) {
        let own = classes(nic);
        match groups.iter_mut().find(|(known, _)| *known == own) {
            Some((_, members)) => members.push(nic),
            None => groups.push((own, vec![nic])),
        }
    }
    let column = |ends: Vec<usize>| {
        let labels: Vec<&str> = ends.iter().map(|end| pairs.ends[*end].label.as_str()).collect();
        let ranges = names::ranges(&labels);
        let title = if ranges.chars().count() <= TITLE_MAX {
            ranges
        } else {
            format!("{} +{}", labels[0], labels.len() - 1)
        };
        Column { title, ends }
    };
    groups.into_iter().map(|(_, ends)| column(ends)).collect()
}

fn shown(cell: PairCell) -> Cell {
    match cell {
        PairCell::Same => Cell::new("-").tone(Tone::Faint),
        PairCell::Absent | PairCell::Unknown => Cell::new("?").tone(Tone::Slow),
        PairCell::Class(class) => Cell::new(class.to_string()).tone(tone(class)),
    }
}

fn tone(class: ReportedClass) -> Tone {
    match class {
        ReportedClass::Nv(_) | ReportedClass::Xgmi => Tone::Fast,
        ReportedClass::Pix | ReportedClass::Pxb => Tone::Plain,
        ReportedClass::Phb | ReportedClass::Node | ReportedClass::Sys => Tone::Slow,
    }
}

/// The rates of one class among GPUs and from GPUs to NICs.
#[derive(Default)]
struct Seen {
    least: Option<(Rate, String)>,
    most: Option<Rate>,
}

fn legend(pairs: &Pairs<'_>, routes: &mut Routes<'_>, topology: &Topology) -> String {
    let mut classes: BTreeMap<ReportedClass, Seen> = BTreeMap::new();
    for (row, column, class) in pairs.classes() {
        let seen = classes.entry(class).or_default();
        if pairs.ends[row].kind == EndKind::Gpu && pairs.agrees(row, column, class) {
            seen.add(routes, topology, (pairs.ends[row].node, pairs.ends[column].node));
        }
    }
    // Classes that only NICs have to each other.
    for (row, column, class) in pairs.classes() {
        if classes.get(&class).is_some_and(|seen| seen.most.is_none()) && pairs.agrees(row, column, class) {
            let seen = classes.entry(class).or_default();
            seen.add(routes, topology, (pairs.ends[row].node, pairs.ends[column].node));
        }
    }
    let mut table = Table::default();
    for (class, seen) in classes {
        let narrow = seen.least.as_ref().map_or("", |(_, narrow)| narrow.as_str());
        let (meaning, narrow) = match class {
            ReportedClass::Nv(links) if narrow.is_empty() => (format!("{links} x NVLink"), ""),
            ReportedClass::Nv(_) | ReportedClass::Xgmi => (narrow.to_owned(), ""),
            ReportedClass::Pix
            | ReportedClass::Pxb
            | ReportedClass::Phb
            | ReportedClass::Node
            | ReportedClass::Sys => (meaning(class).to_owned(), narrow),
        };
        let narrow = if narrow.is_empty() { String::new() } else { format!("narrowest: {narrow}") };
        table.row([
            Cell::new(class.to_string()).tone(tone(class)),
            Cell::new(meaning),
            Cell::new(seen.rates()),
            Cell::new(narrow).tone(Tone::Faint),
        ]);
    }
    table.lines()
}

impl Seen {
    fn add(
        &mut self,
        routes: &mut Routes<'_>,
        topology: &Topology,
        (a, b): (weft_topology::NodeId, weft_topology::NodeId),
    ) {
        let Some(route) = routes.between(a, b) else { return };
        if self.least.as_ref().is_none_or(|(least, _)| route.rate < *least) {
            self.least = Some((route.rate, narrow_hop(topology, route)));
        }
        self.most = self.most.max(Some(route.rate));
    }

    fn rates(&self) -> String {
        match (&self.least, self.most) {
            (Some((least, _)), Some(most)) if *least == most => format!("{least} per direction"),
            (Some((least, _)), Some(most)) => format!("{least} to {most} per direction"),
            (None, _) | (_, None) => "rate unknown".to_owned(),
        }
    }
}

/// A line for each GPU model whose copies over PCIe pass through host memory.
fn without_peer_access(pairs: &Pairs<'_>, topology: &Topology, catalogue: &Catalogue) -> String {
    let over_pcie = |(row, column, class): (usize, usize, ReportedClass)| {
        let both = [row, column].map(|end| pairs.ends[end].kind) == [EndKind::Gpu, EndKind::Gpu];
        (both && !matches!(class, ReportedClass::Nv(_) | ReportedClass::Xgmi)).then(|| pairs.ends[row].node)
    };
    let mut models: Vec<&str> =
        pairs.classes().filter_map(over_pcie).filter_map(|node| topology.model(node)).collect();
    models.sort_unstable();
    models.dedup();
    let refuses = |name: &&str| {
        let gpu = catalogue.gpu(name).ok()?;
        let peer = gpu.peer_to_peer.as_ref()?;
        (!peer.pcie.value).then(|| {
            format!(
                "  {}: no peer access over PCIe with the stock driver; copies between GPUs pass through host memory\n",
                gpu.title
            )
        })
    };
    models.iter().filter_map(refuses).collect()
}

fn meaning(class: ReportedClass) -> &'static str {
    match class {
        ReportedClass::Nv(_) => "NVLink",
        ReportedClass::Xgmi => "xGMI",
        ReportedClass::Pix => "one PCIe switch",
        ReportedClass::Pxb => "several PCIe switches",
        ReportedClass::Phb => "a CPU's host bridge",
        ReportedClass::Node => "host bridges of one NUMA node",
        ReportedClass::Sys => "across sockets or NUMA nodes",
    }
}

/// The links of a route's narrowest step: `12 x NVLink 3`.
pub(super) fn narrow_hop(topology: &Topology, route: &weft_topology::Route) -> String {
    route.hops.get(route.bottleneck).map_or_else(String::new, |hop| hop_links(topology, hop))
}

/// The links of one step, those of a kind counted together.
pub(super) fn hop_links(topology: &Topology, hop: &weft_topology::Hop) -> String {
    let mut kinds: Vec<(weft_topology::KindId, u32)> = Vec::new();
    for link in hop.links.iter().map(|id| topology.link(*id)) {
        match kinds.iter_mut().find(|(kind, _)| *kind == link.kind) {
            Some((_, count)) => *count += u32::from(link.count),
            None => kinds.push((link.kind, u32::from(link.count))),
        }
    }
    let text = |(kind, count): &(weft_topology::KindId, u32)| {
        let kind = topology.kind(*kind);
        kind.family.bundle(&kind.title, *count)
    };
    kinds.iter().map(text).collect::<Vec<_>>().join(" + ")
}
