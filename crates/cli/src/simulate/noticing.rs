//! Dead links, and what jobs that fail over know of them: until a job has noticed one its messages wait.

use std::collections::{BTreeMap, BTreeSet};

use weft_base::{Rate, Span, Time};
use weft_simulator::ResourceId;

/// Links that carry nothing, and since when.
#[derive(Debug, Default)]
pub struct DeadLinks {
    since: BTreeMap<ResourceId, Time>,
}

/// How long a job has waited for links that it had not noticed to be dead.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waiting {
    since: Option<Time>,
    before: Span,
}

impl DeadLinks {
    /// A link carries that much from then on.
    pub fn set(&mut self, link: ResourceId, rate: Rate, at: Time) {
        if rate == Rate::ZERO {
            self.since.entry(link).or_insert(at);
        } else {
            self.since.remove(&link);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.since.is_empty()
    }

    /// Those that are noticed by a time.
    pub fn noticed(&self, by: Time, notice: Span) -> BTreeSet<ResourceId> {
        self.since.iter().filter(|(_, since)| **since + notice <= by).map(|(link, _)| *link).collect()
    }

    /// When the next one is noticed after a time.
    pub fn next(&self, after: Time, notice: Span) -> Option<Time> {
        self.since.values().map(|since| *since + notice).filter(|at| *at > after).min()
    }

    /// Since when one is dead that is not among these.
    pub fn since_other_than(&self, known: &BTreeSet<ResourceId>) -> Option<Time> {
        self.since.iter().filter(|(link, _)| !known.contains(link)).map(|(_, since)| *since).min()
    }

    /// Since when one is dead that is not noticed by a time.
    pub fn unnoticed_since(&self, by: Time, notice: Span) -> Option<Time> {
        self.since.values().filter(|since| **since + notice > by).min().copied()
    }
}

impl Waiting {
    /// Looks whether a job waits, after a time at which that was last looked at; for links of which it does not know
    /// the first is dead since then.
    pub fn look(
        &mut self,
        dead_since: Option<Time>,
        (last, now): (Time, Time),
        is_stalled: impl FnOnce() -> bool,
    ) {
        if self.since.is_some() {
            return;
        }
        if let Some(dead_since) = dead_since
            && is_stalled()
        {
            self.since = Some(dead_since.max(last).min(now));
        }
    }

    /// Since when the job waits, if it does.
    pub fn since(&self) -> Option<Time> {
        self.since
    }

    /// Something has changed: whether the job waited until then.
    pub fn end(&mut self, now: Time) -> bool {
        let Some(since) = self.since.take() else { return false };
        self.before = self.before + (now - since);
        true
    }

    /// All of it, up to a time.
    pub fn total(&self, now: Time) -> Span {
        self.before + self.since.map_or(Span::ZERO, |since| now - since.min(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(count: u64) -> Time {
        Time::picoseconds(count * 1_000_000)
    }

    #[test]
    fn links_are_noticed_after_as_long_as_they_were_dead_at_a_stretch() {
        let (one, other) = (ResourceId::new(3), ResourceId::new(4));
        let mut dead = DeadLinks::default();
        dead.set(one, Rate::ZERO, us(10));
        dead.set(other, Rate::ZERO, us(15));
        assert_eq!(dead.next(us(10), us(20)), Some(us(30)));
        assert_eq!(dead.noticed(us(30), us(20)), [one].into());
        assert_eq!(dead.next(us(30), us(20)), Some(us(35)));
        // Back, and dead again: it counts from then on.
        dead.set(one, Rate::bytes_per_second(1), us(31));
        dead.set(one, Rate::ZERO, us(32));
        assert_eq!(dead.noticed(us(35), us(20)), [other].into());
        assert_eq!(dead.next(us(35), us(20)), Some(us(52)));
        // Without a delay all are noticed at once.
        assert_eq!((dead.noticed(us(35), us(0)), dead.next(us(35), us(0))), ([one, other].into(), None));
    }

    #[test]
    fn waiting_counts_from_when_messages_stall() {
        let mut dead = DeadLinks::default();
        dead.set(ResourceId::new(0), Rate::ZERO, us(10));
        let mut waiting = Waiting::default();
        let unnoticed = |last| dead.unnoticed_since(last, us(20));
        waiting.look(unnoticed(us(10)), (us(10), us(10)), || false);
        assert!(!waiting.end(us(12)));
        // Between 12 and 14 us a message came to the dead link, which is noticed at 30 us.
        waiting.look(unnoticed(us(12)), (us(12), us(14)), || true);
        assert_eq!(waiting.since(), Some(us(12)));
        assert!(waiting.end(us(30)));
        assert_eq!(waiting.total(us(40)), us(18));
        // What is noticed is not waited for.
        waiting.look(unnoticed(us(30)), (us(30), us(31)), || true);
        assert_eq!(waiting.total(us(40)), us(18));
    }
}
