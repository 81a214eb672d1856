//! Why a job waits.

use super::{Block, Planner};
use crate::book::{Book, Stage};
use crate::job::JobId;
use crate::policy::Reason;
use crate::search::Trial;
use crate::strategies::Passing;

impl Planner {
    pub(super) fn reasons(&mut self, book: &Book, job: JobId) -> Vec<Reason> {
        let entry = book.entry(job);
        if entry.stage != Stage::Queued {
            return Vec::new();
        }
        let need = entry.job.need.clone();
        if let Some((again, _)) = self.held_off.iter().find(|(_, held)| *held == job) {
            return vec![Reason::HeldOff { failed_count: entry.failed_count, again: *again }];
        }
        if self.is_never(book, &need) {
            let Some((idle, searcher)) = &mut self.idle else { return Vec::new() };
            return vec![Reason::Never(searcher.lack(&Trial::new(idle), &need))];
        }
        if let Some((pair, key)) = self.waiting.place(job) {
            if let Some(Block::Quota(_, reason) | Block::Beyond(reason)) = self.blocked.get(&pair) {
                return vec![reason.clone()];
            }
            let first = self.waiting.first();
            if self.strategy.passing == Passing::Nobody && first.is_some_and(|first| first < key) {
                return first.map(|first| Reason::Behind(first.3)).into_iter().collect();
            }
        }
        let now = book.now();
        let mut reasons = Vec::new();
        let Some(searcher) = &mut self.searcher else { return reasons };
        let trial = Trial::new(book);
        if searcher.find(&mut Trial::new(book), &need).is_none() {
            let mut lack = searcher.lack(&trial, &need);
            lack.blockers = self.blockers(book, job, &need, now);
            reasons.push(Reason::Lacks(lack));
        }
        let ahead = book.promises().list.iter().find(|promise| promise.job != job);
        if let Some(promise) = ahead.filter(|_| reasons.is_empty()) {
            reasons.push(Reason::Delays { ahead: promise.job, at: promise.at });
        }
        reasons
    }
}
