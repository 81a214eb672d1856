//! Against an oracle that takes one element after another and searches halves in a table of all their values.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "elements of all sizes are kept in 64 bits"
)]

use proptest::prelude::*;

use super::*;

/// What a half is worth, by definition; no NaN.
fn half_value(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff) / 1024.0);
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(-14),
        31 => f64::INFINITY,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

fn is_nan(bits: u64, infinity: u64, sign: u64) -> bool {
    bits & !sign > infinity
}

/// The nearer of two neighbours, of which the first has these bits; the even one where both are as near.
fn nearer(value: f64, bits: u16, below: f64, above: f64) -> u16 {
    match (value - below).total_cmp(&(above - value)) {
        std::cmp::Ordering::Less => bits,
        std::cmp::Ordering::Greater => bits + 1,
        std::cmp::Ordering::Equal => bits + (bits & 1),
    }
}

fn half_bits(value: f64) -> u16 {
    if value.is_nan() {
        return 0x7e00;
    }
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let (mut low, mut high) = (0_u16, 0x7c00_u16);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if half_value(middle) <= value.abs() { low = middle } else { high = middle }
    }
    // Rounding takes infinity for what would follow the largest number.
    let above = if high == 0x7c00 { 65_536.0 } else { half_value(high) };
    sign | if value.is_infinite() {
        0x7c00
    } else {
        nearer(value.abs().min(65_536.0), low, half_value(low), above)
    }
}

fn brain_value(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) * 65_536)
}

fn brain_bits(value: f32) -> u16 {
    if value.is_nan() {
        return 0x7fc0;
    }
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let low = u16::try_from(value.abs().to_bits() / 65_536).unwrap();
    let above = if low + 1 == 0x7f80 { 2_f64.powi(128) } else { f64::from(brain_value(low + 1)) };
    let value = f64::from(value.abs());
    sign | if value.is_infinite() { 0x7f80 } else { nearer(value, low, f64::from(brain_value(low)), above) }
}

/// Any float is exact in 64 bits, and so is the lesser of two.
fn least(left: f64, right: f64) -> f64 {
    if left.is_nan() || right.is_nan() {
        return if left.is_nan() { right } else { left };
    }
    if left.total_cmp(&right).is_le() { left } else { right }
}

fn real(element: Element, bits: u64) -> f64 {
    let half = bits as u16;
    match element {
        Element::F16 if is_nan(bits, 0x7c00, 0x8000) => f64::NAN,
        Element::F16 => half_value(half),
        Element::Bf16 => f64::from(brain_value(half)),
        Element::F32 => f64::from(f32::from_bits(bits as u32)),
        Element::F64 => f64::from_bits(bits),
        Element::U8 | Element::I32 | Element::I64 => panic!("{element:?} is no float"),
    }
}

/// The bits of what was computed exactly, or in 32 bits where the element has no more.
fn rounded(element: Element, value: f64) -> u64 {
    let nan = value.is_nan();
    match element {
        Element::F16 => u64::from(half_bits(value)),
        Element::Bf16 => u64::from(brain_bits(value as f32)),
        Element::F32 => u64::from(if nan { 0x7fc0_0000 } else { (value as f32).to_bits() }),
        Element::F64 => {
            if nan {
                0x7ff8_0000_0000_0000
            } else {
                value.to_bits()
            }
        }
        Element::U8 | Element::I32 | Element::I64 => panic!("{element:?} is no float"),
    }
}

/// Sign-extended.
fn whole(element: Element, bits: u64) -> i128 {
    match element {
        Element::U8 => i128::from(bits as u8),
        Element::I32 => i128::from(bits as u32 as i32),
        Element::I64 => i128::from(bits as i64),
        Element::F16 | Element::Bf16 | Element::F32 | Element::F64 => panic!("{element:?} is no integer"),
    }
}

fn is_integer(element: Element) -> bool {
    matches!(element, Element::U8 | Element::I32 | Element::I64)
}

fn wrapped(element: Element, value: i128) -> u64 {
    let values = 1_i128 << (8 * element.size_bytes());
    u64::try_from(value.rem_euclid(values)).unwrap()
}

fn oracle(element: Element, reduction: Reduction, left: u64, right: u64) -> u64 {
    if is_integer(element) {
        let (left, right) = (whole(element, left), whole(element, right));
        let value = match reduction {
            Reduction::Sum | Reduction::Average => left + right,
            Reduction::Product => left * right,
            Reduction::Min => {
                if left < right {
                    left
                } else {
                    right
                }
            }
            Reduction::Max => {
                if left < right {
                    right
                } else {
                    left
                }
            }
        };
        return wrapped(element, value);
    }
    let (left, right) = (real(element, left), real(element, right));
    // Sums and products of two 32-bit floats are computed as such, all others in 64 bits.
    let narrow = matches!(element, Element::F32 | Element::Bf16);
    let value = match reduction {
        Reduction::Sum | Reduction::Average if narrow => f64::from(left as f32 + right as f32),
        Reduction::Product if narrow => f64::from(left as f32 * right as f32),
        Reduction::Sum | Reduction::Average => left + right,
        Reduction::Product => left * right,
        Reduction::Min => least(left, right),
        Reduction::Max => -least(-left, -right),
    };
    rounded(element, value)
}

fn shared(element: Element, sum: u64, ranks: u32) -> u64 {
    if is_integer(element) {
        return wrapped(element, whole(element, sum) / i128::from(ranks));
    }
    let sum = real(element, sum);
    let value = if element == Element::F64 {
        sum / f64::from(ranks)
    } else {
        f64::from(sum as f32 / f64::from(ranks) as f32)
    };
    rounded(element, value)
}

fn element_at(element: Element, bytes: &[u8], index: usize) -> u64 {
    let size = element.size_bytes();
    let mut all = [0; 8];
    all[..size].copy_from_slice(&bytes[index * size..][..size]);
    u64::from_le_bytes(all)
}

/// Combines and accumulates on every path and compares each element with the oracle.
fn check(element: Element, reduction: Reduction, local: &[u8], received: &[u8], offset: usize) {
    let mut into = vec![0; offset + local.len()];
    for path in Path::all() {
        into[offset..].fill(0xa5);
        on(path, element, Combine { reduction, local, received, into: &mut into[offset..] });
        compare(element, reduction, local, received, &into[offset..]);
        into[offset..].copy_from_slice(local);
        on(path, element, Accumulate { reduction, received, into: &mut into[offset..] });
        compare(element, reduction, local, received, &into[offset..]);
    }
}

fn compare(element: Element, reduction: Reduction, local: &[u8], received: &[u8], into: &[u8]) {
    for index in 0..local.len() / element.size_bytes() {
        let (left, right) = (element_at(element, local, index), element_at(element, received, index));
        let (found, expected) = (element_at(element, into, index), oracle(element, reduction, left, right));
        assert_eq!(
            found, expected,
            "{element:?} {reduction:?} of {left:#x} and {right:#x} at {index}: {found:#x}"
        );
    }
}

fn check_division(element: Element, ranks: u32, sums: &[u8], offset: usize) {
    let mut into = vec![0; offset + sums.len()];
    for path in Path::all() {
        into[offset..].copy_from_slice(sums);
        on(path, element, Divide { ranks, sums: &mut into[offset..] });
        for index in 0..sums.len() / element.size_bytes() {
            let sum = element_at(element, sums, index);
            let found = element_at(element, &into[offset..], index);
            assert_eq!(found, shared(element, sum, ranks), "{element:?} {sum:#x} / {ranks}: {found:#x}");
        }
    }
}

/// Zeros, subnormals, the largest numbers, infinities and several NaNs; of halves neighbours whose sums are ties.
fn specials(element: Element) -> Vec<u64> {
    let floats = |sign: u64, infinity: u64, one: u64, place: u64| {
        let positive = [
            0,
            1,
            2,
            3,
            place - 1,
            place,
            place + 1,
            one - 1,
            one,
            one + 1,
            one + 2,
            one + 3,
            one + place,
            infinity - 1,
            infinity,
            infinity + 1,
            infinity + place / 2,
            infinity + place - 1,
            11 * place,
            11 * place + 1,
            one + 8 * place,
            one + 9 * place,
            one + 9 * place + 1,
            one + 10 * place + 1,
            infinity - place,
            infinity - place * 2,
        ];
        positive.iter().flat_map(|bits| [*bits, bits | sign]).collect()
    };
    match element {
        Element::U8 => (0..=255).collect(),
        Element::I32 => {
            vec![0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff, 0xffff_fffe, 46_341]
        }
        Element::I64 => {
            vec![0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) + 1, (1 << 63) - 1, 3_037_000_500]
        }
        Element::F16 => floats(0x8000, 0x7c00, 0x3c00, 1 << 10),
        Element::Bf16 => floats(0x8000, 0x7f80, 0x3f80, 1 << 7),
        Element::F32 => floats(1 << 31, 0x7f80_0000, 0x3f80_0000, 1 << 23),
        Element::F64 => floats(1 << 63, 0x7ff0 << 48, 0x3ff0 << 48, 1 << 52),
    }
}

fn bytes(element: Element, values: impl Iterator<Item = u64>) -> Vec<u8> {
    values.flat_map(|value| value.to_le_bytes().into_iter().take(element.size_bytes())).collect()
}

#[test]
fn pairs_of_special_values() {
    for element in Element::ALL {
        let values = specials(element);
        let left = bytes(element, values.iter().flat_map(|value| vec![*value; values.len()]));
        let right = bytes(element, values.iter().cycle().take(values.len() * values.len()).copied());
        for reduction in Reduction::ALL {
            check(element, reduction, &left, &right, 0);
        }
        for ranks in [1, 2, 3, 7, 255, 256, 65_535, 1 << 24, (1 << 24) + 1, u32::MAX] {
            check_division(element, ranks, &bytes(element, values.iter().copied()), 0);
        }
    }
}

#[test]
fn known_results() {
    let sum = |element, left: &[u8], right: &[u8]| {
        let mut into = vec![0; left.len()];
        combine(element, Reduction::Sum, left, right, &mut into);
        into
    };
    assert_eq!(sum(Element::U8, &[250], &[10]), [4]);
    assert_eq!(sum(Element::F32, &1.5_f32.to_ne_bytes(), &2.25_f32.to_ne_bytes()), 3.75_f32.to_ne_bytes());
    // 2048 + 1 lies between the halves 2048 and 2050: even is 2048 (0x6800); 2050 + 1 becomes 2052 (0x6802).
    assert_eq!(sum(Element::F16, &[0, 0x68, 1, 0x68], &[0, 0x3c, 0, 0x3c]), [0, 0x68, 2, 0x68]);
    // 256 + 1 lies between 256 and 258: even is 256 (0x4380); 258 + 1 becomes 260 (0x4382).
    assert_eq!(
        sum(Element::Bf16, &[0x80, 0x43, 0x81, 0x43], &[0x80, 0x3f, 0x80, 0x3f]),
        [0x80, 0x43, 0x82, 0x43]
    );

    let mut sums = [-7_i32, 7, i32::MIN].map(i32::to_ne_bytes).concat();
    divide(Element::I32, 2, &mut sums);
    assert_eq!(sums, [-3_i32, 3, i32::MIN / 2].map(i32::to_ne_bytes).concat());
    divide(Element::I32, 0, &mut sums);
    assert_eq!(sums, [-3_i32, 3, i32::MIN / 2].map(i32::to_ne_bytes).concat());
}

#[test]
fn every_half() {
    for bits in (0..=u16::MAX).filter(|bits| !is_nan(u64::from(*bits), 0x7c00, 0x8000)) {
        assert_eq!(f64::from(format::widened(bits)).to_bits(), half_value(bits).to_bits());
        assert_eq!(half_bits(half_value(bits)), bits, "the oracle");
    }
    let all = bytes(Element::F16, 0..=0xffff);
    let others = bytes(Element::F16, (0..=0xffff).map(|bits| (bits * 40_503) & 0xffff));
    check(Element::F16, Reduction::Sum, &all, &others, 0);
    check(Element::F16, Reduction::Product, &all, &others, 0);
    check_division(Element::F16, 3, &all, 0);
    check(Element::Bf16, Reduction::Product, &all, &others, 0);
    check_division(Element::Bf16, 3, &all, 0);
}

#[test]
fn every_tie_between_halves_goes_to_the_even_one() {
    for bits in 0..0x7bff_u16 {
        let tie = f64::midpoint(half_value(bits), half_value(bits + 1)) as f32;
        let even = bits + (bits & 1);
        let neighbours = [tie.next_down(), tie, tie.next_up()].map(format::narrowed);
        assert_eq!(neighbours, [bits, even, bits + 1]);
    }
    // The largest half is 65504; from 65520 on it is infinity.
    assert_eq!(
        [65_519.996, 65_520.0, 1e30, f32::MAX].map(format::narrowed),
        [0x7bff, 0x7c00, 0x7c00, 0x7c00]
    );
}

#[test]
fn results_that_are_streamed_are_the_same() {
    for (element, bytes) in
        [(Element::F32, 40_000), (Element::F16, 40_002), (Element::I64, 8), (Element::U8, 12_289)]
    {
        for shift in [0, 8, 3] {
            let local: Vec<u8> = (0..bytes).map(|at| (at * 7 % 120) as u8).collect();
            let received: Vec<u8> = (0..bytes).map(|at| (at * 11 % 100) as u8).collect();
            let (mut right, mut streamed) = (vec![0; bytes], vec![0; bytes + shift + 1]);
            combine(element, Reduction::Sum, &local, &received, &mut right);
            combine_streamed(element, Reduction::Sum, &local, &received, &mut streamed[shift..shift + bytes]);
            assert_eq!(streamed[shift..shift + bytes], right, "{element:?}, {shift}");
            streamed[shift..shift + bytes].copy_from_slice(&local);
            accumulate_streamed(element, Reduction::Sum, &received, &mut streamed[shift..shift + bytes]);
            assert_eq!(streamed[shift..shift + bytes], right, "{element:?}, {shift}, in place");
            assert_eq!(streamed[shift + bytes], 0);
        }
    }
}

#[test]
fn copies_of_all_sizes_are_whole() {
    let from: Vec<u8> =
        (0..STREAMED_WHOLE_BYTES.start as u32 + 99).map(|index| (index % 251) as u8).collect();
    for length in [0, 99, STREAMED_WHOLE_BYTES.start + 99] {
        let mut into = vec![0; length + 3];
        copy(&from[..length], &mut into[3..]);
        assert!(into[3..] == from[..length] && into[..3] == [0; 3], "{length} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_of_any_length_anywhere(
        bytes in proptest::collection::vec(any::<u8>(), 300 * 16 + 32),
        elements in 0_usize..300,
        offsets in (0_usize..9, 0_usize..9, 0_usize..9),
        ranks in 1_u32..100_000,
    ) {
        for element in Element::ALL {
            let length = elements * element.size_bytes();
            let local = &bytes[offsets.0..][..length];
            let received = &bytes[300 * 8 + 16 + offsets.1..][..length];
            for reduction in Reduction::ALL {
                check(element, reduction, local, received, offsets.2);
            }
            check_division(element, ranks, local, offsets.2);
        }
    }
}
