//! The table of nccl-tests, which people and programs know how to read.

use std::fmt::Write as _;

use weft_collective::Collective;
use weft_runtime::measure::{Measured, Timing};

use super::{Report, Task};

/// The table, with what it rests on before and after it.
pub fn text(report: &Report) -> String {
    let Task { series, ranks, .. } = &report.task;
    let mut text = String::new();
    let repeats = series.repeats;
    let name = program(series.collective);
    let buffers = if series.registered { ", registered buffers" } else { "" };
    let transport = &report.transport;
    let _ = writeln!(text, "# weft bench: {ranks} processes, {transport}{buffers}; medians of {repeats}");
    if series.collective != Collective::Barrier {
        let _ = writeln!(text, "# Collective test starting: {name}_perf");
    }
    if let Some(calibration) = &report.calibration {
        let _ = writeln!(text, "# {}", calibration.summary());
    }
    text.push_str(HEAD);
    for row in &report.rows {
        line(&mut text, report, row);
    }
    let wrong: u64 =
        report.rows.iter().map(|row| row.out_of_place.wrong_count + row.in_place.wrong_count).sum();
    let _ = writeln!(text, "# Out of bounds values : {wrong} {}", if wrong == 0 { "OK" } else { "FAILED" });
    let _ = writeln!(text, "# Avg bus bandwidth    : {:.4}", average(report));
    let _ = writeln!(text, "# Algorithms: {}", algorithms(report));
    text
}

const HEAD: &str = "\
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
";

fn line(text: &mut String, report: &Report, row: &Measured) {
    let series = &report.task.series;
    let reduction = if series.collective.reduces() { series.reduction.name() } else { "none" };
    let root = match series.collective {
        Collective::Broadcast | Collective::Reduce => series.root.get().to_string(),
        Collective::AllReduce
        | Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::SendRecv
        | Collective::Barrier => "-1".to_owned(),
    };
    let _ = write!(
        text,
        "{:>12}  {:>12}  {:>8}  {reduction:>6}  {root:>6}",
        row.bytes.get(),
        row.element_count,
        series.element.name()
    );
    for timing in [&row.out_of_place, &row.in_place] {
        let (algbw, busbw) = rates(report, row, timing);
        let micros = timing.median_s * 1e6;
        let time = if micros < 100.0 { format!("{micros:.2}") } else { format!("{micros:.1}") };
        let _ = write!(text, "  {time:>7}  {algbw:>6.2}  {busbw:>6.2}  {:>5}", timing.wrong_count);
    }
    text.push('\n');
}

/// The program of nccl-tests that measures the same.
fn program(collective: Collective) -> String {
    match collective {
        Collective::AllToAll => "alltoall".to_owned(),
        Collective::AllReduce
        | Collective::AllGather
        | Collective::ReduceScatter
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::SendRecv
        | Collective::Barrier => collective.name().replace('-', "_"),
    }
}

/// Which algorithm was taken from which size on.
fn algorithms(report: &Report) -> String {
    let mut runs: Vec<String> = Vec::new();
    let mut last = "";
    for row in &report.rows {
        if row.algorithm != last {
            last = &row.algorithm;
            runs.push(format!("{last} from {}", row.bytes));
        }
    }
    runs.join(", ")
}

/// GB/s of the message, and of what crosses each rank's port.
pub fn rates(report: &Report, row: &Measured, timing: &Timing) -> (f64, f64) {
    let Task { series, ranks, .. } = &report.task;
    let algbw = row.bytes.as_f64() / timing.median_s / 1e9;
    (algbw, algbw * series.collective.bus_factor(*ranks as usize))
}

#[expect(clippy::cast_precision_loss, reason = "a few rows")]
fn average(report: &Report) -> f64 {
    let both = report
        .rows
        .iter()
        .flat_map(|row| [&row.out_of_place, &row.in_place].map(|timing| rates(report, row, timing).1));
    both.sum::<f64>() / (2 * report.rows.len().max(1)) as f64
}
