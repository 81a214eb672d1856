//! Runs a program on each of a few hosts that are namespaces: `hosts 2 10 500 program argument...` makes two hosts with
//! 10 Gbit/s and 500 microseconds one way (`-` for as fast as the machine is), starts the program on all of them with
//! `HOST` set to 0, 1, ..., and ends when that on host 0 does.
#![cfg_attr(not(target_os = "linux"), allow(unused))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "an example may fail")]

#[cfg(target_os = "linux")]
fn main() {
    use std::time::Duration;
    use weft_base::Rate;
    use weft_testkit::network::{Network, Running};

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [hosts, gbit_per_s, one_way_us, program, rest @ ..] = arguments.as_slice() else {
        panic!("hosts COUNT GBIT_PER_S ONE_WAY_MICROSECONDS PROGRAM [ARGUMENT ...]");
    };
    let hosts: u8 = hosts.parse().unwrap();
    let rate = gbit_per_s.parse().ok().map(|gbit: f64| Rate::from_gigabytes(gbit / 8.0));
    let delay = one_way_us.parse().ok().map(Duration::from_micros);
    let network = match (rate, delay) {
        (Some(rate), Some(delay)) => Network::with_delay(hosts, rate, delay),
        (Some(rate), None) => Network::with_rate(hosts, rate),
        (None, _) => Network::new(hosts),
    };
    let network = network.unwrap();
    let start = |host: u8| {
        Running(network.command(host, program).args(rest).env("HOST", host.to_string()).spawn().unwrap())
    };
    let mut running: Vec<Running> = (0..hosts).map(start).collect();
    running[0].0.wait().unwrap();
}

#[cfg(not(target_os = "linux"))]
fn main() {}
