//! What becomes of jobs that lost members: others come up in their place, or the job goes on smaller, or starts again.

use weft_base::Moment;

use super::Planner;
use crate::book::{Book, Seat, Stage};
use crate::job::JobId;
use crate::policy::{Act, Member, Reason};
use crate::search::Trial;

impl Planner {
    pub(super) fn repair(&mut self, book: &mut Book, now: Moment) {
        for job in std::mem::take(&mut self.broken) {
            if book.entry(job).stage != Stage::Broken {
                continue;
            }
            let seats = &book.entry(job).seats;
            let lost_count = seats.iter().filter(|(_, seat)| *seat == Seat::Lost).count();
            let why = vec![Reason::Lost(u32::try_from(lost_count).unwrap_or(u32::MAX))];
            let is_gone = lost_count == seats.len();
            let replaced = if is_gone { None } else { self.replacements(book, job) };
            let is_done = replaced
                .is_some_and(|members| book.decide(now, Act::Replace(job, members), why.clone()).is_ok())
                || book.decide(now, Act::Shrink(job), why.clone()).is_ok()
                || book.decide(now, Act::Requeue(job), why).is_ok();
            if !is_done {
                self.broken.insert(job);
            }
        }
    }

    /// Places for the lost members beside those that are left: in their domains where that is required, else as near as
    /// the placing likes.
    fn replacements(&mut self, book: &Book, job: JobId) -> Option<Vec<(u32, Member)>> {
        let searcher = self.searcher.as_mut()?;
        let entry = book.entry(job);
        // Where one was refused it would only be refused again, while all others wait for it.
        let mut trial = Trial::without(book, &entry.refused_on);
        let mut seats = entry.seats.clone();
        let mut found = Vec::new();
        for number in 0..seats.len() {
            if seats[number].1 != Seat::Lost {
                continue;
            }
            let member = searcher.replacement(&mut trial, &entry.job.need, &seats, number)?;
            seats[number] = (member, Seat::Held);
            found.push((u32::try_from(number).unwrap_or(u32::MAX), member));
        }
        Some(found)
    }
}
