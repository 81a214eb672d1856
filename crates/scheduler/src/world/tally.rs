//! The cluster over time: counters that are kept up, samples of them, and the areas below them.

use weft_base::Moment;

use super::record::{Areas, GpuTime, Sample};
use crate::book::Book;
use crate::cluster::NodeId;
use crate::fleet::WHOLE_MILLI;
use crate::stand::Health;

/// How a job counts: as one that waits, has places, or works; with the thousandths of GPUs that it wants or has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    #[default]
    None,
    Queued(u64),
    On(u64),
    Working(u64),
}

/// What a node adds to the counters.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    healthy: u64,
    free: u64,
    free_whole: u64,
    free_node: u64,
}

/// The counters.
#[derive(Debug)]
pub struct Tally {
    pub now: Sample,
    pub areas: Areas,
    pub samples: Vec<Sample>,
    parts: Vec<Part>,
    /// How many changes of nodes were seen.
    seen: usize,
    most: usize,
    /// Of so many changes one is kept.
    stride: u64,
    passed: u64,
}

impl Tally {
    pub fn new(book: &Book, start: Moment, most: usize) -> Self {
        let cluster = book.cluster();
        let mut tally = Self {
            now: Sample { at: start, capacity_milli: book.capacity().gpu_milli, ..Sample::default() },
            areas: Areas::default(),
            samples: Vec::new(),
            parts: vec![Part::default(); cluster.nodes.len()],
            seen: book.touched().len(),
            most: most.max(2),
            stride: 1,
            passed: 0,
        };
        cluster.ids().for_each(|node| tally.look(book, node));
        tally
    }

    fn look(&mut self, book: &Book, node: NodeId) {
        let (stand, shape) = (book.stand(node), book.cluster().shape(node));
        let gpus = 0..usize::from(shape.kind.gpu_count);
        let sum = |of: &dyn Fn(usize) -> u64| gpus.clone().map(of).sum::<u64>();
        let whole = u64::from(WHOLE_MILLI);
        let is_sick = |gpu: usize| stand.sick_row >> gpu & 1 == 1;
        let mut part = Part::default();
        if stand.health != Health::Down {
            part.healthy = sum(&|gpu| if is_sick(gpu) { 0 } else { whole });
        }
        if stand.health == Health::Up {
            // Of a GPU that is cut into partitions what is left counts too, though no share can have it.
            part.free = sum(&|gpu| if is_sick(gpu) { 0 } else { u64::from(stand.gpus_milli[gpu]) });
            part.free_whole = u64::from(stand.whole_row().count_ones()) * whole;
            part.free_node = if part.free == part.healthy { part.free } else { 0 };
        }
        let before = std::mem::replace(&mut self.parts[node.at()], part);
        self.now.healthy_milli = self.now.healthy_milli + part.healthy - before.healthy;
        self.now.free_milli = self.now.free_milli + part.free - before.free;
        self.now.free_whole_milli = self.now.free_whole_milli + part.free_whole - before.free_whole;
        self.now.free_node_milli = self.now.free_node_milli + part.free_node - before.free_node;
    }

    /// A job counts in another way from now on.
    pub fn turn(&mut self, before: Standing, after: Standing) {
        let now = &mut self.now;
        match before {
            Standing::None => {}
            Standing::Queued(milli) => {
                now.queued_count -= 1;
                now.queued_milli -= milli;
            }
            Standing::On(milli) => {
                now.on_count -= 1;
                now.allocated_milli -= milli;
            }
            Standing::Working(milli) => {
                now.on_count -= 1;
                now.allocated_milli -= milli;
                now.working_count -= 1;
                now.working_milli -= milli;
            }
        }
        match after {
            Standing::None => {}
            Standing::Queued(milli) => {
                now.queued_count += 1;
                now.queued_milli += milli;
            }
            Standing::On(milli) => {
                now.on_count += 1;
                now.allocated_milli += milli;
            }
            Standing::Working(milli) => {
                now.on_count += 1;
                now.allocated_milli += milli;
                now.working_count += 1;
                now.working_milli += milli;
            }
        }
    }

    /// Time passes.
    pub fn advance(&mut self, at: Moment) {
        let time = at - self.now.at;
        let of = |milli: u64| GpuTime::of(milli, time);
        self.areas.capacity += of(self.now.capacity_milli);
        self.areas.healthy += of(self.now.healthy_milli);
        self.areas.allocated += of(self.now.allocated_milli);
        self.areas.free += of(self.now.free_milli);
        self.areas.free_node += of(self.now.free_node_milli);
        self.now.at = at;
    }

    /// All is done that is done at this time.
    pub fn sample(&mut self, book: &Book) {
        while let Some(node) = book.touched().get(self.seen).copied() {
            self.seen += 1;
            self.look(book, node);
        }
        self.passed += 1;
        if !self.passed.is_multiple_of(self.stride) {
            return;
        }
        self.samples.push(self.now);
        if self.samples.len() >= 2 * self.most {
            let mut keeps = false;
            self.samples.retain(|_| {
                keeps = !keeps;
                keeps
            });
            self.stride *= 2;
        }
    }

    /// The run is over.
    pub fn end(mut self) -> (Vec<Sample>, Areas) {
        if self.samples.last() != Some(&self.now) {
            self.samples.push(self.now);
        }
        (self.samples, self.areas)
    }
}
