//! How many predictions a second the library makes: `cargo run --release -p weft-predictor --example predictions`.
//!
//! Each is of another configuration: machine, number of nodes, collective, size, version. Machines are looked at once
//! for each version; what is asked of them is priced anew. Prints a sum over all times, which must not change.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example measures and says so")]

use std::time::Instant;

use weft_base::Bytes;
use weft_catalogue::Catalogue;
use weft_predictor::{PREDICTED, Predictor, Request, Settings};

const MACHINES: [&str; 10] = [
    "dgx-a100",
    "dgx-h100",
    "dgx-b200",
    "pcie4-8gpu-dual-root",
    "mi300x-8",
    "2 x dgx-a100",
    "2 x dgx-h100",
    "2 x dgx-b200",
    "2 x 4 a40 + 1 cx6",
    "2 x mi300x-8",
];
const VERSIONS: [&str; 5] = ["2.18", "2.21", "2.23", "2.27", "2.30"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: usize = std::env::args().nth(1).map_or(Ok(100_000), |text| text.parse())?;
    let catalogue = Catalogue::embedded();
    let start = Instant::now();
    let (mut made, mut sum_us, mut looking) = (0, 0.0, 0.0);
    'all: loop {
        for machine in MACHINES {
            let parsed =
                weft_topology::oneliner::parse(machine, catalogue).map_err(|error| error.to_string())?;
            let topology = weft_topology::build(&parsed, catalogue)?.topology;
            for version in VERSIONS {
                let settings = Settings::of_version(version.parse()?);
                let request = Request { settings, ..Request::new(PREDICTED[0]) };
                let begin = Instant::now();
                let mut predictor = Predictor::new(&topology, catalogue, &request)?;
                looking += begin.elapsed().as_secs_f64();
                let several = machine.starts_with("2 x");
                for nodes in 2..if several { 200 } else { 3 } {
                    if several {
                        predictor = predictor.with_nodes(nodes).ok_or("as many nodes as asked")?;
                    }
                    for collective in PREDICTED {
                        for power in [3, 10, 13, 16, 18, 20, 22, 24, 26, 28, 30, 33] {
                            let rows =
                                predictor.rows(collective, &[Bytes::new((1 << power) + made as u64 % 7)])?;
                            sum_us += rows[0].time.as_microseconds();
                            made += 1;
                            if made == wanted {
                                break 'all;
                            }
                        }
                    }
                }
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{made} predictions in {seconds:.2} s, {looking:.2} s of them looking at machines; sum {sum_us:.6e} us"
    );
    Ok(())
}
