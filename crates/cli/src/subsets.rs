//! Which GPUs to take: the ranking of subsets for a reader, and the line that hands the best to a program.

use std::fmt::Write as _;

use weft_catalogue::Catalogue;
use weft_predictor::subsets::{NearNics, Ranking, SubsetClass, near_nics};
use weft_topology::{NodeId, Topology};

use crate::names;
use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// Kinds of subsets that are shown.
const SHOWN_MAX: usize = 16;

/// The ranking, and how to take the best.
pub fn section(ranking: &Ranking, topology: &Topology, collective: &str, catalogue: &Catalogue) -> String {
    let Ranking { count, free, bytes, subset_count, classes, .. } = ranking;
    let kinds = names::count(classes.len() + ranking.unpredicted_count, "kind");
    let title = format!("Which {count} of {}", names::count(free.len(), "GPU"));
    let by = if *count > 1 {
        format!("by {collective} of {bytes}, then by what is left")
    } else {
        "by what is left".to_owned()
    };
    let subsets = if *subset_count == 1 { "1 subset".to_owned() } else { format!("{subset_count} subsets") };
    let mut text = format!("{}: {subsets} of {kinds}, {by}\n", heading(title));
    text.push_str(&table(ranking, topology, *count > 1));
    let more = classes.len().saturating_sub(SHOWN_MAX) + ranking.unpredicted_count;
    if more > 0 {
        let _ = writeln!(
            text,
            "  {}",
            faint(format_args!("{more} more kinds; `--format json` has those that were predicted"))
        );
    }
    if let Some(best) = classes.first() {
        let _ = writeln!(text, "\n{}\n{}", heading("To take the first"), take(best, topology, catalogue));
    }
    text
}

fn table(ranking: &Ranking, topology: &Topology, with_rate: bool) -> String {
    let mut table = Table::default();
    let title = |text: &str| Cell::new(text).tone(Tone::Faint);
    let right = |text: &str| Cell::number(text).tone(Tone::Faint);
    let mut head = vec![title("GPUs"), right("alike")];
    if with_rate {
        head.push(right("busbw"));
    }
    head.extend([title("others can still have"), right("fast pairs left"), title("nearest NICs")]);
    table.row(head);
    for class in ranking.classes.iter().take(SHOWN_MAX) {
        let mut row = vec![
            Cell::new(list(&class.gpus, topology)).tone(Tone::Heading),
            Cell::number(class.subset_count.to_string()),
        ];
        if with_rate {
            let rate = class.row.as_ref().map_or_else(|| "-".to_owned(), |row| row.busbw.to_string());
            row.push(Cell::number(rate));
        }
        row.extend([
            Cell::new(left(class, topology)),
            Cell::number(class.left.fast_pair_count.to_string()),
            Cell::new(nics(&class.nics, topology)),
        ]);
        table.row(row);
    }
    table.lines()
}

fn left(class: &SubsetClass, topology: &Topology) -> String {
    match (class.left.count, class.left.busbw) {
        (0, _) => "nothing".to_owned(),
        (_, Some(busbw)) => format!("{busbw} on {}", list(&class.left.gpus, topology)),
        (1, None) => format!("one GPU, {}", list(&class.left.gpus, topology)),
        (count, None) => format!("{count} GPUs"),
    }
}

fn nics(near: &[NearNics], topology: &Topology) -> String {
    let text = |near: &NearNics| {
        let of: Vec<String> = near.nics.iter().map(|nic| topology.name(*nic)).collect();
        format!("{} {}", names::first_ranges(&of), near.class)
    };
    near.iter().map(text).collect::<Vec<_>>().join("; ")
}

/// GPUs by the numbers that programs know them by.
fn list(gpus: &[NodeId], topology: &Topology) -> String {
    gpus.iter().map(|gpu| number(*gpu, topology)).collect::<Vec<_>>().join(",")
}

/// The number in the GPU's name in the input, else its own.
fn number(gpu: NodeId, topology: &Topology) -> String {
    let name = topology.name(gpu);
    let digits: String = name.chars().skip_while(|c| !c.is_ascii_digit()).collect();
    let is_plain =
        name.starts_with("GPU") && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if is_plain { digits } else { topology.node(gpu).number.to_string() }
}

/// What sets the GPUs for a program, and which NICs they would use.
fn take(class: &SubsetClass, topology: &Topology, catalogue: &Catalogue) -> String {
    let mut text = format!("  {}\n", visible(&class.gpus, topology, catalogue));
    for near in near_nics(topology, &class.gpus) {
        let nics: Vec<String> = near.nics.iter().map(|nic| topology.name(*nic)).collect();
        let _ = writeln!(
            text,
            "  GPU {} next to {} ({})",
            list(&near.gpus, topology),
            nics.join(", "),
            near.class
        );
    }
    text.pop();
    text
}

/// The variable of the GPUs' maker; CUDA numbers GPUs by speed unless it is told to go by their place.
pub fn visible(gpus: &[NodeId], topology: &Topology, catalogue: &Catalogue) -> String {
    let model = gpus.first().and_then(|gpu| catalogue.gpu(topology.model(*gpu)?).ok());
    let list = list(gpus, topology);
    match model.map(|gpu| gpu.vendor.as_str()) {
        Some("amd") => format!("HIP_VISIBLE_DEVICES={list}"),
        Some("intel") => format!("ZE_AFFINITY_MASK={list}"),
        Some(_) | None => format!("CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={list}"),
    }
}
