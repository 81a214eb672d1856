//! From the times of probes to what things cost.

use weft_base::Bytes;

use super::clock::{Clock, is_crowded};
use super::probe::{CHANNELS, CHUNK, FLOOD, FLOODED, READ, ROUNDS, What, flood, scripts};
use super::stream::Age;
use super::{Calibration, Local, Rates, Regime};
use crate::ports::{Shape, Tuning};

/// What probes have shown.
pub(super) struct Found<'f> {
    /// Seconds of a call of each.
    pub medians: &'f [(What, f64)],
    pub shape: Shape,
    pub transport: &'f str,
    pub processors: u32,
    pub hosts: &'f [u32],
    pub ranks: u32,
    pub tuning: Option<Tuning>,
}

/// What a processor spends on a message at least, so that no sum of costs becomes nothing.
const LEAST_S: f64 = 1e-9;
/// What a byte costs at least: more than that passes through no memory.
const LEAST_S_PER_BYTE: f64 = 1e-13;
/// Calls of all ranks that are played to find what a turn takes.
const CALLS: usize = 8;
/// A copy of next to nothing.
const SMALL_COPY: What = What::Local { bytes: 8, combines: false };
/// Both ways at once take so much longer than one way where processors are the limit; if it is less, the wire is.
const DUPLEX: f64 = 1.25;

/// The calibration by which the probes take what they took.
pub(super) fn fit(found: &Found<'_>) -> Calibration {
    let call_s = found.of(What::Nothing).unwrap_or(0.0);
    let found = &Above { found, call_s };
    let line = (found.shape.line_bytes > 0).then(|| found.small(8)).flatten();
    let mut stream = found.small(found.shape.line_bytes + 16).unwrap_or_default();
    let wire_s_per_byte = found.wire().unwrap_or(0.0);
    if wire_s_per_byte <= 0.0 {
        stream.pieces = found.pieces(&stream);
        stream.touching = found.touching(&stream);
    }
    let read = |registered| {
        let regime = line.clone()?;
        let [touching, passed_on, fresh] =
            [Age::Old, Age::PassedOn, Age::Fresh].map(|age| found.read(&regime, age, registered));
        (!touching.is_empty()).then_some(Regime { touching, passed_on, fresh, ..regime })
    };
    let (direct, registered) = (read(false), read(true));
    let mut calibration = Calibration {
        transport: found.transport.to_owned(),
        processors: found.processors,
        tuning: found.tuning,
        call_s: found.call(),
        turn_s: 0.0,
        local_s: found.above(SMALL_COPY).unwrap_or(0.0),
        wire_s_per_byte,
        line,
        stream,
        direct,
        registered,
        local: found.local(),
    };
    calibration.turn_s = found.turn(&calibration);
    calibration
}

/// What probes took beyond what every call takes.
struct Above<'a, 'f> {
    found: &'a Found<'f>,
    call_s: f64,
}

impl<'f> std::ops::Deref for Above<'_, 'f> {
    type Target = Found<'f>;

    fn deref(&self) -> &Found<'f> {
        self.found
    }
}

impl Found<'_> {
    fn of(&self, what: What) -> Option<f64> {
        self.medians.iter().find(|(other, _)| *other == what).map(|(_, seconds)| *seconds)
    }
}

impl Above<'_, '_> {
    fn above(&self, what: What) -> Option<f64> {
        self.of(what).map(|seconds| (seconds - self.call_s).max(LEAST_S))
    }

    fn local(&self) -> Vec<Local> {
        let own_s = self.above(SMALL_COPY).unwrap_or(0.0);
        let local = self.medians.iter().filter_map(|(what, _)| {
            let What::Local { bytes, combines: false } = *what else { return None };
            if *what == SMALL_COPY {
                return None;
            }
            let per_byte = |combines| {
                let seconds = self.above(What::Local { bytes, combines })?;
                Some(((seconds - own_s) / precise(bytes)).max(LEAST_S_PER_BYTE))
            };
            Some(Local {
                footprint: Bytes::new(2 * bytes as u64),
                copy_s_per_byte: per_byte(false)?,
                combine_s_per_byte: per_byte(true)?,
            })
        });
        local.collect()
    }

    /// What a call costs besides its messages: those of one call overlap more than those of several do.
    fn call(&self) -> f64 {
        let bytes = if self.shape.line_bytes > 0 { 8 } else { 16 };
        let once = self.of(What::Once(bytes)).zip(self.above(What::Turns(bytes)));
        let once_s = once.map(|(once, turns)| once - turns / precise(ROUNDS));
        once_s.unwrap_or(self.call_s).max(self.call_s)
    }

    /// What each message costs that is so small that its bytes do not count.
    fn small(&self, bytes: usize) -> Option<Regime> {
        let one_s = (self.above(What::Turns(bytes))? / precise(ROUNDS)).max(2.0 * LEAST_S);
        // One after the other: sender, way, receiver. All at once: the first has come when the last is sent, unless the
        // way is long; then what is added to it is what sending the others takes.
        let burst_s = self.above(What::Burst(bytes))?;
        let overlapped_s = burst_s / f64::from(CHANNELS);
        let both_s = if one_s - overlapped_s <= f64::from(CHANNELS - 1) / 2.0 * overlapped_s {
            overlapped_s
        } else {
            2.0 * (burst_s - one_s) / f64::from(CHANNELS - 1)
        };
        let both_s = both_s.clamp(2.0 * LEAST_S, one_s);
        let slower_s = self.flooded(bytes, one_s).unwrap_or(both_s / 2.0).clamp(both_s / 2.0, 0.95 * both_s);
        let sender_s = self.above(What::Sends(bytes))? / f64::from(CHANNELS);
        // Whoever takes more, takes what a flood takes.
        let sender_s = if sender_s >= both_s / 2.0 { slower_s } else { both_s - slower_s };
        let latency_s = one_s - both_s;
        Some(Regime { sender_s, receiver_s: both_s - sender_s, latency_s, ..Regime::default() })
    }

    /// What the slower end takes for one of many messages one way; the last one and the answer take their whole way.
    fn flooded(&self, bytes: usize, one_s: f64) -> Option<f64> {
        let all_s = self.above(flood(bytes))? - self.call_s;
        Some(((all_s - 2.0 * one_s) / precise(FLOOD - 1)).max(LEAST_S))
    }

    /// What bytes cost in pieces of some lengths.
    fn pieces(&self, regime: &Regime) -> Vec<Rates> {
        let pieces = self.medians.iter().filter_map(|(what, _)| {
            let What::Both { bytes, message, combines: false } = *what else { return None };
            (bytes == message && bytes <= CHUNK).then_some(bytes)
        });
        let mut last = 0.5;
        pieces.filter_map(|piece| self.piece(regime, piece, &mut last)).collect()
    }

    /// `last` is the share of the sender in what bytes cost both ends, as it was found last.
    fn piece(&self, regime: &Regime, piece: usize, last: &mut f64) -> Option<Rates> {
        let both = |combines| {
            let seconds = self.above(What::Both { bytes: piece, message: piece, combines })?;
            Some((seconds - regime.overhead(1)).max(LEAST_S) / precise(piece))
        };
        let all = both(false)?;
        let combined = both(true).unwrap_or(all);
        let (send, receive) = if piece <= FLOODED {
            // Neither end takes more than one of many messages one way; what both do not explain is the way.
            let one_s = self.above(What::Both { bytes: piece, message: piece, combines: false })?;
            let slower_s = self.flooded(piece, one_s)?;
            let sender_s = self.above(What::Sends(piece))? / f64::from(CHANNELS);
            let most = |own_s: f64| ((slower_s - own_s) / precise(piece)).max(0.1 * all);
            let (send, receive) = (most(regime.sender_s), most(regime.receiver_s));
            if send + receive <= all {
                (send, receive)
            } else if 2.0 * sender_s >= one_s - regime.latency_s {
                (send, (all - send).max(0.1 * all))
            } else {
                ((all - receive).max(0.1 * all), receive)
            }
        } else {
            let slower = self.slower(regime, piece, piece, all)?;
            let send = if *last >= 0.5 { slower } else { all - slower };
            (send, all - send)
        };
        *last = send / (send + receive);
        Some(Rates {
            bytes: Bytes::new(piece as u64),
            send_s_per_byte: send,
            receive_s_per_byte: receive,
            combine_s_per_byte: (receive + combined - all).max(0.1 * receive),
            // Of what the two take all of, a difference can be left that is none.
            latency_s_per_byte: Some(all - send - receive)
                .filter(|rest| *rest > LEAST_S_PER_BYTE)
                .unwrap_or(0.0),
        })
    }

    /// What the slower end takes for a byte where many go one way in parts: the other end works at the same time.
    fn slower(&self, regime: &Regime, bytes: usize, message: usize, all: f64) -> Option<f64> {
        let seconds = self.above(What::OneWay { bytes, message, combines: false })? - self.call_s;
        let part = precise(self.shape.part_bytes.min(bytes / 2));
        let messages = bytes.div_ceil(message);
        let own_s = precise(messages) * regime.sender_s.max(regime.receiver_s) + regime.overhead(1);
        // On a machine with other work, differences of times can be anything.
        let all = all.max(LEAST_S_PER_BYTE);
        let slower = (seconds - own_s - all * part) / (precise(bytes) - part);
        Some(slower.clamp(all / 2.0, 0.95 * all))
    }

    /// What bytes cost in addition where a call touches much.
    fn touching(&self, regime: &Regime) -> Vec<Rates> {
        let hot = regime.rates(precise(CHUNK), &Rates::default());
        let mut rates = vec![Rates { bytes: Bytes::new(2 * CHUNK as u64), ..Rates::default() }];
        for (what, _) in self.medians {
            let What::Both { bytes, message: CHUNK, combines: false } = *what else { continue };
            if bytes <= CHUNK {
                continue;
            }
            let both = |combines| {
                let seconds = self.above(What::Both { bytes, message: CHUNK, combines })?;
                let moving = seconds - regime.overhead(bytes.div_ceil(CHUNK));
                Some((moving / precise(bytes)).max(LEAST_S_PER_BYTE))
            };
            let (Some(all), Some(combined)) = (both(false), both(true)) else { continue };
            let slower = self.slower(regime, bytes, CHUNK, all).unwrap_or(all / 2.0);
            let sends_more = hot.send_s_per_byte >= hot.receive_s_per_byte;
            let send = if sends_more { slower } else { all - slower };
            rates.push(Rates {
                bytes: Bytes::new(2 * bytes as u64),
                send_s_per_byte: (send - hot.send_s_per_byte).max(0.0),
                receive_s_per_byte: (all - send - hot.receive_s_per_byte).max(0.0),
                combine_s_per_byte: (combined - send - hot.combine_s_per_byte).max(0.0),
                latency_s_per_byte: 0.0,
            });
        }
        rates
    }

    /// What bytes cost that the receiver reads itself.
    fn read(&self, regime: &Regime, age: Age, registered: bool) -> Vec<Rates> {
        let mut rates = Vec::new();
        for (what, _) in self.medians {
            let What::Read { bytes, combines: false, age: is_of, registered: is_registered } = *what else {
                continue;
            };
            if (is_of, is_registered) != (age, registered) {
                continue;
            }
            let footprint = what.footprint();
            let per_byte = |combines| {
                let seconds = self.above(What::Read { bytes, combines, age, registered })?;
                let writes_s = if age == Age::Old { 0.0 } else { self.copied(bytes, footprint) };
                let moving_s = seconds - writes_s - regime.overhead(bytes.div_ceil(READ));
                Some(moving_s.max(LEAST_S) / precise(bytes))
            };
            let (Some(receive), Some(combine)) = (per_byte(false), per_byte(true)) else { continue };
            rates.push(Rates {
                bytes: Bytes::new(footprint as u64),
                receive_s_per_byte: receive,
                combine_s_per_byte: combine,
                ..Rates::default()
            });
        }
        rates
    }

    /// What a copy within a rank takes in a call that touches so much.
    fn copied(&self, bytes: usize, footprint: usize) -> f64 {
        let copy = What::Local { bytes: footprint / 2, combines: false };
        let own_s = self.above(SMALL_COPY).unwrap_or(0.0);
        let whole_s = self.above(copy).map_or(0.0, |seconds| (seconds - own_s).max(0.0));
        own_s + whole_s * precise(bytes) / precise(footprint / 2)
    }

    /// What the wire takes for a byte, if it is the limit: then both ways at once take no longer than one.
    fn wire(&self) -> Option<f64> {
        if self.hosts.first() == self.hosts.last() && !self.hosts.is_empty() {
            return None;
        }
        let largest = self.medians.iter().filter_map(|(what, _)| {
            let What::OneWay { bytes, message, .. } = *what else { return None };
            Some((bytes, message))
        });
        let (bytes, message) = largest.max()?;
        let one_way = self.above(What::OneWay { bytes, message, combines: false })?;
        let both = self.above(What::Both { bytes, message, combines: false })?;
        let small = self.above(What::Turns(self.shape.line_bytes + 16))? / precise(ROUNDS);
        (both < DUPLEX * one_way).then_some((one_way - 2.0 * small).max(LEAST_S) / precise(bytes))
    }
}

impl Found<'_> {
    /// What it takes from one rank to the next where they share a processor: so much that a circle of all ranks takes
    /// what it took.
    fn turn(&self, calibration: &Calibration) -> f64 {
        if !is_crowded(self.hosts, self.processors) {
            return 0.0;
        }
        let circle = self.medians.iter().find(|(what, _)| matches!(what, What::Circle(_)));
        let Some((what, seconds)) = circle else { return 0.0 };
        let scripts = scripts(*what, self.ranks);
        let (mut low, mut high) = (0.0, *seconds);
        for _ in 0..20 {
            let turn_s = f64::midpoint(low, high);
            let tried = Calibration { turn_s, ..calibration.clone() };
            let play = |apart| {
                let ends = Clock::new(&scripts, self.hosts, &tried, self.shape, apart).run(CALLS);
                ends.map_or(f64::INFINITY, |ends| ends[CALLS - 1] / precise(CALLS))
            };
            let played = f64::midpoint(play(true), play(false));
            if played < *seconds { low = turn_s } else { high = turn_s }
        }
        low
    }
}

impl Regime {
    /// What so many messages cost besides their bytes, both ways at once.
    fn overhead(&self, messages: usize) -> f64 {
        precise(messages) * (self.sender_s + self.receiver_s) + self.latency_s
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes in memory stay below 2^53")]
fn precise(bytes: usize) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::probe::list;

    /// What the probes take where a message takes 100 ns, 30 ns and 150 ns, and bytes 0.1, 0.2 and, combined, 0.3 ns.
    fn played(whats: &[What], known: &Calibration, shape: Shape) -> Vec<(What, f64)> {
        let each = whats.iter().map(|what| {
            let scripts = scripts(*what, 2);
            let ends = Clock::new(&scripts, &[0, 0], known, shape, true).run(64).unwrap();
            let seconds = match what {
                // The sender alone: a call, and four messages.
                What::Sends(bytes) => 50e-9 + 4.0 * (100e-9 + precise(*bytes) * 0.1e-9),
                What::Nothing
                | What::Turns(_)
                | What::Once(_)
                | What::Follows(_)
                | What::Burst(_)
                | What::Circle(_)
                | What::Both { .. }
                | What::OneWay { .. }
                | What::Read { .. }
                | What::Local { .. } => ends[63] / 64.0,
            };
            (*what, seconds)
        });
        each.collect()
    }

    #[test]
    fn what_is_played_is_found_again() {
        let rates = Rates {
            bytes: Bytes::new(1),
            send_s_per_byte: 0.1e-9,
            receive_s_per_byte: 0.2e-9,
            combine_s_per_byte: 0.3e-9,
            latency_s_per_byte: 0.0,
        };
        let stream = Regime {
            sender_s: 100e-9,
            receiver_s: 150e-9,
            latency_s: 30e-9,
            pieces: vec![rates],
            ..Regime::default()
        };
        let local = Local { footprint: Bytes::ZERO, copy_s_per_byte: 0.05e-9, combine_s_per_byte: 0.07e-9 };
        let known = Calibration {
            processors: 2,
            call_s: 50e-9,
            local_s: 20e-9,
            wire_s_per_byte: 0.0,
            local: vec![local],
            stream,
            ..Calibration::of_link(1e-6, 1e9)
        };
        let shape = Shape::stream(16 << 10, 256 << 10);
        let whats = list(shape, 4 << 20, 4, false);
        let medians = played(&whats, &known, shape);
        let found = Found {
            medians: &medians,
            shape,
            transport: "",
            processors: 2,
            hosts: &[0, 0],
            ranks: 2,
            tuning: None,
        };
        let fitted = fit(&found);
        let close = |found: f64, wanted: f64, what: &str| {
            assert!((found - wanted).abs() < 0.15 * wanted, "{what}: {found:e} {wanted:e}");
        };
        close(fitted.call_s, 50e-9, "call");
        close(fitted.stream.sender_s, 100e-9, "sender");
        close(fitted.stream.receiver_s, 150e-9, "receiver");
        close(fitted.stream.latency_s, 30e-9, "latency");
        close(fitted.local_s, 20e-9, "local");
        for piece in &fitted.stream.pieces {
            close(piece.send_s_per_byte + piece.receive_s_per_byte, 0.3e-9, "bytes");
            close(piece.send_s_per_byte + piece.combine_s_per_byte, 0.4e-9, "combined");
        }
        // In long messages both ends work at the same time, by which it is seen which takes what.
        let long = fitted.stream.pieces.last().unwrap();
        close(long.receive_s_per_byte, 0.2e-9, "receive");
        for touching in &fitted.stream.touching {
            assert!(touching.receive_s_per_byte < 0.03e-9, "{touching:?}");
        }
        close(fitted.local.last().unwrap().copy_s_per_byte, 0.05e-9, "copy");
    }
}
