//! The matrix of pairs, for a reader and as CSV.

use std::fmt::Write as _;

use weft_predictor::pairs::{LEAST_LOSS, Limit};
use weft_runtime::measure::PairMeasured;

use super::pairs::PairsReport;

/// The matrix of rates as CSV: names in the first row and column, the unit in the corner.
pub fn csv(report: &PairsReport) -> String {
    let (unit, per_unit) = unit(report);
    let mut text = format!("{unit},{}\n", report.names.join(","));
    for (from, name) in report.names.iter().enumerate() {
        text.push_str(name);
        for to in 0..report.names.len() {
            text.push(',');
            if let Some(seen) = report.measured.get(from, to) {
                let _ = write!(text, "{:.3}", seen.bytes_per_s / per_unit);
            }
        }
        text.push('\n');
    }
    text
}

/// The matrix of rates, that of latencies where it is asked for, and what stands out.
pub fn text(report: &PairsReport, latencies: bool) -> String {
    let (unit, per_unit) = unit(report);
    let (ranks, series) = (report.names.len(), &report.task.series);
    let size = series.sizes.first().copied().unwrap_or_default();
    let mut text = format!(
        "# weft bench pairs: {ranks} ranks, {}; {size} each way, medians of {}\n",
        report.transport, series.repeats
    );
    let rounds = ranks.saturating_sub(1) + ranks % 2;
    let at_once = if ranks == 2 {
        "1 pair".to_owned()
    } else {
        format!("{} pairs at a time, {rounds} rounds", ranks / 2)
    };
    let _ = writeln!(text, "# {at_once}; {unit} from row to column");
    grid(&mut text, report, |seen| seen.bytes_per_s / per_unit);
    if latencies {
        let _ = writeln!(text, "# half of what 8 bytes take there and back, us");
        grid(&mut text, report, |seen| seen.latency_s * 1e6);
    }
    if report.wrong_count() > 0 {
        let _ = writeln!(text, "# {} bytes came otherwise than they were sent", report.wrong_count());
    }
    judged(&mut text, report);
    text
}

fn grid(text: &mut String, report: &PairsReport, figure: impl Fn(PairMeasured) -> f64) {
    let names = || report.names.iter().map(String::len);
    let (first, column) = (names().max().unwrap_or(0), names().max().unwrap_or(0).max(8));
    let _ = write!(text, "{:first$}", "");
    for name in &report.names {
        let _ = write!(text, "  {name:>column$}");
    }
    text.push('\n');
    for (from, name) in report.names.iter().enumerate() {
        let _ = write!(text, "{name:first$}");
        for to in 0..report.names.len() {
            let cell = report.measured.get(from, to).map_or("-".to_owned(), |seen| short(figure(seen)));
            let _ = write!(text, "  {cell:>column$}");
        }
        text.push('\n');
    }
}

/// Four digits that count.
fn short(figure: f64) -> String {
    let digits = if figure >= 1000.0 {
        0
    } else if figure >= 100.0 {
        1
    } else if figure >= 10.0 {
        2
    } else {
        3
    };
    format!("{figure:.digits$}")
}

/// What stands out, from where on, and why from there on.
fn judged(text: &mut String, report: &PairsReport) {
    let verdict = &report.verdict;
    let findings = report.findings();
    let typical = verdict.typical.map_or_else(|| "nothing".to_owned(), |rate| rate.to_string());
    let _ = writeln!(
        text,
        "#\n# Typical: {typical}. Slow: a host below {} of that, a pair below {} of what both its",
        percent(verdict.host_limit.share),
        percent(verdict.pair_limit.share)
    );
    let _ = writeln!(text, "# hosts reach with others; {}.", why(verdict.host_limit, verdict.pair_limit));
    for finding in &findings {
        let _ = writeln!(text, "{}: {}", finding.code.name, finding.message);
    }
    if findings.is_empty() {
        let _ = writeln!(text, "Nothing stands out.");
    }
    if !verdict.unsteady.is_empty() {
        let pairs: Vec<String> = verdict
            .unsteady
            .iter()
            .take(8)
            .map(|(from, to)| format!("{} to {}", report.name(*from), report.name(*to)))
            .collect();
        let more = verdict.unsteady.len() - pairs.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(text, "Slow in most repeats, not in all: {}{more}.", pairs.join(", "));
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn why(host: Limit, pair: Limit) -> String {
    let noise = host.noise_share.max(pair.noise_share);
    if host.is_by_noise() || pair.is_by_noise() {
        format!(
            "without cause they differ by {}, and {:.1} times that is no chance",
            percent(noise),
            pair.deviation_count
        )
    } else {
        let (least, noise) = (percent(LEAST_LOSS), percent(noise));
        format!("a fault takes more than {least}, and without cause they differ by {noise}")
    }
}

/// The unit in which the rates are easy to read, and how many bytes per second it is.
fn unit(report: &PairsReport) -> (&'static str, f64) {
    let typical = report.verdict.typical.map_or(0.0, weft_base::Rate::as_gigabytes);
    if typical < 0.5 { ("MB/s", 1e6) } else { ("GB/s", 1e9) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        assert_eq!(
            [1234.5, 123.45, 12.345, 1.2345, 0.12].map(short),
            ["1234", "123.5", "12.35", "1.234", "0.120"]
        );
    }
}
