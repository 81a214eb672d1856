//! Measured beside expected, for a reader.

use std::fmt::Write as _;

use weft_predictor::compare::{Compared, Comparison, Pairs, Point, Table as Measured, Verdict};
use weft_predictor::validate::Kind;

use crate::style::{Tone, faint, heading, paint};
use crate::table::{Cell, Table};

/// Cells of a bar that is as long as expected, and the most that are drawn.
const EXPECTED_CELLS: usize = 16;
const CELLS_MAX: usize = 24;
/// By how much copies between pairs may fall short before they count as low.
const PAIRS_LOW: f64 = 0.85;

/// All tables, and what to think of them.
pub fn text(compared: &Compared<'_>, described: &str) -> String {
    let mut sections: Vec<String> = Vec::new();
    for Measured { place, comparison, machine, .. } in &compared.tables {
        let is_assumed = &machine.is_some();
        let machine = machine.as_deref().unwrap_or(described);
        let Comparison { collective, ranks, .. } = comparison;
        let title = format!("{} over {ranks} GPUs", collective.name());
        let from = faint(format_args!("measured: {}, line {}", place.file, comparison.line));
        sections.push(format!("{}: {machine}\n  {from}\n", heading(title)));
        sections.push(rows(comparison));
        sections.push(verdicts(comparison, *is_assumed));
    }
    if !compared.pairs.is_empty() {
        sections.push(pairs(&compared.pairs));
    }
    sections.join("\n")
}

fn rows(comparison: &Comparison) -> String {
    let mut table = Table::default();
    let title = |text: &str| Cell::new(text).tone(Tone::Faint);
    let right = |text: &str| Cell::number(text).tone(Tone::Faint);
    let wide = format!("{}│ expected", " ".repeat(EXPECTED_CELLS));
    table.row([
        right("size"),
        right("time"),
        right("busbw"),
        right("expected"),
        title("9 of 10 lie in"),
        right("ratio"),
        title(&wide),
        title("verdict"),
    ]);
    for point in &comparison.points {
        let tone = tone(point.verdict);
        table.row([
            Cell::number(point.bytes.to_string()),
            Cell::number(point.time.to_string()),
            Cell::number(point.busbw.to_string()).tone(Tone::Heading),
            Cell::number(point.expected.busbw.to_string()),
            Cell::new(range(point, comparison)),
            Cell::number(format!("{:.2}", point.ratio)),
            Cell::new(bar(point.ratio)).tone(tone),
            Cell::new(point.verdict.of_rate()).tone(tone),
        ]);
    }
    table.lines()
}

/// The interval as bandwidths, in one unit where both have the same.
fn range(point: &Point, comparison: &Comparison) -> String {
    let factor = comparison.collective.bus_factor(comparison.ranks);
    let rate = |seconds: f64| weft_base::Rate::from_gigabytes(point.bytes.as_f64() * factor / seconds / 1e9);
    let (low, high) = (rate(point.expected.high.as_seconds()), rate(point.expected.low.as_seconds()));
    let (low, high) = (low.to_string(), high.to_string());
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} .. {high}"),
        _ => format!("{low} .. {high}"),
    }
}

/// A bar of eighths of cells, with a mark where it would be as expected.
fn bar(ratio: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let is_cut = ratio * 16.0 > 24.0;
    let mut eighths = 0_usize;
    // Counted up, since a float does not become an index.
    while eighths < CELLS_MAX * 8 && (f64::from(u32::try_from(eighths).unwrap_or(0)) + 0.5) / 128.0 < ratio {
        eighths += 1;
    }
    let (full, rest) = (eighths / 8, EIGHTHS[eighths % 8]);
    let mut text = format!("{}{rest}", "█".repeat(full));
    let cells = full + usize::from(!rest.is_empty());
    if is_cut {
        text.push('→');
    } else if cells < EXPECTED_CELLS {
        text.push_str(&" ".repeat(EXPECTED_CELLS - cells));
        text.push('│');
    }
    text
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::AsExpected => Tone::Fast,
        Verdict::Low | Verdict::High | Verdict::TooGood => Tone::Slow,
    }
}

fn verdicts(comparison: &Comparison, is_assumed: bool) -> String {
    let mut table = Table::default();
    for band in &comparison.bands {
        let verdict = Cell::new(band.verdict.of_rate()).tone(tone(band.verdict));
        let ratio = format!("{:.2} of what is expected", band.ratio);
        let why = match band.doubt {
            Some(doubt) => doubt.to_owned(),
            None => format!("limited by {}", band.bound_by),
        };
        table.row([
            Cell::new(sizes(band.kind)),
            verdict,
            Cell::number(ratio),
            Cell::new(why).tone(Tone::Faint),
        ]);
    }
    let mut text = format!("{}\n{}", heading("Verdict"), table.lines());
    if let Some(best) = comparison.points.iter().max_by_key(|point| point.busbw) {
        let bound = &comparison.prediction.bound;
        let share = 100.0 * best.busbw.as_gigabytes() / bound.busbw.as_gigabytes().max(1e-9);
        let _ = writeln!(
            text,
            "  Best busbw: {} at {}, {share:.0} % of the bound of {} by {}",
            best.busbw, best.bytes, bound.busbw, bound.limit
        );
    }
    if let Some(shape) = &comparison.shape {
        let _ =
            writeln!(text, "  {}\n      {}", shape.text(), faint(format_args!("look at {}", shape.look())));
    }
    for cause in &comparison.causes {
        let of: Vec<&str> = cause.explains.iter().map(|kind| sizes(*kind)).collect();
        let _ = writeln!(
            text,
            "  It is as if {}: {} at the largest size; that explains {}\n      {}",
            cause.text,
            cause.busbw,
            of.join(" and "),
            faint(format_args!("look at {}", cause.look))
        );
    }
    if is_assumed {
        let _ = writeln!(
            text,
            "  The machine is a guess from the ranks: a usual server with these GPUs. Another one has other links\n      {}",
            faint("give it too: `weft predict topo.txt --measured run.txt`")
        );
    }
    if comparison.left_out > 0 {
        let _ = writeln!(
            text,
            "  {}",
            faint(format_args!("{} rows without a size or a time were left out", comparison.left_out))
        );
    }
    text
}

fn sizes(kind: Kind) -> &'static str {
    match kind {
        Kind::Latency => "up to 64 KiB",
        Kind::Between => "between",
        Kind::Bandwidth => "64 MiB and above",
    }
}

fn pairs(pairs: &[Pairs]) -> String {
    let mut table = Table::default();
    for Pairs { title, place, evidence } in pairs {
        let is_low = evidence.share < PAIRS_LOW;
        let (word, tone) = if is_low { ("low", Tone::Slow) } else { ("as expected", Tone::Fast) };
        table.row([
            Cell::new(title),
            Cell::new(word).tone(tone),
            Cell::number(format!("{:.2} of what the links are known to reach", evidence.share)),
            Cell::new(format!("median of {} pairs, line {}", evidence.pairs, place.line)).tone(Tone::Faint),
        ]);
    }
    format!("{}\n{}", paint("Copies between GPUs", Tone::Heading), table.lines())
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_reach_the_mark_where_all_is_as_expected() {
        assert_eq!(bar(0.0), format!("{}│", " ".repeat(16)));
        assert_eq!(bar(0.5), format!("{}{}│", "█".repeat(8), " ".repeat(8)));
        assert_eq!(bar(1.0), "█".repeat(16));
        assert_eq!(bar(8.0), format!("{}→", "█".repeat(24)));
        assert!(bar(0.03).starts_with('▌'));
    }
}
