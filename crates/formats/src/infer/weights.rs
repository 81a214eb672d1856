//! From AMD's tables to a machine that would print them: xGMI links from the pairs that have them, sockets from
//! weights and NUMA nodes. What joins GPUs to their CPU is not in these tables.

use weft_base::Place;
use weft_catalogue::{Catalogue, Fabric, Gpu, GpuGroup, MeshLink};
use weft_topology::{Assumption, ReportedClass};

use super::{Inferred, tree};
use crate::evidence::WeightMatrix;
use crate::format::Located;
use crate::join::Overrides;
use crate::matrix::{Affinity, Cell, End, EndKind, Matrix};

/// The weight of one xGMI link; pairs of more are reached over other GPUs.
const ONE_LINK: u32 = 15;
/// The weight of the way to a CPU and back: each PCIe link counts 20.
const ONE_SOCKET: u32 = 40;

/// The machine that would print `weights`. Names in `overrides` must be known to the catalogue.
pub fn machine_of(weights: &Located<WeightMatrix>, overrides: &Overrides, catalogue: &Catalogue) -> Inferred {
    let Located { value: weights, place } = weights;
    let mut out = Inferred::default();
    out.machine.name = format!("from {}", weights.format);
    out.machine.host.cpu.clone_from(&overrides.cpu);
    let hives = Hives::of(weights);
    let given = overrides.gpu.as_deref().and_then(|name| catalogue.gpu(name).ok());
    let gpu = given.or_else(|| guess(weights, &hives, catalogue, &mut out));
    let count = u16::try_from(weights.gpus.len()).unwrap_or(u16::MAX);
    out.machine.gpus.push(GpuGroup { model: gpu.map(|gpu| gpu.name.clone()), count });
    let matrix = matrix_of(weights, place);
    tree::place(&matrix, gpu, &mut out);
    out.machine.fabric = hives.fabric(weights, gpu, catalogue, &mut out.assumed);
    assume(weights, &matrix, &mut out);
    out
}

/// The tables as `topo -m` would print them.
fn matrix_of(weights: &WeightMatrix, place: &Place) -> Matrix {
    let numa = |gpu: usize| numa(weights, gpu).map(|node| node.to_string());
    let cpus = |gpu: usize| weights.cpus.get(gpu).cloned().flatten();
    let end = |(gpu, label): (usize, &String)| End {
        label: label.clone(),
        kind: EndKind::Gpu,
        device: None,
        affinity: Affinity { cpus: cpus(gpu), numa: numa(gpu), gpu_numa: None },
        has_row: true,
    };
    let ends: Vec<End> = weights.gpus.iter().enumerate().map(end).collect();
    let mut cells = Vec::new();
    for (row, column) in pairs(ends.len()) {
        let class = class(weights, row, column);
        cells.push(Cell { row, column, class, place: place.clone() });
    }
    Matrix::new(ends, cells, Vec::new())
}

fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}

fn numa(weights: &WeightMatrix, gpu: usize) -> Option<u32> {
    let of = |list: &Vec<Option<u32>>| list.get(gpu).copied().flatten();
    of(&weights.numa).or_else(|| of(&weights.affinity))
}

/// How near two GPUs are; `None` where the tables do not say.
fn class(weights: &WeightMatrix, a: usize, b: usize) -> Option<ReportedClass> {
    let weight = weights.between(&weights.weights, a, b).copied();
    match weights.between(&weights.links, a, b).map(String::as_str) {
        Some("XGMI") => return Some(ReportedClass::Xgmi),
        Some("PCIE") => {}
        Some(word) => return word.parse().ok(),
        None if weight == Some(ONE_LINK) => return Some(ReportedClass::Xgmi),
        // Partitions of one GPU have neither a weight nor a kind of link.
        None => {
            weight?;
        }
    }
    match (weight, numa(weights, a), numa(weights, b)) {
        (Some(weight), _, _) if weight > ONE_SOCKET => Some(ReportedClass::Sys),
        (Some(_), _, _) => Some(ReportedClass::Phb),
        (None, Some(a), Some(b)) if a != b => Some(ReportedClass::Sys),
        (None, Some(_), Some(_)) => Some(ReportedClass::Phb),
        (None, _, _) => None,
    }
}

/// GPUs that xGMI joins, and by which direct pairs.
struct Hives {
    gpus: usize,
    /// Pairs with a link of their own.
    direct: Vec<(usize, usize)>,
    /// Whether some pairs have xGMI only over other GPUs.
    has_detours: bool,
}

impl Hives {
    fn of(weights: &WeightMatrix) -> Self {
        let mut hives = Self { gpus: weights.gpus.len(), direct: Vec::new(), has_detours: false };
        for (a, b) in pairs(hives.gpus) {
            if class(weights, a, b) == Some(ReportedClass::Xgmi) {
                let weight = weights.between(&weights.weights, a, b);
                if weight.is_none_or(|weight| *weight <= ONE_LINK) {
                    hives.direct.push((a, b));
                } else {
                    hives.has_detours = true;
                }
            }
        }
        hives
    }

    /// Direct neighbours of the GPU that has most.
    fn most(&self) -> usize {
        let at = |gpu: usize| self.direct.iter().filter(|(a, b)| *a == gpu || *b == gpu).count();
        (0..self.gpus).map(at).max().unwrap_or(0)
    }

    /// Whether every GPU has all others of its hive, each of that many, as direct neighbours.
    fn is_full(&self, size: usize) -> bool {
        !self.has_detours && self.most() + 1 == size && self.direct.len() == self.gpus * (size - 1) / 2
    }

    fn fabric(
        &self,
        weights: &WeightMatrix,
        gpu: Option<&Gpu>,
        catalogue: &Catalogue,
        assumed: &mut Vec<Assumption>,
    ) -> Option<Fabric> {
        if self.direct.is_empty() {
            return None;
        }
        let own = gpu.and_then(|gpu| gpu.fabric.as_ref());
        let link = own.is_none().then(|| {
            let name = "xgmi-mi300".to_owned();
            let why = "the GPU is not named; say which with --gpu";
            assumed.push(Assumption::new("GPU", "kind of xGMI", &name, why));
            name
        });
        let known = gpu.and_then(|gpu| self.known(gpu, catalogue));
        if let Some((mesh, title)) = known {
            let why = format!("the tables do not count links; so many has {title}");
            assumed.push(Assumption::new("GPU", "xGMI links of each pair", "as published", why));
            return Some(Fabric { link, mesh, ..Fabric::default() });
        }
        let has = own.map_or(1, |fabric| usize::from(fabric.count.value));
        let each = u16::try_from((has / self.most().max(1)).max(1)).unwrap_or(1);
        let unknown_rates = weights.rates.iter().all(Option::is_none);
        if each > 1 || unknown_rates {
            let why = "the tables do not count links; those of a GPU are taken to be spread evenly";
            assumed.push(Assumption::new("GPU", "xGMI links of each pair", each.to_string(), why));
        }
        let number = |gpu: usize| u16::try_from(gpu).unwrap_or(u16::MAX);
        let mesh = self.direct.iter().map(|(a, b)| MeshLink { a: number(*a), b: number(*b), links: each });
        Some(Fabric { link, mesh: mesh.collect(), ..Fabric::default() })
    }

    /// The links of a system of such GPUs that has just these pairs, unless all pairs are alike anyway.
    fn known(&self, gpu: &Gpu, catalogue: &Catalogue) -> Option<(Vec<MeshLink>, String)> {
        let has_them = |system: &&weft_catalogue::Machine| {
            let models = system.gpus.iter().filter_map(|group| group.model.as_deref());
            let count: usize = system.gpus.iter().map(|group| usize::from(group.count)).sum();
            count == self.gpus
                && models
                    .map(|name| catalogue.gpu(name))
                    .all(|other| other.is_ok_and(|other| other.name == gpu.name))
        };
        let mesh = |system: &weft_catalogue::Machine| {
            let mesh = &system.fabric.as_ref()?.mesh;
            let mut pairs: Vec<(usize, usize)> = mesh
                .iter()
                .map(|link| (usize::from(link.a.min(link.b)), usize::from(link.a.max(link.b))))
                .collect();
            pairs.sort_unstable();
            let uneven = mesh.iter().any(|link| link.links != mesh[0].links);
            (uneven && pairs == self.direct).then(|| (mesh.clone(), system.title.clone()))
        };
        catalogue.systems.iter().filter(has_them).find_map(mesh)
    }
}

/// The GPU that the pattern of links points to, if the text does not name its architecture.
fn guess<'c>(
    weights: &WeightMatrix,
    hives: &Hives,
    catalogue: &'c Catalogue,
    out: &mut Inferred,
) -> Option<&'c Gpu> {
    let gpus = weights.gpus.len();
    let arch = weights.arch.iter().flatten().next().and_then(|arch| arch.split(':').next());
    if let Some(gpu) = arch.and_then(|arch| catalogue.gpu(arch).ok()) {
        let why = format!(
            "{} is printed; its relatives share the name; say which with --gpu",
            arch.unwrap_or_default()
        );
        out.assumed.push(Assumption::new("GPU", "model", &gpu.name, why));
        return Some(gpu);
    }
    let (model, others, seen) = if gpus == 8 && hives.is_full(8) {
        ("mi300x", "mi325x, mi355x, mi350x, mi308x", "xGMI between all of 8 GPUs")
    } else if hives.has_detours && matches!(gpus, 4 | 8 | 16) && hives.most() > 2 {
        ("mi250x", "mi250", "xGMI over other GPUs")
    } else if hives.is_full(4) {
        ("mi210", "mi100, mi300a", "xGMI between all of 4 GPUs")
    } else if hives.is_full(2) {
        ("mi210", "mi100, mi60, mi50", "xGMI between pairs of GPUs")
    } else if hives.most() == 2 {
        ("mi60", "mi50", "a ring of xGMI")
    } else {
        return None;
    };
    let gpu = catalogue.gpu(model).ok()?;
    let why = format!("{seen} fits it; so do {others}; say which with --gpu");
    out.assumed.push(Assumption::new("GPU", "model", &gpu.name, why));
    Some(gpu)
}

/// What the tables leave open.
fn assume(weights: &WeightMatrix, matrix: &Matrix, out: &mut Inferred) {
    let count = weights.gpus.len();
    let is = |wanted: ReportedClass| pairs(count).any(|(a, b)| matrix.class(a, b) == Some(wanted));
    let placed = |class: Option<ReportedClass>| class.is_some_and(|class| class != ReportedClass::Xgmi);
    if is(ReportedClass::Phb) && !weights.weights.is_empty() {
        let why = "weights tell neither switches nor host bridges apart";
        out.assumed.push(Assumption::new("GPU", "PCIe place", "a root port each, at one host bridge", why));
    } else if count > 1 && pairs(count).all(|(a, b)| matrix.class(a, b).is_none()) {
        let why = "the tables do not say what joins the GPUs";
        out.assumed.push(Assumption::new("GPU", "PCIe place", "a root port each", why));
    }
    let foreign = weights
        .links
        .iter()
        .flatten()
        .find(|word| !matches!(word.as_str(), "XGMI" | "PCIE") && word.parse::<ReportedClass>().is_err());
    if let Some(word) = foreign {
        let why = format!("{word} and its like are links whose rate is not known here");
        out.assumed.push(Assumption::new("GPU", "links besides PCIe", "left out", why));
    }
    let knows_numa = (0..count).any(|gpu| numa(weights, gpu).is_some() || weights.cpus.get(gpu).is_some());
    if !knows_numa && !pairs(count).any(|(a, b)| placed(matrix.class(a, b))) {
        let why = "the tables do not list NUMA nodes";
        out.assumed.push(Assumption::new("GPU", "socket", "one for all", why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(weights: WeightMatrix) -> Located<WeightMatrix> {
        Located { value: weights, place: Place::new("t", 1, 1, 0) }
    }

    /// A matrix of `count` GPUs; `cell` gives the kind of link and the weight of a pair.
    fn tables(count: usize, cell: impl Fn(usize, usize) -> (&'static str, u32)) -> WeightMatrix {
        let mut tables = WeightMatrix { format: "rocm-smi-topology", ..WeightMatrix::default() };
        tables.gpus = (0..count).map(|gpu| format!("GPU{gpu}")).collect();
        for (a, b) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))) {
            let cell = (a != b).then(|| cell(a, b));
            tables.links.push(cell.map(|(link, _)| link.to_owned()));
            tables.weights.push(cell.map(|(_, weight)| weight));
        }
        tables
    }

    fn inferred(weights: WeightMatrix) -> Inferred {
        machine_of(&located(weights), &Overrides::default(), Catalogue::embedded())
    }

    #[test]
    fn eight_fully_meshed_gpus_are_mi300x_with_one_link_a_pair() {
        let mut weights = tables(8, |_, _| ("XGMI", 15));
        weights.numa = (0..8).map(|gpu| Some(gpu / 4)).collect();
        let found = inferred(weights);
        assert_eq!(found.machine.gpus[0].model.as_deref(), Some("mi300x"));
        let mesh = found.machine.fabric.unwrap().mesh;
        // 8 x 7 / 2 pairs.
        assert_eq!((mesh.len(), mesh.iter().all(|link| link.links == 1)), (28, true));
        assert_eq!(found.machine.host.sockets, 2);
    }

    #[test]
    fn weights_of_pcie_tell_sockets_apart() {
        let found = inferred(tables(4, |a, b| ("PCIE", if a / 2 == b / 2 { 40 } else { 72 })));
        assert_eq!((found.machine.host.sockets, found.machine.fabric), (2, None));
        let sockets: Vec<u16> = found.machine.pcie.iter().map(|branch| branch.socket).collect();
        assert_eq!(sockets, [0, 0, 1, 1]);
        assert!(found.assumed.iter().any(|one| one.what == "PCIe place"), "{:?}", found.assumed);
        assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    }

    #[test]
    fn pairs_heavier_than_one_link_have_none_of_their_own() {
        // A ring of four: the diagonals weigh two links.
        let found = inferred(tables(4, |a, b| ("XGMI", if a.abs_diff(b) == 2 { 30 } else { 15 })));
        assert_eq!(found.machine.fabric.unwrap().mesh.len(), 4);
        assert_eq!(found.machine.gpus[0].model.as_deref(), Some("mi60"));
    }

    #[test]
    fn dies_of_mi250x_have_the_links_of_the_known_server() {
        let direct =
            [(0, 1), (0, 4), (0, 6), (1, 3), (1, 7), (2, 3), (2, 4), (2, 6), (3, 5), (4, 5), (5, 7), (6, 7)];
        let found = inferred(tables(8, |a, b| {
            let near = direct.contains(&(a.min(b), a.max(b)));
            ("XGMI", if near { 15 } else { 30 })
        }));
        assert_eq!(found.machine.gpus[0].model.as_deref(), Some("mi250x"));
        let mesh = found.machine.fabric.unwrap().mesh;
        // The two dies of a module share four links.
        assert_eq!(mesh.iter().find(|link| (link.a, link.b) == (0, 1)).map(|link| link.links), Some(4));
    }

    #[test]
    fn numa_nodes_alone_give_sockets_and_say_what_is_open() {
        let gpus = (0..4).map(|gpu| format!("GPU{gpu}")).collect();
        let numa = vec![Some(0), Some(0), Some(1), Some(1)];
        let found = inferred(WeightMatrix { gpus, numa, ..WeightMatrix::default() });
        assert_eq!(found.machine.host.sockets, 2);
        assert!(found.assumed.iter().any(|one| one.what == "PCIe place"));
    }
}
