//! Calibrations of machines whose parameters are known, because they are made up.

use weft_catalogue::Catalogue;
use weft_collective::Collective;

use super::{Calibration, Fitted, Observation, PairEvidence, Parameter, Parts, Regime, Wire, fit};
use crate::{Algorithm, Protocol};

const SIMPLE: Regime =
    Regime { collective: Collective::AllReduce, algorithm: Algorithm::Ring, protocol: Protocol::Simple };
const LL: Regime = Regime { protocol: Protocol::Ll, ..SIMPLE };

/// What is predicted of sizes from 2^10 to 2^33 bytes: LL up to 1 MiB at 40 GB/s, then Simple at 200 GB/s.
fn predicted() -> Vec<(Regime, Parts)> {
    (10..=33)
        .map(|power: i32| {
            let bytes = libm::ldexp(1.0, power);
            let host = Parts { bytes, host_us: 3.0, least_host_us: 3.0, ..Parts::default() };
            if power <= 20 {
                let wire_us = bytes / 40e3;
                (LL, Parts { kernel_us: 6.0, steps_us: 8.0, wire_us, wire: Wire::Stores, ..host })
            } else {
                let wire_us = bytes / 200e3;
                let filling_us = 2.0 * (wire_us.min(160.0) * 40.0).sqrt();
                (SIMPLE, Parts { kernel_us: 8.0, steps_us: 40.0, filling_us, wire_us, ..host })
            }
        })
        .collect()
}

/// A machine with factors on the kernel and on steps, and on the bandwidth of its links.
#[derive(Debug, Clone, Copy)]
struct Machine {
    kernel: f64,
    step: f64,
    efficiency: f64,
}

impl Machine {
    fn time_us(&self, parts: &Parts) -> f64 {
        let share = if parts.wire == Wire::Stores { 1.0 } else { self.efficiency };
        let device_us = self.kernel * parts.kernel_us
            + self.step * parts.steps_us
            + parts.filling_us
            + parts.wire_us / share;
        device_us.max(parts.host_us)
    }
}

fn observed(truth: Machine, pick: impl Fn(usize) -> bool) -> Vec<Observation> {
    let rows = predicted().into_iter().enumerate().filter(|(index, _)| pick(*index));
    let row = |(_, (regime, parts))| Observation { regime, parts, measured_us: truth.time_us(&parts) };
    rows.map(row).collect()
}

fn machine(kernel: f64, step: f64, efficiency: f64) -> Machine {
    Machine { kernel, step, efficiency }
}

fn efficiency(found: &Calibration) -> Fitted {
    found.fitted(Parameter::Intra)
}

fn fitted(rows: &[Observation]) -> Calibration {
    fit(rows, &[], Catalogue::embedded()).unwrap()
}

#[test]
fn what_is_as_predicted_stays_so() {
    let found = fitted(&observed(machine(1.0, 1.0, 1.0), |_| true));
    for (regime, parts) in predicted() {
        let ratio = found.time_us(regime, &parts) / parts.total_us();
        assert!((ratio - 1.0).abs() < 1e-6, "{regime:?} {parts:?}: {ratio}");
    }
}

#[test]
fn nothing_measured_changes_nothing() {
    let found = fitted(&[]);
    assert_eq!(found, Calibration::default());
    let (regime, parts) = predicted()[5];
    assert_eq!((found.interval(regime, &parts), efficiency(&found).value), (None, 1.0));
    assert!((found.time_us(regime, &parts) - parts.total_us()).abs() < 1e-12);
}

/// Of a machine that carries 0.8 of the bandwidth and has slower kernels and steps, every third row tells the others.
#[test]
fn a_third_of_the_rows_tells_the_others() {
    let truth = machine(1.3, 1.4, 0.8);
    for offset in 0..3 {
        let found = fitted(&observed(truth, |index| index % 3 == offset));
        for (regime, parts) in predicted() {
            let ratio = found.time_us(regime, &parts) / truth.time_us(&parts);
            assert!((ratio - 1.0).abs() < 0.07, "{offset} {parts:?}: {ratio}");
            let known = found.interval(regime, &parts).unwrap();
            assert!((known.low_us..=known.high_us).contains(&truth.time_us(&parts)), "{parts:?} {known:?}");
        }
        // The large sizes show nothing but the bandwidth.
        let Fitted { value, standard_error } = efficiency(&found);
        assert!(libm::log(value / 0.8).abs() < 2.0 * standard_error && standard_error < 0.1, "{value}");
        assert!(found.fitted(Parameter::Steps).value > 1.0, "{found:?}");
    }
}

/// The quicker of both ways to start kernels is what the rows show: 15 us, where one process would take 28.
#[test]
fn rows_tell_who_starts_the_kernels() {
    let row = |power: i32, measured_us: f64| {
        let host =
            Parts { host_us: 28.0, least_host_us: 3.5, kernel_us: 6.6, steps_us: 9.0, ..Parts::default() };
        let parts = Parts { bytes: libm::ldexp(1.0, power), ..host };
        Observation { regime: LL, parts, measured_us }
    };
    let found = fitted(&[row(3, 15.0), row(6, 15.2), row(9, 15.6)]);
    let asked = row(10, 0.0).parts;
    let known = found.interval(LL, &asked).unwrap();
    assert!((known.time_us / 15.6 - 1.0).abs() < 0.05 && known.high_us < 28.0, "{known:?}");
    // A message of which the GPUs alone take 40 us is not quicker for it.
    let long = Parts { steps_us: 33.4, ..asked };
    assert!((found.time_us(LL, &long) / 40.0 - 1.0).abs() < 0.2);
    // Nothing says so where rows take as long as one process does.
    let slow = fitted(&[row(3, 28.0), row(6, 28.2), row(9, 27.9)]);
    assert!((slow.time_us(LL, &asked) / 28.0 - 1.0).abs() < 0.05);
}

#[test]
fn one_row_that_is_far_off_does_not_bend_the_others() {
    let truth = machine(1.0, 1.0, 0.9);
    let mut rows = observed(truth, |_| true);
    rows[20].measured_us *= 3.0;
    let found = fitted(&rows);
    for (index, (regime, parts)) in predicted().into_iter().enumerate().filter(|(index, _)| *index != 20) {
        let ratio = found.time_us(regime, &parts) / truth.time_us(&parts);
        assert!((ratio - 1.0).abs() < 0.08, "{index}: {ratio}");
    }
}

/// A bump that no parameter makes, 1.3 around 8 MiB: the correction follows it.
#[test]
fn what_no_parameter_makes_is_corrected() {
    let mut rows = observed(machine(1.0, 1.0, 1.0), |_| true);
    for (index, row) in rows.iter_mut().enumerate() {
        // 2^23 is the 13th size.
        let distance = (f64::from(u32::try_from(index).unwrap()) - 13.0) / 2.0;
        row.measured_us *= 1.0 + 0.3 * libm::exp(-distance * distance);
    }
    let found = fitted(&rows);
    for row in &rows {
        let ratio = found.time_us(row.regime, &row.parts) / row.measured_us;
        assert!((ratio - 1.0).abs() < 0.08, "{row:?}: {ratio}");
    }
}

/// Rows that lie 4 % apart leave an interval that holds most of them and is narrow.
#[test]
fn the_interval_is_as_wide_as_the_rows_lie_apart() {
    let mut rows = observed(machine(1.1, 1.1, 0.85), |_| true);
    for (index, row) in rows.iter_mut().enumerate() {
        row.measured_us *= [0.96, 1.03, 1.0, 1.04, 0.97][index % 5];
    }
    let found = fitted(&rows);
    let inside = rows.iter().filter(|row| {
        let known = found.interval(row.regime, &row.parts).unwrap();
        assert!(known.high_us / known.low_us < 1.35, "{known:?}");
        (known.low_us..=known.high_us).contains(&row.measured_us)
    });
    assert!(inside.count() >= 20, "24 rows");
}

/// Only large messages were measured: their intervals shrink, those of small ones stay as they were.
#[test]
fn an_interval_is_wide_where_nothing_was_measured() {
    let found = fitted(&observed(machine(1.0, 1.0, 0.95), |index| index >= 18));
    let wide = |index: usize| {
        let (regime, parts) = predicted()[index];
        let known = found.interval(regime, &parts).unwrap();
        known.high_us / known.low_us
    };
    assert!(wide(22) < 1.2, "{}", wide(22));
    assert!(wide(2) > 2.0, "{}", wide(2));
    // A doubling away is surer than five.
    assert!(wide(16) < wide(12), "{} {}", wide(16), wide(12));
}

/// The host was measured to take 18 us from 1 KiB on, not 20: smaller messages take no longer.
#[test]
fn below_what_was_measured_the_correction_stays() {
    let row = |power: i32| {
        let host = Parts { host_us: 20.0, least_host_us: 20.0, kernel_us: 6.0, ..Parts::default() };
        let parts = Parts { bytes: libm::ldexp(1.0, power), ..host };
        Observation { regime: LL, parts, measured_us: 18.0 }
    };
    let found = fitted(&[row(10), row(13), row(16)]);
    let time_us = |power: i32| found.time_us(LL, &row(power).parts);
    assert!((time_us(10) / 18.0 - 1.0).abs() < 0.01 && (time_us(0) - time_us(10)).abs() < 1e-9);
    // It is less sure there all the same.
    let high_us = |power: i32| found.interval(LL, &row(power).parts).unwrap().high_us;
    assert!(high_us(0) > high_us(10));
}

/// A machine whose small messages take 10 % more with each of 8 doublings, where the prediction is flat.
#[test]
fn what_grows_where_the_prediction_is_flat_is_told_by_size() {
    let row = |power: i32| {
        let host =
            Parts { host_us: 20.0, least_host_us: 20.0, kernel_us: 6.0, steps_us: 10.0, ..Parts::default() };
        let parts = Parts { bytes: libm::ldexp(1.0, power), ..host };
        Observation { regime: LL, parts, measured_us: 20.0 * libm::pow(1.1, f64::from(power - 3)) }
    };
    let all: Vec<Observation> = (3..=11).map(row).collect();
    let third: Vec<Observation> = all.iter().copied().step_by(2).collect();
    let found = fitted(&third);
    let mut last_us = 0.0;
    for row in &all {
        let time_us = found.time_us(row.regime, &row.parts);
        assert!((time_us / row.measured_us - 1.0).abs() < 0.04, "{row:?}: {time_us}");
        assert!(time_us >= last_us);
        last_us = time_us;
    }
}

/// What one collective tells of the links holds for another, which is less sure.
#[test]
fn another_collective_is_scaled_and_less_sure() {
    let found = fitted(&observed(machine(1.0, 1.0, 0.7), |_| true));
    let other = Regime { collective: Collective::AllGather, ..SIMPLE };
    let (regime, parts) = predicted()[22];
    let slower = found.time_us(other, &parts) / parts.total_us();
    assert!(slower > 1.25 && slower < 1.0 / 0.7, "{slower}");
    let wide = |regime| {
        let known = found.interval(regime, &parts).unwrap();
        known.high_us / known.low_us
    };
    assert!(wide(other) > wide(regime));
}

/// Links whose copies reach half are odd. Their variance is (3 x 0.055)² = 0.0272, of which 0.76 is of all collectives
/// alike: 0.0207; the number of GPUs adds 0.06², and copies tell of it with a
/// variance of 0.01.
#[test]
fn links_that_copies_find_slow_are_slow_for_collectives() {
    let half = PairEvidence { share: 0.5, pairs: 56 };
    let found = fit(&[], &[half], Catalogue::embedded()).unwrap();
    let expected = libm::pow(0.5, (0.0207 + 0.0036) / (0.0272 + 0.0036 + 0.01));
    assert!((efficiency(&found).value - expected).abs() < 0.01, "{:?}", efficiency(&found));
}

#[test]
fn links_carry_what_the_efficiencies_say() {
    let catalogue = Catalogue::embedded();
    let machine = catalogue.system("dgx-a100").unwrap();
    let whole = weft_topology::build(machine, catalogue).unwrap().topology;
    let half = PairEvidence { share: 0.5, pairs: 56 };
    let half = fit(&[], &[half], catalogue).unwrap();
    let share = efficiency(&half).value;
    let now = half.on_links(&whole);
    for ((_, was), (_, is)) in whole.links().zip(now.links()) {
        assert!((is.capacity.as_gigabytes() / was.capacity.as_gigabytes() - share).abs() < 1e-6);
        assert_eq!(was.count, is.count);
    }
}

#[test]
fn the_file_reads_as_it_was_written() {
    let mut found = fitted(&observed(machine(1.3, 1.3, 0.8), |_| true));
    found.machine = Some("a \"rack\"".to_owned());
    found.sources.push(super::CalibrationSource { file: "run.txt".to_owned(), rows: 24 });
    let text = found.to_toml();
    let read = Calibration::parse("m.toml", &text).unwrap();
    assert_eq!(read.to_toml(), text);
    assert_eq!((read.machine, read.sources), (found.machine.clone(), found.sources.clone()));
    for (regime, parts) in predicted() {
        let ratio = Calibration::parse("m.toml", &text).unwrap().time_us(regime, &parts)
            / found.time_us(regime, &parts);
        assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    }
}

#[test]
fn what_a_file_says_wrongly_is_named_with_its_place() {
    let text = fitted(&observed(machine(1.3, 1.3, 0.8), |_| true)).to_toml();
    assert!(text.contains("process-per-gpu = 0.0000"), "{text}");
    let found = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} in {text}");
        let finding = Calibration::parse("m.toml", &text.replacen(from, to, 1)).unwrap_err();
        assert_eq!(finding.code.name, "calibration-file");
        (finding.place.map(|place| place.line), finding.message)
    };
    assert_eq!(found("version = 2", "version = 1").0, Some(3));
    assert_eq!(found("step-scale", "stop-scale").0, Some(9));
    assert!(found("collective = \"all-reduce\"", "collective = \"all-redux\"").1.contains("all-redux"));
    assert!(found("wire-us = [", "wire-us = [1.0, ").1.contains("as many numbers"));
    assert!(found("kernel-us = [6", "kernel-us = [-6").1.contains("not below"));
    assert!(found("process-per-gpu = 0", "process-per-gpu = 3").1.contains("0 to 1"));
    assert!(found("noise = 0", "noise = -0").1.contains("above 0"));
}
