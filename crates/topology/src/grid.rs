//! Places of the switches of a torus.

use crate::graph::NodeId;

/// The switches of a torus: consecutive nodes, the place along the first dimension varying fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    first: NodeId,
    sizes: Vec<u16>,
    vertices: usize,
}

impl Grid {
    pub(crate) fn new(first: NodeId, sizes: Vec<u16>) -> Self {
        let vertices = sizes.iter().map(|size| usize::from(*size)).product();
        Self { first, sizes, vertices }
    }

    /// Switches along each dimension.
    pub fn sizes(&self) -> &[u16] {
        &self.sizes
    }

    /// Switches of the whole grid.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Whether a node is one of its switches.
    pub fn contains(&self, node: NodeId) -> bool {
        self.offset(node).is_some()
    }

    /// Where a switch is along a dimension, from 0; `None` for nodes and dimensions that it does not have.
    pub fn place(&self, node: NodeId, dimension: usize) -> Option<u16> {
        let size = usize::from(*self.sizes.get(dimension)?);
        let place = self.offset(node)? / self.stride(dimension) % size;
        u16::try_from(place).ok()
    }

    /// The next switch along a dimension; the first after the last.
    pub fn next(&self, node: NodeId, dimension: usize) -> Option<NodeId> {
        let size = *self.sizes.get(dimension)?;
        let place = self.place(node, dimension)?;
        self.moved(node, dimension, if place + 1 == size { 0 } else { place + 1 })
    }

    /// The previous switch along a dimension; the last before the first.
    pub fn previous(&self, node: NodeId, dimension: usize) -> Option<NodeId> {
        let size = *self.sizes.get(dimension)?;
        let place = self.place(node, dimension)?;
        self.moved(node, dimension, if place == 0 { size - 1 } else { place - 1 })
    }

    /// Steps from one switch to another, the short way round in each dimension.
    pub fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        // Asked for every neighbour of every switch on a way: one division per end and dimension.
        let (mut from, mut to) =
            (u32::try_from(self.offset(from)?).ok()?, u32::try_from(self.offset(to)?).ok()?);
        let mut steps = 0;
        for size in self.sizes.iter().map(|size| u32::from(*size)) {
            let apart = (from % size).abs_diff(to % size);
            steps += apart.min(size - apart);
            (from, to) = (from / size, to / size);
        }
        Some(steps)
    }

    /// The neighbours of a switch: per dimension the next and the previous one, which are the same where the size is 2.
    pub fn neighbours(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        (0..self.sizes.len()).flat_map(move |dimension| {
            let next = self.next(node, dimension);
            let previous = self.previous(node, dimension).filter(|previous| Some(*previous) != next);
            next.into_iter().chain(previous)
        })
    }

    fn moved(&self, node: NodeId, dimension: usize, place: u16) -> Option<NodeId> {
        let (stride, now) = (self.stride(dimension), self.place(node, dimension)?);
        let offset = self.offset(node)? + usize::from(place) * stride - usize::from(now) * stride;
        Some(NodeId::at(self.first.index() + offset))
    }

    fn stride(&self, dimension: usize) -> usize {
        self.sizes[..dimension].iter().map(|size| usize::from(*size)).product()
    }

    fn offset(&self, node: NodeId) -> Option<usize> {
        node.index().checked_sub(self.first.index()).filter(|offset| *offset < self.vertices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_neighbours_and_steps_are_those_of_a_torus() {
        let grid = Grid::new(NodeId::at(10), vec![4, 3, 2]);
        let at = |x: usize, y: usize, z: usize| NodeId::at(10 + x + 4 * y + 12 * z);
        assert_eq!(grid.vertices(), 24);
        assert_eq!(
            [0, 1, 2].map(|dimension| grid.place(at(3, 2, 1), dimension)),
            [Some(3), Some(2), Some(1)]
        );
        assert_eq!(grid.next(at(3, 2, 1), 0), Some(at(0, 2, 1)));
        assert_eq!(grid.previous(at(0, 0, 0), 1), Some(at(0, 2, 0)));
        // 1 step round the end of 4, 1 round the end of 3, 1 of 2.
        assert_eq!(grid.distance(at(0, 0, 0), at(3, 2, 1)), Some(3));
        assert_eq!(grid.distance(at(0, 0, 0), at(2, 1, 0)), Some(3));
        // Two along each of the first dimensions, one along that of size 2.
        assert_eq!(grid.neighbours(at(0, 0, 0)).count(), 5);
        assert_eq!((grid.place(NodeId::at(9), 0), grid.place(NodeId::at(34), 0)), (None, None));
        assert_eq!(grid.place(at(0, 0, 0), 3), None);
    }
}
