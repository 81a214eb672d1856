//! The tables of AMD's and Intel's tools: how many pairs are alike.

use weft_base::{Place, Rate};
use weft_formats::WeightMatrix;

use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Kinds of pairs that are shown; the rest is counted.
const KINDS_MAX: usize = 12;

/// What the tables say of a pair.
type Said<'w> = (Option<&'w str>, Option<u32>, Option<u32>, Option<bool>, Option<Rate>);

/// One line for each kind of pair; `None` where no table was there.
pub fn section(weights: &WeightMatrix, place: &Place) -> Option<String> {
    let mut kinds: Vec<(Said<'_>, usize)> = Vec::new();
    for (a, b) in (0..weights.gpus.len()).flat_map(|a| (a + 1..weights.gpus.len()).map(move |b| (a, b))) {
        let said = said(weights, a, b);
        match kinds.iter_mut().find(|(known, _)| *known == said) {
            Some((_, count)) => *count += 1,
            None => kinds.push((said, 1)),
        }
    }
    let nothing = |(said, _): &(Said<'_>, usize)| *said == (None, None, None, None, None);
    if kinds.iter().all(nothing) {
        return None;
    }
    let mut table = Table::default();
    for (said, count) in kinds.iter().take(KINDS_MAX) {
        let pairs = if *count == 1 { "1 pair".to_owned() } else { format!("{count} pairs") };
        table.row([Cell::new(&pairs).tone(Tone::Faint), Cell::new(words(said)).wide()]);
    }
    let mut lines = table.lines();
    let left = kinds.len().saturating_sub(KINDS_MAX);
    if left > 0 {
        lines.extend(["  and ", &left.to_string(), " more kinds\n"]);
    }
    Some(titled(&format!("{} (line {})", weights.format, place.line), &lines))
}

fn said(weights: &WeightMatrix, a: usize, b: usize) -> Said<'_> {
    (
        weights.between(&weights.links, a, b).map(String::as_str),
        weights.between(&weights.weights, a, b).copied(),
        weights.between(&weights.hops, a, b).copied(),
        weights.between(&weights.access, a, b).copied(),
        weights.between(&weights.rates, a, b).copied(),
    )
}

/// `XGMI, weight 15, hops 1`.
fn words((link, weight, hops, access, rate): &Said<'_>) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(link.map(str::to_owned));
    words.extend(weight.map(|weight| format!("weight {weight}")));
    words.extend(hops.map(|hops| format!("hops {hops}")));
    words.extend(access.map(|access| if access { "access" } else { "no access" }.to_owned()));
    words.extend(rate.map(|rate| format!("{rate} by the driver")));
    if words.is_empty() { "nothing said".to_owned() } else { words.join(", ") }
}
