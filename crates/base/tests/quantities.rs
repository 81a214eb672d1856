//! Quantities read, print, and refuse what has no unit.

use proptest::prelude::*;
use weft_base::{Bytes, LinkSpeed, Rate, Ratio, Span, TransferRate};

#[test]
fn the_spellings_people_use_parse() {
    // 450 GB/s is 450e9 B/s; 400 Gb/s is 400e9 / 8 = 50e9 B/s.
    assert_eq!("450 GB/s".parse(), Ok(Rate::bytes_per_second(450_000_000_000)));
    assert_eq!("400 Gb/s".parse(), Ok(Rate::bytes_per_second(50_000_000_000)));
    assert_eq!("400Gb/s".parse(), Ok(Rate::bytes_per_second(50_000_000_000)));
    // 1 GiB is 2^30 B.
    assert_eq!("1GiB".parse(), Ok(Bytes::new(1 << 30)));
    assert_eq!("1 GB".parse(), Ok(Bytes::new(1_000_000_000)));
    assert_eq!("0.5 KiB".parse(), Ok(Bytes::new(512)));
    // 1.5 us is 1.5e6 ps.
    assert_eq!("1.5 us".parse(), Ok(Span::picoseconds(1_500_000)));
    assert_eq!("1.5 µs".parse(), Ok(Span::picoseconds(1_500_000)));
    assert_eq!("92 %".parse::<Ratio>().map(Ratio::as_f64), Ok(0.92));
}

#[test]
fn a_pcie_4_x16_link_carries_31_5_gigabytes_per_second() {
    // 16e9 transfers/s x 16 lanes x 128/130 / 8 bits = 31.508 GB/s in one direction.
    let speed: LinkSpeed = "16 GT/s x16".parse().unwrap();
    let encoding: Ratio = "128/130".parse().unwrap();
    assert_eq!(speed.lane.rate(speed.lanes, encoding).get(), 31_507_692_307);
    assert_eq!(speed.to_string(), "16 GT/s x16");
    assert_eq!("25.78125 Gb/s".parse::<TransferRate>().unwrap().to_string(), "25.78125 GT/s");
}

#[test]
fn a_bare_number_never_parses_and_the_error_says_what_was_probably_meant() {
    let error = "450".parse::<Rate>().unwrap_err().to_string();
    assert_eq!(error, "`450` has no unit; did you mean `450 B/s` or `450 kB/s` or `450 MB/s` or `450 GB/s`?");
    let error = "1024".parse::<Bytes>().unwrap_err().to_string();
    assert_eq!(error, "`1024` has no unit; did you mean `1024 B` or `1024 KiB` or `1024 MiB` or `1024 GiB`?");
    assert!("1.5".parse::<Span>().is_err());
    assert!("16 x16".parse::<LinkSpeed>().is_err());
}

#[test]
fn a_wrong_unit_names_the_right_ones() {
    let error = "400 gb/s".parse::<Rate>().unwrap_err().to_string();
    assert_eq!(error, "`gb/s` is not a unit of a rate; did you mean `400 GB/s` or `400 Gb/s`?");
    let error = "256 M".parse::<Bytes>().unwrap_err().to_string();
    assert_eq!(
        error,
        "`M` is not a unit of an amount of data; did you mean `256 MB` or `256 MiB` or `256 Mb`?"
    );
    let error = "fast".parse::<Rate>().unwrap_err().to_string();
    assert_eq!(error, "`fast` does not start with a number; expected a rate, for example `450 GB/s`");
}

#[test]
fn what_does_not_fit_is_refused_not_wrapped() {
    assert!("99999999999 TB".parse::<Bytes>().is_err());
    assert!("1e9 B".parse::<Bytes>().is_err());
    assert!("-1 B".parse::<Bytes>().is_err());
    assert!("1/0".parse::<Ratio>().is_err());
    assert!("4294967295/2 %".parse::<Ratio>().is_ok());
    assert!("1/4294967295 %".parse::<Ratio>().is_err());
}

proptest! {
    #[test]
    fn whole_units_survive_a_round_trip(count in 1u64..1000) {
        let rate = Rate::bytes_per_second(count * 1_000_000_000);
        prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
        let bytes = Bytes::new(count << 20);
        prop_assert_eq!(bytes.to_string().parse::<Bytes>(), Ok(bytes));
        let span = Span::picoseconds(count * 1_000_000);
        prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
    }

    #[test]
    fn printing_keeps_four_digits(count in 1u64..1_000_000_000_000_000) {
        let rate = Rate::bytes_per_second(count);
        let read: Rate = rate.to_string().parse().unwrap();
        let difference = (read.as_gigabytes() - rate.as_gigabytes()).abs();
        prop_assert!(difference <= rate.as_gigabytes() * 6e-4);
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = text.parse::<Rate>();
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<Ratio>();
        let _ = text.parse::<LinkSpeed>();
    }

    #[test]
    fn a_rate_and_its_span_agree(bytes in 1u64..1 << 40, rate in 1_000u64..1_000_000_000_000) {
        let span = Rate::bytes_per_second(rate).span_for(Bytes::new(bytes));
        if let Some(span) = span {
            let seconds = Bytes::new(bytes).as_f64() / Rate::bytes_per_second(rate).as_gigabytes() / 1e9;
            prop_assert!((span.as_seconds() - seconds).abs() <= 1e-12 + seconds * 1e-9);
        }
    }
}
