//! Collectives as NCCL and nccl-tests count them.

use weft_base::{nearest, simplify};

/// A collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collective {
    /// Everyone ends with the sum over all ranks.
    AllReduce,
    /// Everyone ends with everyone's part.
    AllGather,
    /// Everyone ends with its part of the sum.
    ReduceScatter,
    /// Everyone ends with the root's data.
    Broadcast,
    /// The root ends with the sum over all ranks.
    Reduce,
    /// Everyone ends with a part from everyone.
    AllToAll,
    /// One rank sends to another.
    SendRecv,
    /// Nobody goes on before everyone has come.
    Barrier,
}

impl Collective {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::Broadcast,
        Self::Reduce,
        Self::AllToAll,
        Self::SendRecv,
        Self::Barrier,
    ];

    /// The name used in text and JSON: `all-reduce`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllToAll => "all-to-all",
            Self::SendRecv => "send-recv",
            Self::Barrier => "barrier",
        }
    }

    /// The collective of that name in any spelling (`all_reduce`, `AllReduce`, `allreduce`).
    pub fn from_name(name: &str) -> Option<Self> {
        let wanted = simplify(name);
        Self::ALL.into_iter().find(|collective| simplify(collective.name()) == wanted)
    }

    /// Names near a wrong one, best first.
    pub fn near(name: &str) -> Vec<&'static str> {
        nearest(name, Self::ALL.map(Self::name), 2)
    }

    /// Whether it adds numbers, and not only moves them.
    pub fn reduces(self) -> bool {
        matches!(self, Self::AllReduce | Self::ReduceScatter | Self::Reduce)
    }

    /// Steps of a ring over `ranks` ranks: how often each byte's chunk is passed on.
    pub fn ring_steps(self, ranks: usize) -> usize {
        let others = ranks.saturating_sub(1);
        match self {
            Self::AllReduce | Self::Barrier => 2 * others,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => others,
            Self::Broadcast | Self::Reduce => ranks,
            Self::SendRecv => 1,
        }
    }

    /// busbw / algbw as nccl-tests defines it, for `ranks` ranks: the share of the message that must cross
    /// each rank's link. The message is what nccl-tests calls size: the whole buffer, all ranks' parts.
    #[expect(clippy::cast_precision_loss, reason = "rank counts stay far below 2^53")]
    pub fn bus_factor(self, ranks: usize) -> f64 {
        let n = ranks.max(1) as f64;
        match self {
            Self::AllReduce => 2.0 * (n - 1.0) / n,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => (n - 1.0) / n,
            Self::Broadcast | Self::Reduce | Self::SendRecv | Self::Barrier => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_in_published_tables_is_known() {
        for name in ["all_reduce", "allreduce", "AllReduce", "all-reduce"] {
            assert_eq!(Collective::from_name(name), Some(Collective::AllReduce));
        }
        assert_eq!(Collective::from_name("sendrecv"), Some(Collective::SendRecv));
        assert_eq!(Collective::from_name("reduce"), Some(Collective::Reduce));
        assert_eq!(Collective::from_name("alltoall"), Some(Collective::AllToAll));
        assert_eq!(Collective::from_name("hypercube"), None);
        assert_eq!(Collective::near("allreduse").first(), Some(&"all-reduce"));
    }

    #[test]
    fn bus_factors_are_those_of_nccl_tests() {
        // All-reduce over 8 ranks: 2 x 7/8 = 1.75; all-gather: 7/8; broadcast: 1.
        assert!((Collective::AllReduce.bus_factor(8) - 1.75).abs() < 1e-12);
        assert!((Collective::AllGather.bus_factor(8) - 0.875).abs() < 1e-12);
        assert!((Collective::Broadcast.bus_factor(8) - 1.0).abs() < 1e-12);
        assert_eq!(Collective::AllReduce.ring_steps(8), 14);
        assert!(Collective::AllReduce.bus_factor(1).abs() < 1e-12);
    }
}
