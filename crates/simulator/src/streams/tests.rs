//! Streams on networks whose answers are counted by hand.

use std::collections::BTreeMap;

use weft_base::Rate;

use super::{CableId, Finder, Hop, Laid, play};

/// Cables as the test says, 10 GB/s each.
struct Said(BTreeMap<(u32, u32), Vec<u64>>);

impl Finder<u32> for Said {
    fn cables(&mut self, hop: &Hop<u32>) -> Option<Vec<Laid>> {
        let cables = self.0.get(&(hop.from, hop.to))?;
        let rate = Rate::from_gigabytes(10.0);
        Some(cables.iter().map(|cable| Laid { cable: CableId(*cable), rate, share: 1.0 }).collect())
    }
    fn name(&self, CableId(cable): CableId) -> String {
        cable.to_string()
    }
}

fn hop(from: u32, to: u32, weight: f64) -> Hop<u32> {
    Hop { from, to, channel: 0, weight }
}

fn paced(streams: &[Vec<Hop<u32>>], said: &[((u32, u32), &[u64])]) -> (f64, usize) {
    let mut said = Said(said.iter().map(|(ends, cables)| (*ends, cables.to_vec())).collect());
    let meeting = play(streams, &mut said).unwrap();
    (meeting.pace_bytes_per_s.unwrap() / 1e9, meeting.most)
}

#[test]
fn two_streams_on_one_cable_have_half_of_it_each() {
    // Two rings of one hop each between the same switches: 10 GB/s for two. A third on a cable of its own is no matter.
    let streams = [vec![hop(0, 1, 1.0)], vec![hop(2, 3, 1.0)], vec![hop(4, 5, 1.0)]];
    let (pace, most) = paced(&streams, &[((0, 1), &[7]), ((2, 3), &[7]), ((4, 5), &[8])]);
    assert!((pace - 5.0).abs() < 1e-6, "{pace}");
    assert_eq!(most, 2);
}

#[test]
fn a_stream_that_takes_a_cable_twice_has_half_of_it() {
    // Out and back over the same cable, and another stream once: three shares, 10 / 3.
    let streams = [vec![hop(0, 1, 1.0), hop(1, 0, 1.0)], vec![hop(2, 3, 1.0)]];
    let (pace, most) = paced(&streams, &[((0, 1), &[7]), ((1, 0), &[7]), ((2, 3), &[7])]);
    assert!((pace - 10.0 / 3.0).abs() < 1e-6, "{pace}");
    assert_eq!(most, 3);
}

#[test]
fn what_a_slow_stream_leaves_goes_to_others() {
    // Cable 1 has three halves of weight from streams A and B; cable 2 has A and C. A is as slow as cable 1 allows.
    let streams = [vec![hop(0, 1, 0.5), hop(2, 3, 1.0)], vec![hop(4, 5, 1.0)]];
    // A needs 0.5 of cable 1 and 1 of cable 2, B the rest of cable 2: 10 GB/s for A and B, 5 each.
    let (pace, _) = paced(&streams, &[((0, 1), &[1]), ((2, 3), &[2]), ((4, 5), &[2])]);
    assert!((pace - 5.0).abs() < 1e-6, "{pace}");
}
