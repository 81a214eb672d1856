//! What happens where many send to one: with PFC, with DCQCN, with both, with neither.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod common;

use common::net::{LINE, ends_s, exchanged, row, settings, topology};
use weft_base::{Bytes, Rate, Span};
use weft_simulator::network::{Behaviour, NETWORK_MODELS, Recovery, Settings, network_model};

/// Bytes on the wire for each byte of data.
const ROCE: f64 = 4178.0 / 4096.0;
const BYTES: u64 = 64 << 20;
/// What they take over 50 GB/s.
const DATA_S: f64 = 67_108_864.0 / 50e9;

fn behaviour(name: &str, settings: &Settings) -> Behaviour {
    network_model(name).unwrap().behaviour(settings)
}

fn assert_near(time: f64, wanted: f64, what: &str) {
    assert!((time / wanted - 1.0).abs() < 1e-5, "{what}: {time} s, not {wanted} s");
}

/// Seven senders to one receiver over a link that has room for a victim beside them, in which case it takes `alone`.
fn with_a_victim(name: &str) -> (f64, f64, u64) {
    let twice = Rate::bytes_per_second(2 * LINE.get());
    let line = row(&[8, 2], twice, Span::ZERO);
    let mut pairs: Vec<(u32, u32)> = (0..7).map(|sender| (sender, 8)).collect();
    pairs.push((7, 9));
    // 70 MB in all for ten ranks.
    let (times, counts) = exchanged(&line, &behaviour(name, &settings()), &pairs, 70_000_000);
    let alone = 70e6 / 50e9;
    (times[8] / alone, times[9] / alone, counts.victims_count)
}

#[test]
fn pauses_spread_to_a_victim_unless_senders_slow_down() {
    // With both, the receiver's port is shared by seven, and the victim has its own.
    let (incast, victim, victims) = with_a_victim("roce-ecmp");
    assert_near(incast, 7.0 * ROCE, "incast");
    assert_near(victim, ROCE, "victim");
    assert_eq!(victims, 0);
    // Paused, the link between the switches gives the victim what each of the seven gets.
    for (name, header) in [("roce-pfc", ROCE), ("infiniband-uncontrolled", 4122.0 / 4096.0)] {
        let (incast, victim, victims) = with_a_victim(name);
        assert_near(incast, 7.0 * header, "incast");
        assert_near(victim, 7.0 * header, "victim");
        assert_eq!(victims, 1, "{name}");
    }
}

#[test]
fn pauses_spread_over_several_switches() {
    // Senders 0 to 3 are three switches away from receiver 6. Rank 4, between the first two switches, is paused with
    // them; rank 5, behind the last link that is shared, has nothing to do with it.
    let line = row(&[5, 2, 2], Rate::bytes_per_second(4 * LINE.get()), Span::from_microseconds(0.5));
    let pairs = [(0, 7), (1, 7), (2, 7), (3, 7), (4, 5), (6, 8)];
    let (times, counts) = exchanged(&line, &behaviour("roce-pfc", &settings()), &pairs, BYTES);
    let data_s = DATA_S * ROCE;
    let factors: Vec<f64> = times.iter().map(|time| time / data_s).collect();
    // Four share the port of 7: a quarter each. 4 shares the first trunk with them; 6 shares the second.
    for (rank, wanted) in [(7, 4.0), (5, 4.0), (8, 4.0)] {
        assert!((factors[rank] - wanted).abs() < 0.01, "rank {rank}: {factors:?}");
    }
    assert_eq!(counts.victims_count, 2);
    // Without pauses neither feels anything.
    let (times, _) = exchanged(&line, &behaviour("roce-ecmp", &settings()), &pairs, BYTES);
    assert!((times[5] / data_s - 1.0).abs() < 0.01 && (times[8] / data_s - 1.0).abs() < 0.01);
}

#[test]
fn dcqcn_without_pauses_loses_what_the_buffer_cannot_hold() {
    let star = row(&[9], Rate::ZERO, Span::ZERO);
    let pairs: Vec<(u32, u32)> = (0..8).map(|sender| (sender, 8)).collect();
    let shared = 8.0 * DATA_S * ROCE;
    let (times, counts) = exchanged(&star, &behaviour("roce-ecmp", &settings()), &pairs, BYTES);
    assert_near(times[8], shared, "with both");
    assert!(counts.lost_packets_count.abs() < f64::EPSILON);

    // Eight at full rate for 8 us, at half for 50 us, at a quarter for 50 us; then they fit. Too much arrives:
    // 7 x 400 kB + 3 x 2.5 MB + 1 x 2.5 MB = 12.8 MB, of which 2.5 MB fit the buffer: 10.3 MB are lost.
    let (times, counts) = exchanged(&star, &behaviour("roce-dcqcn", &settings()), &pairs, BYTES);
    assert!((counts.lost_packets_count - 10.3e6 / 4178.0).abs() < 0.01, "{counts:?}");
    // Go-back-N sends all again that was sent while the buffer was full: 0.3/2.8 of 400 kB, 1.25 MB and 0.625 MB.
    let again = 0.3 / 2.8 * 0.4e6 + 1.25e6 + 0.625e6;
    assert!((counts.sent_again_bytes - 8.0 * again / ROCE).abs() < 1.0, "{counts:?}");
    assert_near(times[8], shared + 8.0 * again / 50e9, "go-back-N");

    let selective = Settings { recovery: Recovery::SelectiveRepeat, ..settings() };
    let (times, counts) = exchanged(&star, &behaviour("roce-dcqcn", &selective), &pairs, BYTES);
    assert!((counts.sent_again_bytes - 10.3e6 / ROCE).abs() < 1.0, "{counts:?}");
    assert_near(times[8], shared + 10.3e6 / 50e9, "selective repeat");

    // Two senders fit: 400 kB too much, which the buffer holds until they have halved.
    let (times, counts) = exchanged(&star, &behaviour("roce-dcqcn", &settings()), &pairs[..2], BYTES);
    assert!(counts.lost_packets_count.abs() < f64::EPSILON);
    assert_near(times[8], 2.0 * DATA_S * ROCE, "two senders");
}

#[test]
fn with_neither_senders_flood_and_go_back_n_collapses() {
    let star = row(&[9], Rate::ZERO, Span::ZERO);
    let pairs: Vec<(u32, u32)> = (0..8).map(|sender| (sender, 8)).collect();
    let shared = 8.0 * DATA_S * ROCE;
    // Of each sender 7/8 are lost. W = 50 GB/s / 1.02 x 8 us / 4096 B = 95.7 packets.
    let window = 50e9 / ROCE * 8e-6 / 4096.0;
    let (times, counts) = exchanged(&star, &behaviour("roce-lossy", &settings()), &pairs, BYTES);
    assert_near(times[8], shared * (1.0 + (window - 1.0) * 7.0 / 8.0), "go-back-N");
    println!("8 senders without PFC and DCQCN: {:.1} times as long", times[8] / shared);
    // All the while each sends 50 GB/s and loses 7/8.
    let lost = 8.0 * times[8] * 50e9 * 7.0 / 8.0 / 4178.0;
    assert!((counts.lost_packets_count / lost - 1.0).abs() < 1e-5, "{counts:?}");

    let selective = Settings { recovery: Recovery::SelectiveRepeat, ..settings() };
    let (times, _) = exchanged(&star, &behaviour("roce-lossy", &selective), &pairs, BYTES);
    assert_near(times[8], shared, "selective repeat wastes only what is lost");
}

#[test]
fn models_have_their_headers_and_caps() {
    let star = row(&[2], Rate::ZERO, Span::ZERO);
    let time = |name: &str, settings: &Settings| {
        exchanged(&star, &behaviour(name, settings), &[(0, 1)], BYTES).0[1] / DATA_S
    };
    let settings = settings();
    assert_near(time("ideal", &settings), 1.0, "ideal");
    assert_near(time("infiniband", &settings), 4122.0 / 4096.0, "infiniband");
    for name in ["roce-ecmp", "roce-pfc", "roce-dcqcn", "roce-lossy", "roce-adaptive", "roce-spray"] {
        assert_near(time(name, &settings), ROCE, name);
    }
    // 5.25 GB/s by one core, and 15 us for the message.
    assert_near(time("tcp", &settings), 50.0 / 5.25 + 15e-6 / DATA_S, "tcp");
    // At a loss of 1e-4 the window is sqrt(1.5e4) = 122.5 packets of 8948 B, in 100 us: 10.96 GB/s, still more than
    // the core. At 1e-2 it is 12.2 packets, 1.096 GB/s.
    let lossy = |loss_share| Settings { loss_share, round_trip: Span::from_microseconds(100.0), ..settings };
    assert_near(time("tcp", &lossy(1e-4)), 50.0 / 5.25 + 15e-6 / DATA_S, "tcp");
    let window = (1.5_f64 / 1e-2).sqrt() * 8948.0 / 100e-6;
    assert_near(time("tcp", &lossy(1e-2)), 50e9 / window + 15e-6 / DATA_S, "tcp");
    // RoCE at 1e-2: W = 50 GB/s x 100 us / 4178 = 1196.7 packets, each lost one costs them all.
    let again = 1.0 + 50e9 * 100e-6 / 4178.0 * (0.01 / 0.99);
    assert_near(time("roce-ecmp", &lossy(1e-2)), ROCE * again, "go-back-N");
    assert_near(time("roce-spray", &lossy(1e-2)), ROCE / 0.99, "selective repeat");
}

#[test]
fn models_are_found_by_name_and_their_constants_are_asked_for() {
    let mut names: Vec<&str> = NETWORK_MODELS.iter().map(|model| model.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 12);
    assert!(names.iter().all(|name| network_model(name).is_some_and(|model| !model.title().is_empty())));
    let page = include_str!("../../../docs/models/networks.md");
    assert!(names.iter().all(|name| page.contains(&format!("| `{name}` |"))), "each has its row");
    assert!(network_model("carrier-pigeon").is_none());
    let missing = Settings::new(LINE, |name| (name != "timeout-us").then_some(1.0)).unwrap_err();
    assert_eq!(missing.to_string(), "no network constant is called `timeout-us`");
}

#[test]
fn static_routes_by_destination_meet_nobody_on_a_shift() {
    // What a subnet manager computes for a fat tree carries any shift of all hosts at full rate.
    let cluster = topology("32 x dgx-h100 @ rail-optimized(leaf 32x400G)");
    let pairs: Vec<(u32, u32)> = (0..256).map(|gpu| (gpu, (gpu + 128) % 256)).collect();
    let ends = ends_s(&cluster, &behaviour("infiniband", &settings()), &pairs, Bytes::new(BYTES));
    assert!(ends.iter().all(|end| (end / DATA_S - 4122.0 / 4096.0).abs() < 0.01), "{ends:?}");
}
