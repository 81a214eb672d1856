//! Which hosts hang under which switches, or belong to which blocks.

/// A forest of switches or blocks with hosts below.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hierarchy {
    /// The name of the format: `slurm-topology-conf`.
    pub format: &'static str,
    /// The name of this topology, where a file may hold several.
    pub name: Option<String>,
    /// What kind of topology it is.
    pub kind: HierarchyKind,
    /// Whether it is the cluster's own, where a file may hold several.
    pub is_default: bool,
    /// Switches and blocks, in the order of the text.
    pub nodes: Vec<HierarchyNode>,
    /// Hosts, each with what it hangs under, in the order in which the text first names them.
    pub leaves: Vec<HierarchyLeaf>,
    /// Hosts in a block of each level, smallest first: Slurm's `BlockSizes`.
    pub block_sizes: Vec<u32>,
}

/// What the nodes of a hierarchy are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HierarchyKind {
    /// Switches over switches over hosts; hosts may be in blocks besides.
    #[default]
    Tree,
    /// Blocks of hosts.
    Blocks,
    /// No structure: all hosts are equally near.
    Flat,
    /// Rings of hosts.
    Rings,
    /// Hosts in a torus.
    Torus,
}

impl HierarchyKind {
    /// As Slurm calls it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Blocks => "block",
            Self::Flat => "flat",
            Self::Rings => "ring",
            Self::Torus => "torus3d",
        }
    }
}

/// A switch or a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HierarchyNode {
    /// Its name.
    pub name: String,
    /// Another name that the text gives it: the real switch behind a made name.
    pub alias: Option<String>,
    /// Indices into [`Hierarchy::nodes`] of those right above it; there is no way back to itself.
    pub under: Vec<usize>,
    /// Whether it is a block (hosts that share a GPU fabric) rather than a switch.
    pub is_block: bool,
    /// Slurm's `LinkSpeed`, a number without a unit.
    pub link_speed: Option<u32>,
    /// Line, from 1.
    pub line: u32,
}

/// A host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HierarchyLeaf {
    /// Its name.
    pub name: String,
    /// Indices into [`Hierarchy::nodes`] of what it hangs right under.
    pub under: Vec<usize>,
}

impl Hierarchy {
    /// Nodes above none of which stands another, in order.
    pub fn roots(&self) -> impl Iterator<Item = &HierarchyNode> {
        self.nodes.iter().filter(|node| node.under.is_empty())
    }

    /// Hosts right under each node.
    pub fn hosts(&self) -> Vec<Vec<usize>> {
        let mut hosts = vec![Vec::new(); self.nodes.len()];
        for (index, leaf) in self.leaves.iter().enumerate() {
            for node in &leaf.under {
                if let Some(hosts) = hosts.get_mut(*node) {
                    hosts.push(index);
                }
            }
        }
        hosts
    }

    /// Nodes right under each node.
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for parent in &node.under {
                if let Some(children) = children.get_mut(*parent) {
                    children.push(index);
                }
            }
        }
        children
    }

    /// The level of each node: 0 has no node below, any other one more than the highest below it.
    pub fn levels(&self) -> Vec<usize> {
        let children = self.children();
        let mut open: Vec<usize> = children.iter().map(Vec::len).collect();
        let mut levels = vec![0; self.nodes.len()];
        let mut ready: Vec<usize> = (0..open.len()).filter(|node| open[*node] == 0).collect();
        while let Some(node) = ready.pop() {
            for parent in &self.nodes[node].under {
                let Some(left) = open.get_mut(*parent) else { continue };
                levels[*parent] = levels[*parent].max(levels[node] + 1);
                *left = left.saturating_sub(1);
                if *left == 0 {
                    ready.push(*parent);
                }
            }
        }
        levels
    }
}
