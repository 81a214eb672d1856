//! What the engine is spoken to in: dense ids, uses, events.

/// Something that flows share: a direction of a link, a copy engine, an uplink of a switch, a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(u32);

/// A way that flows can take: what it uses, how long its latency is, how fast one flow may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(u32);

/// A flow that was started. It is of use until the flow has ended or was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId {
    slot: u32,
    generation: u32,
}

/// `index` as the engine stores it. An engine has fewer than 2^30 resources, paths and flows at once.
#[expect(
    clippy::cast_possible_truncation,
    reason = "memory ends long before 2^32 of anything the engine holds"
)]
pub(super) const fn narrow(index: usize) -> u32 {
    index as u32
}

impl ResourceId {
    /// The resource that was added as number `index`, from zero.
    pub const fn new(index: usize) -> Self {
        Self(narrow(index))
    }
    /// Its number in the order in which resources were added, from zero.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl PathId {
    /// The path that was added as number `index`, from zero.
    pub const fn new(index: usize) -> Self {
        Self(narrow(index))
    }
    /// Its number in the order in which paths were added, from zero.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl FlowId {
    pub(super) const fn new(slot: u32, generation: u32) -> Self {
        Self { slot, generation }
    }
    pub(super) const fn slot(self) -> u32 {
        self.slot
    }
    pub(super) const fn generation(self) -> u32 {
        self.generation
    }
    /// Its place among the flows that are under way; the place is used again once the flow has ended.
    pub const fn index(self) -> usize {
        self.slot as usize
    }
}

/// How a path uses a resource.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// What is used.
    pub resource: ResourceId,
    /// A flow of rate x takes `weight` times x of the resource's capacity; more than zero.
    pub weight: f64,
}

impl Use {
    /// A use that takes as much of the resource as the flow is fast.
    pub const fn of(resource: ResourceId) -> Self {
        Self { resource, weight: 1.0 }
    }
}

/// A caller's own number for a flow or a timer; events bring it back.
pub type Tag = u64;

/// Something that happened at the engine's present time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event {
    /// As given to `start` or `wake`.
    pub tag: Tag,
    /// What happened.
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// The last byte of a flow has arrived.
    Ended {
        /// The saturated resource that limited it at its end; `None` where its own cap or its latency did.
        bottleneck: Option<ResourceId>,
    },
    /// The time has come for which `wake` asked.
    Woke,
}
