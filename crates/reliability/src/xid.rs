//! What to do about a GPU that NVIDIA's driver complains of, by the number of the message (Xid).
//!
//! Classes are those of the Fire-Flyer paper (SC 2024, table VI); what to do follows NVIDIA's "XID Errors"
//! (docs.nvidia.com/deploy/xid-errors).

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The program did it, or an earlier error.
    Software,
    /// An error of an NVLink.
    NvLink,
    /// A memory error that was contained or whose row was taken out of use.
    ContainedMemory,
    /// A memory error that reached others, or whose row could not be taken out of use.
    UncontainedMemory,
    /// A unit of the GPU failed.
    Uncorrectable,
    /// The GPU no longer answers over PCIe.
    Bus,
    /// The GPU's firmware processor hangs.
    Firmware,
}

/// What to do with the job and the GPU, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Restart the job where it was; tell its owner.
    RestartJob,
    /// Restart the job, and reset the GPU before anybody gets it again.
    ResetGpu,
    /// Take the host out, restart it, and test it.
    RestartNode,
    /// Take the host out and replace the GPU if it happens again.
    Drain,
}

impl Action {
    /// The word used in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::RestartJob => "restart the job",
            Self::ResetGpu => "reset the GPU",
            Self::RestartNode => "restart the host",
            Self::Drain => "drain the host",
        }
    }
}

impl Class {
    /// The word used in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::NvLink => "NVLink",
            Self::ContainedMemory => "contained memory error",
            Self::UncontainedMemory => "uncontained memory error",
            Self::Uncorrectable => "uncorrectable",
            Self::Bus => "bus",
            Self::Firmware => "firmware",
        }
    }

    /// What to do.
    pub fn action(self) -> Action {
        match self {
            Self::Software => Action::RestartJob,
            Self::NvLink | Self::ContainedMemory => Action::ResetGpu,
            Self::Bus | Self::Firmware | Self::Uncorrectable => Action::RestartNode,
            Self::UncontainedMemory => Action::Drain,
        }
    }
}

const CLASSES: &[(Class, &[u32])] = &[
    (Class::Software, &[13, 31, 32, 43, 45, 109]),
    (Class::NvLink, &[74, 136, 137, 144, 145, 146, 147, 148, 149, 150]),
    (Class::ContainedMemory, &[63, 92, 94]),
    (Class::UncontainedMemory, &[48, 64, 95, 140]),
    (Class::Uncorrectable, &[44, 61, 62, 69]),
    (Class::Bus, &[79]),
    (Class::Firmware, &[119, 120]),
];

/// The class of a message; `None` for numbers on which nobody has agreed.
pub fn class(xid: u32) -> Option<Class> {
    CLASSES.iter().find(|(_, numbers)| numbers.contains(&xid)).map(|(class, _)| *class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_cost_a_restart_and_lost_memory_the_host() {
        assert_eq!(class(31).map(Class::action), Some(Action::RestartJob));
        assert_eq!(class(74).map(Class::action), Some(Action::ResetGpu));
        assert_eq!(class(79).map(Class::action), Some(Action::RestartNode));
        assert_eq!(class(95).map(Class::action), Some(Action::Drain));
        assert_eq!(class(7), None);
        let mut numbers: Vec<u32> = CLASSES.iter().flat_map(|(_, numbers)| *numbers).copied().collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count, "each number has one class");
    }
}
