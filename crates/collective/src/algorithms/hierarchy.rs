//! Level by level: what is near does most.

use std::sync::Arc;

use super::double_tree::TREES;
use super::{knows, steps};
use crate::movements::{
    DirectGather, DirectScatter, Direction, End, Fan, Gather, Numbering, Reached, RingGather, RingScatter,
    Scatter, Share, SwitchGather, SwitchScatter, Tree, TreeDown, TreeUp,
};
use crate::{
    Algorithm, Buffer, Call, Collective, Groups, Movement, Phase, Plan, Shape, Terrain, Unsuitable, Window,
};

/// What is done within hosts and other inner levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// A ring.
    Ring,
    /// The full mesh.
    Direct,
    /// Switches add and copy.
    Switch,
}

/// What is done across the outermost level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Across {
    /// A ring; a chain for a broadcast.
    Ring,
    /// The double binary tree.
    Tree,
    /// Switches add and copy.
    Switch,
}

/// Parts are added within each host, summed up across hosts by all ranks with the same place in their host, and
/// gathered within hosts again; with more levels the same from level to level. Each level moves only the share of the
/// data that the levels inside it have left.
#[derive(Debug, Clone, Copy)]
pub struct Hierarchy {
    /// Its name.
    pub name: &'static str,
    /// What it is, with its source.
    pub title: &'static str,
    /// Levels of the terrain that are used, from the innermost on; one more is across them.
    pub levels: usize,
    /// What is done within them.
    pub within: Within,
    /// What is done across them.
    pub across: Across,
}

/// One level: groups of the ranks that have the same place in all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dimension {
    size: u32,
    stride: u32,
    pattern: Pattern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Ring,
    Direct,
    Switch,
    Tree,
}

impl Pattern {
    fn scatter(self, data: Scatter) -> Arc<dyn Movement> {
        match self {
            Self::Ring | Self::Tree => {
                Arc::new(RingScatter { data, direction: Direction::Up, numbering: Numbering::ByPosition })
            }
            Self::Direct => Arc::new(DirectScatter { data }),
            Self::Switch => Arc::new(SwitchScatter { data, turns: 1 }),
        }
    }

    fn gather(self, data: Gather) -> Arc<dyn Movement> {
        match self {
            Self::Ring | Self::Tree => {
                Arc::new(RingGather { data, direction: Direction::Up, numbering: Numbering::ByPosition })
            }
            Self::Direct => Arc::new(DirectGather { data }),
            Self::Switch => Arc::new(SwitchGather { data }),
        }
    }
}

impl Hierarchy {
    /// Rings inside hosts and across them.
    pub const TWO_LEVEL: Self = Self {
        name: "two-level",
        title: "rings inside hosts, and across hosts one ring for each place in them (Jia et al., arXiv:1807.11205, 2018; \
                Cho et al., BlueConnect, 2019)",
        levels: 1,
        within: Within::Ring,
        across: Across::Ring,
    };
    /// The full mesh inside hosts, rings across.
    pub const TWO_LEVEL_DIRECT: Self = Self {
        name: "two-level-direct",
        title: "full mesh inside hosts, and across hosts one ring for each place in them (Cho et al., BlueConnect, 2019)",
        within: Within::Direct,
        ..Self::TWO_LEVEL
    };
    /// Rings inside hosts, double binary trees across.
    pub const TWO_LEVEL_TREE: Self = Self {
        name: "two-level-tree",
        title: "rings inside hosts, double binary trees across (NCCL 2.4, 2019)",
        across: Across::Tree,
        ..Self::TWO_LEVEL
    };
    /// Rings on three levels.
    pub const THREE_LEVEL: Self = Self {
        name: "three-level",
        title: "rings inside hosts, inside racks or pods, and across (Cho et al., BlueConnect, 2019)",
        levels: 2,
        ..Self::TWO_LEVEL
    };
    /// NVLink SHARP inside hosts, rings across.
    pub const NVLS_RING: Self = Self {
        name: "nvls-ring",
        title: "NVLink SHARP inside hosts, one ring across for each place in them (NCCL 2.17, 2023)",
        within: Within::Switch,
        ..Self::TWO_LEVEL
    };
    /// NVLink SHARP inside hosts, double binary trees across.
    pub const NVLS_TREE: Self = Self {
        name: "nvls-tree",
        title: "NVLink SHARP inside hosts, double binary trees across (NCCL 2.18, 2023)",
        within: Within::Switch,
        across: Across::Tree,
        ..Self::TWO_LEVEL
    };
    /// NVLink SHARP inside hosts, SHARP across.
    pub const NVLS_SHARP: Self = Self {
        name: "nvls-sharp",
        title: "NVLink SHARP inside hosts, SHARP in the network across (NCCL 2.17, 2023; Graham et al., COMHPC 2016)",
        within: Within::Switch,
        across: Across::Switch,
        ..Self::TWO_LEVEL
    };

    /// The levels with more than one member, innermost first; `None` where the terrain has no such levels.
    fn dimensions(&self, terrain: &Terrain) -> Option<Vec<Dimension>> {
        let within = match self.within {
            Within::Ring => Pattern::Ring,
            Within::Direct => Pattern::Direct,
            Within::Switch => Pattern::Switch,
        };
        let across = match self.across {
            Across::Ring => Pattern::Ring,
            Across::Tree => Pattern::Tree,
            Across::Switch => Pattern::Switch,
        };
        let (mut dimensions, mut stride) = (Vec::new(), 1);
        for level in 0..=self.levels {
            let inner = level < self.levels;
            let span = if inner { terrain.even(level)? } else { terrain.ranks() };
            if !span.is_multiple_of(stride) {
                return None;
            }
            let pattern = if inner { within } else { across };
            dimensions.push(Dimension { size: span / stride, stride, pattern });
            stride = span;
        }
        dimensions.retain(|dimension| dimension.size > 1);
        if dimensions.is_empty() {
            dimensions.push(Dimension { size: 1, stride: 1, pattern: within });
        }
        Some(dimensions)
    }

    /// Whether switches join the groups of those dimensions that need it.
    fn joined(&self, call: &Call, terrain: &Terrain, dimensions: &[Dimension]) -> Result<(), Unsuitable> {
        let switched = || dimensions.iter().filter(|dimension| dimension.pattern == Pattern::Switch);
        let groups = |dimension: &Dimension| dimension.groups(terrain.ranks());
        let (algorithm, collective) = (self.name, call.collective);
        if collective.reduces() && !switched().all(|level| terrain.reduces_within(&groups(level))) {
            return Err(Unsuitable::Terrain {
                algorithm,
                needs: "switches that add, and that join each group",
            });
        }
        if collective != Collective::ReduceScatter
            && !switched().all(|level| terrain.multicasts_within(&groups(level)))
        {
            return Err(Unsuitable::Terrain {
                algorithm,
                needs: "switches that copy, and that join each group",
            });
        }
        Ok(())
    }
}

impl Dimension {
    fn groups(&self, ranks: u32) -> Groups {
        Groups::even(ranks, self.size, self.stride)
    }
}

/// What phases are made of.
struct Maker<'a> {
    call: &'a Call,
    ranks: u32,
    dimensions: &'a [Dimension],
}

impl Maker<'_> {
    fn phase(&self, level: usize, thread: u16, window: Window, movement: Arc<dyn Movement>) -> Option<Phase> {
        let groups = self.dimensions.get(level)?.groups(self.ranks);
        Some(Phase { channel: thread, groups, window, movement })
    }

    /// All levels inside the outermost, if across that goes a chain or a tree.
    fn inner(&self, chain: bool) -> &[Dimension] {
        match self.dimensions.split_last() {
            Some((last, inner)) if last.pattern == Pattern::Tree || chain => inner,
            Some(_) | None => self.dimensions,
        }
    }

    /// The window of a level in a stretch of one part: what the places in the levels inside it leave.
    fn share(&self, level: usize, offset: u32, blocks: u32) -> Window {
        let (mut window, mut unit) = (Window::at(offset, blocks), blocks);
        for (index, dimension) in self.dimensions.iter().enumerate().take(level + 1) {
            unit /= dimension.size;
            if index < level {
                window = window.by(dimension.groups(self.ranks), unit);
            }
        }
        Window { unit, pitch: unit, ..window }
    }

    /// The window of a level in buffers with a part for each rank.
    fn parts(&self, level: usize, channels: u32, channel: u32) -> Window {
        let mut window = Window::at(channel, 1).part(channel);
        for dimension in self.dimensions.iter().take(level) {
            window = window.by(dimension.groups(self.ranks), channels * dimension.stride);
        }
        let Some(Dimension { size, stride, .. }) = self.dimensions.get(level) else { return window };
        let span = size * stride;
        window.pitch(channels * stride).rows(self.ranks / span, channels * span)
    }

    /// Reduce-scatter or all-gather.
    fn by_parts(&self, channels: u32, thread: u16) -> Vec<Phase> {
        let levels = self.dimensions.len();
        let window = |level| self.parts(level, channels, u32::from(thread));
        let scatter = |(level, dimension): (usize, &Dimension)| {
            let mut data = Scatter::part(self.call.in_place);
            if level > 0 {
                data.local = data.sums;
            }
            if level + 1 < levels {
                data.end = End::Chunk(data.sums);
            }
            self.phase(level, thread, window(level), dimension.pattern.scatter(data))
        };
        let gather = |(level, dimension): (usize, &Dimension)| {
            let outermost = level + 1 == levels;
            let data = if outermost { Gather::part(self.call.in_place) } else { Gather::Placed };
            self.phase(level, thread, window(level), dimension.pattern.gather(data))
        };
        let dimensions = self.dimensions.iter().enumerate();
        if self.call.collective == Collective::ReduceScatter {
            dimensions.filter_map(scatter).collect()
        } else {
            dimensions.rev().filter_map(gather).collect()
        }
    }

    /// The scattering half of an all-reduce on some levels.
    fn down_to(
        &self,
        inner: &[Dimension],
        thread: u16,
        offset: u32,
        blocks: u32,
        sums: Buffer,
    ) -> Vec<Phase> {
        let scatter = |(level, dimension): (usize, &Dimension)| {
            let local = if level == 0 { Buffer::Input } else { sums };
            let in_place = self.call.in_place;
            let data = Scatter { local, sums, end: End::Chunk(sums), in_place, folded: 0 };
            self.phase(level, thread, self.share(level, offset, blocks), dimension.pattern.scatter(data))
        };
        inner.iter().enumerate().filter_map(scatter).collect()
    }

    /// The gathering half on some levels.
    fn up_from(&self, inner: &[Dimension], thread: u16, offset: u32, blocks: u32) -> Vec<Phase> {
        let gather = |(level, dimension): (usize, &Dimension)| {
            let window = self.share(level, offset, blocks);
            self.phase(level, thread, window, dimension.pattern.gather(Gather::Placed))
        };
        inner.iter().enumerate().rev().filter_map(gather).collect()
    }

    /// Chunks that go along the outermost level: the window of one place.
    fn chunks(&self, offset: u32, blocks: u32, chunks: u32) -> Window {
        let (mut window, mut unit) = (Window::at(offset, 1), blocks);
        for dimension in self.inner(true) {
            unit /= dimension.size;
            window = window.by(dimension.groups(self.ranks), unit);
        }
        Window { unit: unit / chunks, pitch: unit / chunks, ..window }
    }

    /// An all-reduce with a tree across: one thread up, one down.
    fn through_tree(
        &self,
        tree: Tree,
        thread: u16,
        offset: u32,
        blocks: u32,
        chunks: u32,
    ) -> [Vec<Phase>; 2] {
        let inner = self.inner(true);
        let (outermost, sums, in_place) = (inner.len(), Buffer::Scratch(0), self.call.in_place);
        let mut first = self.down_to(inner, thread, offset, blocks, sums);
        let after = steps(&first);
        let mut up = TreeUp::reduce(tree, 0, chunks, in_place);
        if !inner.is_empty() {
            up.local = sums;
        }
        let window = self.chunks(offset, blocks, chunks);
        first.extend(self.phase(outermost, thread, window.clone(), Arc::new(up)));
        let reached = Reached::Awaits { thread, after, in_place };
        let down = Arc::new(TreeDown { tree, root: 0, chunks, reached });
        let mut second: Vec<_> = self.phase(outermost, thread + 1, window, down).into_iter().collect();
        second.extend(self.up_from(inner, thread + 1, offset, blocks));
        [first, second]
    }

    /// A broadcast: the root's data is shared out, goes across, and is gathered.
    fn broadcast(&self, tree: Tree, thread: u16, offset: u32, blocks: u32, chunks: u32) -> Vec<Phase> {
        let inner = self.inner(self.dimensions.len() > 1);
        let (root, in_place) = (self.call.root, self.call.in_place);
        let fan = |level: usize| {
            let first = level == 0;
            let from = if first { Buffer::Input } else { Buffer::Output };
            let fan = Fan { root, share: Share::Chunk, from, copies: first && !in_place };
            self.phase(level, thread, self.share(level, offset, blocks), Arc::new(fan))
        };
        let mut phases: Vec<_> = (0..inner.len()).filter_map(fan).collect();
        if let Some(outermost) = self.dimensions.get(inner.len()) {
            let root = outermost.groups(self.ranks).seat(root).map_or(0, |seat| seat.position);
            let reached =
                if inner.is_empty() { Reached::input(in_place) } else { Reached::Has(Buffer::Output) };
            let down = Arc::new(TreeDown { tree, root, chunks, reached });
            phases.extend(self.phase(inner.len(), thread, self.chunks(offset, blocks, chunks), down));
        }
        phases.extend(self.up_from(inner, thread, offset, blocks));
        phases
    }

    /// The product of the sizes of levels.
    fn places(dimensions: &[Dimension]) -> u32 {
        dimensions.iter().map(|dimension| dimension.size).product()
    }
}

impl Algorithm for Hierarchy {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn collectives(&self) -> &'static [Collective] {
        match (self.within, self.across) {
            (Within::Ring | Within::Direct, Across::Ring) => &[
                Collective::AllReduce,
                Collective::AllGather,
                Collective::ReduceScatter,
                Collective::Broadcast,
            ],
            (Within::Ring | Within::Direct, Across::Tree) => &[Collective::AllReduce, Collective::Broadcast],
            (Within::Switch, Across::Tree) => &[Collective::AllReduce],
            (Within::Switch, Across::Ring | Across::Switch)
            | (Within::Ring | Within::Direct, Across::Switch) => {
                &[Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter]
            }
        }
    }

    fn needs(&self) -> &'static str {
        match (self.levels, self.within, self.across) {
            (2.., ..) => "two levels, each of groups of the same size with ranks in order",
            (_, Within::Switch, Across::Switch) => {
                "hosts of the same size, and switches that add and copy in them and across"
            }
            (_, Within::Switch, _) => {
                "hosts of the same size with ranks in order, and switches that add and copy in them"
            }
            (_, _, Across::Switch) => "hosts of the same size, and switches that add and copy across",
            (_, Within::Ring | Within::Direct, Across::Ring | Across::Tree) => {
                "hosts of the same size with ranks in order"
            }
        }
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)?;
        let needs = if self.levels > 1 {
            "two levels, each of groups of the same size with ranks in order"
        } else {
            "hosts of the same size with ranks in order"
        };
        let dimensions =
            self.dimensions(terrain).ok_or(Unsuitable::Terrain { algorithm: self.name, needs })?;
        self.joined(call, terrain, &dimensions)
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let mut plan = Plan::empty(ranks);
        let Some(dimensions) = self.dimensions(terrain).filter(|_| self.suits(call, terrain).is_ok()) else {
            return plan;
        };
        let maker = Maker { call, ranks, dimensions: &dimensions };
        let tree = dimensions.last().is_some_and(|last| last.pattern == Pattern::Tree);
        let trees = if tree { &TREES[..] } else { &[Tree::Chain(Direction::Up)][..] };
        let lanes = u32::from(shape.channels) * if tree { 2 } else { 1 };
        let lane_trees = trees.iter().cycle();
        let chunks = shape.pipeline;
        let blocks = match call.collective {
            Collective::AllReduce if !tree => ranks,
            Collective::AllReduce | Collective::Broadcast => {
                Maker::places(maker.inner(dimensions.len() > 1)) * chunks
            }
            Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Reduce
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => 1,
        };
        for (lane, tree_of_lane) in (0..lanes).zip(lane_trees) {
            let (thread, offset) = (u16::try_from(plan.threads.len()).unwrap_or(u16::MAX), lane * blocks);
            match call.collective {
                Collective::AllReduce if tree => {
                    plan.threads.extend(maker.through_tree(*tree_of_lane, thread, offset, blocks, chunks));
                }
                Collective::AllReduce => {
                    let mut phases = maker.down_to(&dimensions, thread, offset, blocks, Buffer::Output);
                    phases.extend(maker.up_from(&dimensions, thread, offset, blocks));
                    plan.threads.push(phases);
                }
                Collective::Broadcast => {
                    plan.threads.push(maker.broadcast(*tree_of_lane, thread, offset, blocks, chunks));
                }
                Collective::AllGather
                | Collective::ReduceScatter
                | Collective::Reduce
                | Collective::AllToAll
                | Collective::SendRecv
                | Collective::Barrier => plan.threads.push(maker.by_parts(lanes, thread)),
            }
        }
        plan.pieces = lanes * blocks;
        plan.scratch =
            u16::from(call.collective == Collective::ReduceScatter || (tree && call.collective.reduces()));
        plan
    }
}

#[cfg(test)]
mod tests;
