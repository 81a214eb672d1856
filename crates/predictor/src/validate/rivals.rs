//! What other models say of points that were measured: all-reduce over the eight GPUs of an HGX H100, NCCL 2.29.2.
//!
//! Measured times are those of NVIDIA's aiconfigurator (nccl_perf, half precision). Beside them stand NCCL's own
//! price of its choice, ASTRA-sim's shipped H100 configuration and SimAI's open analytical mode (`-nv 360`), the latter
//! two as closed forms of their parameters.

use weft_base::Bytes;
use weft_catalogue::Catalogue;
use weft_collective::Collective;

use crate::{Launch, Request, Settings, Version, predict};

/// Measured and told by the others; microseconds.
const POINTS: &str = include_str!("rivals.csv");
/// What was measured.
const MACHINE: &str = "hgx-h100-8";
const NCCL: Version = Version { major: 2, minor: 29, patch: 2 };

/// One point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rivals {
    /// The message.
    pub bytes: Bytes,
    /// Measured.
    pub measured_us: f64,
    /// Predicted here.
    pub predicted_us: f64,
    /// NCCL's own price.
    pub nccl_us: f64,
    /// ASTRA-sim.
    pub astra_sim_us: f64,
    /// SimAI.
    pub simai_us: f64,
}

/// All points in order; `None` where the machine cannot be predicted.
pub fn rivals(catalogue: &Catalogue) -> Option<Vec<Rivals>> {
    let mut reader = csv::Reader::from_reader(POINTS.as_bytes());
    let points: Vec<(u64, f64, f64, f64, f64)> =
        reader.records().filter_map(|row| point(&row.ok()?)).collect();
    let machine = catalogue.system(MACHINE).ok()?;
    let topology = weft_topology::build(machine, catalogue).ok()?.topology;
    let sizes = points.iter().map(|point| Bytes::new(point.0)).collect();
    let settings = Settings::of_version(NCCL);
    // aiconfigurator starts nccl-tests with `-t 8`: each GPU has a thread of its own.
    let launch = Some(Launch::ProcessPerGpu);
    let request = Request { sizes, settings, launch, ..Request::new(Collective::AllReduce) };
    let prediction = predict(&topology, catalogue, &request).ok()?;
    let rivals = points.into_iter().zip(prediction.rows).map(|(point, row)| Rivals {
        bytes: row.bytes,
        measured_us: point.1,
        predicted_us: row.time.as_microseconds(),
        nccl_us: point.2,
        astra_sim_us: point.3,
        simai_us: point.4,
    });
    Some(rivals.collect())
}

fn point(row: &csv::StringRecord) -> Option<(u64, f64, f64, f64, f64)> {
    let number = |index: usize| row.get(index)?.parse().ok();
    Some((row.get(0)?.parse().ok()?, number(1)?, number(2)?, number(3)?, number(4)?))
}

#[cfg(test)]
mod tests {
    use super::rivals;
    use weft_catalogue::Catalogue;

    #[test]
    fn all_points_are_read() {
        let rivals = rivals(Catalogue::embedded()).unwrap();
        assert_eq!(rivals.len(), 7);
        assert!(rivals.windows(2).all(|pair| pair[0].predicted_us <= pair[1].predicted_us));
        // At 512 MiB all but SimAI are within a fifth.
        let last = rivals[6];
        for told_us in [last.predicted_us, last.nccl_us, last.astra_sim_us] {
            assert!((told_us / last.measured_us - 1.0).abs() < 0.2, "{told_us}");
        }
    }
}
