//! How fast the streams of shared memory are between two processes of this host: half a round trip of 8 bytes, an
//! exchange of them, and bytes per second in one direction by how they travel.
//!
//! `cargo run --release -p weft-runtime --example streams`
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "an example measures and prints"
)]

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use weft_collective::Rank;
use weft_runtime::transports::shared_memory::{Region, Settings, SharedBuffer, SharedMemory};
use weft_runtime::{Fault, Port, Ports, Transport};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The best of so many is told, as other programs disturb.
const REPEATS: usize = 7;
const SIZES: [usize; 11] =
    [512, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20, 4 << 20, 64 << 20, 256 << 20];

fn settings() -> [(&'static str, Settings); 3] {
    let default = Settings::default();
    let never = usize::MAX - 1;
    [
        ("staged", Settings { direct_from_bytes: never, ..default }),
        ("direct", Settings { direct_from_bytes: 49, direct_up_to_bytes: never, ..default }),
        ("registered", Settings { registered_from_bytes: 49, ..default }),
    ]
}

fn send(transport: &mut SharedMemory, to: Port, piece: &[u8]) -> Result<(), Fault> {
    let (mut done, mut rounds) = (0, 0);
    while done < piece.len() {
        let now = transport.push(to, piece, done, true)?;
        rounds = if now > done { 0 } else { rounds + 1 };
        if now == done {
            transport.wait(rounds, &[to])?;
        }
        done = now;
    }
    Ok(())
}

fn receive(
    transport: &mut SharedMemory,
    from: Port,
    length: usize,
    mut take: impl FnMut(usize, &[u8]),
) -> Result<(), Fault> {
    let (mut done, mut rounds) = (0, 0);
    while done < length {
        let mut at = done;
        let got = transport.pull(from, length - done, 4, true, |part| {
            take(at, part);
            at += part.len();
        })?;
        rounds = if got > 0 { 0 } else { rounds + 1 };
        if got == 0 {
            transport.wait(rounds, &[from])?;
        }
        done += got;
    }
    Ok(())
}

/// Adds numbers as they come to those that are there.
fn add(into: &mut [f32], at: usize, part: &[u8]) {
    let (numbers, _) = part.as_chunks::<4>();
    for (sum, number) in into[at / 4..].iter_mut().zip(numbers) {
        *sum += f32::from_ne_bytes(*number);
    }
}

struct Side {
    transport: SharedMemory,
    other: Port,
    first: bool,
}

impl Side {
    fn ping_pong(&mut self, rounds: u32) -> Outcome<Duration> {
        let begun = Instant::now();
        for _round in 0..rounds {
            if self.first {
                send(&mut self.transport, self.other, &[7; 8])?;
                receive(&mut self.transport, self.other, 8, |_, _| ())?;
            } else {
                receive(&mut self.transport, self.other, 8, |_, _| ())?;
                send(&mut self.transport, self.other, &[7; 8])?;
            }
        }
        Ok(begun.elapsed() / (2 * rounds))
    }

    /// Both send and both receive: what an all-reduce of two ranks does.
    fn exchange(&mut self, rounds: u32) -> Outcome<Duration> {
        let begun = Instant::now();
        for _round in 0..rounds {
            send(&mut self.transport, self.other, &[7; 8])?;
            receive(&mut self.transport, self.other, 8, |_, _| ())?;
        }
        Ok(begun.elapsed() / rounds)
    }

    /// The first sends, the other adds; then the other says that it is done.
    fn one_way(&mut self, piece: &[u8], sums: &mut [f32], rounds: u32) -> Outcome<Duration> {
        let begun = Instant::now();
        for _round in 0..rounds {
            if self.first {
                send(&mut self.transport, self.other, piece)?;
            } else {
                receive(&mut self.transport, self.other, piece.len(), |at, part| add(sums, at, part))?;
            }
        }
        if self.first {
            receive(&mut self.transport, self.other, 8, |_, _| ())?;
        } else {
            send(&mut self.transport, self.other, &[1; 8])?;
        }
        Ok(begun.elapsed() / rounds)
    }
}

fn measure(sides: &mut [Side; 3], print: bool) -> Outcome<()> {
    let (mut half, mut both) = (Duration::MAX, Duration::MAX);
    for _repeat in 0..REPEATS {
        half = half.min(sides[0].ping_pong(20_000)?);
        both = both.min(sides[0].exchange(20_000)?);
    }
    if print {
        println!("8 bytes: half a round trip {half:?}, an exchange {both:?}");
        println!(
            "{:>10}  {:>10} {:>10} {:>10}   GB/s, received numbers added",
            "bytes", "staged", "direct", "registered"
        );
    }
    let most = SIZES.iter().copied().max().unwrap_or(0);
    let private = vec![1_u8; most];
    let mut shared: SharedBuffer = sides[2].transport.allocate(most)?;
    shared.fill(1);
    let mut sums = vec![0_f32; most / 4];
    for size in SIZES {
        let rounds = u32::try_from((16 << 20) / size).unwrap_or(1).clamp(1, 4000);
        let mut best = [Duration::MAX; 3];
        for _repeat in 0..REPEATS {
            for (way, side) in sides.iter_mut().enumerate() {
                let piece = if way == 2 { &shared[..size] } else { &private[..size] };
                best[way] = best[way].min(side.one_way(piece, &mut sums, rounds)?);
            }
        }
        if print {
            let rate = best.map(|time| size as f64 / time.as_secs_f64() / 1e9);
            println!("{size:>10}  {:>10.2} {:>10.2} {:>10.2}", rate[0], rate[1], rate[2]);
        }
    }
    Ok(())
}

fn join(region: &Region, rank: u32, settings: &Settings) -> Outcome<Side> {
    let transport = SharedMemory::join(region, Rank::new(rank), Duration::from_secs(20), settings)?;
    let other = Port { peer: Rank::new(1 - rank), channel: 0 };
    Ok(Side { transport, other, first: rank == 0 })
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let of = settings();
    if let [first, second, third] = arguments.as_slice() {
        let open = |address: &str, index: usize| join(&Region::open(address)?, 1, &of[index].1);
        return measure(&mut [open(first, 0)?, open(second, 1)?, open(third, 2)?], false);
    }
    let regions: Vec<Region> =
        of.iter().map(|(_, settings)| SharedMemory::create(2, settings)).collect::<Result<_, _>>()?;
    let addresses = regions.iter().map(Region::address);
    let mut child = Command::new(std::env::current_exe()?).args(addresses).spawn()?;
    let own = |index: usize| join(&regions[index], 0, &of[index].1);
    let mut sides = [own(0)?, own(1)?, own(2)?];
    if let Some(why) = sides[1].transport.why_staged() {
        println!("direct is staged too: {why}");
    }
    measure(&mut sides, true)?;
    child.wait()?;
    Ok(())
}
