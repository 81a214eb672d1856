//! Measured beside predicted, and what messages cost, as text.

use std::fmt::Write as _;

use weft_base::Bytes;
use weft_runtime::measure::{Compared, Verdict, median};
use weft_runtime::model::{Calibration, Regime};

use super::Report;

/// The table of what was measured beside what was predicted.
pub fn compared(report: &Report) -> String {
    let ranks = report.task.ranks;
    let mut text = String::new();
    let repeats = report.task.series.repeats;
    let _ = writeln!(text, "# weft bench: {ranks} processes, {}; medians of {repeats}", report.transport);
    let _ = writeln!(text, "# What messages cost was measured in turn with them.");
    let _ = writeln!(
        text,
        "#\n# {:<14} {:>11}  {:<22} {:>10} {:>22} {:>10} {:>6}",
        "collective", "size (B)", "algorithm", "time (us)", "repeats (us)", "pred. (us)", "ratio"
    );
    for row in &report.compared {
        let _ = writeln!(
            text,
            "  {:<14} {:>11}  {:<22} {:>10} {:>22} {:>10} {:>6.2}  {}",
            row.collective.name(),
            row.bytes.get(),
            row.algorithm,
            micros(row.timing.median_s),
            between(row.timing.range_s),
            micros(row.predicted_s),
            row.ratio(),
            row.verdict().of_time()
        );
    }
    let wrong: u64 = report.compared.iter().map(|row| row.timing.wrong_count).sum();
    let _ = writeln!(text, "# Out of bounds values : {wrong} {}", if wrong == 0 { "OK" } else { "FAILED" });
    text.push_str(&verdict(&report.compared));
    text
}

fn verdict(rows: &[Compared]) -> String {
    let right = rows.iter().filter(|row| row.verdict() == Verdict::AsExpected).count();
    format!(
        "# Median error         : {:.1} % (repeats lie {:.1} % apart, in the median)\n# As predicted         : {right} of {}\n",
        100.0 * median(rows.iter().map(Compared::error)),
        100.0 * median(rows.iter().map(Compared::spread)),
        rows.len()
    )
}

/// What messages and local work cost.
pub fn calibrated(report: &Report) -> String {
    let mut text = String::new();
    let repeats = report.task.series.repeats;
    let ranks = report.task.ranks;
    let _ = writeln!(text, "# weft bench: {ranks} processes, {}; medians of {repeats}", report.transport);
    if let Some(calibration) = &report.calibration {
        costs(&mut text, calibration);
    }
    let _ = writeln!(text, "#\n# {:<60} {:>12} {:>22}", "probe", "time (us)", "rounds (us)");
    for probed in &report.probed {
        let range = between(probed.range_s);
        let _ = writeln!(text, "# {:<60} {:>12} {range:>22}", probed.text, micros(probed.median_s));
    }
    text
}

fn costs(text: &mut String, calibration: &Calibration) {
    let _ = writeln!(text, "a call                 {} us", micros(calibration.call_s));
    if calibration.turn_s > 0.0 {
        let _ = writeln!(text, "a turn on a processor  {} us", micros(calibration.turn_s));
    }
    if let Some(tuning) = calibration.tuning {
        let from = |bytes: usize| {
            if bytes < usize::MAX { format!("from {}", Bytes::new(bytes as u64)) } else { "never".to_owned() }
        };
        let _ = writeln!(text, "past the caches        {}", from(tuning.streamed_from_bytes));
        let _ = writeln!(text, "read by the system     {}", from(tuning.direct_from_bytes));
    }
    if calibration.wire_s_per_byte > 0.0 {
        let _ = writeln!(text, "the wire               {} GB/s", rate(calibration.wire_s_per_byte));
    }
    let regimes: [(&str, Option<&Regime>); 4] = [
        ("in one line", calibration.line.as_ref()),
        ("copied twice", Some(&calibration.stream)),
        ("read by the receiver", calibration.direct.as_ref()),
        ("registered", calibration.registered.as_ref()),
    ];
    for (name, regime) in regimes {
        let Some(regime) = regime else { continue };
        let _ = writeln!(
            text,
            "{name:<22} sender {} us, receiver {} us, latency {} us",
            micros(regime.sender_s),
            micros(regime.receiver_s),
            micros(regime.latency_s)
        );
        for (what, rates) in regime
            .pieces
            .iter()
            .map(|rates| ("pieces of", rates))
            .chain(regime.touching.iter().map(|rates| ("touching", rates)))
            .chain(regime.passed_on.iter().map(|rates| ("passed on", rates)))
            .chain(regime.fresh.iter().map(|rates| ("written", rates)))
        {
            let _ = writeln!(
                text,
                "  {what:<9} {:>9}  send {:>7}, receive {:>7}, combine {:>7} GB/s",
                rates.bytes.to_string(),
                rate(rates.send_s_per_byte),
                rate(rates.receive_s_per_byte),
                rate(rates.combine_s_per_byte)
            );
        }
    }
    let _ = writeln!(text, "within a rank          {} us a piece", micros(calibration.local_s));
    for local in &calibration.local {
        let _ = writeln!(
            text,
            "  touching {:>9}    copy {:>7}, combine {:>7} GB/s",
            local.footprint.to_string(),
            rate(local.copy_s_per_byte),
            rate(local.combine_s_per_byte)
        );
    }
}

fn between((least_s, most_s): (f64, f64)) -> String {
    format!("{} .. {}", micros(least_s), micros(most_s))
}

fn micros(seconds: f64) -> String {
    let micros = seconds * 1e6;
    if micros < 1.0 {
        format!("{micros:.3}")
    } else if micros < 100.0 {
        format!("{micros:.2}")
    } else {
        format!("{micros:.1}")
    }
}

/// GB/s; what costs nothing has none.
fn rate(s_per_byte: f64) -> String {
    if s_per_byte > 0.0 { format!("{:.2}", 1e-9 / s_per_byte) } else { "-".to_owned() }
}
