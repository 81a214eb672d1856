//! Which actions write what is sent later.

use std::collections::BTreeMap;

use super::{Action, Extent};

/// Bytes of the regions, as ranges that neither touch nor overlap: their beginnings and ends.
#[derive(Debug, Default)]
struct Bytes(BTreeMap<(u32, usize), usize>);

/// Marks the actions of which a later one sends something, and those later ones. Threads write nothing of each other's, so that the order
/// between them does not matter.
pub(super) fn mark_sent_on(actions: &mut [Action], extents: &[Extent]) {
    let mut sent = Bytes::default();
    for action in actions.iter_mut().rev() {
        if let super::Kind::Send { from, .. } = action.kind {
            extents[from.range()].iter().for_each(|extent| sent.add(*extent));
        }
        let written = action.kind.written().map_or(&[][..], |run| &extents[run.range()]);
        action.sent_on = written.iter().any(|extent| sent.overlaps(*extent));
    }
    let mut written = Bytes::default();
    for action in actions {
        if let super::Kind::Send { from, .. } = action.kind {
            action.sent_on = extents[from.range()].iter().any(|extent| written.overlaps(*extent));
        }
        let writes = action.kind.written().map_or(&[][..], |run| &extents[run.range()]);
        for extent in writes {
            written.add(*extent);
        }
    }
}

impl Bytes {
    fn add(&mut self, extent: Extent) {
        let region = extent.region.number();
        let (mut start, mut end) = (extent.offset, extent.offset + extent.length);
        while let Some((&key, &until)) = self.0.range(..=(region, end)).next_back() {
            if key.0 != region || until < start {
                break;
            }
            (start, end) = (start.min(key.1), end.max(until));
            self.0.remove(&key);
        }
        self.0.insert((region, start), end);
    }

    fn overlaps(&self, extent: Extent) -> bool {
        let region = extent.region.number();
        let before = self.0.range(..(region, extent.offset + extent.length)).next_back();
        before.is_some_and(|(key, until)| key.0 == region && *until > extent.offset)
    }
}

#[cfg(test)]
mod tests {
    use weft_collective::{Call, Collective, Rank, Terrain, algorithm};

    use super::*;
    use crate::Script;
    use crate::script::Region;

    #[test]
    fn ranges_are_joined_and_found() {
        let extent = |region, offset, length| Extent { region, offset, length };
        let mut bytes = Bytes::default();
        bytes.add(extent(Region::Output, 10, 10));
        bytes.add(extent(Region::Output, 30, 10));
        assert_eq!(bytes.0.len(), 2);
        assert!(
            bytes.overlaps(extent(Region::Output, 19, 5)) && bytes.overlaps(extent(Region::Output, 0, 11))
        );
        assert!(
            !bytes.overlaps(extent(Region::Output, 20, 10)) && !bytes.overlaps(extent(Region::Input, 10, 10))
        );
        assert!(!bytes.overlaps(extent(Region::Scratch(0), 0, 100)));
        bytes.add(extent(Region::Output, 15, 20));
        assert_eq!(bytes.0.into_iter().collect::<Vec<_>>(), [((1, 10), 40)]);
    }

    #[test]
    fn sums_of_a_ring_are_sent_on_and_those_of_two_ranks_that_exchange_all_are_not() {
        let sent_on = |name: &str| -> Vec<bool> {
            let call = Call::bytes(Collective::AllReduce, 4096);
            let plan = algorithm(name).unwrap().plan(&call, &Terrain::flat(2));
            let script = Script::new(&plan, &call, Rank::new(0)).unwrap();
            script.actions.iter().map(|action| action.sent_on).collect()
        };
        // What is given is sent and a sum received, the sum is sent and the other one received.
        assert_eq!(sent_on("ring"), [false, true, true, false]);
        assert_eq!(sent_on("recursive-doubling"), [false, false]);
    }
}
