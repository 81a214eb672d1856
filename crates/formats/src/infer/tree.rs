//! Sockets, host bridges and PCIe switches from classes: each class joins what is at least so near.

use weft_base::{Diagnostic, Place};
use weft_catalogue::{Branch, Gpu};
use weft_topology::{Assumption, ReportedClass};

use crate::codes;
use crate::infer::Inferred;
use crate::matrix::{EndKind, Matrix};
use crate::ranges::listed;

/// Sets that grow together.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn find(&mut self, mut of: usize) -> usize {
        while self.0[of] != of {
            self.0[of] = self.0[self.0[of]];
            of = self.0[of];
        }
        of
    }

    /// The smaller number stays, so that sets are in the order of their first member.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }

    /// For each member the number of its set, counted in order of first members.
    fn numbers(&mut self) -> Vec<usize> {
        let mut firsts: Vec<usize> = Vec::new();
        (0..self.0.len())
            .map(|member| {
                let first = self.find(member);
                firsts.iter().position(|known| *known == first).unwrap_or_else(|| {
                    firsts.push(first);
                    firsts.len() - 1
                })
            })
            .collect()
    }
}

/// Where each end of the matrix hangs, as numbers of sets that are equal for those that share it.
struct Seats {
    socket: Vec<usize>,
    bridge: Vec<usize>,
    /// Ends below one outermost switch, or alone.
    top: Vec<usize>,
    /// Ends at the same switch.
    leaf: Vec<usize>,
}

/// Adds the PCIe side of the machine.
pub(super) fn place(matrix: &Matrix, gpu: Option<&Gpu>, out: &mut Inferred) {
    let count = matrix.ends().len();
    let mut sets: Vec<Sets> = (0..4).map(|_| Sets::new(count)).collect();
    let mut known = vec![false; count];
    for (a, b, class) in pcie_pairs(matrix) {
        (known[a], known[b]) = (true, true);
        let nearness = match class {
            ReportedClass::Pix => 0,
            ReportedClass::Pxb => 1,
            ReportedClass::Phb => 2,
            ReportedClass::Node => 3,
            ReportedClass::Sys | ReportedClass::Nv(_) | ReportedClass::Xgmi => continue,
        };
        sets[nearness..].iter_mut().for_each(|set| set.join(a, b));
    }
    let mut sets = sets.into_iter();
    let mut next = || sets.next().map_or_else(Vec::new, |mut set| set.numbers());
    let (leaf, top, bridge, near) = (next(), next(), next(), next());
    let socket = sockets(matrix, &near, &known, out);
    let seats = Seats { socket, bridge, top, leaf };
    out.machine.host.sockets = number(seats.socket.iter().max().map_or(1, |last| last + 1));
    out.machine.pcie = branches(matrix, &seats, gpu, out.machine.host.sockets);
    if gpu.is_none_or(|gpu| gpu.coherent.is_none()) {
        assume_places(matrix, out);
    }
    out.diagnostics.extend(inconsistent(matrix, &seats));
}

fn number(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

/// Pairs whose PCIe class is known; NVLink hides that of the others.
fn pcie_pairs(matrix: &Matrix) -> impl Iterator<Item = (usize, usize, ReportedClass)> {
    let count = matrix.ends().len();
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b))).filter_map(|(a, b)| {
        let class = matrix.class(a, b)?;
        (!matches!(class, ReportedClass::Nv(_) | ReportedClass::Xgmi)).then_some((a, b, class))
    })
}

/// Groups of ends that share a socket, while they are being merged.
struct Merge<'m> {
    matrix: &'m Matrix,
    /// The ends of each group; empty where it was merged into another.
    members: Vec<Vec<usize>>,
    /// Whether two groups are SYS to each other.
    apart: Vec<Vec<bool>>,
}

impl Merge<'_> {
    fn groups(&self) -> usize {
        self.members.len()
    }

    fn merge(&mut self, into: usize, from: usize) {
        let moved = std::mem::take(&mut self.members[from]);
        self.members[into].extend(moved);
        for other in 0..self.groups() {
            let apart = self.apart[from][other];
            self.apart[into][other] |= apart;
            self.apart[other][into] |= apart;
        }
    }

    fn members(&self, of: usize) -> impl Iterator<Item = usize> {
        self.members[of].iter().copied()
    }

    fn gpus(&self, of: usize) -> usize {
        self.members(of).filter(|end| self.matrix.ends()[*end].kind == EndKind::Gpu).count()
    }

    /// What the rows of its GPUs say of where they are.
    fn affinity(&self, of: usize) -> Option<&str> {
        self.members(of).find_map(|end| {
            let affinity = &self.matrix.ends()[end].affinity;
            let said = |text: &Option<String>| text.as_deref().is_some_and(|text| text != "N/A");
            [&affinity.numa, &affinity.cpus].into_iter().find(|text| said(text))?.as_deref()
        })
    }

    /// Merges each group that `which` names into the first before it that `with` allows.
    fn pass(&mut self, allowed: impl Fn(&Self, usize, usize) -> bool) {
        for group in 0..self.groups() {
            if self.members[group].is_empty() {
                continue;
            }
            let before = (0..group).find(|other| {
                !self.members[*other].is_empty() && !self.apart[group][*other] && allowed(self, *other, group)
            });
            if let Some(other) = before {
                self.merge(other, group);
            }
        }
    }
}

/// For each end its socket, in order of the NUMA nodes where those are known.
fn sockets(matrix: &Matrix, near: &[usize], known: &[bool], out: &mut Inferred) -> Vec<usize> {
    let groups = near.iter().max().map_or(0, |last| last + 1);
    let mut merge =
        Merge { matrix, members: vec![Vec::new(); groups], apart: vec![vec![false; groups]; groups] };
    for (end, group) in near.iter().enumerate() {
        merge.members[*group].push(end);
    }
    for (a, b, class) in pcie_pairs(matrix) {
        if class == ReportedClass::Sys && near[a] != near[b] {
            merge.apart[near[a]][near[b]] = true;
            merge.apart[near[b]][near[a]] = true;
        }
    }
    let seen = |merge: &Merge<'_>, group| merge.members(group).any(|end| known[end]);
    merge.pass(|merge, a, b| merge.affinity(a).is_some() && merge.affinity(a) == merge.affinity(b));
    merge.pass(|merge, a, b| {
        [a, b].into_iter().all(|group| merge.affinity(group).is_none() && seen(merge, group))
    });
    merge.pass(|merge, a, b| {
        [a, b].into_iter().all(|group| merge.affinity(group).is_none() && !seen(merge, group))
    });
    settle(&mut merge, known, out);
    let mut order: Vec<usize> =
        (0..merge.groups()).filter(|group| !merge.members[*group].is_empty()).collect();
    order.sort_by_key(|group| {
        let numa = merge.affinity(*group).and_then(|text| text.parse::<u32>().ok());
        (numa.unwrap_or(u32::MAX), *group)
    });
    let mut sockets = vec![0; near.len()];
    for (socket, group) in order.iter().enumerate() {
        for end in merge.members(*group) {
            sockets[end] = socket;
        }
    }
    out.diagnostics.extend(numa_contradiction(matrix, &sockets));
    sockets
}

/// GPUs of which nothing is said go where there is most room: a socket of NICs without GPUs, one with
/// fewer GPUs, or, if they are as many as all others, one of their own.
fn settle(merge: &mut Merge<'_>, known: &[bool], out: &mut Inferred) {
    let lost = |merge: &Merge<'_>, group: usize| {
        merge.affinity(group).is_none()
            && !merge.members[group].is_empty()
            && merge.members(group).all(|end| !known[end])
    };
    for group in 0..merge.groups() {
        if !lost(merge, group) {
            continue;
        }
        let others: Vec<usize> = (0..merge.groups())
            .filter(|other| {
                *other != group && !merge.members[*other].is_empty() && !merge.apart[group][*other]
            })
            .collect();
        let labels: Vec<&str> =
            merge.members(group).map(|end| merge.matrix.ends()[end].label.as_str()).collect();
        let subject = listed(&labels);
        let why = "the input does not say which CPU they hang off";
        let value = match others.iter().min_by_key(|other| (merge.gpus(**other), **other)) {
            Some(other) if others.len() > 1 || merge.gpus(*other) > merge.gpus(group) => {
                merge.merge(*other, group);
                "that with the fewest GPUs"
            }
            Some(_) => "one of their own",
            None => "one for all",
        };
        out.assumed.push(Assumption::new(subject, "socket", value, why));
    }
}

/// GPUs of one NUMA node that the classes put on different ones.
fn numa_contradiction(matrix: &Matrix, sockets: &[usize]) -> Option<Diagnostic> {
    let numa = |end: usize| matrix.ends()[end].affinity.numa.as_deref()?.parse::<u32>().ok();
    let (a, b) = (0..sockets.len()).find_map(|a| {
        let node = numa(a)?;
        let other = |b: &usize| numa(*b) == Some(node) && sockets[*b] != sockets[a];
        Some((a, (a + 1..sockets.len()).find(other)?))
    })?;
    let far = |class| class == Some(ReportedClass::Sys);
    let cell = matrix.cell(a, b).filter(|cell| far(cell.class));
    let cell = cell.or_else(|| matrix.cells().iter().find(|cell| cell.row == b && far(cell.class)))?;
    let (label_a, label_b) = (&matrix.ends()[a].label, &matrix.ends()[b].label);
    let node = numa(a)?;
    let message = format!(
        "{label_a} and {label_b} both list NUMA node {node}, but by the classes they are SYS to each other"
    );
    let hint = "the classes were believed; firmware or a virtual machine hides where the slots hang";
    Some(Diagnostic::warning(codes::NUMA_CONTRADICTION, message).hint(hint).at(cell.place.clone()))
}

/// One branch for each switch and one for the devices of a bridge that have root ports of their own.
fn branches(matrix: &Matrix, seats: &Seats, gpu: Option<&Gpu>, sockets: u16) -> Vec<Branch> {
    let mut found = Vec::new();
    let mut bridges: Vec<Vec<usize>> = vec![Vec::new(); usize::from(sockets)];
    for first in 0..matrix.ends().len() {
        // Each outermost switch, and each device outside of all, is handled at its first member.
        if seats.top[..first].contains(&seats.top[first]) {
            continue;
        }
        let members: Vec<usize> =
            (first..matrix.ends().len()).filter(|end| seats.top[*end] == seats.top[first]).collect();
        let known = &mut bridges[seats.socket[first]];
        let bridge = known.iter().position(|bridge| *bridge == seats.bridge[first]).unwrap_or_else(|| {
            known.push(seats.bridge[first]);
            known.len() - 1
        });
        let base =
            Branch { socket: number(seats.socket[first]), host_bridge: number(bridge), ..Branch::default() };
        if members.len() > 1 {
            found.extend(switches(matrix, seats, &members, &base));
        } else if !is_coherent(matrix, first, seats, gpu, sockets) {
            found.push(filled(matrix, &[first], base));
        }
    }
    found
}

/// The switch that all `members` are below, and those below it.
fn switches(matrix: &Matrix, seats: &Seats, members: &[usize], base: &Branch) -> Vec<Branch> {
    let same = |a: usize, b: usize| seats.leaf[a] == seats.leaf[b];
    let any = || Some("any".to_owned());
    if members.iter().all(|member| same(*member, members[0])) {
        return vec![filled(matrix, members, Branch { switch: any(), ..base.clone() })];
    }
    let alone = |member: usize| members.iter().filter(|other| same(**other, member)).count() == 1;
    // Devices at the upper switch itself are PIX to each other, so none may be known to be PXB.
    let mut direct: Vec<usize> = Vec::new();
    for member in members.iter().copied().filter(|member| alone(*member)) {
        if direct.iter().all(|other| matrix.class(*other, member) != Some(ReportedClass::Pxb)) {
            direct.push(member);
        }
    }
    let name = format!("switch-above-{}", matrix.ends()[members[0]].label);
    let upper = Branch { name: Some(name.clone()), switch: any(), ..base.clone() };
    let mut found = vec![filled(matrix, &direct, upper)];
    for (index, member) in members.iter().enumerate() {
        let seen = members[..index].iter().any(|before| same(*before, *member));
        if !seen && !direct.contains(member) {
            let below: Vec<usize> = members.iter().copied().filter(|other| same(*other, *member)).collect();
            let lower = Branch { under: Some(name.clone()), switch: any(), ..base.clone() };
            found.push(filled(matrix, &below, lower));
        }
    }
    found
}

/// `branch` with the devices of those ends, numbered within their kind.
fn filled(matrix: &Matrix, ends: &[usize], mut branch: Branch) -> Branch {
    for end in ends {
        let kind = matrix.ends()[*end].kind;
        let place = number(matrix.ends()[..*end].iter().filter(|other| other.kind == kind).count());
        match kind {
            EndKind::Gpu => branch.gpus.push(place),
            EndKind::Nic => branch.nics.push(place),
        }
    }
    branch
}

/// Whether the end is a superchip's GPU, which needs no PCIe branch: nothing says that it has one, and
/// the graph puts it at the socket where the matrix has it.
fn is_coherent(matrix: &Matrix, end: usize, seats: &Seats, gpu: Option<&Gpu>, sockets: u16) -> bool {
    let of = matrix.of_kind(EndKind::Gpu).count();
    let Some(position) = matrix.of_kind(EndKind::Gpu).position(|gpu| gpu == end) else { return false };
    gpu.is_some_and(|gpu| gpu.coherent.is_some())
        && position * usize::from(sockets) / of.max(1) == seats.socket[end]
}

/// GPUs that show NVLink to their neighbours, and are near no NIC, have an unknown place below their socket.
fn assume_places(matrix: &Matrix, out: &mut Inferred) {
    let classes = |end: usize| (0..matrix.ends().len()).filter_map(move |other| matrix.class(end, other));
    let near = |class| !matches!(class, ReportedClass::Sys | ReportedClass::Nv(_) | ReportedClass::Xgmi);
    let linked = |class| matches!(class, ReportedClass::Nv(_) | ReportedClass::Xgmi);
    let lost: Vec<&str> = matrix
        .of_kind(EndKind::Gpu)
        .filter(|end| classes(*end).any(linked) && !classes(*end).any(near))
        .map(|end| matrix.ends()[end].label.as_str())
        .collect();
    if lost.is_empty() {
        return;
    }
    let is_amd = matrix.cells().iter().any(|cell| cell.class == Some(ReportedClass::Xgmi));
    let link = if is_amd { "xGMI" } else { "NVLink" };
    let why = format!("the matrix shows {link} where it would show PCIe, and no NIC tells more");
    out.assumed.push(Assumption::new(listed(&lost), "PCIe place", "a root port each", why));
}

/// What the tree makes of a pair.
fn implied(seats: &Seats, a: usize, b: usize) -> ReportedClass {
    if seats.socket[a] != seats.socket[b] {
        ReportedClass::Sys
    } else if seats.bridge[a] != seats.bridge[b] {
        ReportedClass::Node
    } else if seats.top[a] != seats.top[b] {
        ReportedClass::Phb
    } else if seats.leaf[a] != seats.leaf[b] {
        ReportedClass::Pxb
    } else {
        ReportedClass::Pix
    }
}

/// Cells that no tree with the others allows.
fn inconsistent(matrix: &Matrix, seats: &Seats) -> Option<Diagnostic> {
    let label = |end: usize| matrix.ends()[end].label.as_str();
    let mut count = 0;
    let mut first: Option<(String, Place)> = None;
    for cell in matrix.cells() {
        let Some(class) =
            cell.class.filter(|class| !matches!(class, ReportedClass::Nv(_) | ReportedClass::Xgmi))
        else {
            continue;
        };
        let implied = implied(seats, cell.row, cell.column);
        // Of an asymmetric pair, which has its own warning, one cell may well fit.
        let twin = matrix.cell(cell.column, cell.row).and_then(|twin| twin.class);
        if class != implied && twin != Some(implied) {
            count += 1;
            first.get_or_insert_with(|| {
                let said = format!("{} to {} is {class}", label(cell.row), label(cell.column));
                (format!("{said}, but what else is said of them makes it {implied}"), cell.place.clone())
            });
        }
    }
    let (said, place) = first?;
    let message = if count > 1 { format!("{said}; so it is with {count} cells in all") } else { said };
    let hint = "the nearest relations were used; the cells are shown as given";
    Some(Diagnostic::warning(codes::MATRIX_INCONSISTENT, message).hint(hint).at(place))
}
