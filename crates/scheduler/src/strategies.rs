//! Strategies by name: what a planner does.

use crate::orders::{self, Order};
use crate::placings::{self, Placing};

/// Who may start before a job that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// Nobody: the line stops.
    Nobody,
    /// Everybody that fits.
    All,
    /// Whoever does not delay the first that waits (EASY: Lifka, JSSPP'95).
    Easy,
    /// Whoever delays none of those that wait.
    Conservative,
}

/// Jobs to which a conservative strategy promises something.
const PROMISES_MOST: usize = 16;

impl Passing {
    /// To how many waiting jobs a time is promised.
    pub fn promises(self) -> usize {
        match self {
            Self::Nobody | Self::All => 0,
            Self::Easy => 1,
            Self::Conservative => PROMISES_MOST,
        }
    }
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// All queues are one.
    Joint,
    /// The queue whose dominant share is smallest (DRF: Ghodsi et al., NSDI'11), from the outermost queue inwards.
    Fair,
}

/// How members of a job that asks for nothing lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nearness {
    /// As it comes.
    Unasked,
    /// In the narrowest part of the fabric that holds them, the fullest of those.
    Near,
    /// The same; those that must span leaves keep off leaves whose uplinks others use.
    NearAndQuiet,
}

/// Who is put out for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOut {
    /// Nobody.
    Nobody,
    /// Jobs of a higher class, whole.
    ByClass,
    /// The same where a job's class changes while it runs.
    ByClassOfTime,
    /// Jobs of queues that have more than their own, for queues that have less.
    Reclaim,
}

/// A strategy.
pub struct Strategy {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub title: &'static str,
    /// Who comes first.
    pub order: &'static Order,
    /// Whose turn it is.
    pub sharing: Sharing,
    /// Who may pass.
    pub passing: Passing,
    /// Where members go.
    pub placing: &'static Placing,
    /// Whether members go near each other unasked.
    pub nearness: Nearness,
    /// Who is put out.
    pub puts_out: PutOut,
}

/// First come, first served among those that fit, each where the placing likes it best.
const fn placed(name: &'static str, title: &'static str, placing: &'static Placing) -> Strategy {
    Strategy {
        name,
        title,
        order: &orders::FIFO,
        sharing: Sharing::Joint,
        passing: Passing::All,
        placing,
        nearness: Nearness::Unasked,
        puts_out: PutOut::Nobody,
    }
}

const BEST_FIT: Strategy = placed("best-fit", "first come; the fullest node that fits", &placings::BEST_FIT);

/// All of them.
pub const STRATEGIES: &[Strategy] = &[
    placed("random", "first come; any node that fits", &placings::RANDOM),
    placed("spread", "first come; load balancing: the emptiest node", &placings::SPREAD),
    placed("dot-product", "first come; the node whose free CPU and GPU match worst", &placings::DOT_PRODUCT),
    placed("gpu-clustering", "first come; beside pods of as many GPUs", &placings::GPU_CLUSTERING),
    placed("gpu-packing", "first come; GPUs in use before free ones", &placings::GPU_PACKING),
    placed("fgd", "first come; where fragments grow least", &placings::FGD),
    BEST_FIT,
    Strategy {
        name: "fifo",
        title: "strictly first come: nobody passes a job that does not fit",
        passing: Passing::Nobody,
        ..BEST_FIT
    },
    Strategy {
        name: "easy",
        title: "first come; others may pass if that does not delay the first that waits (EASY)",
        passing: Passing::Easy,
        ..BEST_FIT
    },
    Strategy {
        name: "conservative",
        title: "first come; others may pass if that delays nobody who waits",
        passing: Passing::Conservative,
        ..BEST_FIT
    },
    Strategy { name: "shortest", title: "the shortest that fits", order: &orders::SHORTEST, ..BEST_FIT },
    Strategy { name: "smallest", title: "the fewest GPUs that fit", order: &orders::SMALLEST, ..BEST_FIT },
    Strategy {
        name: "least-attained",
        title: "whoever had least GPU time; it puts out those that had more",
        order: &orders::LEAST_ATTAINED,
        puts_out: PutOut::ByClassOfTime,
        ..BEST_FIT
    },
    Strategy {
        name: "priority",
        title: "the most important; it puts out what is less important, whole jobs only",
        order: &orders::PRIORITY,
        puts_out: PutOut::ByClass,
        ..BEST_FIT
    },
    Strategy {
        name: "fair",
        title: "the queue with the smallest dominant share; queues take back what is their own",
        order: &orders::PRIORITY,
        sharing: Sharing::Fair,
        puts_out: PutOut::Reclaim,
        ..BEST_FIT
    },
    Strategy {
        name: "topology",
        title: "first come; the narrowest part of the fabric that holds the job, the fullest of those",
        nearness: Nearness::Near,
        ..BEST_FIT
    },
    Strategy {
        name: "contention",
        title: "as topology; jobs that must span leaves keep off uplinks that others use",
        nearness: Nearness::NearAndQuiet,
        ..BEST_FIT
    },
    Strategy {
        name: "weft",
        title: "ours: fair queues, importance, short jobs first but not for ever, the first that waits is not delayed; near each other, room for usual jobs kept",
        order: &orders::AGED,
        sharing: Sharing::Fair,
        passing: Passing::Easy,
        placing: &placings::HEADROOM,
        nearness: Nearness::NearAndQuiet,
        puts_out: PutOut::Reclaim,
    },
];

impl Strategy {
    /// The strategy of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        STRATEGIES.iter().find(|strategy| strategy.name == name)
    }
}
