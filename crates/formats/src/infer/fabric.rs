//! NVLink: direct links between pairs, or switches, told apart by how many links a GPU would need.

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, Fabric, Form, Gpu, LinkFamily, MeshLink, Switch, SwitchKind};
use weft_topology::{Assumption, ReportedClass};

use crate::codes;
use crate::infer::{Inferred, guess};
use crate::matrix::{Cell, EndKind, Matrix};

/// More links than this at one GPU, none has; used where the model is unknown.
const LINKS_MAX: u32 = 18;

/// The NVLinks of a matrix, by GPU number.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// GPU numbers a < b and the links between them.
    pub pairs: Vec<(u16, u16, u16)>,
    /// GPUs in the matrix.
    pub gpus: usize,
}

impl Links {
    pub fn of(matrix: &Matrix) -> Self {
        let ends: Vec<usize> = matrix.of_kind(EndKind::Gpu).collect();
        let mut links = Self { pairs: Vec::new(), gpus: ends.len() };
        for (a, end_a) in (0u16..).zip(&ends) {
            for (b, end_b) in (0u16..).zip(&ends).skip(usize::from(a) + 1) {
                if let Some(ReportedClass::Nv(count)) = matrix.class(*end_a, *end_b) {
                    links.pairs.push((a, b, count.into()));
                }
            }
        }
        links
    }

    /// The most links between two GPUs.
    pub fn most(&self) -> u16 {
        self.pairs.iter().map(|(_, _, count)| *count).max().unwrap_or(0)
    }

    /// Whether every pair has the same number.
    pub fn all_equal(&self) -> bool {
        !self.pairs.is_empty()
            && self.pairs.len() == self.gpus * (self.gpus - 1) / 2
            && self.pairs.iter().all(|(_, _, count)| *count == self.pairs[0].2)
    }

    /// The links that the busiest GPU would need if all were direct.
    pub fn needed(&self) -> u32 {
        let at = |gpu: u16| -> u32 {
            let here = self.pairs.iter().filter(|(a, b, _)| *a == gpu || *b == gpu);
            here.map(|(_, _, count)| u32::from(*count)).sum()
        };
        (0u16..).take(self.gpus).map(at).max().unwrap_or(0)
    }
}

/// The links of one GPU that can tie it to others.
pub(crate) fn links_of(gpu: &Gpu) -> u16 {
    let own = gpu.fabric.as_ref().map(|fabric| fabric.count.value);
    let bridged = gpu.bridges.iter().filter(|bridge| bridge.carries_data).map(|bridge| bridge.links).max();
    own.or(bridged).unwrap_or(0)
}

/// Whether a machine of such GPUs could print those links.
pub(super) fn fits(gpu: &Gpu, links: &Links, catalogue: &Catalogue) -> bool {
    let has = links_of(gpu);
    let switched = || {
        let link = gpu.fabric.as_ref().map(|fabric| fabric.link.as_str());
        link.is_some_and(|link| switches(link, Some(gpu), links, catalogue).is_some())
    };
    links.most() <= has && (links.needed() <= u32::from(has) || switched())
}

/// The first cell that shows more NVLinks than `gpu` has, by itself or with the others of its row.
pub(super) fn contradiction(
    matrix: &Matrix,
    links: &Links,
    gpu: &Gpu,
    catalogue: &Catalogue,
) -> Option<Diagnostic> {
    if fits(gpu, links, catalogue) {
        return None;
    }
    let has = links_of(gpu);
    let shown = |cell: &Cell| match cell.class {
        Some(ReportedClass::Nv(count)) => Some(u16::from(count)),
        Some(_) | None => None,
    };
    let too_many = |cell: &&Cell| shown(cell).is_some_and(|count| count > has);
    let owned = if has == 0 { "no NVLink".to_owned() } else { format!("only {has} NVLinks") };
    let (cell, said, needed) = if let Some(cell) = matrix.cells().iter().find(too_many) {
        (cell, format!("{} is NV{}", between(matrix, cell), shown(cell)?), links.most())
    } else {
        let needed = u16::try_from(links.needed()).unwrap_or(u16::MAX);
        let total = |row| -> u32 {
            let cells = matrix.cells().iter().filter(|cell| cell.row == row);
            cells.filter_map(shown).map(u32::from).sum()
        };
        let cell =
            matrix.cells().iter().find(|cell| shown(cell).is_some() && total(cell.row) >= links.needed())?;
        (cell, format!("{} needs {needed} NVLinks in all", matrix.ends()[cell.row].label), needed)
    };
    let fitting = guess::with_links(needed, catalogue);
    let hint = if fitting.is_empty() {
        "check the model".to_owned()
    } else {
        format!("GPUs with {needed} NVLinks are {}", fitting.join(", "))
    };
    let message = format!("{said}, but {} has {owned}", gpu.title);
    Some(Diagnostic::error(codes::IMPOSSIBLE_NVLINK, message).hint(hint).at(cell.place.clone()))
}

fn between(matrix: &Matrix, cell: &Cell) -> String {
    format!("{} to {}", matrix.ends()[cell.row].label, matrix.ends()[cell.column].label)
}

/// Adds the GPU fabric of the machine.
pub(super) fn lay(
    matrix: &Matrix,
    links: &Links,
    gpu: Option<&Gpu>,
    catalogue: &Catalogue,
    out: &mut Inferred,
) {
    if links.pairs.is_empty() {
        return;
    }
    let link = gpu.and_then(|gpu| gpu.fabric.as_ref()).map(|fabric| fabric.link.clone());
    let link = link.unwrap_or_else(|| assumed_link(links.most(), out));
    let own = gpu.is_some_and(|gpu| gpu.fabric.is_some());
    let mut fabric = Fabric { link: (!own).then(|| link.clone()), ..Fabric::default() };
    let switch = is_switched(links, gpu).then(|| switches(&link, gpu, links, catalogue)).flatten();
    match switch {
        Some(model) => {
            let has = gpu.map_or(0, links_of);
            fabric =
                Fabric { link: fabric.link, links: (links.most() != has).then_some(links.most()), ..model };
            out.diagnostics.extend(uneven(matrix, links));
        }
        None => {
            fabric.mesh =
                links.pairs.iter().map(|(a, b, count)| MeshLink { a: *a, b: *b, links: *count }).collect();
        }
    }
    out.machine.fabric = Some(fabric);
}

/// Through switches every pair has all links of a GPU; direct links have to be shared among the peers.
fn is_switched(links: &Links, gpu: Option<&Gpu>) -> bool {
    match gpu {
        None => {
            let usual = matches!(links.most(), 6 | 8 | 12 | 18);
            links.needed() > LINKS_MAX || (links.gpus >= 8 && links.all_equal() && usual)
        }
        Some(gpu) => {
            // No board puts all links of a module on one other module.
            let module = matches!(gpu.form, Form::Sxm | Form::Superchip);
            links.needed() > u32::from(links_of(gpu))
                || (module && links.all_equal() && links.most() == links_of(gpu) && links.most() >= 6)
        }
    }
}

/// The switches of the best-known system with that GPU, else as many as the links need.
pub(super) fn switches(
    link: &str,
    gpu: Option<&Gpu>,
    links: &Links,
    catalogue: &Catalogue,
) -> Option<Fabric> {
    let known = gpu.and_then(|gpu| known_switches(gpu, links, catalogue));
    known.or_else(|| {
        let fits = |switch: &&Switch| switch.kind == SwitchKind::GpuFabric && switch.link == link;
        let switch = catalogue.switches.iter().find(fits)?;
        let switches = (1..=links.most()).find(|count| joins(switch, *count, links.gpus, links.most()))?;
        Some(Fabric { switch: Some(switch.name.clone()), switches, ..Fabric::default() })
    })
}

fn known_switches(gpu: &Gpu, links: &Links, catalogue: &Catalogue) -> Option<Fabric> {
    let system = guess::reference(gpu, links, catalogue)?;
    let fabric = system.fabric.as_ref()?;
    let switch = catalogue.switch(fabric.switch.as_deref()?).ok()?;
    let whole = system.gpus.iter().map(|group| usize::from(group.count)).sum::<usize>() == links.gpus;
    if whole {
        return Some(Fabric { spans_hosts: false, mesh: Vec::new(), ..fabric.clone() });
    }
    // A part of a larger machine is taken to be on one board.
    let switches = fabric.switches / fabric.boards.max(1);
    joins(switch, switches, links.gpus, links.most()).then(|| Fabric {
        switch: fabric.switch.clone(),
        switches,
        ..Fabric::default()
    })
}

/// Whether so many switches have the ports for all links of the GPUs, spread evenly.
fn joins(switch: &Switch, switches: u16, gpus: usize, links: u16) -> bool {
    usize::from(links.div_ceil(switches.max(1))) * gpus <= usize::from(switch.ports.value)
}

/// The kind of NVLink for a GPU that is not known: counts grew with each generation.
pub(super) fn assumed_link(most: u16, out: &mut Inferred) -> String {
    let name = match most {
        0..=6 => "nvlink2",
        7..=12 => "nvlink3",
        _ => "nvlink4",
    };
    let why = format!("NV{most} fits this generation; the GPU is not named");
    out.assumed.push(Assumption::new("GPU", "kind of NVLink", name, why));
    name.to_owned()
}

/// Pairs with fewer links than others, although all go through the same switches: links are down.
fn uneven(matrix: &Matrix, links: &Links) -> Option<Diagnostic> {
    let most = links.most();
    let cell = matrix
        .cells()
        .iter()
        .find(|cell| matches!(cell.class, Some(ReportedClass::Nv(count)) if u16::from(count) < most))?;
    let (pair, class) = (between(matrix, cell), cell.class?);
    let message = format!("{pair} is {class}, but other pairs are NV{most} through the same switches");
    let hint = "links may be down: compare `nvidia-smi nvlink -s`";
    Some(Diagnostic::warning(codes::NVLINK_UNEVEN, message).hint(hint).at(cell.place.clone()))
}

/// Whether the catalogue calls that link a tie between GPUs.
pub(super) fn is_gpu_fabric(name: &str, catalogue: &Catalogue) -> bool {
    catalogue.link(name).is_ok_and(|link| link.family == LinkFamily::GpuFabric)
}
