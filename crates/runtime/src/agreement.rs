//! Which ranks of a group go on after a fault: they tell each other whom they miss, until all that are left say the
//! same. Does no I/O and knows no clock.
//!
//! A rank tells all others whom it takes to be lost, at first nobody, and takes over what those whom it does not miss
//! tell it. It decides once all that it does not miss have told it just what it says itself, and from then on says
//! nothing else; so two ranks that decide, neither of which misses the other, decide the same.

use std::collections::BTreeMap;

use weft_collective::Rank;

/// How a rank is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// It says nothing. It may be stopped, or only its network cut, so that it takes the others to be lost.
    Silent,
    /// Its process has ended, or it has left: it will not come back.
    Gone,
}

/// Ranks that are lost.
pub type Lost = BTreeMap<Rank, Loss>;

/// What a rank tells another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Whether that is how it stays.
    pub decided: bool,
    /// Whom it takes to be lost.
    pub lost: Lost,
}

/// How it ended for a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on with all others but these.
    GoesOn(Lost),
    /// The others, of whom this one said so, go on without it.
    LeftOut(Rank),
}

/// One rank's part.
#[derive(Debug, Clone)]
pub struct Agreement {
    me: Rank,
    lost: Lost,
    /// What each has told last.
    heard: Vec<Option<Lost>>,
    outbox: Vec<(Rank, Word)>,
    outcome: Option<Outcome>,
}

impl Agreement {
    /// Of a rank of a group of so many, which misses nobody so far.
    pub fn new(me: Rank, ranks: u32) -> Self {
        let heard = vec![None; ranks as usize];
        let mut new = Self { me, lost: Lost::new(), heard, outbox: Vec::new(), outcome: None };
        new.tell(false);
        new.decide();
        new
    }

    /// A rank is lost.
    pub fn lose(&mut self, rank: Rank, loss: Loss) {
        if rank != self.me && rank.index() < self.heard.len() {
            self.merge(&Lost::from([(rank, loss)]));
        }
    }

    /// A rank has told something. Words of one rank are heard in the order in which it told them.
    pub fn hear(&mut self, from: Rank, word: &Word) {
        if from == self.me || from.index() >= self.heard.len() {
            return;
        }
        if let Some(outcome) = &self.outcome {
            if let (Outcome::GoesOn(lost), false) = (outcome, word.decided) {
                self.outbox.push((from, Word { decided: true, lost: lost.clone() }));
            }
            return;
        }
        // Who is missed has been told so; what it says does not count any more.
        if self.lost.contains_key(&from) {
            return;
        }
        if word.lost.contains_key(&self.me) {
            self.outcome = Some(Outcome::LeftOut(from));
            return;
        }
        if word.decided {
            self.lost.clone_from(&word.lost);
            return self.end();
        }
        if let Some(seat) = self.heard.get_mut(from.index()) {
            *seat = Some(word.lost.clone());
        }
        self.merge(&word.lost);
    }

    /// What is to be told since the last time, and to whom; to whom there is no way any more, it need not be.
    pub fn take(&mut self) -> Vec<(Rank, Word)> {
        std::mem::take(&mut self.outbox)
    }

    /// Whom this rank takes to be lost.
    pub fn lost(&self) -> &Lost {
        &self.lost
    }

    /// Those who have not yet told what this rank says.
    pub fn awaited(&self) -> impl Iterator<Item = Rank> + '_ {
        self.others()
            .filter(|(rank, heard)| {
                !self.lost.contains_key(rank) && heard.as_ref().is_none_or(|heard| *heard != self.lost)
            })
            .map(|(rank, _)| rank)
    }

    /// How it ended, once it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    fn others(&self) -> impl Iterator<Item = (Rank, &Option<Lost>)> {
        (0..).map(Rank::new).zip(&self.heard).filter(|(rank, _)| *rank != self.me)
    }

    fn merge(&mut self, more: &Lost) {
        let before = self.lost.clone();
        for (rank, loss) in more {
            let known = self.lost.entry(*rank).or_insert(*loss);
            *known = (*known).max(*loss);
        }
        if self.outcome.is_none() {
            if self.lost != before {
                self.tell(false);
            }
            self.decide();
        }
    }

    fn decide(&mut self) {
        if self.awaited().next().is_none() {
            self.end();
        }
    }

    fn end(&mut self) {
        self.outcome = Some(Outcome::GoesOn(self.lost.clone()));
        self.tell(true);
    }

    /// Tells all, those too that are missed: who was only stopped learns that it is left out.
    fn tell(&mut self, decided: bool) {
        let word = Word { decided, lost: self.lost.clone() };
        let all: Vec<Rank> = self.others().map(|(rank, _)| rank).collect();
        self.outbox.extend(all.into_iter().map(|rank| (rank, word.clone())));
    }
}

/// Whether those who are left may go on: if ranks that are lost may only be cut off, they could go on too, and then
/// there would be two groups. So of those that are not gone for certain more than half must be left, or half with the
/// lowest one.
pub fn may_go_on(ranks: u32, lost: &Lost) -> bool {
    let gone = |rank: &Rank| lost.get(rank) == Some(&Loss::Gone);
    let mut there = (0..ranks).map(Rank::new).filter(|rank| !gone(rank));
    let lowest = there.clone().next();
    let all = there.clone().count();
    let left = there.by_ref().filter(|rank| !lost.contains_key(rank)).count();
    let with_lowest = lowest.is_some_and(|lowest| !lost.contains_key(&lowest));
    left * 2 > all || left * 2 == all && with_lowest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(ranks: &[(u32, Loss)]) -> Lost {
        ranks.iter().map(|(rank, loss)| (Rank::new(*rank), *loss)).collect()
    }

    #[test]
    fn who_is_alone_decides_at_once() {
        assert_eq!(Agreement::new(Rank::new(0), 1).outcome(), Some(&Outcome::GoesOn(Lost::new())));
    }

    #[test]
    fn a_decision_is_taken_over_and_told_to_who_comes_late() {
        // Of ranks 0, 1 and 2, rank 1 is gone and 0 has decided.
        let gone = lost(&[(1, Loss::Gone)]);
        let mut two = Agreement::new(Rank::new(2), 3);
        assert_eq!(two.awaited().collect::<Vec<_>>(), [Rank::new(0), Rank::new(1)]);
        two.hear(Rank::new(0), &Word { decided: true, lost: gone.clone() });
        assert_eq!(two.outcome(), Some(&Outcome::GoesOn(gone.clone())));
        two.take();
        two.hear(Rank::new(0), &Word { decided: false, lost: Lost::new() });
        assert_eq!(two.take(), [(Rank::new(0), Word { decided: true, lost: gone })]);
    }

    #[test]
    fn who_is_missed_is_left_out() {
        let mut two = Agreement::new(Rank::new(2), 3);
        two.hear(Rank::new(1), &Word { decided: false, lost: lost(&[(2, Loss::Silent)]) });
        assert_eq!(two.outcome(), Some(&Outcome::LeftOut(Rank::new(1))));
    }

    #[test]
    fn those_who_may_be_cut_off_must_be_fewer() {
        let silent =
            |ranks: &[u32]| ranks.iter().map(|rank| (Rank::new(*rank), Loss::Silent)).collect::<Lost>();
        assert!(may_go_on(2, &silent(&[1])) && !may_go_on(2, &silent(&[0])));
        assert!(may_go_on(3, &silent(&[0])) && !may_go_on(3, &silent(&[0, 1])));
        assert!(!may_go_on(4, &silent(&[0, 1])) && may_go_on(4, &silent(&[1, 3])));
        // Of four, rank 0 is gone for certain, and of the other three 2 are left.
        assert!(may_go_on(4, &lost(&[(0, Loss::Gone), (2, Loss::Silent)])));
        assert!(may_go_on(2, &lost(&[(0, Loss::Gone)])));
    }
}
