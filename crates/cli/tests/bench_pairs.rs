//! `weft bench pairs` as a user sees it, on this host and on eight that are namespaces.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, reason = "a test")]

mod common;
mod schema;

use common::run;
use schema::checked;
use serde_json::Value;
use weft_base::Rate;
use weft_testkit::network::{Network, Unavailable};

#[test]
fn all_pairs_of_this_host_are_measured() {
    let output = run(&["bench", "pairs", "-n", "3", "--max", "64KiB", "--format", "json"], b"");
    let document = checked("bench-pairs.json", &String::from_utf8_lossy(&output.stdout));
    assert_eq!(document["names"], serde_json::json!(["rank0", "rank1", "rank2"]));
    let pairs = document["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 6);
    assert!(pairs.iter().all(|pair| pair["wrong"] == 0 && pair["latency_s"].as_f64().unwrap() > 0.0));
    let refused = run(&["bench", "pairs", "-n", "1", "--format", "json"], b"");
    assert_eq!(
        checked("bench-pairs.json", &String::from_utf8_lossy(&refused.stdout))["diagnostics"][0]["code"],
        "not-measured"
    );
}

/// BBR keeps no more under way than the shortest trip ever took would need: here four packets, which on a machine with
/// other work is far too little, for then trips take a thousand times as long. What is to be seen is the network.
const ON_A_HOST: &str = "ip netns exec {host} sh -c \
    'echo reno >/proc/sys/net/ipv4/tcp_congestion_control; exec sh -c \"$0\"' {line}";

/// What is named on eight hosts: slow hosts, and slow pairs.
struct Named {
    hosts: Vec<String>,
    pairs: Vec<(String, String)>,
    document: Value,
}

/// Measures the hosts of a network, and calls them by their numbers.
fn named(network: &Network) -> Named {
    let names: Vec<String> = (0..network.hosts()).map(|host| network.namespace(host)).collect();
    let place = std::env::temp_dir().join(format!("{}meeting", names[0]));
    let hosts = names.join(",");
    let args = ["bench", "pairs", "--hosts", &hosts, "--join", place.to_str().unwrap(), "--ssh"];
    let how = ["--remote-shell", ON_A_HOST, "--deadline", "30", "--meet-within", "120"];
    let what = ["--max", "512KiB", "--repeats", "5", "--format", "json"];
    let output = run(&[&args[..], &how, &what].concat(), b"");
    assert!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let document = checked("bench-pairs.json", &String::from_utf8_lossy(&output.stdout));
    let number = |name: &Value| {
        let at = names.iter().position(|known| name == known).unwrap();
        at.to_string()
    };
    let of = |key: &str| document[key].as_array().unwrap().clone();
    let hosts: Vec<String> = of("slow_hosts").iter().map(|slow| number(&slow["host"])).collect();
    let pairs: Vec<_> =
        of("slow_pairs").iter().map(|slow| (number(&slow["from"]), number(&slow["to"]))).collect();
    let is_clean = hosts.is_empty() && pairs.is_empty();
    // The code says whether something was found.
    assert_eq!(output.status.code(), Some(i32::from(!is_clean)), "{document}");
    Named { hosts, pairs, document }
}

/// Rates of which this machine is quick enough for four pairs at a time, even with other work.
fn megabytes(count: u64) -> Rate {
    Rate::bytes_per_second(count * 1_000_000)
}

fn eight() -> Option<Network> {
    let made: Result<Network, Unavailable> = Network::with_rate(8, megabytes(10));
    made.inspect_err(|why| println!("{why}")).ok()
}

#[test]
fn a_slow_host_and_a_slow_link_are_named_and_equals_are_not() {
    let Some(mut network) = eight() else { return };
    let clean = named(&network);
    assert!(clean.hosts.is_empty() && clean.pairs.is_empty(), "{}", clean.document);
    network.slow_link(1, 6, megabytes(3)).unwrap();
    network.slow_host(4, megabytes(4)).unwrap();
    let slow = named(&network);
    assert_eq!(slow.hosts, ["4"], "{}", slow.document);
    assert_eq!(slow.pairs, [("1".to_owned(), "6".to_owned())], "{}", slow.document);
    let codes: Vec<&Value> =
        slow.document["diagnostics"].as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
    assert_eq!(codes, ["slow-host", "slow-pair"]);
    assert!(slow.document["slow_hosts"][0]["sends_bytes_per_s"].is_number());
    assert!(slow.document["slow_pairs"][0]["back_bytes_per_s"].is_number());
}
