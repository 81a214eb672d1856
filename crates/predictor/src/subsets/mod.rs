//! Which GPUs of a server to take: all subsets of a size, those that are alike as one, by what each should reach
//! and by what it leaves to others.

mod pairs;
mod symmetry;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use weft_base::{Bytes, Rate};
use weft_catalogue::Catalogue;
use weft_topology::{NodeId, NodeKind, ReportedClass, Topology, islands};

use self::symmetry::{Counts, Folded};
use crate::{PredictError, Request, Row, bound, predict};

/// Subsets that differ are folded and counted up to here; beyond, the user has to name the GPUs.
const FOLDED_MAX: usize = 60_000;
/// Classes that are predicted; the others are known by their bound to be no better, or left out.
const PREDICTED_MAX: usize = 256;

/// The subsets of a size, best first.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// GPUs of each subset.
    pub count: usize,
    /// GPUs that nobody uses.
    pub free: Vec<NodeId>,
    /// The message that they are compared at.
    pub bytes: Bytes,
    /// Subsets of free GPUs of that size.
    pub subset_count: u64,
    /// Subsets that come to the same, together.
    pub classes: Vec<SubsetClass>,
    /// Classes whose bounds are too low to be among the best, which were not predicted.
    pub unpredicted_count: usize,
}

/// Subsets that reach and leave the same: mostly such that an exchange of like GPUs turns into each other.
#[derive(Debug, Clone)]
pub struct SubsetClass {
    /// One of them: the first in order of the GPUs.
    pub gpus: Vec<NodeId>,
    /// How many there are.
    pub subset_count: u64,
    /// What it should reach; `None` for one GPU, and where no path joins them.
    pub row: Option<Row>,
    /// What it leaves.
    pub left: Left,
    /// The nearest NICs of each of its GPUs: GPUs of the same ones together.
    pub nics: Vec<NearNics>,
}

/// GPUs and the NICs nearest to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearNics {
    /// The GPUs.
    pub gpus: Vec<NodeId>,
    /// How near.
    pub class: ReportedClass,
    /// The NICs.
    pub nics: Vec<NodeId>,
}

/// What is left to others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Left {
    /// Free GPUs.
    pub count: usize,
    /// The best that others can still take: as many GPUs again, or all that are left.
    pub gpus: Vec<NodeId>,
    /// What those should reach; `None` where fewer than two are left, or no path joins them.
    pub busbw: Option<Rate>,
    /// Pairs of free GPUs that can still be given out over the fastest links of the machine at once.
    pub fast_pair_count: usize,
}

/// Ranks the subsets of `count` GPUs of one server, `busy` ones aside, for the collective and the largest of the
/// sizes of `request`.
pub fn rank(
    topology: &Topology,
    catalogue: &Catalogue,
    request: &Request,
    count: usize,
    busy: &[NodeId],
) -> Result<Ranking, PredictError> {
    let all: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).collect();
    let folded = Folded::new(topology, &all, busy, count, &request.access, FOLDED_MAX);
    let folded = folded.ok_or(PredictError::TooManySubsets { gpus: all.len(), count })?;
    let bytes = request.sizes.iter().max().copied().unwrap_or_default();
    let mut scope = Scope {
        topology,
        catalogue,
        request: Request { sizes: vec![bytes], ..request.clone() },
        folded,
        known: BTreeMap::new(),
    };
    let unpredicted = scope.predict_classes()?;
    let mut classes = Vec::new();
    let indices: Vec<usize> = scope.known.keys().copied().collect();
    for index in indices.iter().copied() {
        classes.push(scope.class(index)?);
    }
    classes.sort_by_key(|class| (Reverse(worth(class)), class.gpus.clone()));
    // What no symmetry makes of each other but comes to the same is one answer, too.
    classes.dedup_by(|next, kept| {
        let is_same = worth(next) == worth(kept);
        if is_same {
            kept.subset_count = kept.subset_count.saturating_add(next.subset_count);
        }
        is_same
    });
    let free: Vec<NodeId> = all.iter().copied().filter(|gpu| !busy.contains(gpu)).collect();
    let subset_count = scope.folded.classes.iter().map(|class| class.subset_count).sum();
    Ok(Ranking { count, free, bytes, subset_count, classes, unpredicted_count: unpredicted })
}

/// What makes a class better, most important first. Rates within a hundredth are the same: predictions are no
/// better than that.
fn worth(class: &SubsetClass) -> (u64, u64, usize) {
    let steps = |rate: Rate| {
        let hundredths = 100.0 * libm::log(rate.as_gigabytes().max(1e-3) * 1e3);
        // A logarithm of a rate is far below what fits.
        Rate::from_gigabytes(hundredths.round() / 1e9).get()
    };
    let own = class.row.as_ref().map_or(0, |row| steps(row.busbw));
    (own, class.left.busbw.map_or(0, steps), class.left.fast_pair_count)
}

struct Scope<'a> {
    topology: &'a Topology,
    catalogue: &'a Catalogue,
    request: Request,
    folded: Folded,
    /// By class: what it should reach, where something joins its GPUs.
    known: BTreeMap<usize, Option<Row>>,
}

impl Scope<'_> {
    /// Predicts the classes, those of the highest bounds first where there are many; gives how many are left out.
    fn predict_classes(&mut self) -> Result<usize, PredictError> {
        let mut order: Vec<(Reverse<Rate>, usize)> = Vec::new();
        for (index, class) in self.folded.classes.iter().enumerate() {
            let gpus = self.folded.members(&class.counts, None);
            let bound = if self.folded.classes.len() > PREDICTED_MAX {
                bound::of_one_node(self.topology, &gpus, self.request.collective, self.catalogue)
            } else {
                None
            };
            order.push((Reverse(bound.map_or(Rate::ZERO, |bound| bound.busbw)), index));
        }
        order.sort();
        for (_, index) in order.iter().take(PREDICTED_MAX) {
            let gpus = self.folded.members(&self.folded.classes[*index].counts, None);
            let row = self.predict(&gpus)?;
            self.known.insert(*index, row);
        }
        Ok(order.len().saturating_sub(PREDICTED_MAX))
    }

    fn predict(&self, gpus: &[NodeId]) -> Result<Option<Row>, PredictError> {
        if gpus.len() < 2 {
            return Ok(None);
        }
        let request = Request { gpus: Some(gpus.to_vec()), ..self.request.clone() };
        match predict(self.topology, self.catalogue, &request) {
            Ok(prediction) => Ok(prediction.rows.into_iter().next()),
            Err(PredictError::NoPath { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn class(&self, index: usize) -> Result<SubsetClass, PredictError> {
        let class = &self.folded.classes[index];
        let gpus = self.folded.members(&class.counts, None);
        let nics = near_nics(self.topology, &gpus);
        let row = self.known.get(&index).cloned().flatten();
        Ok(SubsetClass { subset_count: class.subset_count, row, left: self.left(&class.counts)?, nics, gpus })
    }

    fn left(&self, taken: &Counts) -> Result<Left, PredictError> {
        let rest = self.folded.rest(taken);
        let count = rest.iter().copied().map(usize::from).sum();
        let free = self.folded.members(&rest, Some(taken));
        let fast_pair_count = pairs::fast(self.topology, &free);
        // Those who want single GPUs do not ask what two of the others reach.
        if count < self.folded.count || self.folded.count == 1 {
            let busbw = self.predict(&free)?.map(|row| row.busbw);
            return Ok(Left { count, gpus: free, busbw, fast_pair_count });
        }
        let mut best: Option<(Option<Rate>, &Counts)> = None;
        for (counts, class) in &self.folded.index {
            let fits = counts.iter().zip(&rest).all(|(wanted, left)| wanted <= left);
            if let (true, Some(row)) = (fits, self.known.get(class)) {
                let busbw = row.as_ref().map(|row| row.busbw);
                if best.is_none_or(|(most, _)| busbw > most) {
                    best = Some((busbw, counts));
                }
            }
        }
        let (busbw, gpus) = match best {
            Some((busbw, counts)) => (busbw, self.folded.members(counts, Some(taken))),
            // None of what is left was among the best.
            None => (None, Vec::new()),
        };
        Ok(Left { count, gpus, busbw, fast_pair_count })
    }
}

/// The nearest NICs of some GPUs, as the paths between them say.
pub fn near_nics(topology: &Topology, gpus: &[NodeId]) -> Vec<NearNics> {
    let mut found: Vec<NearNics> = Vec::new();
    for (gpu, class, nics) in islands(topology).nics.into_iter().filter(|(gpu, ..)| gpus.contains(gpu)) {
        match found.iter_mut().find(|near| near.class == class && near.nics == nics) {
            Some(near) => near.gpus.push(gpu),
            None => found.push(NearNics { gpus: vec![gpu], class, nics }),
        }
    }
    found
}
