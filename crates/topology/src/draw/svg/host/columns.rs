//! Where things stand: columns for what hangs together, rows for what is alike.

use super::{CPU_HEIGHT, GPU, MEMORY_HEIGHT, NIC, SWITCH_HEIGHT};
use crate::draw::layout::Hang;
use crate::draw::svg::canvas::int;
use crate::graph::{NodeKind, Topology};

/// Between neighbours.
pub(super) const GAP: i32 = 10;
/// NICs beside each other that are drawn one by one.
const MOST_NICS: usize = 8;
/// Room beside the NICs of a switch for its way up.
const WAY_UP: i32 = 22;
/// Between rows, for lines.
const LINES: i32 = 30;

/// A device, or a switch or host bridge with what hangs off it.
pub(super) struct Column<'a> {
    pub hang: &'a Hang,
    /// PCIe switches from the CPU down to this node's parent; for a switch, to itself.
    pub depth: usize,
    pub x: i32,
    pub width: i32,
    pub below: Vec<Column<'a>>,
    /// NICs that this one stands for, itself among them.
    pub count: usize,
    /// How wide the NICs below a switch are; they push its way up aside.
    nics: i32,
}

impl<'a> Column<'a> {
    /// Measures a tree whose parent has `depth` switches above it; the column stands at 0.
    pub fn of(topology: &Topology, hang: &'a Hang, depth: usize) -> Self {
        let kind = topology.node(hang.node).kind;
        let is_switch = kind == NodeKind::PcieSwitch;
        let depth = depth + usize::from(is_switch);
        let mut below = Self::all(topology, &hang.below.iter().collect::<Vec<_>>(), depth);
        let is_nic = |column: &Column<'_>| topology.node(column.hang.node).kind == NodeKind::Nic;
        let mut nics = 0;
        let width = match kind {
            NodeKind::Gpu => GPU.0,
            NodeKind::Nic => NIC.0,
            NodeKind::PcieSwitch => {
                let above = line_up(&mut below, GAP, |column| !is_nic(column));
                nics = line_up(&mut below, GAP, is_nic);
                let width = above.max(nics + if nics > 0 { WAY_UP } else { 0 }).max(GPU.0);
                for column in below.iter_mut().filter(|column| !is_nic(column)) {
                    column.move_to(column.x + (width - above) / 2);
                }
                width
            }
            NodeKind::Cpu
            | NodeKind::Memory
            | NodeKind::HostBridge
            | NodeKind::GpuSwitch
            | NodeKind::NetworkSwitch => line_up(&mut below, 2 * GAP, |_| true).max(NIC.0),
        };
        Self { hang, depth, x: 0, width, below, count: 1, nics }
    }

    /// Measures siblings; of many NICs the first stands for all.
    pub fn all(topology: &Topology, hangs: &[&'a Hang], depth: usize) -> Vec<Self> {
        let is_nic = |hang: &&Hang| topology.node(hang.node).kind == NodeKind::Nic;
        let nics = hangs.iter().filter(|hang| is_nic(hang)).count();
        let mut columns: Vec<Self> = Vec::with_capacity(hangs.len());
        let mut bundled = false;
        for hang in hangs {
            if nics <= MOST_NICS || !is_nic(hang) {
                columns.push(Self::of(topology, hang, depth));
            } else if !bundled {
                bundled = true;
                columns.push(Self { count: nics, ..Self::of(topology, hang, depth) });
            }
        }
        columns
    }

    /// Moves the column, and all below it, so that it begins at `x`.
    pub fn move_to(&mut self, x: i32) {
        let by = x - self.x;
        self.x = x;
        for below in &mut self.below {
            below.move_to(below.x + by);
        }
    }

    /// Where a switch's way up leaves it.
    pub fn uplink(&self) -> i32 {
        self.x + i32::midpoint(self.width, self.nics)
    }

    /// Visits the column and all below it.
    fn visit(&self, visitor: &mut impl FnMut(&Self)) {
        visitor(self);
        for below in &self.below {
            below.visit(visitor);
        }
    }
}

/// Puts the columns that `wanted` admits side by side from 0; returns their width.
fn line_up(columns: &mut [Column<'_>], gap: i32, wanted: impl Fn(&Column<'_>) -> bool) -> i32 {
    let mut x = 0;
    for column in columns.iter_mut().filter(|column| wanted(column)) {
        column.move_to(x);
        x += column.width + gap;
    }
    (x - gap).max(0)
}

/// Heights at which things stand.
pub(super) struct Rows {
    pub gpu: i32,
    /// By depth; the first is unused.
    pub switch: Vec<i32>,
    /// NICs by the depth of what they hang off.
    pub nic: Vec<i32>,
    pub cpu: i32,
    pub memory: i32,
    /// The end of the panels.
    pub bottom: i32,
}

/// Stacks the rows from `top`: GPUs, the deepest switches, their NICs, and so on down to the CPUs.
pub(super) fn rows<'a>(topology: &Topology, columns: impl Iterator<Item = &'a Column<'a>>, top: i32) -> Rows {
    let (mut deepest, mut has_gpus, mut nic_depths) = (0, false, Vec::new());
    for column in columns {
        column.visit(&mut |column| {
            deepest = deepest.max(column.depth);
            match topology.node(column.hang.node).kind {
                NodeKind::Gpu => has_gpus = true,
                NodeKind::Nic => nic_depths.push(column.depth),
                NodeKind::Cpu
                | NodeKind::Memory
                | NodeKind::HostBridge
                | NodeKind::PcieSwitch
                | NodeKind::GpuSwitch
                | NodeKind::NetworkSwitch => {}
            }
        });
    }
    let mut y = top;
    let gpu = y;
    if has_gpus {
        y += GPU.1 + LINES;
    }
    let (mut switch, mut nic) = (vec![y; deepest + 1], vec![y; deepest + 1]);
    for depth in (0..=deepest).rev() {
        if depth > 0 {
            switch[depth] = y;
            y += SWITCH_HEIGHT;
        }
        // NICs at the CPU itself have columns of their own: beside switches they need no row.
        let at_cpu = depth == 0;
        if nic_depths.contains(&depth) && !(at_cpu && deepest > 0) {
            nic[depth] = y + 18;
            y += 18 + NIC.1 + if at_cpu { LINES } else { 0 };
        }
        if !at_cpu {
            y += LINES;
        }
    }
    if deepest > 0 {
        nic[0] = y - LINES - NIC.1;
    }
    let cpu = y;
    let memory = cpu + CPU_HEIGHT + 12;
    Rows { gpu, switch, nic, cpu, memory, bottom: memory + MEMORY_HEIGHT + int(26) }
}
