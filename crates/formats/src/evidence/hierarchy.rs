//! Which hosts hang under which switches, or belong to which blocks.

/// A forest of switches or blocks with hosts below.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hierarchy {
    /// The name of the format: `slurm-topology-conf`.
    pub format: &'static str,
    /// Switches and blocks, in the order of the text.
    pub nodes: Vec<HierarchyNode>,
    /// Hosts, each with what it hangs under.
    pub leaves: Vec<HierarchyLeaf>,
}

/// A switch or a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HierarchyNode {
    /// Its name.
    pub name: String,
    /// Index into [`Hierarchy::nodes`] of the one above it.
    pub parent: Option<usize>,
    /// Whether it is a block (hosts that share a GPU fabric) rather than a switch.
    pub is_block: bool,
    /// Line, from 1.
    pub line: u32,
}

/// A host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HierarchyLeaf {
    /// Its name.
    pub name: String,
    /// Indices into [`Hierarchy::nodes`] of what it hangs under.
    pub under: Vec<usize>,
}
