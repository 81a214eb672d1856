//! What columns of published tables are called.

use weft_base::simplify;

/// A column that can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Servers.
    Nodes,
    /// GPUs of all servers.
    Gpus,
    /// Switches that face servers.
    Leaf,
    /// Switches above them.
    Spine,
    /// The third tier.
    Core,
    /// Switches of all tiers.
    Switches,
    /// Cables between servers and leaves.
    HostCables,
    /// Cables between leaves and spines.
    SpineCables,
    /// Cables between spines and cores.
    CoreCables,
    /// Ports of a switch.
    Radix,
    /// Tiers of switches.
    Tiers,
    /// Networks side by side.
    Planes,
    /// How many of what the row names.
    Count,
    /// Its percentage of the whole.
    Share,
    /// A month.
    Month,
    /// A day.
    Day,
}

const NAMES: &[(Column, &[&str])] = &[
    (Column::Nodes, &["nodes", "node count", "servers", "hosts", "systems"]),
    (Column::Gpus, &["gpus", "gpu count", "number of gpus", "accelerators"]),
    (Column::Leaf, &["leaf", "leaves", "leaf switches", "leaf count", "tor"]),
    (Column::Spine, &["spine", "spines", "spine switches", "spine count"]),
    (Column::Core, &["core", "cores", "core switches", "core count", "super spine"]),
    (Column::Switches, &["switches", "switch count", "number of switches", "total switches"]),
    (
        Column::HostCables,
        &["node leaf cables", "compute ufm cables", "node leaf", "host cables", "compute cables"],
    ),
    (Column::SpineCables, &["leaf spine cables", "leaf spine", "spine leaf", "spine leaf cables"]),
    (Column::CoreCables, &["spine core cables", "spine core", "core spine", "core spine cables"]),
    (Column::Radix, &["switch radix ports", "radix", "switch radix", "switch ports", "ports per switch"]),
    (Column::Tiers, &["tiers", "layers", "network tiers"]),
    (Column::Planes, &["planes"]),
    (
        Column::Count,
        &[
            "count",
            "events",
            "failures",
            "number",
            "interruptions",
            "ib failures and flash cuts",
            "network failures",
            "flash cuts",
        ],
    ),
    (
        Column::Share,
        &["pct", "percent", "share", "%", "percentage", "pct printed", "% of interruptions", "share of all"],
    ),
    (Column::Month, &["month"]),
    (Column::Day, &["date", "day"]),
];

impl Column {
    /// The column that a head names, in any spelling.
    pub fn of(head: &str) -> Option<Self> {
        if head.trim() == "%" {
            return Some(Self::Share);
        }
        let wanted = simplify(head);
        NAMES
            .iter()
            .find(|(_, names)| names.iter().any(|name| simplify(name) == wanted))
            .map(|(column, _)| *column)
    }
}
