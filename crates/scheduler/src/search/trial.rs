//! The book as it would be: some members gone, some there, some nodes kept for others.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::book::Book;
use crate::cluster::NodeId;
use crate::job::{Ask, JobId};
use crate::policy::Member;
use crate::stand::Stand;

/// A book with changes that have not been made.
pub struct Trial<'b> {
    book: &'b Book,
    over: IndexMap<NodeId, Stand, FxBuildHasher>,
}

impl<'b> Trial<'b> {
    /// The book as it is.
    pub fn new(book: &'b Book) -> Self {
        Self { book, over: IndexMap::default() }
    }

    /// The same with nodes to which nothing may come.
    pub fn without(book: &'b Book, nodes: &[NodeId]) -> Self {
        let mut trial = Self::new(book);
        for node in nodes {
            trial.close(*node);
        }
        trial
    }

    /// The book.
    pub fn book(&self) -> &'b Book {
        self.book
    }

    /// What is free on a node.
    pub fn stand(&self, node: NodeId) -> &Stand {
        self.over.get(&node).unwrap_or_else(|| self.book.stand(node))
    }

    /// Nodes that are other than in the book.
    pub fn changed(&self) -> impl Iterator<Item = NodeId> + use<'_> {
        self.over.keys().copied()
    }

    /// How many members like this a node would hold.
    pub fn count(&self, node: NodeId, ask: &Ask) -> u32 {
        count(self.book, node, ask, self.stand(node))
    }

    /// A member comes.
    pub fn take(&mut self, ask: &Ask, member: &Member) {
        let shape = self.book.cluster().shape(member.node);
        self.edit(member.node).take(ask, shape, member.gpus);
    }

    /// A member goes.
    pub fn give(&mut self, ask: &Ask, member: &Member) {
        let shape = self.book.cluster().shape(member.node);
        self.edit(member.node).give(ask, shape, member.gpus);
    }

    /// All members of a job go, as far as they have places.
    pub fn put_out(&mut self, job: JobId) {
        let entry = self.book.entry(job);
        entry.held().for_each(|member| self.give(entry.ask(member), member));
    }

    /// They come back.
    pub fn put_back(&mut self, job: JobId) {
        let entry = self.book.entry(job);
        entry.held().for_each(|member| self.take(entry.ask(member), member));
    }

    /// Nothing may come to a node.
    pub fn close(&mut self, node: NodeId) {
        self.edit(node).health = crate::stand::Health::Draining;
    }

    fn edit(&mut self, node: NodeId) -> &mut Stand {
        self.over.entry(node).or_insert_with(|| self.book.stand(node).clone())
    }
}

/// How many members like this a node would hold that stands so. Models that no node has stand for nodes without GPUs.
pub fn count(book: &Book, node: NodeId, ask: &Ask, stand: &Stand) -> u32 {
    let (shape, of) = (book.cluster().shape(node), &book.cluster().nodes[node.at()]);
    let is_right = match ask.pod.gpu_count {
        0 => ask.pod.models.0 != 0 || shape.kind.gpu_count == 0,
        _ => ask.pod.models.holds(shape.kind.model),
    };
    if !is_right || book.is_claimed(node) {
        return 0;
    }
    stand.count(ask, shape, of.taints)
}
