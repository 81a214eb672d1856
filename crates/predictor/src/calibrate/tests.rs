//! Calibrations of machines whose parameters are known, because they are made up.

use weft_catalogue::Catalogue;
use weft_collective::Collective;

use super::{Calibration, Fitted, Observation, PairEvidence, Parts, Regime, fit};
use crate::{Algorithm, Protocol};

const SIMPLE: Regime =
    Regime { collective: Collective::AllReduce, algorithm: Algorithm::Ring, protocol: Protocol::Simple };
const LL: Regime = Regime { protocol: Protocol::Ll, ..SIMPLE };

/// What is predicted of sizes from 2^10 to 2^33 bytes: LL up to 1 MiB at 40 GB/s, then Simple at 200 GB/s.
fn predicted() -> Vec<(Regime, Parts)> {
    (10..=33)
        .map(|power: i32| {
            let bytes = libm::ldexp(1.0, power);
            if power <= 20 {
                (
                    LL,
                    Parts {
                        bytes,
                        launch_us: 6.0,
                        steps_us: 8.0,
                        ramp_us: 0.0,
                        intra_us: bytes / 40e3,
                        inter_us: 0.0,
                    },
                )
            } else {
                let intra_us = bytes / 200e3;
                let ramp_us = 2.0 * (intra_us.min(160.0) * 40.0).sqrt();
                (SIMPLE, Parts { bytes, launch_us: 8.0, steps_us: 40.0, ramp_us, intra_us, inter_us: 0.0 })
            }
        })
        .collect()
}

fn observed(truth: &Calibration, pick: impl Fn(usize) -> bool) -> Vec<Observation> {
    let rows = predicted().into_iter().enumerate().filter(|(index, _)| pick(*index));
    let row = |(_, (regime, parts))| Observation { regime, parts, measured_us: truth.scaled_us(&parts) };
    rows.map(row).collect()
}

fn machine(launch_us: f64, step: f64, efficiency: f64) -> Calibration {
    let fitted = |value| Fitted { value, standard_error: 0.0 };
    Calibration {
        launch_us: fitted(launch_us),
        step_scale: fitted(step),
        intra_efficiency: fitted(efficiency),
        ..Calibration::default()
    }
}

fn fitted(rows: &[Observation]) -> Calibration {
    fit(rows, &[], Catalogue::embedded()).unwrap()
}

#[test]
fn what_is_as_predicted_stays_so() {
    let found = fitted(&observed(&Calibration::default(), |_| true));
    for (regime, parts) in predicted() {
        let ratio = found.time_us(regime, &parts) / parts.total_us();
        assert!((ratio - 1.0).abs() < 1e-6, "{regime:?} {parts:?}: {ratio}");
    }
}

#[test]
fn nothing_measured_changes_nothing() {
    let found = fitted(&[]);
    assert_eq!((found.launch_us.value, found.intra_efficiency.value), (0.0, 1.0));
    let (regime, parts) = predicted()[5];
    assert_eq!(found.interval(regime, &parts), None);
    assert!((found.time_us(regime, &parts) - parts.total_us()).abs() < 1e-12);
}

/// Of a machine that launches 5 us later and carries 0.8 of the bandwidth, every third row tells the others.
#[test]
fn a_third_of_the_rows_tells_the_others() {
    let truth = machine(5.0, 1.2, 0.8);
    for offset in 0..3 {
        let found = fitted(&observed(&truth, |index| index % 3 == offset));
        for (regime, parts) in predicted() {
            let ratio = found.time_us(regime, &parts) / truth.scaled_us(&parts);
            assert!((ratio - 1.0).abs() < 0.05, "{offset} {parts:?}: {ratio}");
        }
        // The large sizes show nothing but the bandwidth; launch and steps cannot be told apart, and need not be.
        let Fitted { value, standard_error: spread } = found.intra_efficiency;
        assert!(libm::log(value / 0.8).abs() < spread && spread < 0.08, "{:?}", found.intra_efficiency);
        assert!(found.launch_us.value > 1.0 && found.step_scale.value > 1.0, "{found:?}");
    }
}

#[test]
fn one_row_that_is_far_off_does_not_bend_the_others() {
    let truth = machine(0.0, 1.0, 0.9);
    let mut rows = observed(&truth, |_| true);
    rows[20].measured_us *= 3.0;
    let found = fitted(&rows);
    for (index, (regime, parts)) in predicted().into_iter().enumerate().filter(|(index, _)| *index != 20) {
        let ratio = found.time_us(regime, &parts) / truth.scaled_us(&parts);
        assert!((ratio - 1.0).abs() < 0.06, "{index}: {ratio}");
    }
}

/// A bump that no parameter makes, 1.3 around 8 MiB: the correction follows it, and times still grow.
#[test]
fn what_no_parameter_makes_is_corrected_and_times_grow() {
    let mut rows = observed(&machine(0.0, 1.0, 1.0), |_| true);
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
    let mut last_us = 0.0;
    for step in 0..4000_i32 {
        let intra_us = libm::exp(f64::from(step) / 200.0);
        let bytes = intra_us * 200e3;
        let time_us = found
            .time_us(SIMPLE, &Parts { bytes, launch_us: 8.0, steps_us: 40.0, intra_us, ..Parts::default() });
        assert!(time_us > last_us, "{intra_us}: {last_us} then {time_us}");
        last_us = time_us;
    }
}

/// Rows that lie 4 % apart leave an interval that holds most of them and is narrow.
#[test]
fn the_interval_is_as_wide_as_the_rows_lie_apart() {
    let mut rows = observed(&machine(2.0, 1.1, 0.85), |_| true);
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

/// A machine whose small messages take 10 % more with each of 8 doublings, where the prediction is flat.
#[test]
fn what_grows_where_the_prediction_is_flat_is_told_by_size() {
    let row = |power: i32| {
        let parts = Parts { bytes: libm::ldexp(1.0, power), launch_us: 20.0, ..Parts::default() };
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

#[test]
fn another_collective_is_scaled_but_has_no_interval_of_its_own() {
    let found = fitted(&observed(&machine(0.0, 1.0, 0.7), |_| true));
    let regime = Regime { collective: Collective::AllGather, ..SIMPLE };
    let parts = Parts { intra_us: 1000.0, ..Parts::default() };
    assert!((found.time_us(regime, &parts) / 1000.0 - 1.0 / found.intra_efficiency.value).abs() < 0.01);
    assert_eq!(found.interval(regime, &parts), None);
}

#[test]
fn links_that_copies_find_slow_are_slow_for_collectives() {
    let half = PairEvidence { share: 0.5, pairs: 56 };
    let found = fit(&[], &[half], Catalogue::embedded()).unwrap();
    // The prior's deviation is 0.15, that of copies 0.1: 0.5 to the power of 0.0225 / 0.0325 = 0.62.
    assert!((found.intra_efficiency.value - 0.619).abs() < 0.002, "{:?}", found.intra_efficiency);
}

#[test]
fn links_carry_what_the_efficiencies_say() {
    let catalogue = Catalogue::embedded();
    let machine = catalogue.system("dgx-a100").unwrap();
    let whole = weft_topology::build(machine, catalogue).unwrap().topology;
    let half = super::Calibration {
        intra_efficiency: Fitted { value: 0.5, standard_error: 0.0 },
        ..super::Calibration::default()
    };
    let now = half.on_links(&whole);
    for ((_, was), (_, is)) in whole.links().zip(now.links()) {
        assert!((is.capacity.as_gigabytes() / was.capacity.as_gigabytes() - 0.5).abs() < 1e-6);
        assert_eq!(was.count, is.count);
    }
}

#[test]
fn the_file_reads_as_it_was_written() {
    let mut found = fitted(&observed(&machine(3.0, 1.3, 0.8), |_| true));
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
    let text = fitted(&observed(&machine(3.0, 1.3, 0.8), |_| true)).to_toml();
    let found = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} in {text}");
        let finding = Calibration::parse("m.toml", &text.replacen(from, to, 1)).unwrap_err();
        assert_eq!(finding.code.name, "calibration-file");
        (finding.place.map(|place| place.line), finding.message)
    };
    assert_eq!(found("version = 1", "version = 9").0, Some(3));
    assert_eq!(found("step-scale", "stop-scale").0, Some(7));
    assert!(found("collective = \"all-reduce\"", "collective = \"all-redux\"").1.contains("all-redux"));
    assert!(found("factor = [", "factor = [-1.0, ").1.contains("as many numbers"));
    assert!(found("protocol = ", "#").1.contains("or neither"));
}
