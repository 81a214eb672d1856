//! What lost packets cost an all-reduce by ring.

use weft_base::{Bytes, Rate, Span};

use super::loss::Recovery;

/// A ring all-reduce on links that lose packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossyRing {
    /// Ranks; at least 2.
    pub ranks: u32,
    /// The buffer of each rank.
    pub bytes: Bytes,
    /// What each link carries of data.
    pub rate: Rate,
    /// Of a message, besides its bytes.
    pub latency: Span,
    /// From sending a packet until the sender hears of it.
    pub round_trip: Span,
    /// Data of a packet.
    pub packet: Bytes,
    /// The chance of each packet to be lost.
    pub loss_share: f64,
    /// What is sent again.
    pub recovery: Recovery,
}

/// How long it takes, and how many losses it meets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RingDelay {
    /// Without losses.
    pub clean_s: f64,
    /// Losses in all messages together, on average.
    pub losses_count: f64,
    /// What one loss adds to its message.
    pub delay_s: f64,
    /// Losses on any one chain of messages, on average: what the all-reduce waits for at least.
    pub least_waits_count: f64,
    /// Losses on the chain that has most, in a large ring: what the all-reduce waits for.
    pub waits_count: f64,
    /// With losses: `clean_s` and `delay_s` for each of `waits_count`.
    pub lossy_s: f64,
    /// The chance that the last packet of some rank's last message is lost. Nothing follows it, so that its sender
    /// waits for its timeout.
    pub timeout_share: f64,
}

impl LossyRing {
    /// The cost in closed form.
    ///
    /// A message of the ring waits for the one before it at the same rank and for the one that its rank received, so
    /// losses add up along chains that at each of 2(N-1) steps stay at a rank or go on to the next. The chain that
    /// meets most is last-passage percolation: with losses per message geometric of mean m, q = m/(1+m), and n steps
    /// of each kind, the most is n((1+sqrt q)^2/(1-q) - 1) = 2n sqrt q/(1 - sqrt q) for large n (Johansson, 2000).
    /// Chains of 2(N-1) steps have most where both kinds are alike: n = N-1.
    pub fn delay(&self) -> RingDelay {
        let steps = f64::from(2 * (self.ranks.max(2) - 1));
        let chunk = self.bytes.as_f64() / f64::from(self.ranks);
        let transfer_s = chunk / (self.rate.as_gigabytes() * 1e9);
        let packets = (chunk / self.packet.as_f64()).ceil();
        let mean = packets * self.loss_share / (1.0 - self.loss_share);
        let root = (mean / (1.0 + mean)).sqrt();
        let waits_count = steps * root / (1.0 - root);
        let clean_s = steps * (transfer_s + self.latency.as_seconds());
        let delay_s = self.delay_of_one_s(transfer_s, transfer_s / packets.max(1.0));
        let ranks = f64::from(self.ranks);
        RingDelay {
            clean_s,
            losses_count: ranks * steps * mean,
            delay_s,
            least_waits_count: steps * mean,
            waits_count,
            lossy_s: clean_s + waits_count * delay_s,
            timeout_share: 1.0 - power(1.0 - self.loss_share, self.ranks),
        }
    }

    /// What one loss adds to a message, somewhere in it. Go-back-N: what was sent in the round trip until the sender
    /// hears of it is in vain; a message that is shorter than that waits for the rest of the round trip too. Selective
    /// repeat: the message goes on meanwhile, and waits only if the round trip ends after it: on average T^2/2m of a
    /// message of m, or T - m/2 where that is shorter than T; and one packet is sent again.
    fn delay_of_one_s(&self, transfer_s: f64, packet_s: f64) -> f64 {
        let round_trip_s = self.round_trip.as_seconds();
        match self.recovery {
            Recovery::GoBackN => round_trip_s,
            Recovery::SelectiveRepeat if transfer_s >= round_trip_s => {
                packet_s + round_trip_s * round_trip_s / (2.0 * transfer_s)
            }
            Recovery::SelectiveRepeat => packet_s + round_trip_s - transfer_s / 2.0,
        }
    }
}

/// `base` to a whole power, by squaring: the same on every machine.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            result *= base;
        }
        base *= base;
        exponent /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Losses on the chain with most, by playing a ring: each message takes no time but for its losses.
    fn played(ranks: usize, mean: f64, seed: u64) -> u32 {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            #[expect(clippy::cast_precision_loss, reason = "a random number")]
            let value = (state >> 11) as f64 / 9_007_199_254_740_992.0;
            value
        };
        let mut most = vec![0_u32; ranks];
        for _ in 0..2 * (ranks - 1) {
            let before = most.clone();
            for rank in 0..ranks {
                // A geometric number of losses, one after the other.
                let mut losses = 0;
                while random() < mean / (1.0 + mean) {
                    losses += 1;
                }
                most[rank] = before[rank].max(before[(rank + ranks - 1) % ranks]) + losses;
            }
        }
        most.into_iter().max().unwrap_or(0)
    }

    fn ring(ranks: u32, loss_share: f64) -> LossyRing {
        LossyRing {
            ranks,
            bytes: Bytes::new(1 << 30),
            rate: Rate::bytes_per_second(50_000_000_000),
            latency: Span::from_microseconds(1.6),
            round_trip: Span::from_microseconds(8.0),
            packet: Bytes::new(4096),
            loss_share,
            recovery: Recovery::GoBackN,
        }
    }

    #[test]
    fn the_chain_with_most_losses_meets_what_percolation_says() {
        for (ranks, share) in [(128, 1e-5), (512, 1e-5), (1024, 1e-5), (512, 1e-4)] {
            let ring = ring(ranks, share);
            let delay = ring.delay();
            let mean = delay.least_waits_count / f64::from(2 * (ranks - 1));
            let runs: u32 = (0..8).map(|seed| played(ranks as usize, mean, seed)).sum();
            let measured = f64::from(runs) / 8.0;
            // The law is that of an endless ring; a finite one is off by its third root.
            let error = measured / delay.waits_count - 1.0;
            assert!(error.abs() < 0.1, "{ranks} ranks at {share}: {measured}, not {}", delay.waits_count);
        }
    }

    #[test]
    fn a_loss_of_one_in_a_hundred_thousand_costs_a_ring_about_one_per_cent() {
        // 1 GiB over 1,024 ranks: 2,046 steps of 1 MiB, 256 packets each, so 0.00256 losses in a message.
        let delay = ring(1024, 1e-5).delay();
        assert!((delay.clean_s - 2046.0 * (1_048_576.0 / 50e9 + 1.6e-6)).abs() < 1e-12);
        assert!((delay.losses_count - 1024.0 * 2046.0 * 0.00256).abs() < 0.2);
        // sqrt(0.00256) = 0.0506: 2046 x 0.0506 / 0.9494 = 109 waits of 8 us, 0.87 ms of 46.2 ms.
        assert!((delay.waits_count - 109.0).abs() < 0.5, "{}", delay.waits_count);
        assert!((delay.lossy_s / delay.clean_s - 1.0189).abs() < 1e-3, "{delay:?}");
        // Nothing follows 1,024 packets: one in a hundred all-reduces waits for a timeout.
        assert!((delay.timeout_share - 0.01019).abs() < 1e-4);
    }

    #[test]
    fn selective_repeat_waits_only_at_the_end_of_a_message() {
        let again = LossyRing { recovery: Recovery::SelectiveRepeat, ..ring(1024, 1e-5) }.delay();
        // 8^2 / (2 x 20.97) us and one packet of 82 ns.
        assert!((again.delay_s - (1.526e-6 + 0.082e-6)).abs() < 1e-9, "{}", again.delay_s);
    }
}
