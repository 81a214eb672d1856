//! Which pairs are measured at the same time.

/// Rounds in which every pair of so many hosts meets once, and no host is in two pairs of a round: the circle method of
/// tournaments. Host 0 keeps its seat, the others move on by one each round, and those who sit across from each other
/// are a pair; with an odd number one host pauses in each round.
///
/// There are `hosts - 1` rounds of `hosts / 2` pairs, or `hosts` rounds where the number is odd. A pair is written with
/// the lower host first, and a round in the order of its pairs.
pub fn rounds(hosts: u32) -> Vec<Vec<(u32, u32)>> {
    if hosts < 2 {
        return Vec::new();
    }
    let seats = hosts + hosts % 2;
    let others = seats - 1;
    let round = |number: u32| {
        let mut pairs: Vec<(u32, u32)> = (0..seats / 2)
            .map(|seat| {
                // Seats 1 and up hold hosts 1 and up, moved on by the number of the round.
                let at = |seat: u32| if seat == 0 { 0 } else { 1 + (seat - 1 + number) % others };
                let (one, other) = (at(seat), at(seats - 1 - seat));
                (one.min(other), one.max(other))
            })
            // The last seat is empty where the number is odd.
            .filter(|(_, higher)| *higher < hosts)
            .collect();
        pairs.sort_unstable();
        pairs
    };
    (0..others).map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_hosts_meet_in_three_rounds() {
        // Around the table 0 1 2 3: 0-3 and 1-2; then 0 2 3 1: 0-1 and 2-3; then 0 3 1 2: 0-2 and 1-3.
        assert_eq!(rounds(4), [[(0, 3), (1, 2)], [(0, 1), (2, 3)], [(0, 2), (1, 3)]]);
    }

    #[test]
    fn all_pairs_meet_once_and_no_host_is_in_two_pairs_at_a_time() {
        for hosts in 0..=33 {
            let rounds = rounds(hosts);
            let expected = if hosts < 2 { 0 } else { hosts - 1 + hosts % 2 };
            assert_eq!(rounds.len(), expected as usize, "{hosts}");
            let mut met: Vec<(u32, u32)> = Vec::new();
            for round in &rounds {
                assert_eq!(round.len(), hosts as usize / 2, "{hosts}");
                let mut busy: Vec<u32> = round.iter().flat_map(|(one, other)| [*one, *other]).collect();
                busy.sort_unstable();
                busy.dedup();
                assert_eq!(busy.len(), 2 * round.len(), "{hosts}: {round:?}");
                met.extend(round);
            }
            met.sort_unstable();
            let all: Vec<(u32, u32)> =
                (0..hosts).flat_map(|one| (one + 1..hosts).map(move |other| (one, other))).collect();
            assert_eq!(met, all);
        }
    }
}
