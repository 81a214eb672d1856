//! What is sent again when packets are lost at random.

/// How a sender learns of a loss, and what it sends again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The receiver drops whatever follows a lost packet; the sender sends all of it again, from the lost one on.
    GoBackN,
    /// The receiver keeps what follows; only what was lost is sent again.
    SelectiveRepeat,
}

/// Losses that hit each packet alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// The chance of each packet to be lost; below 1.
    pub share: f64,
    /// The packets in flight at full rate: rate times round trip, over the size of a packet. At least 1.
    pub window_weight: f64,
}

impl Loss {
    /// Packets sent for each that arrives in order, on a long message at full rate.
    ///
    /// Selective repeat: a packet is sent until it arrives, 1/(1-p) times. Go-back-N: each failure costs the window of
    /// W packets, and a packet fails p/(1-p) times on average before it arrives: 1 + W p/(1-p) = (1 + (W-1)p)/(1-p).
    /// (Bertsekas and Gallager, Data Networks, section 2.4.)
    pub fn sent_ratio(&self, recovery: Recovery) -> f64 {
        let failures = self.share / (1.0 - self.share);
        match recovery {
            Recovery::GoBackN => 1.0 + self.window_weight * failures,
            Recovery::SelectiveRepeat => 1.0 + failures,
        }
    }

    /// The part of the rate that is left for data: one over [`Loss::sent_ratio`].
    pub fn goodput_share(&self, recovery: Recovery) -> f64 {
        1.0 / self.sent_ratio(recovery)
    }

    /// Packets sent again, on average, for a message of so many packets after which the connection sends nothing: a
    /// loss near the end has fewer than a window of packets behind it. Selective repeat: M p/(1-p). Go-back-N: the
    /// packet with k of its message from it on costs min(k, W) each time, p/(1-p) sum min(k, W).
    pub fn sent_again_count(&self, recovery: Recovery, packets_count: f64) -> f64 {
        let failures = self.share / (1.0 - self.share);
        let window = self.window_weight.min(packets_count);
        match recovery {
            // The sum of min(k, W) for k from 1 to M is M W - W (W-1)/2.
            Recovery::GoBackN => failures * (packets_count * window - window * (window - 1.0) / 2.0),
            Recovery::SelectiveRepeat => failures * packets_count,
        }
    }

    /// The most that TCP reaches, in packets per round trip: the larger of Reno's sqrt(3/2p) (Mathis and others, 1997)
    /// and CUBIC's 1.054 (T/p)^(3/4) with T the round trip in seconds (RFC 9438 section 5.2, beta 0.7 and C 0.4).
    pub fn tcp_window_count(&self, round_trip_s: f64) -> f64 {
        let power = |base: f64| base.sqrt() * base.sqrt().sqrt();
        let reno = (1.5 / self.share).sqrt();
        reno.max(1.054 * power(round_trip_s / self.share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends packet by packet: a sender at full rate that learns of a loss `window` packets after it.
    fn sent(recovery: Recovery, share: f64, window: u64, packets: u64) -> (u64, u64) {
        let (mut state, mut sent, mut next) = (7_u64, 0, 0);
        while next < packets {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            #[expect(clippy::cast_precision_loss, reason = "a random number")]
            let lost = ((state >> 11) as f64) < share * 9_007_199_254_740_992.0;
            // What is behind a lost packet is sent in vain, whether it is lost too or not.
            match (lost, recovery) {
                (false, _) => (sent, next) = (sent + 1, next + 1),
                (true, Recovery::SelectiveRepeat) => sent += 1,
                (true, Recovery::GoBackN) => sent += window.min(packets - next),
            }
        }
        (sent, next)
    }

    #[test]
    fn the_closed_forms_are_what_sending_packet_by_packet_gives() {
        for (share, window) in [(1e-3, 100_u32), (1e-2, 40), (0.1, 8)] {
            let loss = Loss { share, window_weight: f64::from(window) };
            for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
                let (sent, arrived) = sent(recovery, share, u64::from(window), 2_000_000);
                #[expect(clippy::cast_precision_loss, reason = "millions")]
                let measured = sent as f64 / arrived as f64;
                let error = measured / loss.sent_ratio(recovery) - 1.0;
                // 2,000 losses or more, of which the count is within 3 / sqrt(2000) of the mean.
                let spread = (loss.sent_ratio(recovery) - 1.0) * 0.07;
                assert!(error.abs() < spread, "{recovery:?} at {share}: {error}");
            }
        }
    }

    #[test]
    fn short_messages_send_less_again() {
        let loss = Loss { share: 0.01, window_weight: 100.0 };
        // 3 packets: 3 + 2 + 1 = 6 in vain, each with chance 1/99.
        assert!((loss.sent_again_count(Recovery::GoBackN, 3.0) - 6.0 / 99.0).abs() < 1e-12);
        assert!((loss.sent_again_count(Recovery::SelectiveRepeat, 3.0) - 3.0 / 99.0).abs() < 1e-12);
        // A long one sends as much again as the ratio says.
        let long = loss.sent_again_count(Recovery::GoBackN, 1e9) / 1e9 + 1.0;
        assert!((long - loss.sent_ratio(Recovery::GoBackN)).abs() < 1e-6);
    }

    #[test]
    fn tcp_halves_its_window_at_losses() {
        // sqrt(1.5e5) = 387 packets; CUBIC over 10 us: 1.054 (1e-5/1e-5)^0.75 = 1.054.
        let loss = Loss { share: 1e-5, window_weight: 1.0 };
        assert!((loss.tcp_window_count(1e-5) - 387.298).abs() < 1e-3);
        // Over 100 ms CUBIC has the larger: 1.054 (1e4)^0.75 = 1054.
        assert!((loss.tcp_window_count(0.1) - 1054.0).abs() < 1e-9);
    }
}
