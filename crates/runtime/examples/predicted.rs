//! Puts what is predicted beside what is measured, for collectives between processes of this host:
//!
//! ```sh
//! cargo run --release -p weft-runtime --example predicted -- 2 shm all-reduce 8 67108864 8
//! ```
#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used, reason = "an example")]

use std::time::Duration;

use weft_base::Bytes;
use weft_collective::{ALGORITHMS, Call, Collective, Counts, Rank, Terrain};
use weft_runtime::measure::{Compared, Series, compare, median};
use weft_runtime::model::Probes;
use weft_runtime::{Choice, Communicator, Either, Element, Fault, Joining, Place, Reduction};

fn main() -> Result<(), Fault> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ranks, transport, collective, least, most, factor, rest @ ..] = &arguments[..] else {
        println!("RANKS shm|tcp|registered COLLECTIVE|all|probes LEAST MOST FACTOR [each]");
        return Ok(());
    };
    let number = |text: &String| text.parse::<u64>().unwrap();
    let ranks = u32::try_from(number(ranks)).unwrap();
    let own = std::env::var("WEFT_RANK").ok().map_or(0, |rank| rank.parse().unwrap());
    let place = std::env::var("WEFT_PLACE").unwrap_or_else(|_| {
        std::env::temp_dir().join(format!("weft-predicted-{}", std::process::id())).display().to_string()
    });
    let mut others = Vec::new();
    for rank in (1..ranks).filter(|_| own == 0) {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(&arguments).env("WEFT_RANK", rank.to_string()).env("WEFT_PLACE", &place);
        others.push(command.stdout(std::process::Stdio::null()).spawn().unwrap());
    }
    let mut joining = Joining::new(Place::File(place.clone().into()), own, ranks);
    joining.only_tcp = transport == "tcp";
    joining.deadline = Duration::from_secs(30);
    let begun = std::time::Instant::now();
    let mut group = Communicator::join(&joining)?;
    let joined_s = begun.elapsed().as_secs_f64();
    group.barrier()?;
    if own == 0 {
        println!(
            "# joined after {joined_s:.3} s, first call over after {:.3} s",
            begun.elapsed().as_secs_f64()
        );
    }
    let sizes = Series::sizes(Bytes::new(number(least)), Bytes::new(number(most)), number(factor));
    if collective == "probes" {
        probe(&mut group, Bytes::new(number(most)))?;
    } else {
        let registered = transport == "registered";
        collectives(&mut group, (collective, registered), &sizes, !rest.is_empty())?;
    }
    drop(group);
    for mut other in others {
        let _ = other.wait();
    }
    let _ = std::fs::remove_file(place);
    Ok(())
}

/// Prints what each probe takes, and what follows from them.
fn probe(group: &mut Communicator<Either>, most: Bytes) -> Result<(), Fault> {
    let mut probes = Probes::new(group, most, 4, Duration::from_millis(5));
    for _ in 0..5 {
        probes.round(group)?;
    }
    if group.rank().get() == 0 {
        for probed in probes.probed() {
            let (least_s, most_s) = probed.range_s;
            println!(
                "{:<60} {:>12.3} us  {:.3} .. {:.3}",
                probed.text,
                probed.median_s * 1e6,
                least_s * 1e6,
                most_s * 1e6
            );
        }
        println!("{:#?}", probes.calibration());
    }
    Ok(())
}

/// Compares collectives of that name, by the algorithm that is chosen or by each.
fn collectives(
    group: &mut Communicator<Either>,
    (name, registered): (&str, bool),
    sizes: &[Bytes],
    each: bool,
) -> Result<(), Fault> {
    let (own, ranks) = (group.rank().get(), group.ranks());
    let mut rows = Vec::new();
    let all = weft_runtime::measure::collectives().filter(|one| *one != Collective::Barrier);
    for one in all.filter(|one| name == "all" || one.name() == name) {
        let least = u64::from(ranks) * 4;
        let series = Series {
            collective: one,
            element: Element::F32,
            reduction: Reduction::Sum,
            root: Rank::new(0),
            sizes: sizes.iter().copied().filter(|size| size.get() >= least).collect(),
            repeats: 5,
            lasting: Duration::from_millis(10),
            registered,
        };
        if each {
            rows.extend(algorithms(group, &series)?);
        } else {
            rows.extend(show(own, compare(group, &series)?.0));
        }
    }
    if own == 0 {
        println!(
            "# median error {:.1} %, spread {:.1} %",
            100.0 * median(rows.iter().map(Compared::error)),
            100.0 * median(rows.iter().map(Compared::spread))
        );
    }
    Ok(())
}

/// Compares all algorithms that suit.
fn algorithms(group: &mut Communicator<Either>, series: &Series) -> Result<Vec<Compared>, Fault> {
    let (own, ranks) = (group.rank().get(), group.ranks());
    let (chosen, mut rows) = (group.choice().clone(), Vec::new());
    for size in &series.sizes {
        let (elements, bytes) = series.part(*size, ranks);
        let (counts, data_type) = (Counts::Even(elements), Element::F32.data_type());
        let call = Call { counts, data_type, ..Call::bytes(series.collective, 0) };
        let series = Series { sizes: vec![*size], ..series.clone() };
        for entry in ALGORITHMS.iter().filter(|entry| entry.suits(&call, &Terrain::flat(ranks)).is_ok()) {
            group.choose(Choice::Named(entry.name().to_owned()));
            rows.extend(show(own, compare(group, &series)?.0));
        }
        group.choose(chosen.clone());
        if own == 0 {
            println!("  chosen at {bytes}: {}", group.explain(&call, series.registered));
        }
    }
    Ok(rows)
}

fn show(own: u32, rows: Vec<Compared>) -> Vec<Compared> {
    for row in rows.iter().filter(|_| own == 0) {
        println!(
            "{:<14} {:>10} {:<22} {:>11.3} {:>11.3} .. {:<11.3} {:>11.3} {:>6.2} {}",
            row.collective.name(),
            row.bytes.get(),
            row.algorithm,
            row.timing.median_s * 1e6,
            row.timing.range_s.0 * 1e6,
            row.timing.range_s.1 * 1e6,
            row.predicted_s * 1e6,
            row.ratio(),
            row.verdict().of_time()
        );
    }
    rows
}
