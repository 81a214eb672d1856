//! A training that loses a rank and ends with the right line all the same: `shrink` starts three processes, of which
//! rank 1 ends in the middle of it, without a word.
#![expect(clippy::print_stdout, reason = "an example to run by hand")]

use std::process::Command;
use std::time::Duration;

use weftwork::{Communicator, Fault, Joining, Place, Rank, Sum};

const POINTS: usize = 3000;
const STEPS: usize = 200;
const RANKS: u32 = 3;
/// Who ends, and at which step.
const END: (u32, usize) = (1, 80);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [rank, file] = words.as_slice() {
        return Ok(report(rank.parse()?, &Place::File(file.into()))?);
    }
    let file = std::env::temp_dir().join(format!("weft-shrink-{}", std::process::id()));
    let start = |rank: u32| Command::new(std::env::current_exe()?).arg(rank.to_string()).arg(&file).spawn();
    let ranks: Vec<_> = (0..RANKS).map(start).collect::<Result<_, _>>()?;
    for (rank, mut process) in (0..).zip(ranks) {
        let status = process.wait()?;
        if rank != END.0 && !status.success() {
            return Err(format!("rank {rank}: {status}").into());
        }
    }
    Ok(())
}

fn report(rank: u32, place: &Place) -> Result<(), Fault> {
    let mut group = Communicator::join(&Joining::new(place.clone(), rank, RANKS))?;
    let (mut line, mut step) = ([0.0, 0.0], 0);
    while step < STEPS {
        if (rank, step) == END {
            std::process::abort();
        }
        let mut slopes = slopes(line, group.rank().index(), group.ranks() as usize);
        if let Err(fault) = group.all_reduce(&mut slopes, Sum) {
            let survivors = group.shrink(Duration::from_secs(5))?;
            let lost: Vec<String> = survivors.lost.iter().map(|lost| lost.rank.to_string()).collect();
            println!("rank {rank} is now {}: without {}, since {fault}", survivors.rank, lost.join(", "));
            // Some may have done the step and some not: all go on from where the first one is.
            let mut state = [line[0], line[1], number(step)];
            group.broadcast(&mut state, Rank::new(0))?;
            line = [state[0], state[1]];
            step = (0..=STEPS).find(|step| number(*step) >= state[2]).unwrap_or(STEPS);
            continue;
        }
        (line, step) = (moved(line, slopes), step + 1);
    }
    if group.rank().get() == 0 {
        let alone = (0..STEPS).fold([0.0, 0.0], |line, _| moved(line, slopes(line, 0, 1)));
        let apart = (line[0] - alone[0]).abs().max((line[1] - alone[1]).abs());
        println!("{} ranks in the end: y = {:.6} x + {:.6}", group.ranks(), line[0], line[1]);
        println!("1 process: y = {:.6} x + {:.6}; the same to 1e-9: {}", alone[0], alone[1], apart < 1e-9);
    }
    Ok(())
}

/// The slopes of the squared error, over every `ranks`th point from the `rank`th on.
fn slopes(line: [f64; 2], rank: usize, ranks: usize) -> [f64; 2] {
    let mut slopes = [0.0, 0.0];
    for point in (rank..POINTS).step_by(ranks) {
        let x = number(point) / number(POINTS);
        let noise = if point % 2 == 0 { 0.01 } else { -0.01 };
        let error = line[0] * x + line[1] - (3.0 * x - 1.0 + noise);
        slopes[0] += error * x;
        slopes[1] += error;
    }
    slopes
}

fn moved(line: [f64; 2], slopes: [f64; 2]) -> [f64; 2] {
    [line[0] - slopes[0] / number(POINTS), line[1] - slopes[1] / number(POINTS)]
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn number(count: usize) -> f64 {
    count as f64
}
