//! What lost packets cost a ring all-reduce over RoCE: the table of docs/models/packet-loss.md.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example")]

use weft_base::{Bytes, Rate, Span};
use weft_simulator::network::{LossyRing, Recovery, Settings};
use weft_testkit::Catalogue;

fn main() {
    let library = Catalogue::embedded().library("network-models").unwrap();
    let constant = |name: &str| library.tables.get(name)?.rows.get("constant")?.first().copied();
    let settings = Settings::new(Rate::bytes_per_second(50_000_000_000), constant).unwrap();
    println!("all-reduce of 1 GiB, 400 Gb/s, round trip {}, MTU {}", settings.round_trip, settings.rdma_mtu);
    println!("ranks loss  recovery         clean ms  losses  waits  each us  lossy ms  cost %  timeout %");
    for ranks in [64, 256, 1024] {
        for loss_share in [1e-6, 1e-5, 1e-4] {
            for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
                let ring = LossyRing {
                    ranks,
                    bytes: Bytes::new(1 << 30),
                    rate: settings.line_rate,
                    latency: Span::from_microseconds(1.6),
                    round_trip: settings.round_trip,
                    packet: settings.rdma_mtu,
                    loss_share,
                    recovery,
                };
                let delay = ring.delay();
                println!(
                    "{ranks:5} {loss_share:.0e}  {:15} {:9.3} {:7.0} {:6.1} {:8.2} {:9.3} {:7.2} {:10.2}",
                    format!("{recovery:?}"),
                    delay.clean_s * 1e3,
                    delay.losses_count,
                    delay.waits_count,
                    delay.delay_s * 1e6,
                    delay.lossy_s * 1e3,
                    (delay.lossy_s / delay.clean_s - 1.0) * 100.0,
                    delay.timeout_share * 100.0,
                );
            }
        }
    }
}
