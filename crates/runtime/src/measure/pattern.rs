//! Data whose combination is known: small whole numbers, exact in every type of element.

use weft_collective::{Call, Collective, Counts, Rank};

use crate::{Element, Reduction};

/// What rank `rank` brings at place `at` of its input.
fn brought(reduction: Reduction, rank: u64, at: u64) -> u64 {
    match reduction {
        // Products of many ranks stay powers of two.
        Reduction::Product => 1 + (rank + at) % 2,
        Reduction::Sum | Reduction::Min | Reduction::Max | Reduction::Average => (rank + at) % 7,
    }
}

/// Fills a rank's input of a call of equal parts.
pub(super) fn fill(element: Element, reduction: Reduction, rank: Rank, input: &mut [u8]) {
    for (at, place) in (0..).zip(input.chunks_exact_mut(element.size_bytes())) {
        write(element, brought(reduction, u64::from(rank.get()), at), place);
    }
}

/// How many elements of a rank's output are not what they should be.
pub(super) fn wrong(
    call: &Call,
    (element, reduction): (Element, Reduction),
    (rank, ranks): (Rank, u32),
    output: &[u8],
) -> u64 {
    let Counts::Even(part) = call.counts else { return 0 };
    let (rank, ranks) = (u64::from(rank.get()), u64::from(ranks));
    let all = |at: u64| (0..ranks).map(move |of| brought(reduction, of, at));
    let right = |at: u64| match call.collective {
        Collective::AllReduce => Some(combined(reduction, all(at))),
        Collective::Reduce => (rank == u64::from(call.root.get())).then(|| combined(reduction, all(at))),
        Collective::ReduceScatter => Some(combined(reduction, all(rank * part + at))),
        Collective::AllGather => Some(Wanted::Exactly(brought(reduction, at / part, at % part))),
        Collective::Broadcast => Some(Wanted::Exactly(brought(reduction, u64::from(call.root.get()), at))),
        Collective::AllToAll => Some(Wanted::Exactly(brought(reduction, at / part, rank * part + at % part))),
        Collective::SendRecv | Collective::Barrier => None,
    };
    let places = (0..).zip(output.chunks_exact(element.size_bytes()));
    let is_wrong = |(at, place): &(u64, &[u8])| right(*at).is_some_and(|right| !right.is(element, place));
    places.filter(is_wrong).count() as u64
}

/// What an element should be.
#[derive(Clone, Copy)]
enum Wanted {
    Exactly(u64),
    /// A quotient, which floats round and integers cut.
    Share(u64, u64),
}

fn combined(reduction: Reduction, values: impl Iterator<Item = u64>) -> Wanted {
    let mut count = 0;
    let values = values.inspect(|_| count += 1);
    let value = match reduction {
        Reduction::Sum | Reduction::Average => values.sum(),
        Reduction::Product => values.fold(1_u64, u64::wrapping_mul),
        Reduction::Min => values.min().unwrap_or(0),
        Reduction::Max => values.max().unwrap_or(0),
    };
    if reduction == Reduction::Average { Wanted::Share(value, count) } else { Wanted::Exactly(value) }
}

impl Wanted {
    fn is(&self, element: Element, place: &[u8]) -> bool {
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..element.size_bytes()];
        match (*self, element) {
            (Self::Exactly(value), _) => write(element, value, bytes),
            (Self::Share(sum, ranks), Element::U8 | Element::I32 | Element::I64) => {
                write(element, sum / ranks.max(1), bytes);
            }
            (Self::Share(sum, ranks), Element::F16 | Element::Bf16 | Element::F32 | Element::F64) => {
                let (sum, ranks) = (small(sum), small(ranks.max(1)));
                // Of a half, the last bits of its significand are lost.
                return (value(element, place) - sum / ranks).abs() <= sum / ranks / 100.0;
            }
        }
        bytes == place
    }
}

#[expect(clippy::cast_precision_loss, reason = "a sum of small numbers")]
fn small(value: u64) -> f64 {
    value as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "integers wrap around, floats hold small whole numbers exactly"
)]
fn write(element: Element, value: u64, place: &mut [u8]) {
    match element {
        Element::U8 => place.copy_from_slice(&[value as u8]),
        Element::I32 => place.copy_from_slice(&(value as i32).to_ne_bytes()),
        Element::I64 => place.copy_from_slice(&(value as i64).to_ne_bytes()),
        Element::F16 => place.copy_from_slice(&half(value).to_ne_bytes()),
        Element::Bf16 => {
            place.copy_from_slice(&((((small(value) as f32).to_bits()) >> 16) as u16).to_ne_bytes());
        }
        Element::F32 => place.copy_from_slice(&(small(value) as f32).to_ne_bytes()),
        Element::F64 => place.copy_from_slice(&small(value).to_ne_bytes()),
    }
}

/// A whole number up to 2,048 as binary16.
#[expect(clippy::cast_possible_truncation, reason = "an exponent of at most 11 and ten bits of significand")]
fn half(value: u64) -> u16 {
    let Some(exponent) = value.checked_ilog2() else { return 0 };
    let significand = (value << 10 >> exponent) & 0x3ff;
    ((15 + exponent) << 10) as u16 | significand as u16
}

/// The number in a place, of a float.
fn value(element: Element, place: &[u8]) -> f64 {
    let bits = place.iter().rev().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
    let bits = if cfg!(target_endian = "big") { bits.swap_bytes() >> (64 - 8 * place.len()) } else { bits };
    let low = u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
    match element {
        Element::F64 => f64::from_bits(bits),
        Element::F32 => f64::from(f32::from_bits(low)),
        Element::Bf16 => f64::from(f32::from_bits(low << 16)),
        Element::F16 => {
            let (exponent, significand) = ((low >> 10) & 0x1f, f64::from(low & 0x3ff) / 1024.0);
            let exponent = i32::try_from(exponent).unwrap_or(0);
            let magnitude = if exponent == 0 {
                significand * 2.0_f64.powi(-14)
            } else {
                (1.0 + significand) * 2.0_f64.powi(exponent - 15)
            };
            if low >> 15 == 0 { magnitude } else { -magnitude }
        }
        Element::U8 | Element::I32 | Element::I64 => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_hold_whole_numbers() {
        assert_eq!([0, 1, 2, 3, 7, 2048].map(half), [0, 0x3c00, 0x4000, 0x4200, 0x4700, 0x6800]);
        for number in [0, 1, 5, 100, 2047] {
            let mut place = [0; 2];
            write(Element::F16, number, &mut place);
            assert!((value(Element::F16, &place) - small(number)).abs() < 1e-9);
        }
    }

    #[test]
    fn one_wrong_element_is_found() {
        // Three ranks bring 0..: 0 1 2 3, 1 2 3 4, 2 3 4 5; sums 3 6 9 12.
        let call = Call::bytes(Collective::AllReduce, 4);
        let mut output = Vec::new();
        for sum in [3.0_f32, 6.0, 9.0, 12.0] {
            output.extend(sum.to_ne_bytes());
        }
        let check = |output: &[u8]| wrong(&call, (Element::F32, Reduction::Sum), (Rank::new(1), 3), output);
        assert_eq!(check(&output), 0);
        output[9] ^= 1;
        assert_eq!(check(&output), 1);
    }
}
