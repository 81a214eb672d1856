//! Switches and cables of published reference architectures.

mod common;

use common::fabric::{cables, tiers};
use common::topology;

/// What a row of the published table says of one network, cables by tier.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    switches: Vec<usize>,
    cables: Vec<u32>,
}

fn built(line: &str) -> Counts {
    let cluster = topology(line);
    let tiers = tiers(&cluster);
    let down = |tier: usize| cables(&cluster, &tiers, tier.checked_sub(1), tier);
    Counts { switches: tiers.iter().map(Vec::len).collect(), cables: (0..tiers.len()).map(down).collect() }
}

fn counts(switches: &[usize], cables: &[u32]) -> Counts {
    Counts { switches: switches.to_vec(), cables: cables.to_vec() }
}

#[test]
fn the_rule_gives_the_published_counts_of_each_kind() {
    // H100, reference architecture RA-11333, table 4: 3 units need 16 spines, not 12, for an even split. Its column
    // of cables to hosts holds 4 more, of the fabric manager.
    assert_eq!(built("95 x dgx-h100 @ rail-optimized(leaf 64x400G)"), counts(&[24, 16], &[760, 768]));
    // B200: 256 nodes are the most of two tiers, 512 take three.
    assert_eq!(built("256 x dgx-b200 @ rail-optimized(leaf 64x400G)"), counts(&[64, 32], &[2048, 2048]));
    let three = counts(&[128, 128, 64], &[4096, 4096, 4096]);
    assert_eq!(built("512 x dgx-b200 @ rail-optimized(leaf 64x400G)"), three);
    // B300 with XDR, 4 units: 18 spines, since 16 do not divide the 72 uplinks.
    assert_eq!(
        built("288 x dgx-b300 @ rail-optimized(switch quantum-x800-q3400)"),
        counts(&[32, 18], &[2304, 2304])
    );
    // B300 with Spectrum-X: two planes of 128 ports at 400G, each GPU with a port in each. The table counts cables
    // of 800G, twins of two.
    assert_eq!(
        built("64 x dgx-b300 @ rail-optimized(leaf 128x400G, switch sn5600, planes 2)"),
        counts(&[16, 8], &[2 * 512, 2 * 512])
    );
}

#[test]
fn all_rows_of_the_published_table_are_met() {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/facts/advice/superpod_fabric_counts.csv");
    #[expect(clippy::disallowed_methods, reason = "a test reads its facts")]
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: superpod_fabric_counts.csv is not beside the repository");
        return;
    };
    let mut rows = [0, 0];
    for row in text.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let number = |index: usize| cells[index].parse::<u32>().expect("a number");
        let (hosts, radix, rate) = (number(2), number(10), number(11));
        let (system, planes) = if cells[0].contains("SpectrumX") {
            ("dgx-b300", 2)
        } else if cells[0].contains("XDR") {
            ("dgx-b300", 1)
        } else if cells[0].contains("B200") {
            ("dgx-b200", 1)
        } else {
            ("dgx-h100", 1)
        };
        // Of the H100 rows the first column of cables counts four of the fabric manager.
        let manager = if system == "dgx-h100" { 4 } else { 0 };
        let switches: Vec<usize> =
            [4, 5, 6].map(|cell| number(cell) as usize).into_iter().filter(|count| *count > 0).collect();
        let published = [number(7) - manager, number(8), number(9)].map(|cables| cables * planes);
        let published = Counts { cables: published[..switches.len()].to_vec(), switches };
        let line = format!("{hosts} x {system} @ rail-optimized(leaf {radix}x{rate}G, planes {planes})");
        assert_eq!(built(&line), published, "{row}");
        // Each GPU has one NIC; of the largest XDR row the printed number of GPUs is wrong, as its cables show.
        let gpus = if hosts == 1296 { 10_368 } else { number(3) };
        assert_eq!(published.cables[0], gpus * planes, "{row}");
        rows[published.switches.len() - 2] += 1;
    }
    assert_eq!(rows, [17, 3]);
}
