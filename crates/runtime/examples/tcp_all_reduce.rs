//! Time of an all-reduce of float over TCP between two processes, on this host or on two.
//! `tcp_all_reduce [algorithm [busy microseconds [staging bytes [socket buffer bytes [message bytes ...]]]]]`, each `-`
//! for what is usual. Where `WEFT_EXAMPLE_PATH` names a file that both see, it is started by hand on each host, with
//! `HOST` 0 and 1, as the example `hosts` of the testkit does.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example may fail, and shows what it found")]
#![allow(clippy::cast_precision_loss, reason = "figures have three digits")]
#![allow(clippy::disallowed_methods, reason = "it measures time and asks who it is")]

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use weft_collective::{Rank, Terrain};
use weft_runtime::model::Calibration;
use weft_runtime::{Choice, Communicator, Listening, Meeting, Place, Reduction, Tcp, TcpSettings, meet};

const CHILD: &str = "WEFT_EXAMPLE_CHILD";
const BATCHES: usize = 9;
const SIZES: [usize; 9] = [8, 4096, 32 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).filter(|text| *text != "-");
    let mut settings = TcpSettings::default();
    if let Some(busy) = argument(1) {
        settings.busy = Duration::from_micros(busy.parse().unwrap());
    }
    if let Some(staging) = argument(2) {
        settings.staging_bytes = staging.parse().unwrap();
    }
    settings.socket_buffer_bytes = argument(3).map(|bytes| bytes.parse().unwrap());
    let apart = std::env::var("WEFT_EXAMPLE_PATH").ok();
    let second = std::env::var(CHILD).is_ok() || apart.is_some() && std::env::var("HOST").unwrap() == "1";
    let rank = Rank::new(u32::from(second));
    let given = apart.clone().or(std::env::var(CHILD).ok()).map(PathBuf::from);
    let own = std::env::temp_dir().join(format!("weft-all-reduce-{}", std::process::id()));
    let path = given.unwrap_or(own);
    let child = (rank.get() == 0 && apart.is_none()).then(|| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(&arguments).env(CHILD, &path).spawn().unwrap()
    });
    let listening = Listening::open(&settings).unwrap();
    let roster = meet(&Meeting::new(Place::File(path), rank, 2), listening.endpoints().to_vec(), "").unwrap();
    let tcp = Tcp::connect(listening, &roster, rank, settings).unwrap();
    if rank.get() == 0 {
        tcp.reasons().iter().for_each(|reason| println!("{reason}"));
    }
    let first = Choice::Quickest(Box::new(Calibration::of_link(5e-6, 2e9)));
    let mut group = Communicator::new(rank, Terrain::flat(2), tcp, first);
    match argument(0) {
        Some(name) => group.choose(Choice::Named(name.clone())),
        None => drop(group.calibrate().unwrap()),
    }
    let sizes: Vec<usize> = arguments.iter().skip(4).map(|bytes| bytes.parse().unwrap()).collect();
    for bytes in if sizes.is_empty() { SIZES.to_vec() } else { sizes } {
        time(&mut group, bytes);
    }
    if let Some(mut child) = child {
        child.wait().unwrap();
    }
}

/// Each figure is of several calls in a row: where ranks wait for each other in turn, one call takes nothing, and the
/// next one twice its time.
fn time(group: &mut Communicator<Tcp>, bytes: usize) {
    let mut data = vec![0_f32; bytes / 4];
    (0..2).for_each(|_| group.all_reduce(&mut data, Reduction::Sum).unwrap());
    let begun = Instant::now();
    (0..2).for_each(|_| group.all_reduce(&mut data, Reduction::Sum).unwrap());
    let one = begun.elapsed().as_secs_f64() / 2.0;
    // Both must do it as often: one tells the other how often 0.15 s take.
    let mut times = [(0.15 / one).clamp(2.0, 20_000.0)];
    group.broadcast(&mut times, Rank::new(0)).unwrap();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 2 and 20,000")]
    let times = times[0] as usize;
    let mut batch = |_| {
        let begun = Instant::now();
        (0..times).for_each(|_| group.all_reduce(&mut data, Reduction::Sum).unwrap());
        begun.elapsed().as_secs_f64() / times as f64
    };
    let mut took: Vec<f64> = (0..BATCHES).map(&mut batch).collect();
    took.sort_by(f64::total_cmp);
    let (median, least, most) = (took[BATCHES / 2], took[0], took[BATCHES - 1]);
    if group.rank().get() == 0 {
        let (rate, name) = (bytes as f64 / median / 1e9, group.algorithm());
        let range = format!("{:.2} to {:.2}", least * 1e6, most * 1e6);
        println!("{bytes:>12}  {:>10.2} us  {rate:>6.2} GB/s  {name:<18}  {range}", median * 1e6);
    }
}
