//! What is different between two descriptions or runs of a machine, the most likely cause of a slow-down first.

mod facts;
mod peers;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use weft_base::{Bytes, Diagnostic, Place, Rate};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_formats::Case;
use weft_topology::{NodeKind, Topology};

use crate::{PredictError, Request, predict};

pub use facts::ChangeKind;
use facts::{Fact, Facts, facts};
pub use peers::{Difference, differing};
pub use rows::{Moved, PairsChange, RowChange, TableChange};

/// One of the two sides.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What was read.
    pub case: &'a Case,
    /// The machine with what is down on it; empty where the input describes none.
    pub topology: &'a Topology,
    /// What is wrong by itself.
    pub diagnostics: &'a [Diagnostic],
    /// What is predicted of, all but the size.
    pub request: &'a Request,
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is about.
    pub kind: ChangeKind,
    /// What differs, in words: `path between`, `NCCL_ALGO`.
    pub what: String,
    /// Of which devices, where it is of some.
    pub subjects: Vec<String>,
    /// What it was; `None` where nothing was said.
    pub before: Option<Said>,
    /// What it is.
    pub after: Option<Said>,
    /// How likely it makes things slower, 0 to 200: an order, not a probability.
    pub weight: u16,
}

/// What was said, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// As printed.
    pub text: String,
    /// The first place of it, where it stands in the input.
    pub place: Option<Place>,
}

/// What should be reached before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedChange {
    /// The message.
    pub bytes: Bytes,
    /// Before.
    pub before: Rate,
    /// After.
    pub after: Rate,
}

/// All that differs.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// The most likely cause first.
    pub changes: Vec<Change>,
    /// Benchmarks of both sides.
    pub tables: Vec<TableChange>,
    /// Rates between pairs, of both sides.
    pub pairs: Vec<PairsChange>,
    /// What is predicted of the machines of both sides; empty where one describes none.
    pub expected: Vec<ExpectedChange>,
    /// Facts that change by themselves, such as temperatures, and were not compared.
    pub left_out: usize,
    /// Benchmarks that only one side has.
    pub unmatched: Vec<Said>,
    /// Tools whose output only one side has, so that nothing can be said of what they show: the tool, and whether
    /// it is the first side that has it.
    pub one_sided: Vec<(&'static str, bool)>,
}

/// Below this share a prediction counts as slower: predictions of two sides have the same errors.
const EXPECTED_SLOWER: f64 = 0.98;

impl Changes {
    /// Whether something got slower: measured beyond the spread, or expected to be by what changed.
    pub fn is_slower(&self) -> bool {
        self.measured_slower() || self.expected_slower()
    }

    fn measured_slower(&self) -> bool {
        self.tables.iter().any(|table| table.rows.iter().any(|row| row.moved == Moved::Slower))
            || self.pairs.iter().any(|pairs| !pairs.slower.is_empty())
    }

    fn expected_slower(&self) -> bool {
        let is_slower = |change: &ExpectedChange| {
            change.after.as_gigabytes() < EXPECTED_SLOWER * change.before.as_gigabytes()
        };
        self.expected.iter().any(is_slower)
    }
}

/// Compares two sides.
pub fn changes(before: Side<'_>, after: Side<'_>, catalogue: &Catalogue) -> Result<Changes, PredictError> {
    let (was, is) = (facts(before), facts(after));
    let one_sided = one_sided(&was, &is);
    let mut found = Changes {
        left_out: was.left_out + is.left_out,
        one_sided,
        changes: differences(was, is),
        expected: expected(before, after, catalogue)?,
        ..Changes::default()
    };
    rows::compare(before.case, after.case, catalogue, &mut found)?;
    // What the model says makes it slower comes before what only might.
    if found.expected_slower() {
        for change in &mut found.changes {
            change.weight += match change.kind {
                ChangeKind::Topology => 60,
                ChangeKind::Setting => 50,
                ChangeKind::Health | ChangeKind::Library | ChangeKind::Version => 0,
            };
        }
    }
    found.changes.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.what.cmp(&b.what)));
    Ok(found)
}

/// What tools told of one side.
fn origins(facts: &Facts) -> BTreeSet<&'static str> {
    facts.list.iter().map(|fact| fact.origin).chain(facts.origins.iter().copied()).collect()
}

fn one_sided(was: &Facts, is: &Facts) -> Vec<(&'static str, bool)> {
    let (was, is) = (origins(was), origins(is));
    was.symmetric_difference(&is).map(|origin| (*origin, was.contains(origin))).collect()
}

/// Facts of one side that the other has not, or has otherwise; equal changes of several devices as one.
fn differences(was: Facts, is: Facts) -> Vec<Change> {
    // What only one side has a tool's output for did not change: it is not known.
    let (before_has, after_has) = (origins(&was), origins(&is));
    let keyed = |facts: Facts| -> BTreeMap<(ChangeKind, String, String), Fact> {
        let mut map = BTreeMap::new();
        for fact in facts.list {
            map.entry((fact.kind, fact.what.clone(), fact.subject.clone())).or_insert(fact);
        }
        map
    };
    let (was, mut is) = (keyed(was), keyed(is));
    let mut pairs: Vec<(Option<Fact>, Option<Fact>)> = Vec::new();
    for (key, fact) in was {
        let now = is.remove(&key);
        if now.is_some() || after_has.contains(&fact.origin) {
            pairs.push((Some(fact), now));
        }
    }
    pairs.extend(
        is.into_values().filter(|fact| before_has.contains(&fact.origin)).map(|fact| (None, Some(fact))),
    );
    let mut changes: Vec<Change> = Vec::new();
    for (was, is) in pairs {
        let text = |fact: &Option<Fact>| fact.as_ref().map(|fact| fact.text.clone());
        if text(&was) == text(&is) {
            continue;
        }
        let Some(fact) = was.as_ref().or(is.as_ref()) else { continue };
        let weight = facts::weight(was.as_ref(), is.as_ref());
        let same = changes.iter_mut().find(|change| {
            change.what == fact.what
                && change.kind == fact.kind
                && change.before.as_ref().map(|said| &said.text) == text(&was).as_ref()
                && change.after.as_ref().map(|said| &said.text) == text(&is).as_ref()
        });
        match same {
            Some(change) => change.subjects.push(fact.subject.clone()),
            None => changes.push(Change {
                kind: fact.kind,
                what: fact.what.clone(),
                subjects: Some(fact.subject.clone())
                    .into_iter()
                    .filter(|subject| !subject.is_empty())
                    .collect(),
                weight,
                before: was.map(Fact::said),
                after: is.map(Fact::said),
            }),
        }
    }
    changes
}

/// All-reduce of a small and a large message, where both sides describe a machine that can be predicted.
fn expected(
    before: Side<'_>,
    after: Side<'_>,
    catalogue: &Catalogue,
) -> Result<Vec<ExpectedChange>, PredictError> {
    let sizes = [Bytes::new(64 << 10), Bytes::new(16 << 20), Bytes::new(1 << 30)];
    let of = |side: Side<'_>| -> Result<Option<Vec<Rate>>, PredictError> {
        if side.topology.of_kind(NodeKind::Gpu).count() < 2 {
            return Ok(None);
        }
        let request =
            Request { collective: Collective::AllReduce, sizes: sizes.to_vec(), ..side.request.clone() };
        match predict(side.topology, catalogue, &request) {
            Ok(prediction) => Ok(Some(prediction.rows.iter().map(|row| row.busbw).collect())),
            // Errors of ours are told; what the model does not cover is left out.
            Err(error @ (PredictError::NotFound(_) | PredictError::Constant { .. })) => Err(error),
            Err(_) => Ok(None),
        }
    };
    let (Some(was), Some(is)) = (of(before)?, of(after)?) else { return Ok(Vec::new()) };
    let both = sizes.into_iter().zip(was.into_iter().zip(is));
    Ok(both.map(|(bytes, (before, after))| ExpectedChange { bytes, before, after }).collect())
}
