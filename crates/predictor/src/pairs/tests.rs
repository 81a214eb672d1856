//! Matrices made by hand, and what stands out of them.

use weft_base::Rate;

use super::*;

/// What is done to a matrix in which everyone reaches 10 GB/s: the factor of each direction.
fn matrix(hosts: usize, factor: impl Fn(usize, usize) -> f64) -> PairRates {
    let names = (0..hosts).map(|host| format!("n{host}")).collect();
    PairRates::new(names, |from, to| {
        let rate = Rate::from_gigabytes(10.0 * factor(from, to));
        Some(PairRate { median: rate, best: rate })
    })
}

fn is(pair: (usize, usize), one: usize, other: usize) -> bool {
    pair == (one, other) || pair == (other, one)
}

/// Names as a reader would say them: `host 3`, `pair 1-4`, `pair 1->4`.
fn named(verdict: &Verdict) -> Vec<String> {
    let hosts = verdict.hosts.iter().map(|host| match (host.sends, host.receives) {
        (Some(_), Some(_)) => format!("host {}", host.host),
        (Some(_), None) => format!("host {} sends", host.host),
        (None, _) => format!("host {} receives", host.host),
    });
    let pairs = verdict.pairs.iter().map(|pair| {
        let arrow = if pair.back.is_some() { "-" } else { "->" };
        format!("pair {}{arrow}{}", pair.from, pair.to)
    });
    hosts.chain(pairs).collect()
}

#[test]
fn nothing_stands_out_of_equals() {
    for hosts in [0, 1, 2, 3, 8, 17] {
        let verdict = judge(&matrix(hosts, |_, _| 1.0));
        assert!(verdict.is_clean() && verdict.unsteady.is_empty(), "{hosts}: {verdict:?}");
    }
    let verdict = judge(&matrix(8, |_, _| 1.0));
    assert_eq!(verdict.typical, Some(Rate::from_gigabytes(10.0)));
    assert!(!verdict.pair_limit.is_by_noise());
}

#[test]
fn a_slow_host_is_one_thing_and_a_slow_pair_another() {
    for hosts in [3, 4, 5, 8, 16] {
        let host = judge(&matrix(hosts, |from, to| if from == 2 || to == 2 { 0.5 } else { 1.0 }));
        assert_eq!(named(&host), ["host 2"], "{hosts}");
        assert_eq!(host.hosts[0].sends, Some(Rate::from_gigabytes(5.0)));
        let pair = judge(&matrix(hosts, |from, to| if is((from, to), 1, 2) { 0.5 } else { 1.0 }));
        assert_eq!(named(&pair), ["pair 1-2"], "{hosts}");
        assert_eq!(pair.pairs[0].expected, Rate::from_gigabytes(10.0));
        assert_eq!(pair.pairs[0].back, Some(Rate::from_gigabytes(5.0)));
    }
}

#[test]
fn one_direction_alone_is_said_so() {
    let sends = |from, _| if from == 3 { 0.6 } else { 1.0 };
    assert_eq!(named(&judge(&matrix(8, sends))), ["host 3 sends"]);
    let receives = |_, to| if to == 3 { 0.6 } else { 1.0 };
    assert_eq!(named(&judge(&matrix(8, receives))), ["host 3 receives"]);
    let there = |from, to| if (from, to) == (5, 2) { 0.6 } else { 1.0 };
    assert_eq!(named(&judge(&matrix(8, there))), ["pair 5->2"]);
    // Of two hosts only one direction can be compared with the other.
    let of_two = |from, _| if from == 0 { 0.6 } else { 1.0 };
    assert_eq!(named(&judge(&matrix(2, of_two))), ["pair 0->1"]);
}

#[test]
fn several_are_told_apart() {
    // Host 6 at half speed, host 1 receives at a third, pair 2-4 at a quarter, pair 6-7 slower than host 6 is.
    let rates = matrix(8, |from, to| {
        let host = if from == 6 || to == 6 { 0.5_f64 } else { 1.0 };
        let takes = if to == 1 { 0.33 } else { 1.0 };
        let pair = if is((from, to), 2, 4) { 0.25 } else { 1.0 };
        let worse = if is((from, to), 6, 7) { 0.2 } else { 1.0 };
        host.min(takes).min(pair).min(worse)
    });
    assert_eq!(named(&judge(&rates)), ["host 1 receives", "host 6", "pair 6-7", "pair 2-4"]);
}

#[test]
fn less_than_a_fifth_is_not_named() {
    let at = |share: f64| judge(&matrix(8, move |from, _| if from == 3 { share } else { 1.0 }));
    assert!(at(0.81).is_clean());
    assert_eq!(named(&at(0.79)), ["host 3 sends"]);
}

/// Numbers from 0 to 1 that look drawn by chance: the fraction of multiples of the golden ratio, scrambled.
fn chance(seed: u64, from: usize, to: usize) -> f64 {
    let mut bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((from as u64) << 32 | to as u64);
    for _ in 0..3 {
        bits ^= bits >> 30;
        bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits ^= bits >> 27;
    }
    f64::from(u32::try_from(bits >> 32).unwrap()) / f64::from(u32::MAX)
}

/// The sum of four chances, which is nearly normal: mean 0, standard deviation 1.
fn normal(seed: u64, from: usize, to: usize) -> f64 {
    let sum: f64 = (0..4).map(|part| chance(seed * 4 + part, from, to)).sum();
    (sum - 2.0) * 3.0_f64.sqrt()
}

#[test]
fn noise_names_nobody_and_hides_nothing_large() {
    for (hosts, noise) in [(3, 0.05), (4, 0.05), (8, 0.05), (8, 0.15), (16, 0.2), (32, 0.1)] {
        let clean = |seed| matrix(hosts, |from, to| (noise * normal(seed, from, to)).exp());
        let named = (0..200).filter(|seed| !judge(&clean(*seed)).is_clean()).count();
        // One in a hundred for hosts and one for pairs is what the limits allow.
        assert!(named <= 4, "{hosts} hosts, {noise}: {named} of 200");
    }
    for seed in 0..200 {
        let slow = matrix(8, |from, to| {
            let host = if from == 5 || to == 5 { 0.5_f64 } else { 1.0 };
            let pair = if is((from, to), 0, 3) { 0.4 } else { 1.0 };
            host.min(pair) * (0.05 * normal(seed, from, to)).exp()
        });
        assert_eq!(named(&judge(&slow)), ["host 5", "pair 0-3"], "seed {seed}");
    }
}

#[test]
fn what_was_quick_once_is_unsteady_and_not_slow() {
    let names = (0..6).map(|host| format!("n{host}")).collect();
    let (good, low) = (Rate::from_gigabytes(10.0), Rate::from_gigabytes(4.0));
    let rates = PairRates::new(names, |from, to| {
        let median = if (from, to) == (1, 4) { low } else { good };
        Some(PairRate { median, best: good })
    });
    let verdict = judge(&rates);
    assert!(verdict.is_clean());
    assert_eq!(verdict.unsteady, [(1, 4)]);
}

#[test]
fn repeats_that_differ_widen_the_limit() {
    // Repeats whose best is 20 % above their median: ln 1.2 / 2 = 0.0912. Four hosts: 8 ends, and a limit of
    // exp(-0.0912 * sqrt(2 ln 800)) = exp(-0.0912 * 3.656) = 0.7165.
    let names = || (0..4).map(|host| format!("n{host}")).collect();
    let low = |share: f64| {
        judge(&PairRates::new(names(), |from, _| {
            let median = if from == 2 { 10.0 * share } else { 10.0 };
            Some(PairRate { median: Rate::from_gigabytes(median), best: Rate::from_gigabytes(median * 1.2) })
        }))
    };
    assert!((low(1.0).host_limit.share - 0.7165).abs() < 1e-3, "{:?}", low(1.0).host_limit);
    assert!(low(1.0).host_limit.is_by_noise());
    assert!(low(0.73).is_clean());
    // Its best repeats, too, must be below: 0.58 * 1.2 = 0.696.
    assert_eq!(named(&low(0.58)), ["host 2 sends"]);
}

#[test]
fn what_was_not_measured_is_left_out() {
    // Only pairs with host 0, as from a star of measurements: its pair with 3 is slow.
    let names: Vec<String> = (0..6).map(|host| format!("n{host}")).collect();
    let rates = PairRates::new(names, |from, to| {
        let rate = Rate::from_gigabytes(if is((from, to), 0, 3) { 4.0 } else { 10.0 });
        (from == 0 || to == 0).then_some(PairRate { median: rate, best: rate })
    });
    // Host 3 was measured with one peer only, which is all its peers.
    assert_eq!(named(&judge(&rates)), ["host 3"]);
    assert_eq!(rates.iter().count(), 10);
    assert_eq!((rates.get(1, 2), rates.get(0, 6), rates.get(6, 0)), (None, None, None));
}
