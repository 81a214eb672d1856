//! Plays one order of arrivals.

use std::collections::BTreeMap;

use rand::Rng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use super::{LAST_PERCENT, PERCENTS, Run, Study, arrivals, random};
use crate::fleet::{GPUS_MOST, LARGE_COUNT, Pod};
use crate::placings::{Reserve, Scorer, Stock};
use crate::room::Room;

/// Scores of a kind of pod on all nodes, as far as nodes had changed when it came last.
#[derive(Debug, Clone, Default)]
struct Scores {
    by_node: Vec<f32>,
    lost: Vec<u8>,
    seen: usize,
}

/// Plays orders of one study; what a policy has worked out stays between them.
pub struct Runner<'s> {
    study: Study<'s>,
    scorer: Box<dyn Scorer>,
    reserve: Option<Reserve>,
    /// Kinds of pods, and the kind of each pod.
    kinds: Vec<&'s Pod>,
    kind_of: Vec<usize>,
}

/// Where a run stands.
struct State {
    rooms: Vec<Room>,
    models: Vec<u8>,
    changed: Vec<usize>,
    scores: Vec<Scores>,
    stock: Option<Stock>,
    random: ChaCha8Rng,
    asked_milli: u64,
    used_milli: u64,
}

impl<'s> Runner<'s> {
    pub fn new(study: &Study<'s>, scorer: Box<dyn Scorer>) -> Self {
        let mut numbers: BTreeMap<&'s Pod, usize> = BTreeMap::new();
        let (mut kinds, mut kind_of) = (Vec::new(), Vec::new());
        for pod in study.pods {
            let number = *numbers.entry(pod).or_insert_with(|| {
                kinds.push(pod);
                kinds.len() - 1
            });
            kind_of.push(number);
        }
        let reserve = scorer.reserve();
        Self { study: *study, scorer, reserve, kinds, kind_of }
    }

    pub fn run(&mut self, seed: u64) -> Run {
        let mut random = random(seed);
        let capacity = self.study.fleet.gpu_milli();
        let order = arrivals(self.study.pods, capacity * u64::from(LAST_PERCENT) / 100, &mut random);
        let mut state = self.begin(random);
        let mut run = Run { seed, unallocated_percent: Vec::new(), dropped_count: 0, dropped_large_count: 0 };
        for pod in order {
            let kind = self.kind_of[pod];
            let asked = self.kinds[kind].asked_milli();
            state.asked_milli += u64::from(asked);
            if let Some(node) = self.choose(kind, &mut state, capacity) {
                self.place(kind, node, &mut state);
            } else {
                run.dropped_count += 1;
                let early = self.kinds[kind].gpu_count == LARGE_COUNT && state.asked_milli <= capacity;
                run.dropped_large_count += u32::from(early);
            }
            while let Some(percent) = PERCENTS.get(run.unallocated_percent.len()) {
                if state.asked_milli * 100 < capacity * u64::from(*percent) {
                    break;
                }
                run.unallocated_percent.push(state.unallocated_percent(capacity));
            }
        }
        // Where pods ask for less than that, nothing changes any more.
        run.unallocated_percent.resize(PERCENTS.len(), state.unallocated_percent(capacity));
        run
    }

    /// Empty nodes in the order in which equal ones are taken.
    fn begin(&self, mut random: ChaCha8Rng) -> State {
        let fleet = self.study.fleet;
        let mut kinds = fleet.nodes.clone();
        kinds.shuffle(&mut random);
        let rooms: Vec<Room> = kinds.iter().map(|kind| Room::empty(fleet, *kind)).collect();
        let stock = self.reserve.as_ref().map(|reserve| reserve.stock(rooms.iter(), fleet));
        State {
            models: kinds.iter().map(|kind| fleet.kinds[*kind].model).collect(),
            rooms,
            changed: Vec::new(),
            scores: vec![Scores::default(); self.kinds.len()],
            stock,
            random,
            asked_milli: 0,
            used_milli: 0,
        }
    }

    /// The node for a pod of that kind; the first of those with the best score.
    fn choose(&mut self, kind: usize, state: &mut State, capacity: u64) -> Option<usize> {
        self.refresh(kind, state);
        let scores = &state.scores[kind];
        if self.scorer.is_random() {
            let fits = || scores.by_node.iter().enumerate().filter(|(_, score)| score.is_finite());
            let count = fits().count();
            let chosen = (count > 0).then(|| state.random.random_range(0..count))?;
            return fits().nth(chosen).map(|(node, _)| node);
        }
        let held = self.reserve.as_ref().zip(state.stock.as_ref());
        let coming = capacity.saturating_sub(state.asked_milli);
        #[expect(clippy::cast_precision_loss, reason = "thousandths of GPUs of a cluster")]
        let charges =
            held.map(|(reserve, stock)| reserve.charges(stock, self.kinds[kind], coming as f64 / 1000.0));
        let mut best = (None, f32::NEG_INFINITY);
        for (node, score) in scores.by_node.iter().enumerate() {
            let charge =
                charges.as_ref().map_or(0.0, |charges| charges.of(scores.lost[node], state.models[node]));
            if score - charge > best.1 {
                best = (Some(node), score - charge);
            }
        }
        best.0
    }

    /// Scores nodes that have changed since that kind of pod came last.
    fn refresh(&mut self, kind: usize, state: &mut State) {
        let mut scores = std::mem::take(&mut state.scores[kind]);
        if scores.by_node.is_empty() {
            let all = state.rooms.len();
            (scores.by_node, scores.lost) = (vec![f32::NEG_INFINITY; all], vec![0; all]);
            (0..all).for_each(|node| self.rescore(kind, node, &state.rooms[node], &mut scores));
        } else {
            let mut nodes = state.changed[scores.seen..].to_vec();
            nodes.sort_unstable();
            nodes.dedup();
            for node in nodes {
                self.rescore(kind, node, &state.rooms[node], &mut scores);
            }
        }
        scores.seen = state.changed.len();
        state.scores[kind] = scores;
    }

    fn rescore(&mut self, kind: usize, node: usize, room: &Room, scores: &mut Scores) {
        let (pod, fleet) = (self.kinds[kind], self.study.fleet);
        if !room.fits(pod, fleet) {
            scores.by_node[node] = f32::NEG_INFINITY;
            return;
        }
        let place = self.scorer.place(room, pod);
        scores.by_node[node] = place.value;
        if let Some(reserve) = &self.reserve {
            let after = room.with(pod, place.gpu);
            scores.lost[node] = reserve.lost(room, &after, pod, fleet);
        }
    }

    fn place(&mut self, kind: usize, node: usize, state: &mut State) {
        let (pod, before) = (self.kinds[kind], state.rooms[node]);
        let at = if self.scorer.is_random() && pod.gpu_count == 1 {
            let fits: Vec<usize> =
                (0..GPUS_MOST).filter(|at| before.gpus_milli[*at] >= pod.gpu_milli).collect();
            fits[state.random.random_range(0..fits.len())]
        } else {
            self.scorer.place(&before, pod).gpu
        };
        let after = before.with(pod, at);
        if let (Some(reserve), Some(stock)) = (&self.reserve, &mut state.stock) {
            reserve.take(stock, &before, &after, self.study.fleet);
        }
        state.rooms[node] = after;
        state.changed.push(node);
        state.used_milli += u64::from(pod.asked_milli());
    }
}

impl State {
    #[expect(clippy::cast_precision_loss, reason = "thousandths of GPUs of a cluster")]
    fn unallocated_percent(&self, capacity: u64) -> f64 {
        100.0 * (1.0 - self.used_milli as f64 / capacity as f64)
    }
}
