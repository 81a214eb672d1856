//! Trains a line through points on several ranks, each with its own part of them, and compares with one process that
//! has all: `train RANK RANKS PLACE`, or without arguments three ranks as threads.
#![expect(clippy::print_stdout, reason = "an example to run by hand")]

use weftwork::{Communicator, Fault, Joining, Place, Sum};

const POINTS: usize = 3000;
const STEPS: usize = 200;

fn main() -> Result<(), Fault> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |word: &String| word.parse().unwrap_or(0);
    if let [rank, ranks, place] = words.as_slice() {
        return report(number(rank), number(ranks), &Place::Address(place.clone()));
    }
    let file = std::env::temp_dir().join(format!("weft-train-{}", std::process::id()));
    let ranks = (0..3).map(|rank| {
        let place = Place::File(file.clone());
        std::thread::spawn(move || report(rank, 3, &place))
    });
    let ranks: Vec<_> = ranks.collect();
    ranks.into_iter().try_for_each(|rank| rank.join().unwrap_or(Ok(())))
}

fn report(rank: u32, ranks: u32, place: &Place) -> Result<(), Fault> {
    let together = train(rank as usize, ranks as usize, place)?;
    if rank == 0 {
        let alone = fit(0, 1, |_| Ok(()))?;
        let apart = (together[0] - alone[0]).abs().max((together[1] - alone[1]).abs());
        println!("{ranks} ranks: y = {:.6} x + {:.6}", together[0], together[1]);
        println!("1 process: y = {:.6} x + {:.6}; {apart:.1e} apart", alone[0], alone[1]);
    }
    Ok(())
}

/// Ten lines: join, and add up gradients.
fn train(rank: usize, ranks: usize, place: &Place) -> Result<[f64; 2], Fault> {
    let (number, count) = (u32::try_from(rank).unwrap_or(0), u32::try_from(ranks).unwrap_or(1));
    let mut group = Communicator::join(&Joining::new(place.clone(), number, count))?;
    fit(rank, ranks, |gradient| group.all_reduce(gradient, Sum))
}

/// Gradient descent on the points of one rank; `combine` adds the gradients of all.
#[expect(clippy::cast_precision_loss, reason = "a few thousand points")]
fn fit(
    rank: usize,
    ranks: usize,
    mut combine: impl FnMut(&mut [f64]) -> Result<(), Fault>,
) -> Result<[f64; 2], Fault> {
    let mut line = [0.0, 0.0];
    for _ in 0..STEPS {
        let mut gradient = [0.0, 0.0];
        for point in (rank..POINTS).step_by(ranks) {
            let x = point as f64 / POINTS as f64;
            let noise = if point % 2 == 0 { 0.01 } else { -0.01 };
            let error = line[0] * x + line[1] - (3.0 * x - 1.0 + noise);
            gradient[0] += error * x;
            gradient[1] += error;
        }
        combine(&mut gradient)?;
        for (value, slope) in line.iter_mut().zip(gradient) {
            *value -= slope / POINTS as f64;
        }
    }
    Ok(line)
}
