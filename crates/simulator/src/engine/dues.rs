//! For each resource, when the next of the flows that it limits ends; the earliest of all is known at once.

/// A tree over the resources in which each node holds the earlier of the two below it.
#[derive(Default)]
pub(super) struct Dues {
    /// Root at 1, leaves from `leaves` on.
    nodes: Vec<u64>,
    leaves: usize,
}

/// No end is known.
pub(super) const NEVER: u64 = u64::MAX;

impl Dues {
    pub fn earliest(&self) -> u64 {
        self.nodes.get(1).copied().unwrap_or(NEVER)
    }

    /// Makes room for `count` resources.
    pub fn grow(&mut self, count: usize) {
        if count <= self.leaves {
            return;
        }
        let leaves = count.next_power_of_two().max(2);
        let mut nodes = vec![NEVER; 2 * leaves];
        if self.leaves > 0 {
            nodes[leaves..leaves + self.leaves].copy_from_slice(&self.nodes[self.leaves..]);
        }
        for at in (1..leaves).rev() {
            nodes[at] = nodes[2 * at].min(nodes[2 * at + 1]);
        }
        (self.nodes, self.leaves) = (nodes, leaves);
    }

    pub fn set(&mut self, resource: usize, time_ps: u64) {
        let mut at = self.leaves + resource;
        self.nodes[at] = time_ps;
        while at > 1 {
            let earlier = self.nodes[at].min(self.nodes[at ^ 1]);
            at /= 2;
            if self.nodes[at] == earlier {
                break;
            }
            self.nodes[at] = earlier;
        }
    }

    /// The resources that are due by `time_ps`, in the order of their numbers.
    pub fn due(&self, time_ps: u64, found: &mut Vec<u32>) {
        found.clear();
        if self.earliest() <= time_ps {
            self.descend(1, time_ps, found);
        }
    }

    fn descend(&self, at: usize, time: u64, found: &mut Vec<u32>) {
        if at >= self.leaves {
            found.push(super::types::narrow(at - self.leaves));
            return;
        }
        for below in [2 * at, 2 * at + 1] {
            if self.nodes[below] <= time {
                self.descend(below, time, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_known_after_every_change() {
        let (mut dues, mut found) = (Dues::default(), Vec::new());
        assert_eq!(dues.earliest(), NEVER);
        dues.grow(3);
        dues.set(0, 70);
        dues.set(2, 50);
        dues.grow(9);
        dues.set(8, 50);
        assert_eq!(dues.earliest(), 50);
        dues.due(50, &mut found);
        assert_eq!(found, [2, 8]);
        dues.set(2, NEVER);
        dues.set(8, 90);
        assert_eq!(dues.earliest(), 70);
        dues.due(69, &mut found);
        assert!(found.is_empty());
    }
}
