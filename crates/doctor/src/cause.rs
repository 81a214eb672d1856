//! Causes: the stable words that findings are known by.

/// What is the matter.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    /// Stable and short, for tickets: `D014`.
    pub code: &'static str,
    /// Stable and telling, for programs: `acs-iommu`.
    pub word: &'static str,
    /// In a sentence without a full stop, for lists.
    pub title: &'static str,
    /// Whether something is broken.
    pub nature: Nature,
    /// What suffers.
    pub effect: Effect,
    /// What it is, how it shows, how to be sure, what to do, from whom this is known: a paragraph.
    pub explanation: &'static str,
}

/// Whether something is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Something is mis-set, mis-wired or broken, and can be mended.
    Fault,
    /// The hardware or its place cannot do more: no setting mends it.
    Limit,
    /// Nothing is wrong: a figure is read as what it is not.
    Misreading,
}

/// What suffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Bandwidth: a run that is as fast as expected speaks against it.
    Bandwidth,
    /// The time of small messages.
    Latency,
    /// Whether it runs at all: hangs, errors, lost devices. A run that is as fast as expected says nothing about it.
    Running,
}
