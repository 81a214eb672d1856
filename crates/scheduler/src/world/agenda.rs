//! What is still to happen, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_base::Moment;

use crate::job::JobId;
use crate::policy::DecisionId;

/// Something that will happen. The number beside a job says of which of its turns it is: it counts only if nothing else
/// came in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// Kubelets look at members that are to come.
    Admit(DecisionId),
    /// The scheduler hears that members are up.
    Report(DecisionId),
    /// The scheduler hears that members do not come up: the node did not answer if so.
    Refuse(DecisionId, bool),
    /// A job works from now on.
    Ready(JobId, u32),
    /// A job has come to its end.
    Finish(JobId, u32),
    /// A link is up again.
    Resume(JobId, u32),
    /// A job that was told to go has gone.
    Gone(JobId, u32),
    /// A user takes a job back.
    Cancel(JobId),
    /// A job has run for as long as it may, since it began for that time.
    Limit(JobId, u32),
    /// A fault, by its number.
    Strike(usize),
    /// The scheduler hears of it.
    Detect(usize),
    /// It is well again.
    Mend(usize),
    /// The scheduler hears of members that died as they began.
    Crashed(JobId),
    /// The policy wants to be asked.
    Wake,
}

/// What is still to happen.
#[derive(Debug, Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(Moment, u64, Item)>>,
    added: u64,
    wakes: usize,
}

impl Agenda {
    pub fn add(&mut self, at: Moment, item: Item) {
        self.added += 1;
        self.wakes += usize::from(item == Item::Wake);
        self.heap.push(Reverse((at, self.added, item)));
    }

    pub fn next_at(&self) -> Option<Moment> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// The next thing, if it happens until then. What is at the same time happens in the order in which it was added.
    pub fn take(&mut self, until: Moment) -> Option<Item> {
        if self.next_at()? > until {
            return None;
        }
        let Reverse((_, _, item)) = self.heap.pop()?;
        self.wakes -= usize::from(item == Item::Wake);
        Some(item)
    }

    /// Whether there is nothing but wishes of the policy to be asked.
    pub fn only_wakes(&self) -> bool {
        self.wakes == self.heap.len()
    }

    pub fn has_wake(&self) -> bool {
        self.wakes > 0
    }
}
