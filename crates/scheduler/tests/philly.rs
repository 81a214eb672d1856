//! The Philly trace, counted.

#![expect(clippy::disallowed_methods, reason = "tests read the shared traces")]

use std::path::Path;

use weft_formats::traces;
use weft_scheduler::philly::clusters;

#[test]
fn the_whole_trace_is_read_and_clusters_have_the_demand_that_it_had() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/philly/philly.csv");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: ../shared/traces is absent");
        return;
    };
    let found = traces::philly("philly.csv", &text);
    // `wc -l` without the head; nothing is wrong with any row.
    assert_eq!((found.rows.len(), found.diagnostics.len()), (82_247, 0));
    let clusters = clusters(found.rows);
    assert_eq!(clusters.len(), 15);
    // Counted by a few lines of Python over the same definition.
    let counted = [
        ("6214e9", 41_226, 116),
        ("11cb48", 16_091, 50),
        ("6c71a0", 9953, 96),
        ("b436b2", 7423, 300),
        ("103959", 1934, 52),
        ("ee9e8c", 1511, 238),
        ("0e4a51", 1435, 154),
        ("ed69ec", 1137, 20),
        ("7f04ca", 723, 172),
        ("2869ce", 422, 120),
        ("e13805", 374, 19),
        ("23dbec", 8, 32),
        ("51b7ef", 4, 0),
        ("795a4c", 3, 2),
        ("925e2b", 3, 0),
    ];
    for (cluster, (name, jobs, demand)) in clusters.iter().zip(counted) {
        assert_eq!((cluster.name.as_str(), cluster.rows.len(), cluster.demand_count), (name, jobs, demand));
    }
    assert_eq!(clusters.iter().map(|one| one.node_count(80)).sum::<u32>(), NODES_AT_80);
    assert_eq!(clusters.iter().map(|one| one.node_count(100)).sum::<u32>(), NODES_AT_100);
}

/// From the demands above and the largest job of each: 12 + 5 + 10 + 30 + 6 + 24 + 16 + 2 + 18 + 12 + 4 + 4 + 1 + 1 + 1.
const NODES_AT_80: u32 = 146;
/// 15 + 7 + 12 + 38 + 7 + 30 + 20 + 3 + 22 + 15 + 4 + 4 + 1 + 1 + 1.
const NODES_AT_100: u32 = 180;
