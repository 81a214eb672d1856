//! Switches and cables of fabrics.

use std::collections::BTreeMap;

use weft_base::Diagnostic;
use weft_catalogue::{Network, NetworkDesign};
use weft_topology::{NetworkCounts, network_counts};

use super::{COUNT_UNEVEN, COUNT_WRONG, Column, Row, Table, grouped};

/// Whether a table counts what a fabric consists of.
pub fn fits(table: &Table) -> bool {
    let has = |column| table.index(column).is_some();
    (has(Column::Nodes) || has(Column::Gpus))
        && [Column::Leaf, Column::Spine, Column::Switches, Column::HostCables].into_iter().any(has)
}

/// What is wrong with its rows.
pub fn check(table: &Table) -> Vec<Diagnostic> {
    let groups = groups(table);
    let mut found = Vec::new();
    for row in &table.rows {
        let habit = groups.get(&name(row)).copied().unwrap_or_default();
        let mut judge = Judge { table, row, habit, found: Vec::new() };
        judge.gpus();
        judge.host_cables();
        judge.tiers();
        judge.spines();
        judge.cores();
        judge.switch_cables();
        found.append(&mut judge.found);
    }
    found
}

/// What the rows of one design have in common.
#[derive(Debug, Clone, Copy, Default)]
struct Habit {
    /// GPUs, and so NICs, of a node.
    per_node: Option<u64>,
    /// Networks side by side: with two, cables are counted as twins.
    planes: u64,
    /// Cables to hosts beyond one for each GPU, as of a fabric manager.
    extra: u64,
}

/// Rows whose first cell is the same are one design; where it is a number, all rows are.
fn name(row: &Row) -> String {
    row.cells
        .first()
        .filter(|cell| cell.number().is_none())
        .map_or_else(String::new, |cell| cell.text.clone())
}

fn groups(table: &Table) -> BTreeMap<String, Habit> {
    let mut rows: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in &table.rows {
        rows.entry(name(row)).or_default().push(row);
    }
    rows.into_iter().map(|(name, rows)| (name, habit(table, &rows))).collect()
}

fn habit(table: &Table, rows: &[&Row]) -> Habit {
    let ratio = |row: &&Row| {
        let (nodes, gpus) = (table.count(row, Column::Nodes)?, table.count(row, Column::Gpus)?);
        (nodes > 0 && gpus.is_multiple_of(nodes)).then(|| gpus / nodes)
    };
    let per_node = most(rows.iter().filter_map(ratio));
    let extra = |row: &&Row| {
        let (nodes, cables) = (table.count(row, Column::Nodes)?, table.count(row, Column::HostCables)?);
        cables.checked_sub(nodes * per_node?)
    };
    // As many more in each row are no mistake.
    let extra = most(rows.iter().filter_map(extra)).filter(|extra| *extra <= 8).unwrap_or(0);
    let fitting = |planes: u64| {
        let fits = |row: &&&Row| {
            let judge = Judge { table, row, habit: Habit { per_node, planes, extra }, found: Vec::new() };
            let leaves = judge.expected().map(|counts| counts.switch_counts[0]);
            leaves.is_some() && leaves == table.count(row, Column::Leaf)
        };
        rows.iter().filter(fits).count()
    };
    let planes = [1, 2, 4].into_iter().rev().max_by_key(|planes| fitting(*planes)).unwrap_or(1);
    Habit { per_node, planes, extra }
}

/// What occurs most often, the smallest of several.
fn most(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}

struct Judge<'t> {
    table: &'t Table,
    row: &'t Row,
    habit: Habit,
    found: Vec<Diagnostic>,
}

impl Judge<'_> {
    fn count(&self, column: Column) -> Option<u64> {
        self.table.count(self.row, column)
    }

    fn say(&mut self, column: Column, message: String, hint: &str, uneven: bool) {
        let Some(cell) = self.table.cell(self.row, column) else { return };
        let finding = if uneven {
            Diagnostic::warning(COUNT_UNEVEN, message)
        } else {
            Diagnostic::error(COUNT_WRONG, message)
        };
        self.found.push(finding.hint(hint).at(self.table.place(cell)));
    }

    fn planes(&self) -> u64 {
        self.count(Column::Planes).unwrap_or(self.habit.planes).max(1)
    }

    /// NICs: those of the nodes, else one for each GPU.
    fn endpoints(&self) -> Option<u64> {
        let of_nodes = self.count(Column::Nodes).zip(self.habit.per_node).map(|(nodes, each)| nodes * each);
        of_nodes.or_else(|| self.count(Column::Gpus))
    }

    /// What our generator takes: rails where nodes are known, whole ports else.
    fn expected(&self) -> Option<NetworkCounts> {
        let radix = u16::try_from(self.count(Column::Radix)?).ok().filter(|radix| *radix >= 2)?;
        let planes = u16::try_from(self.planes()).ok()?;
        let rails = self.count(Column::Nodes).zip(self.habit.per_node);
        let (design, hosts, rails) = match rails {
            Some((nodes, each)) => (NetworkDesign::RailOptimized, nodes, each),
            None => (NetworkDesign::FatTree, self.endpoints()?, 1),
        };
        let network = Network { planes, ..Network::new(design, radix) };
        network_counts(&network, u32::try_from(hosts).ok()?, u16::try_from(rails).ok()?).ok()
    }

    fn gpus(&mut self) {
        let (Some(nodes), Some(gpus), Some(each)) =
            (self.count(Column::Nodes), self.count(Column::Gpus), self.habit.per_node)
        else {
            return;
        };
        if gpus == nodes * each {
            return;
        }
        let right = nodes * each;
        let mut message =
            format!("{} nodes of {each} GPUs are {}, not {}", grouped(nodes), grouped(right), grouped(gpus));
        if self.count(Column::HostCables) == Some(right + self.habit.extra) {
            message.push_str(", and so many cables lead to them");
        }
        self.say(
            Column::Gpus,
            message,
            "a slip of the table: the other columns agree with each other",
            false,
        );
    }

    fn host_cables(&mut self) {
        let (Some(nodes), Some(cables), Some(each)) =
            (self.count(Column::Nodes), self.count(Column::HostCables), self.habit.per_node)
        else {
            return;
        };
        let right = nodes * each + self.habit.extra;
        if cables != right {
            let message = format!(
                "{} nodes of {each} NICs take {} cables, not {}",
                grouped(nodes),
                grouped(right),
                grouped(cables)
            );
            self.say(Column::HostCables, message, "one NIC for each GPU, as in the other rows", false);
        }
    }

    /// More endpoints than so many tiers can join, or fewer switches than that takes.
    fn tiers(&mut self) {
        let (Some(radix), Some(endpoints)) = (self.count(Column::Radix), self.endpoints()) else { return };
        let told = self.count(Column::Tiers);
        let two_told =
            told == Some(2) || self.count(Column::Core) == Some(0) && self.count(Column::Leaf).is_some();
        let most = radix * radix / 2;
        let Some(expected) = self.expected() else { return };
        let per_plane: Vec<String> = expected.switch_counts.iter().map(|count| grouped(*count)).collect();
        let (sum, all) = (per_plane.join(" + "), expected.all_switches());
        let switches = self.count(Column::Switches);
        if two_told && endpoints > most {
            let told =
                switches.map_or_else(String::new, |told| format!(" (the table has {})", grouped(told)));
            let message = format!(
                "two tiers of {radix}-port switches end at {radix} x {radix} / 2 = {} endpoints, and these are {}: three \
                 tiers take {sum} = {} switches{told}",
                grouped(most),
                grouped(endpoints),
                grouped(all)
            );
            let column = if told_in(self.table, Column::Tiers) { Column::Tiers } else { Column::Core };
            self.say(column, message, "count with three tiers, or with switches of more ports", false);
        } else if let Some(told) = switches.filter(|told| *told < all) {
            let tiers = expected.switch_counts.len();
            let message = format!(
                "{} endpoints on {radix}-port switches take {sum} = {} in {tiers} tiers, not {}",
                grouped(endpoints),
                grouped(all),
                grouped(told)
            );
            self.say(Column::Switches, message, "without oversubscription; say so if there is some", false);
        }
    }

    fn spines(&mut self) {
        let (Some(radix), Some(leaves), Some(spines)) =
            (self.count(Column::Radix), self.count(Column::Leaf), self.count(Column::Spine))
        else {
            return;
        };
        let two_tiers = self.count(Column::Core).unwrap_or(0) == 0;
        let (up, planes) = (radix / 2, self.planes());
        let uplinks = leaves * up;
        if spines * radix < uplinks && two_tiers || spines * (radix - up) < uplinks && !two_tiers {
            let ports = if two_tiers { radix } else { radix - up };
            let message = format!(
                "{} leaves have {} links up, and {spines} spines of {ports} ports down hold {}",
                grouped(leaves),
                grouped(uplinks),
                grouped(spines * ports)
            );
            self.say(Column::Spine, message, "too few unless the leaves are oversubscribed", false);
        } else if two_tiers && spines > 0 && !up.is_multiple_of(spines / planes.max(1)) {
            let fewest = self.expected().and_then(|counts| counts.switch_counts.get(1).copied());
            let hint =
                fewest.map_or_else(String::new, |fewest| format!("{fewest} is the fewest that are even"));
            let message =
                format!("the {up} uplinks of a leaf do not divide by {spines} spines: links are uneven");
            self.say(Column::Spine, message, &hint, true);
        }
    }

    fn cores(&mut self) {
        let (Some(radix), Some(spines), Some(cores)) =
            (self.count(Column::Radix), self.count(Column::Spine), self.count(Column::Core))
        else {
            return;
        };
        let uplinks = spines * (radix / 2);
        if cores > 0 && cores * radix < uplinks {
            let message = format!(
                "{} spines have {} links up, and {} cores of {radix} ports hold {}",
                grouped(spines),
                grouped(uplinks),
                grouped(cores),
                grouped(cores * radix)
            );
            self.say(Column::Core, message, "too few unless the spines are oversubscribed", false);
        }
    }

    fn switch_cables(&mut self) {
        let Some(radix) = self.count(Column::Radix) else { return };
        let three = self.count(Column::Core).is_some_and(|cores| cores > 0);
        let tiers = [
            (Column::Leaf, Column::SpineCables, "leaves", true),
            (Column::Spine, Column::CoreCables, "spines", three),
        ];
        for (below, column, word, applies) in tiers {
            let (Some(switches), Some(cables)) = (self.count(below), self.count(column)) else { continue };
            let right = switches * (radix / 2) / self.planes();
            if applies && cables != right {
                let twins = if self.planes() > 1 { ", two links in each cable" } else { "" };
                let message = format!(
                    "{} {word} with {} ports up take {} cables{twins}, not {}",
                    grouped(switches),
                    radix / 2,
                    grouped(right),
                    grouped(cables)
                );
                self.say(column, message, "half of the ports face up where nothing is oversubscribed", false);
            }
        }
    }
}

fn told_in(table: &Table, column: Column) -> bool {
    table.index(column).is_some()
}
