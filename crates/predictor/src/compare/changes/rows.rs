//! Rows of benchmarks before and after.

use weft_base::{Bytes, Place, Rate, Span};
use weft_catalogue::Catalogue;
use weft_formats::{Benchmark, BenchmarkRow, Case, Evidence, Measure, PairTable};

use super::{Changes, Said};
use crate::PredictError;
use crate::nccl::constants::Constants;

/// Deviations of a difference of two measurements beyond which it counts: one of eighty by chance.
const DEVIATIONS: f64 = 2.5;
/// Pairs that are named.
const NAMED_MAX: usize = 16;

/// Whether a figure changed beyond the spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// Within the spread.
    Same,
    /// It takes longer.
    Slower,
    /// It takes less.
    Quicker,
}

impl Moved {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "as before",
            Self::Slower => "slower",
            Self::Quicker => "quicker",
        }
    }

    fn of(ratio: f64, spread: f64) -> Self {
        if libm::log(ratio).abs() <= spread {
            Self::Same
        } else if ratio < 1.0 {
            Self::Slower
        } else {
            Self::Quicker
        }
    }
}

/// A benchmark of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct TableChange {
    /// The collective, or what was measured.
    pub what: String,
    /// Ranks before and after.
    pub ranks: (Option<usize>, Option<usize>),
    /// Where it was read before.
    pub before: Place,
    /// Where it was read after.
    pub after: Place,
    /// From which ratio on, up or down, a row counts as changed: exp(spread) of the larger of what rows in and
    /// out of place differ and of what runs usually do.
    pub limit_ratio: f64,
    /// Sizes of both.
    pub rows: Vec<RowChange>,
    /// Sizes of one side only.
    pub unmatched_count: usize,
}

/// A size before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct RowChange {
    /// The message.
    pub bytes: Bytes,
    /// Before, and its line.
    pub before: (Span, u32),
    /// After, and its line.
    pub after: (Span, u32),
    /// Rates of both, as the tool counts them, where it prints them.
    pub rates: Option<(Rate, Rate)>,
    /// Bandwidth after by before.
    pub ratio: f64,
    /// Whether that is beyond the spread.
    pub moved: Moved,
}

/// Rates between pairs before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct PairsChange {
    /// What the tool calls it.
    pub what: String,
    /// Where it was read before.
    pub before: Place,
    /// Where it was read after.
    pub after: Place,
    /// Pairs that both have.
    pub pair_count: usize,
    /// The median of after by before.
    pub ratio: f64,
    /// Pairs that are slower beyond the spread, the slowest first: from, to and the ratio.
    pub slower: Vec<(String, String, f64)>,
    /// Pairs that are quicker.
    pub quicker_count: usize,
}

/// Adds what the benchmarks of both sides say.
pub(super) fn compare(
    before: &Case,
    after: &Case,
    catalogue: &Catalogue,
    found: &mut Changes,
) -> Result<(), PredictError> {
    let usual = Constants::of(catalogue, "calibration")?.only("row", "repeats")?;
    let mut left: Vec<(&Benchmark, &Place)> = benchmarks(after);
    for (table, place) in benchmarks(before) {
        let key = key(table);
        match left.iter().position(|(other, _)| self::key(other) == key) {
            Some(index) => {
                let (other, other_place) = left.remove(index);
                found.tables.push(table_change((table, place), (other, other_place), usual));
            }
            None => found.unmatched.push(unmatched(table, place)),
        }
    }
    found.unmatched.extend(left.into_iter().map(|(table, place)| unmatched(table, place)));
    let mut left: Vec<(&PairTable, &Place)> = pair_tables(after);
    for (table, place) in pair_tables(before) {
        let same = |other: &PairTable| (&other.title, &other.test) == (&table.title, &table.test);
        if let Some(index) = left.iter().position(|(other, _)| same(other)) {
            let (other, other_place) = left.remove(index);
            found.pairs.extend(pairs_change((table, place), (other, other_place), DEVIATIONS * usual * 2.0));
        }
    }
    Ok(())
}

fn benchmarks(case: &Case) -> Vec<(&Benchmark, &Place)> {
    case.evidence
        .iter()
        .filter_map(|located| {
            let Evidence::Benchmark(table) = &located.value else { return None };
            Some((&**table, &located.place))
        })
        .collect()
}

fn pair_tables(case: &Case) -> Vec<(&PairTable, &Place)> {
    case.evidence
        .iter()
        .filter_map(|located| {
            let Evidence::Pairs(table) = &located.value else { return None };
            Some((&**table, &located.place))
        })
        .collect()
}

/// What makes two tables the same measurement.
fn key(table: &Benchmark) -> (Option<&str>, Option<&str>) {
    (table.collective.as_deref(), table.operation.as_deref())
}

fn name(table: &Benchmark) -> String {
    table.collective.clone().or_else(|| table.operation.clone()).unwrap_or_else(|| table.tool.to_owned())
}

fn unmatched(table: &Benchmark, place: &Place) -> Said {
    Said { text: name(table), place: Some(Place::new(&place.file, table.line.max(1), 1, 0)) }
}

/// Rows out of place, or in place where there are no others, each size once.
fn sizes(table: &Benchmark) -> Vec<&BenchmarkRow> {
    let mut rows: Vec<&BenchmarkRow> = Vec::new();
    for row in &table.rows {
        match rows.iter_mut().find(|kept| kept.bytes == row.bytes) {
            Some(kept) if kept.in_place && !row.in_place => *kept = row,
            Some(_) => {}
            None => rows.push(row),
        }
    }
    rows.sort_by_key(|row| row.bytes);
    rows
}

fn time_s(row: &BenchmarkRow) -> Option<f64> {
    let by_rate = |rate: Rate| (rate > Rate::ZERO).then(|| row.bytes.as_f64() / (rate.as_gigabytes() * 1e9));
    row.time.filter(|time| *time > Span::ZERO).map(Span::as_seconds).or_else(|| by_rate(row.rate()?))
}

/// How far rows in and out of place of a size lie apart: the median of the logarithms.
fn own_spread(table: &Benchmark) -> f64 {
    let apart = |row: &&BenchmarkRow| {
        let other =
            table.rows.iter().find(|other| other.bytes == row.bytes && other.in_place != row.in_place)?;
        Some(libm::log(time_s(row)? / time_s(other)?).abs())
    };
    let mut spreads: Vec<f64> = sizes(table).iter().filter_map(apart).collect();
    spreads.sort_by(f64::total_cmp);
    // Half of the differences of two like measurements are below 0.6745 sqrt 2 deviations.
    spreads.get(spreads.len() / 2).map_or(0.0, |middle| middle / (0.6745 * std::f64::consts::SQRT_2))
}

fn table_change(
    (before, before_place): (&Benchmark, &Place),
    (after, after_place): (&Benchmark, &Place),
    usual: f64,
) -> TableChange {
    let deviation = usual.max(own_spread(before)).max(own_spread(after));
    let spread = DEVIATIONS * std::f64::consts::SQRT_2 * deviation;
    let (was, is) = (sizes(before), sizes(after));
    let mut rows = Vec::new();
    for row in &was {
        let Some(other) = is.iter().find(|other| other.bytes == row.bytes) else { continue };
        let (Some(was_s), Some(is_s)) = (time_s(row), time_s(other)) else { continue };
        let ratio = was_s / is_s;
        rows.push(RowChange {
            bytes: row.bytes,
            before: (Span::from_microseconds(was_s * 1e6), row.line),
            after: (Span::from_microseconds(is_s * 1e6), other.line),
            rates: row.rate().zip(other.rate()).filter(|(was, is)| *was > Rate::ZERO && *is > Rate::ZERO),
            ratio,
            moved: Moved::of(ratio, spread),
        });
    }
    let unmatched_count = was.len() + is.len() - 2 * rows.len();
    TableChange {
        what: name(before),
        ranks: (before.rank_count, after.rank_count),
        before: Place::new(&before_place.file, before.line.max(1), 1, 0),
        after: Place::new(&after_place.file, after.line.max(1), 1, 0),
        limit_ratio: libm::exp(spread),
        rows,
        unmatched_count,
    }
}

fn pairs_change(
    (before, before_place): (&PairTable, &Place),
    (after, after_place): (&PairTable, &Place),
    spread: f64,
) -> Option<PairsChange> {
    let mut ratios: Vec<(f64, &String, &String)> = Vec::new();
    for cell in before.between() {
        let (from, to) = (before.rows.get(cell.row)?, before.columns.get(cell.column)?);
        let row = after.rows.iter().position(|name| name == from);
        let column = after.columns.iter().position(|name| name == to);
        let other = row.zip(column).and_then(|(row, column)| after.cell(row, column));
        let ratio = match (cell.measure, other.map(|other| other.measure)) {
            (Measure::Rate(was), Some(Measure::Rate(is))) if was > Rate::ZERO && is > Rate::ZERO => {
                is.as_gigabytes() / was.as_gigabytes()
            }
            (Measure::Span(was), Some(Measure::Span(is))) if was > Span::ZERO && is > Span::ZERO => {
                was.as_seconds() / is.as_seconds()
            }
            (Measure::Rate(_) | Measure::Span(_) | Measure::Access(_), _) => continue,
        };
        ratios.push((ratio, from, to));
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = ratios.get(ratios.len() / 2)?.0;
    let count = |moved| ratios.iter().filter(|(ratio, ..)| Moved::of(*ratio, spread) == moved).count();
    let slower = ratios.iter().filter(|(ratio, ..)| Moved::of(*ratio, spread) == Moved::Slower);
    Some(PairsChange {
        what: before.test.clone().unwrap_or_else(|| before.title.clone()),
        before: Place::new(&before_place.file, before.line.max(1), 1, 0),
        after: Place::new(&after_place.file, after.line.max(1), 1, 0),
        pair_count: ratios.len(),
        ratio: middle,
        slower: slower
            .take(NAMED_MAX)
            .map(|(ratio, from, to)| ((*from).clone(), (*to).clone(), *ratio))
            .collect(),
        quicker_count: count(Moved::Quicker),
    })
}
