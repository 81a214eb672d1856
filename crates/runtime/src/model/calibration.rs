//! What is known of a transport and its hosts.

use weft_base::Bytes;

use super::stream::Age;
use crate::Tuning;

/// What messages and local work cost, as measured on the hosts in question.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Of which transport: `shared memory`, `TCP`.
    pub transport: String,
    /// Processors that the ranks of a host share.
    pub processors: u32,
    /// Which of two ways the transport goes, where it has the choice: so it did when this was measured.
    pub tuning: Option<Tuning>,
    /// What a rank does once in each call, in seconds.
    pub call_s: f64,
    /// What it takes until a processor that several ranks share has gone from one that waits to the next, in seconds.
    pub turn_s: f64,
    /// What each piece of work within a rank costs besides its bytes, in seconds.
    pub local_s: f64,
    /// What the wire between two ranks carries in one direction, where that and not the processors is the limit.
    pub wire_s_per_byte: f64,
    /// Pieces that travel in one line of the cache; none where the transport knows no such thing.
    pub line: Option<Regime>,
    /// Pieces that are copied twice: by the sender, then by the receiver.
    pub stream: Regime,
    /// Pieces that the receiver reads from the sender's memory.
    pub direct: Option<Regime>,
    /// Pieces that the receiver reads from a buffer that it maps; none where the transport has no such buffers.
    pub registered: Option<Regime>,
    /// Work within a rank, by what it touches; ascending.
    pub local: Vec<Local>,
}

/// A way in which pieces of messages travel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Regime {
    /// Of the sender's processor for each piece, in seconds.
    pub sender_s: f64,
    /// Of the receiver's processor for each piece, in seconds.
    pub receiver_s: f64,
    /// Between the end of the one and the beginning of the other, in seconds.
    pub latency_s: f64,
    /// What bytes cost besides in pieces of some lengths that stay in the cache; ascending.
    pub pieces: Vec<Rates>,
    /// What bytes cost in addition in calls that touch so much on a processor; ascending.
    pub touching: Vec<Rates>,
    /// The same of bytes that the sender has written in the call to be read by others, where the receiver reads them in
    /// the sender's memory; ascending. Empty where that makes no difference, or is not known.
    pub passed_on: Vec<Rates>,
    /// The same of such as the sender has written for itself, and which its cache still holds.
    pub fresh: Vec<Rates>,
}

/// What bytes of messages cost, in seconds per byte.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rates {
    /// Of what length of a piece, or when so much is touched.
    pub bytes: Bytes,
    /// Of the sender's processor.
    pub send_s_per_byte: f64,
    /// Of the receiver's processor, where they are only kept.
    pub receive_s_per_byte: f64,
    /// Of the receiver's processor, where they are combined with others.
    pub combine_s_per_byte: f64,
    /// Between the two: what a receiver waits for that has nothing else to take.
    pub latency_s_per_byte: f64,
}

/// What bytes cost that stay within a rank.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Local {
    /// What the calls of the ranks of a processor touch.
    pub footprint: Bytes,
    /// To copy them.
    pub copy_s_per_byte: f64,
    /// To combine them with others.
    pub combine_s_per_byte: f64,
}

impl Calibration {
    /// Of a link with a latency and a bandwidth, and processors that cost nothing: what is assumed until more is known.
    pub fn of_link(latency_s: f64, bytes_per_s: f64) -> Self {
        let stream = Regime { latency_s, ..Regime::default() };
        Self {
            transport: "a link".to_owned(),
            processors: u32::MAX,
            tuning: None,
            call_s: 0.0,
            turn_s: 0.0,
            local_s: 0.0,
            wire_s_per_byte: 1.0 / bytes_per_s,
            line: None,
            stream,
            direct: None,
            registered: None,
            local: vec![Local {
                copy_s_per_byte: 1.0 / bytes_per_s,
                combine_s_per_byte: 1.0 / bytes_per_s,
                ..Local::default()
            }],
        }
    }
}

impl Calibration {
    /// What a message between two ranks takes: without bytes, in seconds, and the bytes per second of large ones, which
    /// go both ways at the same time.
    pub fn message(&self) -> (f64, f64) {
        let small = self.line.as_ref().unwrap_or(&self.stream);
        let large = self.stream.rates(1e6, &self.stream.touched(4e6));
        let per_byte = (large.send_s_per_byte + large.receive_s_per_byte).max(self.wire_s_per_byte);
        (small.sender_s + small.latency_s + small.receiver_s, 1.0 / per_byte.max(1e-15))
    }

    /// The same for a person.
    pub fn summary(&self) -> String {
        let (latency_s, bytes_per_s) = self.message();
        format!(
            "a message between two ranks takes {:.3} us and {:.2} GB/s",
            latency_s * 1e6,
            bytes_per_s / 1e9
        )
    }
}

impl Regime {
    /// What bytes of a piece cost in a call that touches so much in addition to what it touches itself.
    pub(super) fn rates(&self, piece: f64, touched: &Rates) -> Rates {
        let own = at(&self.pieces, piece);
        Rates {
            bytes: Bytes::ZERO,
            send_s_per_byte: own.send_s_per_byte + touched.send_s_per_byte,
            receive_s_per_byte: own.receive_s_per_byte + touched.receive_s_per_byte,
            combine_s_per_byte: own.combine_s_per_byte + touched.combine_s_per_byte,
            latency_s_per_byte: own.latency_s_per_byte,
        }
    }

    /// What bytes cost more in a call that touches so much.
    pub(super) fn touched(&self, footprint: f64) -> Rates {
        at(&self.touching, footprint)
    }

    /// The same of bytes that have been where they are since then.
    pub(super) fn of_age(&self, age: Age, footprint: f64) -> Rates {
        let list = match age {
            Age::Old => &self.touching,
            Age::PassedOn => &self.passed_on,
            Age::Fresh => &self.fresh,
        };
        if list.is_empty() { self.touched(footprint) } else { at(list, footprint) }
    }
}

/// The rates at some number of bytes.
fn at(list: &[Rates], bytes: f64) -> Rates {
    let at = |of: fn(&Rates) -> f64| between(bytes, list, |rates| rates.bytes.as_f64(), of);
    Rates {
        bytes: Bytes::ZERO,
        send_s_per_byte: at(|rates| rates.send_s_per_byte),
        receive_s_per_byte: at(|rates| rates.receive_s_per_byte),
        combine_s_per_byte: at(|rates| rates.combine_s_per_byte),
        latency_s_per_byte: at(|rates| rates.latency_s_per_byte),
    }
}

impl Calibration {
    /// What local work costs in a call that touches so much: copies and combinations.
    pub(super) fn local(&self, footprint: f64) -> Local {
        let at =
            |of: fn(&Local) -> f64| between(footprint, &self.local, |local| local.footprint.as_f64(), of);
        Local {
            footprint: Bytes::ZERO,
            copy_s_per_byte: at(|local| local.copy_s_per_byte),
            combine_s_per_byte: at(|local| local.combine_s_per_byte),
        }
    }
}

/// A value between those of the two points around a place: straight over the logarithm of the place, since caches
/// differ in size by factors. Beyond the ends it is that of the end.
fn between<P>(place: f64, points: &[P], at: impl Fn(&P) -> f64, of: impl Fn(&P) -> f64) -> f64 {
    let next = points.partition_point(|point| at(point) < place);
    match (next.checked_sub(1).and_then(|before| points.get(before)), points.get(next)) {
        (Some(low), Some(high)) => {
            let (from, to) = (octave(at(low)), octave(at(high)));
            let share = ((octave(place) - from) / (to - from).max(1e-9)).clamp(0.0, 1.0);
            of(low) + share * (of(high) - of(low))
        }
        (Some(end), None) | (None, Some(end)) => of(end),
        (None, None) => 0.0,
    }
}

/// The logarithm to base two, straight between powers of two: no more is needed of it, and it is the same everywhere.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes in memory, of which parts do not count"
)]
#[expect(clippy::cast_precision_loss, reason = "as above")]
fn octave(bytes: f64) -> f64 {
    let whole = (bytes.max(1.0) as u64).max(1);
    let below = whole.ilog2();
    f64::from(below) + (whole - (1 << below)) as f64 / (1_u64 << below) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_sizes_costs_go_straight_over_the_logarithm() {
        let point = |kib: u64, cost: f64| Rates {
            bytes: Bytes::new(kib << 10),
            send_s_per_byte: cost,
            ..Rates::default()
        };
        let regime = Regime { pieces: vec![point(16, 1.0), point(64, 3.0)], ..Regime::default() };
        let cost = |kib: f64| regime.rates(kib * 1024.0, &Rates::default()).send_s_per_byte;
        assert!((cost(32.0) - 2.0).abs() < 1e-9);
        assert!((cost(1.0) - 1.0).abs() < 1e-9 && (cost(900.0) - 3.0).abs() < 1e-9);
    }
}
