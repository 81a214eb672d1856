//! Cuts, and how they are said in words.

use super::{Limit, Reason};
use crate::{Edge, Rank, Terrain};

/// Ranks, and what leaves them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The ranks inside, in order.
    pub inside: Vec<Rank>,
    /// How many ranks are outside.
    pub outside: u32,
    /// The edges that leave the ranks inside and the switches that are counted with them.
    pub edges: Vec<Edge>,
    /// What these edges carry together, in the terrain's unit.
    pub capacity: u128,
}

impl Cut {
    /// The cut around the vertices of a side.
    pub(super) fn around(terrain: &Terrain, side: &[bool]) -> Self {
        let within = |vertex: u32| side.get(vertex as usize).copied().unwrap_or(false);
        let edges: Vec<Edge> = terrain
            .edges()
            .iter()
            .copied()
            .filter(|edge| edge.capacity > 0 && within(edge.from.0) && !within(edge.to.0))
            .collect();
        let inside: Vec<Rank> = (0..terrain.ranks()).filter(|rank| within(*rank)).map(Rank::new).collect();
        let outside = terrain.ranks() - u32::try_from(inside.len()).unwrap_or(u32::MAX);
        let capacity = edges.iter().map(|edge| u128::from(edge.capacity)).sum();
        Self { inside, outside, edges, capacity }
    }

    /// The edges in words, the same capacities together: `2 edges of 50 + 1 edge of 100`.
    fn edges_in_words(&self, say: &dyn Fn(u128) -> String) -> String {
        let mut capacities: Vec<u64> = self.edges.iter().map(|edge| edge.capacity).collect();
        capacities.sort_unstable();
        let kinds: Vec<String> = capacities
            .chunk_by(|one, next| one == next)
            .map(|alike| {
                let plural = if alike.len() == 1 { "edge" } else { "edges" };
                format!(
                    "{} {plural} of {}",
                    alike.len(),
                    say(alike.first().map_or(0, |one| u128::from(*one)))
                )
            })
            .collect();
        match kinds.as_slice() {
            [] => "no edge at all".to_owned(),
            [one] if self.edges.len() == 1 => one.clone(),
            [_] | [_, _] | [_, _, _] => format!("{} = {}", kinds.join(" + "), say(self.capacity)),
            [..] => format!("{} edges that carry {} together", self.edges.len(), say(self.capacity)),
        }
    }

    fn inside_in_words(&self) -> String {
        let plural = if self.inside.len() == 1 { "rank" } else { "ranks" };
        format!("{plural} {}", runs(&self.inside))
    }
}

/// Ranks with neighbours together: `0-3, 6`.
fn runs(ranks: &[Rank]) -> String {
    let run = |run: &[Rank]| match run {
        [] => String::new(),
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
    };
    let runs: Vec<String> = ranks.chunk_by(|one, next| one.get() + 1 == next.get()).map(run).collect();
    runs.join(", ")
}

impl Limit {
    /// The derivation in words, with amounts of capacity as `say` says them.
    pub fn words(&self, say: &dyn Fn(u128) -> String) -> String {
        let Some(cut) = self.cuts.first() else { return String::new() };
        let (inside, outside) = (cut.inside.len(), cut.outside as usize);
        let ranks = inside + outside;
        let (who, edges) = (cut.inside_in_words(), cut.edges_in_words(say));
        let capacity = say(cut.capacity);
        match self.reason {
            Reason::PartsLeave => format!(
                "the parts of {who} leave over {edges}, one for each of {inside} of {ranks} ranks; busbw = {capacity} x {} / {inside}",
                ranks - 1
            ),
            Reason::SumsLeave => format!(
                "sums for {outside} of {ranks} ranks leave {who} over {edges}; busbw = {capacity} x {} / {outside}",
                ranks - 1
            ),
            Reason::MessageLeaves => {
                let (part, times) = self.whole_message(&capacity, ranks);
                format!("{part} leaves {who} over {edges}{times}")
            }
            Reason::PairsLeave => format!(
                "{inside} x {outside} parts leave {who} over {edges}; busbw = {capacity} x {} / ({inside} x {outside})",
                ranks - 1
            ),
            Reason::PartsExchange => self.exchange_in_words(say),
        }
    }

    /// What leaves, and how its rate becomes a busbw.
    fn whole_message(&self, capacity: &str, ranks: usize) -> (&'static str, String) {
        let cut_capacity = self.cuts.first().map_or(0, |cut| cut.capacity);
        if self.busbw_in_units == super::Fraction::new(cut_capacity, 1) {
            return ("the message", String::new());
        }
        ("what the ranks add", format!("; busbw = {capacity} x 2 x {} / {ranks}", ranks - 1))
    }

    fn exchange_in_words(&self, say: &dyn Fn(u128) -> String) -> String {
        let parts = self.cuts.len();
        let ranks = self.cuts.first().map_or(0, |cut| cut.inside.len() + cut.outside as usize);
        let total: u128 = self.cuts.iter().map(|cut| cut.capacity).sum();
        let who = if parts == ranks {
            format!("{ranks} ranks")
        } else if parts > 8 {
            format!("{parts} groups of ranks")
        } else {
            let names: Vec<String> =
                self.cuts.iter().map(|cut| format!("{{{}}}", runs(&cut.inside))).collect();
            format!("the {parts} groups {}", names.join(" "))
        };
        format!(
            "{who} need 2 x {} messages between them to add and share each byte, over edges that carry {}; busbw = {} x {} / ({ranks} x {})",
            parts.saturating_sub(1),
            say(total),
            say(total),
            ranks.saturating_sub(1),
            parts.saturating_sub(1),
        )
    }
}
