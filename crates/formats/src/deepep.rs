//! The tests of DeepEP (`test_intranode.py`, `test_internode.py`, `test_low_latency.py`): rates of dispatch and
//! combine.

use weft_base::Rate;

use crate::block::{Block, BlockFormat, Step, field_name, number};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const DEEPEP: BlockFormat = BlockFormat {
    name: "deepep",
    title: "rates of dispatch and combine, of DeepEP's tests",
    command: Some("python tests/test_internode.py"),
    marks: &[
        "[tuning] ",
        "[testing] Running with",
        "[layout] Kernel",
        " bandwidth: ",
        "Allocating buffer size",
    ],
    starts,
    step,
    records,
};

/// What the test prints.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Own<'a> {
    /// `num_tokens=4096, hidden=7168, …`.
    Config(&'a str),
    /// A check; whether it passed.
    Checked(bool),
    /// A try of one set of sizes.
    Tried(&'a str),
    /// The best of the tries above: of what, and how.
    Best(&'a str, &'a str),
    /// What one rank reached: its number and the text.
    Rank(&'a str, &'a str),
    /// Sizes of buffers, times of a layout.
    Note,
}

fn own(text: &str) -> Option<Own<'_>> {
    let text = text.trim();
    let (tag, rest) = text.strip_prefix('[')?.split_once("] ")?;
    match tag {
        "config" => rest.contains('=').then_some(Own::Config(rest)),
        "layout" => rest.starts_with("Kernel performance").then_some(Own::Note),
        "testing" => {
            let is_check = rest.starts_with("Running with");
            is_check.then(|| Own::Checked(rest.ends_with("passed")))
        }
        "tuning" => match rest.strip_prefix("Best ") {
            Some(best) => best.split_once(':').map(|(what, how)| Own::Best(what.trim(), how)),
            None => rest.starts_with("SMs ").then_some(Own::Tried(rest)),
        },
        _ => {
            let rank = tag.strip_prefix("rank ")?;
            number(rank)?;
            if rest.starts_with("Allocating buffer size") || rest.starts_with("Dispatch send/recv time") {
                return Some(Own::Note);
            }
            (rest.contains(" bandwidth: ") && rest.contains("GB/s")).then_some(Own::Rank(rank, rest))
        }
    }
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    own(&lines[index].text).map(|_| 0)
}

fn step(text: &str, _: &str) -> Step {
    if own(text).is_some() {
        Step::More
    } else if text.trim().is_empty() {
        Step::Perhaps
    } else {
        Step::End
    }
}

/// Rates with the network in brackets behind them: `24.07 GB/s (RDMA)` is `rate-rdma`.
fn rates(text: &str) -> Vec<(String, Rate)> {
    let mut found = Vec::new();
    for piece in text.split([',', ':']) {
        let Some((figure, behind)) = piece.trim().split_once(" GB/s") else { continue };
        let Some(rate) = rate(figure) else { continue };
        let network = behind.trim().trim_start_matches('(').trim_end_matches(')');
        let name =
            if network.is_empty() { "rate".to_owned() } else { format!("rate-{}", field_name(network)) };
        found.push((name, rate));
    }
    found
}

fn rate(figure: &str) -> Option<Rate> {
    let figure: f64 = figure.trim().parse().ok().filter(|rate: &f64| (0.0..1e6).contains(rate))?;
    Some(Rate::from_gigabytes(figure))
}

/// `SMs 24, NVL chunk 24, RDMA chunk 16`: counts by their names.
fn sizes(text: &str) -> Vec<(String, u64)> {
    let pair = |piece: &str| {
        let (name, count) = piece.trim().rsplit_once(' ')?;
        let count = number(count)?;
        name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' ').then(|| (field_name(name), count))
    };
    text.split([',', ':']).filter_map(pair).collect()
}

/// A record of a try, or of the best.
fn tried(subject: String, text: &str, line: u32) -> Record {
    let mut record = Record::new("test", subject, line);
    for (name, count) in sizes(text) {
        record.push(name, Value::Count(count), line);
    }
    for (name, rate) in rates(text) {
        record.push(name, Value::Rate(rate), line);
    }
    record
}

fn first_rate(record: &Record) -> Option<Rate> {
    record.fields.iter().find_map(|field| if let Value::Rate(rate) = field.value { Some(rate) } else { None })
}

/// One record for each series of tries (the best, as the test says or as its first rate does), one for what ranks
/// reached, and one for the checks.
fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records = Vec::new();
    let (mut passed, mut failed, mut checked) = (0, 0, None);
    let mut series: Option<Record> = None;
    for line in &block.lines {
        let Some(own) = own(line.text) else {
            records.extend(series.take());
            continue;
        };
        line.using();
        match own {
            Own::Config(text) => {
                let mut record = Record::new("setting", "config", line.number);
                for (name, value) in text.split(',').filter_map(|pair| pair.split_once('=')) {
                    let text = value.trim();
                    let value = number(text).map_or_else(|| Value::Text(text.to_owned()), Value::Count);
                    record.push(field_name(name.trim()), value, line.number);
                }
                records.push(record);
            }
            Own::Checked(is_passed) => {
                checked.get_or_insert(line.number);
                if is_passed { passed += 1 } else { failed += 1 }
            }
            Own::Tried(text) => {
                let record = tried("best try".to_owned(), text, line.number);
                let is_better = series.as_ref().is_none_or(|best| first_rate(best) < first_rate(&record));
                series = if is_better { Some(record) } else { series };
            }
            Own::Best(what, text) => {
                series = None;
                records.push(tried(what.to_owned(), text, line.number));
            }
            Own::Rank(rank, text) => {
                let mut record = Record::new("test", format!("rank {rank}"), line.number);
                for part in text.split('|') {
                    let Some((what, figures)) = part.split_once(" bandwidth: ") else { continue };
                    let figure = figures.split_once(" GB/s").and_then(|(figure, _)| rate(figure));
                    if let Some(rate) = figure {
                        record.push(
                            format!("{}-rate", field_name(what.trim())),
                            Value::Rate(rate),
                            line.number,
                        );
                    }
                }
                records.push(record);
            }
            Own::Note => {}
        }
    }
    records.extend(series);
    if let Some(line) = checked {
        let mut record = Record::new("test", "correctness", line);
        record.push("passed", Value::Count(passed), line);
        record.push("failed", Value::Count(failed), line);
        records.push(record);
    }
    records
}

#[cfg(test)]
mod tests {
    use weft_base::Rate;
    use weft_catalogue::Catalogue;

    use crate::evidence::{Evidence, Record, Value};
    use crate::format::Source;

    fn records(text: &str) -> Vec<Record> {
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("a report") };
        report.records.clone()
    }

    fn gigabytes(rate: f64) -> Value {
        Value::Rate(Rate::from_gigabytes(rate))
    }

    #[test]
    fn the_best_of_each_series_is_kept() {
        let found = records(include_str!("../../../examples/formats/deepep/internode.txt"));
        let subjects: Vec<&str> = found.iter().map(|record| record.subject.as_str()).collect();
        // The combine's line of the best was cut off.
        assert_eq!(subjects, ["config", "dispatch (FP8)", "best try", "correctness"]);
        assert_eq!((found[0].count("num-tokens"), found[1].count("nvl-chunk")), (Some(4096), Some(24)));
        assert_eq!(found[1].get("rate-rdma"), Some(&gigabytes(29.90)));
        assert_eq!(found[1].get("rate-nvl"), Some(&gigabytes(97.77)));
        assert_eq!(found[2].get("rate-rdma"), Some(&gigabytes(12.09)));
        assert_eq!((found[3].count("passed"), found[3].count("failed")), (Some(2), Some(1)));
    }

    #[test]
    fn ranks_of_the_low_latency_test_have_rates() {
        let found = records(include_str!("../../../examples/formats/deepep/low-latency.txt"));
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].get("dispatch-combine-rate"), Some(&gigabytes(40.23)));
        assert_eq!(found[1].get("dispatch-rate"), Some(&gigabytes(39.11)));
        assert_eq!(found[1].get("combine-rate"), Some(&gigabytes(38.52)));
    }
}
