//! All-reduces of float between processes of this host over shared memory, measured as `weft bench` does.
//!
//! `cargo run --release -p weft-runtime --example all_reduce -- ranks=2 algorithm=direct sizes=8B,1MiB`
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example measures and prints")]

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use weft_base::Bytes;
use weft_collective::{Collective, Rank, Terrain};
use weft_runtime::measure::{Series, Timing, measure};
use weft_runtime::transports::shared_memory::{Region, Settings, SharedMemory};
use weft_runtime::{Choice, Communicator, Element, Reduction};

const RANK: &str = "WEFT_EXAMPLE_RANK";
const SIZES: &str = "8B,4KiB,32KiB,256KiB,1MiB,4MiB,8MiB,16MiB,64MiB,256MiB";

struct Options {
    ranks: u32,
    algorithm: String,
    sizes: String,
    repeats: usize,
    registered: bool,
    settings: Settings,
}

fn options(arguments: &[String]) -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        ranks: 2,
        algorithm: "direct".to_owned(),
        sizes: SIZES.to_owned(),
        repeats: 7,
        registered: false,
        settings: Settings::default(),
    };
    for (key, value) in arguments.iter().filter_map(|argument| argument.split_once('=')) {
        let bytes = || value.parse::<Bytes>().map(|bytes| usize::try_from(bytes.get()).unwrap_or(usize::MAX));
        match key {
            "ranks" => options.ranks = value.parse()?,
            "algorithm" => value.clone_into(&mut options.algorithm),
            "sizes" => value.clone_into(&mut options.sizes),
            "registered" => options.registered = value.parse()?,
            "repeats" => options.repeats = value.parse()?,
            "ring" => options.settings.ring_bytes = bytes()?,
            "part" => options.settings.part_bytes = bytes()?,
            "direct" => options.settings.direct_from_bytes = bytes()?,
            "up" => options.settings.direct_up_to_bytes = bytes()?,
            "streamed" => options.settings.streamed_from_bytes = bytes()?,
            "bounce" => options.settings.direct_part_bytes = bytes()?,
            _ => return Err(format!("there is no option `{key}`").into()),
        }
    }
    Ok(options)
}

fn rate(bytes: Bytes, timing: &Timing) -> String {
    let of = |seconds: f64| bytes.as_f64() / seconds / 1e9;
    let (least, most) = timing.range_s;
    let median = timing.median_s;
    format!("{:>10.2} us {:>6.2} GB/s ({:>5.2}-{:>5.2})", median * 1e6, of(median), of(most), of(least))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = options(&arguments)?;
    let (mut rank, mut children) = (0, Vec::new());
    let region = if let Ok(own) = std::env::var(RANK) {
        let (number, address) = own.split_once(' ').ok_or("not a rank")?;
        rank = number.parse()?;
        Region::open(address)?
    } else {
        let region = SharedMemory::create(options.ranks as usize, &options.settings)?;
        for rank in 1..options.ranks {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(&arguments).env(RANK, format!("{rank} {}", region.address()));
            children.push(command.spawn()?);
        }
        region
    };
    let transport = SharedMemory::join(&region, Rank::new(rank), Duration::from_secs(5), &options.settings)?;
    let choice = Choice::Named(options.algorithm.clone());
    let mut group = Communicator::new(Rank::new(rank), Terrain::flat(options.ranks), transport, choice);
    let series = Series {
        collective: Collective::AllReduce,
        element: Element::F32,
        reduction: Reduction::Sum,
        root: Rank::new(0),
        sizes: options.sizes.split(',').map(str::parse).collect::<Result<_, _>>()?,
        repeats: options.repeats,
        lasting: Duration::from_millis(20),
        registered: options.registered,
    };
    for size in &series.sizes {
        let row = measure(&mut group, &series, *size)?;
        if rank == 0 {
            let (apart, together) = (rate(row.bytes, &row.out_of_place), rate(row.bytes, &row.in_place));
            println!("{:>10}  {apart}  | {together}", size.get());
        }
    }
    for mut child in children {
        child.wait()?;
    }
    Ok(())
}
