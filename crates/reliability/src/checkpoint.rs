//! How long a checkpoint takes, and how often to make one.

use weft_base::{Bytes, Period, Rate, Span};

/// What takes checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// What one host can write.
    pub of_a_node: Rate,
    /// What the storage takes of all hosts together; absent where no host waits for another (local disks).
    pub of_all: Option<Rate>,
}

impl Storage {
    /// How long `nodes` hosts take to write so much each, all at once; `None` where that is beyond 213 days.
    pub fn save(&self, bytes_per_node: Bytes, nodes: u32) -> Option<Span> {
        let alone = self.of_a_node.span_for(bytes_per_node)?;
        let Some(of_all) = self.of_all else { return Some(alone) };
        Some(alone.max(of_all.span_for(bytes_per_node * u64::from(nodes))?))
    }
}

/// The interval between checkpoints at which least time is lost: the square root of 2 w M for a checkpoint that takes w
/// and a mean time to failure M (Young, "A first order approximation to the optimum checkpoint interval", CACM 1974;
/// Daly's refinement differs by less than w).
pub fn best_interval(mean_time_to_failure: Period, save: Period) -> Period {
    Period::from_hours(libm::sqrt(2.0 * save.as_hours() * mean_time_to_failure.as_hours()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_interval_is_youngs() {
        // sqrt(2 x 10 s x 11,124 s) = 471.7 s = 7.9 min; 19.3 and 43.1 min for 60 and 300 s.
        let minutes =
            |save: &str| best_interval("3.09 h".parse().unwrap(), save.parse().unwrap()).as_hours() * 60.0;
        for (save, expected) in [("10 s", 7.86), ("60 s", 19.26), ("300 s", 43.06)] {
            assert!((minutes(save) - expected).abs() < 0.005, "{save}: {}", minutes(save));
        }
    }

    #[test]
    fn the_slower_of_host_and_storage_decides() {
        // HPN: 30 GB of each of 8 GPUs in 100 s are 2.4 GB/s of a host.
        let local = Storage { of_a_node: "2.4 GB/s".parse().unwrap(), of_all: None };
        let each: Bytes = "240 GB".parse().unwrap();
        assert_eq!(local.save(each, 384), Some("100 s".parse().unwrap()));
        // Fire-Flyer: 10 GiB/s of a host, but 9 TB/s of all; 1,250 hosts get 7.2 GB/s each, so 33.3 s and not 22.4.
        let shared =
            Storage { of_a_node: "10 GiB/s".parse().unwrap(), of_all: Some("9 TB/s".parse().unwrap()) };
        let seconds = |nodes| shared.save(each, nodes).unwrap().as_seconds();
        assert!((seconds(1250) - 33.33).abs() < 0.01);
        assert!((seconds(800) - 22.35).abs() < 0.01);
        assert_eq!(Storage { of_a_node: Rate::ZERO, of_all: None }.save(each, 1), None);
    }
}
