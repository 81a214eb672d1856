//! What was measured beside what is expected, and one measurement beside another.

mod asked;
mod causes;
mod changes;
mod measured;
mod plot;
mod ranks;
mod shape;
mod tables;
#[cfg(test)]
mod tests;
mod verdict;

pub use asked::Asked;
pub use causes::Cause;
pub use changes::{
    Change, ChangeKind, Changes, Difference, ExpectedChange, Moved, PairsChange, RowChange, Said, Side,
    TableChange, changes, differing,
};
pub use measured::{Band, Comparison, Point, compare};
pub use plot::plot;
pub use ranks::{RanksError, Seats, launch, machine_of_ranks, seats};
pub use shape::Shape;
pub use tables::{Compared, Pairs, Table, tables};
pub use verdict::{Expectation, Verdict};
