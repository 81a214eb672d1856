//! Others on the same points.

use std::fmt::Write as _;

use weft_predictor::validate::Rivals;

/// A table of what each model says, and its mean error; empty of nothing.
pub fn rivals(points: &[Rivals]) -> String {
    if points.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n## Beside others\n\nAll-reduce over the eight GPUs of an HGX H100, half precision, NCCL 2.29.2; microseconds. \
         Measured: NVIDIA's aiconfigurator. NCCL: its own price of its choice. ASTRA-sim: its shipped H100 configuration. \
         SimAI: its open analytical mode. The last two are closed forms of their parameters, not runs of their programs.\n\n\
         | message | measured | weft | NCCL | ASTRA-sim | SimAI |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for point in points {
        let _ = writeln!(
            text,
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
            point.bytes,
            point.measured_us,
            point.predicted_us,
            point.nccl_us,
            point.astra_sim_us,
            point.simai_us
        );
    }
    let told: [fn(&Rivals) -> f64; 4] = [
        |point| point.predicted_us,
        |point| point.nccl_us,
        |point| point.astra_sim_us,
        |point| point.simai_us,
    ];
    let errors = told.map(|told| super::percent(mean_error(points, told)));
    let _ = writeln!(text, "| mean error | | {} |", errors.join(" | "));
    text
}

#[expect(clippy::cast_precision_loss, reason = "there are few points")]
fn mean_error(points: &[Rivals], told: fn(&Rivals) -> f64) -> f64 {
    let error = |point: &Rivals| (told(point) - point.measured_us).abs() / point.measured_us;
    points.iter().map(error).sum::<f64>() / points.len() as f64
}
