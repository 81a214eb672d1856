//! How large a cluster of each kind has to be, or can be.

use std::collections::BTreeMap;

use weft_catalogue::Catalogue;

use crate::advice::{Choice, Question, look};
use crate::candidate::{Candidate, Constraints, Excluded, candidates};
use crate::judge::{missing, paste};

/// How large clusters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// As many GPUs as the constraints ask for.
    Asked,
    /// The fewest that end the run in time.
    Deadline,
    /// The most that budget and power allow.
    Limits,
}

/// The most GPUs that are thought of.
const MOST_GPUS: u32 = 131_072;

/// Sizes that models and batches divide over: 4, 5, 6 and 7 times powers of two.
pub(crate) fn ladder() -> impl Iterator<Item = u32> {
    (0..)
        .flat_map(|power| (4..8_u32).map(move |part| part << power))
        .filter(|size| *size >= 8)
        .take_while(|size| *size <= MOST_GPUS)
}

/// Candidates of one kind by the size asked for.
type Kind = BTreeMap<u32, Candidate>;

/// A choice of each kind, of the size that it should have.
pub(crate) fn sized(
    question: &Question<'_>,
    size: Size,
    catalogue: &Catalogue,
) -> (Vec<Choice>, Vec<Excluded>) {
    let (kinds, mut excluded) = kinds(question.constraints, catalogue);
    let mut choices = Vec::new();
    let all = kinds.len();
    for (done, (name, kind)) in kinds.into_iter().enumerate() {
        (question.notice)(done, all);
        let found = match size {
            Size::Deadline => fewest(&kind, question, catalogue),
            Size::Asked | Size::Limits => most(&kind, question, catalogue),
        };
        match found {
            Ok(choice) => choices.push(choice),
            Err(reason) => excluded.push(Excluded { name, reason }),
        }
    }
    (choices, excluded)
}

/// All kinds in all sizes; a kind is left out for the reason that it has at the largest.
fn kinds(constraints: &Constraints, catalogue: &Catalogue) -> (BTreeMap<String, Kind>, Vec<Excluded>) {
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    let mut excluded: BTreeMap<String, String> = BTreeMap::new();
    for gpus in ladder() {
        let (found, out) = candidates(&Constraints { gpus, ..constraints.clone() }, catalogue);
        for candidate in found {
            kinds.entry(candidate.name.clone()).or_default().insert(gpus, candidate);
        }
        excluded.extend(out.into_iter().map(|one| (one.name, one.reason)));
    }
    let has = |name: &str| kinds.keys().any(|kind| kind.starts_with(name));
    let excluded = excluded.into_iter().filter(|(name, _)| !has(name));
    let excluded = excluded.map(|(name, reason)| Excluded { name, reason }).collect();
    (kinds, excluded)
}

/// The smallest that meets the deadline: guessed from one size what another takes, then made sure of.
fn fewest(kind: &Kind, question: &Question<'_>, catalogue: &Catalogue) -> Result<Choice, String> {
    let sizes: Vec<&Candidate> = kind.values().collect();
    let deadline = question.demand.deadline_days().unwrap_or(f64::MAX);
    let at = |index: usize| look(sizes[index].clone(), question, catalogue);
    let days = |choice: &Result<Choice, String>| {
        choice.as_ref().ok().and_then(|choice| choice.run.map(|run| run.days))
    };
    let (mut low, mut high) = (0, sizes.len());
    let mut best: Option<Choice> = None;
    let mut last = String::new();
    let mut next = sizes.iter().position(|one| one.gpus() >= 512).unwrap_or(sizes.len() / 2);
    while low < high {
        let index = next.clamp(low, high - 1);
        let choice = at(index);
        let taken = days(&choice);
        let gpus = f64::from(sizes[index].gpus());
        if taken.is_some_and(|days| days <= deadline) {
            high = index;
            best = choice.ok();
        } else {
            low = index + 1;
            last = missed(choice, deadline, sizes[index].gpus());
        }
        // As if twice the GPUs took half the time; where nothing is known, half of what is left.
        let wanted = taken.map(|days| gpus * days / deadline);
        let guess = wanted.and_then(|wanted| sizes.iter().position(|one| f64::from(one.gpus()) >= wanted));
        let met = best.is_some() && high == index;
        next = match guess {
            Some(guess) if met => guess.min(index.saturating_sub(1)),
            Some(guess) => guess.max(index + 1),
            None => usize::midpoint(low, high),
        };
    }
    best.ok_or(last)
}

/// Why a size does not do.
fn missed(choice: Result<Choice, String>, deadline: f64, gpus: u32) -> String {
    match choice {
        Err(reason) => reason,
        Ok(choice) => match (choice.run, choice.step) {
            (Some(run), _) => {
                format!(
                    "takes {:.1} days with {gpus} GPUs, the most that are thought of or fit its network, more than {deadline:.1}",
                    run.days
                )
            }
            (None, Err(reason)) => format!("has no known time: {reason}"),
            (None, Ok(_)) => "has no known time".to_owned(),
        },
    }
}

/// The largest whose bill is within the limits.
fn most(kind: &Kind, question: &Question<'_>, catalogue: &Catalogue) -> Result<Choice, String> {
    let mut reason = "fits no size".to_owned();
    let mut within: Option<Candidate> = None;
    for candidate in kind.values() {
        match question.billed(candidate, catalogue) {
            Ok(bill) if !bill.is_priced() && question.constraints.budget.is_some() => {
                let paste = paste(&missing(&candidate.gpu, &candidate.system, &bill));
                return Err(format!(
                    "lacks a price, so that nobody knows how much of it a budget buys: {paste}"
                ));
            }
            Ok(_) => within = Some(candidate.clone()),
            Err(why) => {
                reason = why;
                break;
            }
        }
    }
    look(within.ok_or(reason)?, question, catalogue)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_grow_by_a_quarter_at_most() {
        let sizes: Vec<u32> = super::ladder().collect();
        assert_eq!(sizes[..9], [8, 10, 12, 14, 16, 20, 24, 28, 32]);
        assert!(sizes.windows(2).all(|pair| pair[1] * 4 <= pair[0] * 5) && sizes.last() == Some(&131_072));
    }
}
