//! Maximum flows by Dinic's algorithm (1970), in whole numbers.

use std::collections::VecDeque;

/// A network through which flow is pushed. What was pushed stays: later pushes go through what is left.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    /// Arcs that leave each vertex.
    leaving: Vec<Vec<usize>>,
    /// Arc `i ^ 1` is arc i's way back.
    arcs: Vec<Arc>,
    /// Arcs to the sink, for each vertex that a search has met.
    distance: Vec<u32>,
    /// Which of its arcs each vertex tries next.
    next: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Arc {
    to: usize,
    left: u128,
}

/// A sink that is not reached by what is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Obstacle {
    pub(crate) sink: usize,
    pub(crate) pushed: u128,
    pub(crate) side: Vec<bool>,
}

/// The distance of a vertex that does not reach the sink.
const FAR: u32 = u32::MAX;

impl Network {
    pub(crate) fn new(vertices: usize) -> Self {
        Self {
            leaving: vec![Vec::new(); vertices],
            arcs: Vec::new(),
            distance: vec![FAR; vertices],
            next: vec![0; vertices],
        }
    }

    /// Adds an arc, and says which it is.
    pub(crate) fn add(&mut self, from: usize, to: usize, capacity: u128) -> usize {
        self.leaving[from].push(self.arcs.len());
        self.arcs.push(Arc { to, left: capacity });
        self.leaving[to].push(self.arcs.len());
        self.arcs.push(Arc { to: from, left: 0 });
        self.arcs.len() - 2
    }

    /// Lets an arc that carries nothing yet carry so much.
    pub(crate) fn set(&mut self, arc: usize, capacity: u128) {
        self.arcs[arc].left = capacity;
    }

    /// Pushes as much as possible from source to sink, at most `most`, and says how much that was.
    pub(crate) fn push(&mut self, source: usize, sink: usize, most: u128) -> u128 {
        let mut pushed = 0;
        while pushed < most && self.measure(source, sink) {
            pushed += self.push_along_shortest(source, sink, most - pushed);
        }
        pushed
    }

    /// The vertices to which something could still be pushed from `source`: after a push that was not stopped by
    /// its `most`, the source's side of a minimal cut.
    pub(crate) fn reached(&self, source: usize) -> Vec<bool> {
        let mut reached = vec![false; self.leaving.len()];
        reached[source] = true;
        let mut open = vec![source];
        while let Some(vertex) = open.pop() {
            for &arc in &self.leaving[vertex] {
                let Arc { to, left } = self.arcs[arc];
                if left > 0 && !reached[to] {
                    reached[to] = true;
                    open.push(to);
                }
            }
        }
        reached
    }

    /// The first of the sinks to which not `needed` can be pushed from the source, with what can be and the source's
    /// side of the cut.
    pub(crate) fn obstacle(
        &self,
        source: usize,
        sinks: impl Iterator<Item = usize>,
        needed: u128,
    ) -> Option<Obstacle> {
        let (mut flow, mut at) = (self.clone(), source);
        for sink in sinks {
            // The flow into one sink is sent on to the next, mostly a short way.
            if flow.push(at, sink, needed) < needed {
                // Only of a flow from the source is the cut that of the source.
                let mut anew = self.clone();
                let pushed = anew.push(source, sink, needed);
                return Some(Obstacle { sink, pushed, side: anew.reached(source) });
            }
            at = sink;
        }
        None
    }

    /// Distances to the sink, from the sink on until the source is met. Whether it is.
    fn measure(&mut self, source: usize, sink: usize) -> bool {
        self.distance.fill(FAR);
        self.next.fill(0);
        self.distance[sink] = 0;
        let mut open = VecDeque::from([sink]);
        while let Some(vertex) = open.pop_front() {
            for &arc in &self.leaving[vertex] {
                let before = self.arcs[arc].to;
                if self.arcs[arc ^ 1].left > 0 && self.distance[before] == FAR {
                    self.distance[before] = self.distance[vertex] + 1;
                    if before == source {
                        return true;
                    }
                    open.push_back(before);
                }
            }
        }
        false
    }

    /// A blocking flow along ways on which every arc comes nearer to the sink.
    fn push_along_shortest(&mut self, source: usize, sink: usize, most: u128) -> u128 {
        let (mut pushed, mut at) = (0, source);
        let mut way: Vec<usize> = Vec::new();
        while pushed < most {
            if at == sink {
                let amount = way.iter().map(|&arc| self.arcs[arc].left).min().unwrap_or(0).min(most - pushed);
                pushed += amount;
                let mut full = way.len();
                for (index, &arc) in way.iter().enumerate().rev() {
                    self.arcs[arc].left -= amount;
                    self.arcs[arc ^ 1].left += amount;
                    if self.arcs[arc].left == 0 {
                        full = index;
                    }
                }
                // Only `most` can have stopped a push that fills nothing.
                let Some(&arc) = way.get(full) else { return pushed };
                at = self.arcs[arc ^ 1].to;
                way.truncate(full);
            } else if let Some(&arc) = self.leaving[at].get(self.next[at]) {
                let Arc { to, left } = self.arcs[arc];
                if left > 0 && self.distance[to] != FAR && self.distance[to] + 1 == self.distance[at] {
                    way.push(arc);
                    at = to;
                } else {
                    self.next[at] += 1;
                }
            } else if let Some(arc) = way.pop() {
                at = self.arcs[arc ^ 1].to;
                self.next[at] += 1;
            } else {
                return pushed;
            }
        }
        pushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_network_of_cormen_and_others_carries_23() {
        // Introduction to Algorithms, figure 26.1: maximum flow 23; the minimal cut's source side is s, v1, v2, v4.
        let mut network = Network::new(6);
        for (from, to, capacity) in [
            (0, 1, 16),
            (0, 2, 13),
            (1, 3, 12),
            (2, 1, 4),
            (2, 4, 14),
            (3, 2, 9),
            (3, 5, 20),
            (4, 3, 7),
            (4, 5, 4),
        ] {
            network.add(from, to, capacity);
        }
        assert_eq!(network.clone().push(0, 5, 10), 10);
        assert_eq!(network.push(0, 5, u128::MAX), 23);
        assert_eq!(network.reached(0), [true, true, true, false, true, false]);
    }

    #[test]
    fn what_was_pushed_can_be_sent_on_to_another_sink() {
        // 0 → 1 and 0 → 2 of 3 each, 1 ⇄ 2 of 5: all 6 reach 1, and then 2 instead.
        let mut network = Network::new(3);
        for (from, to, capacity) in [(0, 1, 3), (0, 2, 3), (1, 2, 5), (2, 1, 5)] {
            network.add(from, to, capacity);
        }
        assert_eq!(network.push(0, 1, 6), 6);
        assert_eq!(network.push(1, 2, 6), 6);
    }
}
