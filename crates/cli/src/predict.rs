//! What `weft predict` prints for a reader.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use weft_catalogue::Catalogue;
use weft_predictor::{Prediction, Step};
use weft_topology::NodeKind;

use crate::load::Loaded;
use crate::show;
use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// The table of sizes, the bound, and on request how all of it comes about.
pub fn text(prediction: &Prediction, loaded: &Loaded, explain: bool, catalogue: &Catalogue) -> String {
    let machine = show::composition(loaded, catalogue);
    let nodes = match prediction.nodes {
        0 | 1 => String::new(),
        several => format!(" on {several} nodes"),
    };
    let title = format!("{} over {} GPUs{nodes}", prediction.collective.name(), prediction.ranks);
    let all = loaded.graph.topology.of_kind(NodeKind::Gpu).count();
    let of = if prediction.ranks < all { " of" } else { ":" };
    let mut sections =
        vec![format!("{}{of} {machine}\n", heading(title)), rows(prediction), bound(prediction)];
    if explain {
        sections.push(steps("How the largest size comes about", &prediction.derivation));
        sections.push(sources(prediction, catalogue));
    }
    sections.extend(show::assumed(&loaded.graph.assumed));
    if !explain {
        sections.push(format!("{}\n", faint("`--explain` shows the derivation and every source")));
    }
    sections.join("\n")
}

fn rows(prediction: &Prediction) -> String {
    let mut table = Table::default();
    let library = prediction.library.split(' ').next().unwrap_or("NCCL");
    let title = |text: &str| Cell::new(text).tone(Tone::Faint);
    let right = |text: &str| Cell::number(text).tone(Tone::Faint);
    table.row([
        right("size"),
        right("time"),
        right("90 % within"),
        right("algbw"),
        right("busbw"),
        title(&format!("{library}'s choice")),
        right("channels"),
        title("bound by"),
    ]);
    for row in &prediction.rows {
        table.row([
            Cell::number(row.bytes.to_string()),
            Cell::number(unit_padded(&row.time.to_string())),
            Cell::number(format!("{} to {}", row.low, unit_padded(&row.high.to_string()))).tone(Tone::Faint),
            Cell::number(unit_padded(&row.algbw.to_string())),
            Cell::number(unit_padded(&row.busbw.to_string())).tone(Tone::Heading),
            Cell::new(format!("{} {}", row.algorithm.name(), row.protocol.name())),
            Cell::number(row.channels.to_string()),
            Cell::new(&row.bound_by),
        ]);
    }
    table.lines()
}

/// `1.5 s` as wide as `1.5 ms`, so that numbers stand below each other.
fn unit_padded(quantity: &str) -> String {
    let unit = quantity.rsplit(' ').next().unwrap_or_default();
    let width = if unit.contains('/') { 4 } else { 2 };
    format!("{quantity}{}", " ".repeat(width - unit.len().min(width)))
}

fn bound(prediction: &Prediction) -> String {
    let bound = &prediction.bound;
    let title = format!("Bound: busbw at most {}, by {}", bound.busbw, bound.limit);
    let mut text = steps(&title, &bound.derivation);
    if let Some(limit) = &prediction.limit {
        let title =
            format!("Limit of all links together, whatever the algorithm: busbw at most {}", limit.busbw);
        let _ = writeln!(text, "\n{}\n  {}", heading(title), limit.derivation);
    }
    text
}

fn steps(title: &str, steps: &[Step]) -> String {
    let mut text = format!("{}\n", heading(title));
    for step in steps {
        let _ = writeln!(text, "  {}", step.text);
        if !step.source.is_empty() {
            let _ = writeln!(text, "      {}", faint(format_args!("from {}", step.source)));
        }
    }
    text
}

/// The documents that the derivations name, with where they are found.
fn sources(prediction: &Prediction, catalogue: &Catalogue) -> String {
    let steps = prediction.bound.derivation.iter().chain(&prediction.derivation);
    let keys: BTreeSet<&String> = steps.flat_map(|step| &step.keys).collect();
    let mut table = Table::default();
    for source in keys.into_iter().filter_map(|key| catalogue.sources.get(key)) {
        let version = source.version.as_deref().unwrap_or_default();
        table.row([
            Cell::new(&source.title),
            Cell::new(version),
            Cell::new(&source.address).tone(Tone::Faint),
        ]);
    }
    format!("{}\n{}", heading("Sources"), table.lines())
}
