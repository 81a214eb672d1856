//! The channels that NCCL chose.

use weft_base::Place;
use weft_formats::{ChannelEnd, NcclChannel, NcclGraph, NcclGraphs};

use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Channels shown of one graph; the rest is counted.
const CHANNELS_MAX: usize = 16;

/// The graphs, each with its channels; `None` where there are none.
pub fn section(graphs: &NcclGraphs, place: &Place) -> Option<String> {
    if graphs.graphs.is_empty() {
        return None;
    }
    let mut table = Table::default();
    for graph in &graphs.graphs {
        table.row([Cell::new(algorithm(graph.id)), Cell::new(summary(graph)).wide()]);
        for channel in graph.channels.iter().take(CHANNELS_MAX) {
            table.row([Cell::new("").tone(Tone::Faint), Cell::new(way(channel)).wide()]);
        }
        if graph.channels.len() > CHANNELS_MAX {
            let left = graph.channels.len() - CHANNELS_MAX;
            table.row([Cell::new(""), Cell::new(format!("and {left} more")).wide()]);
        }
    }
    Some(titled(&format!("nccl-graph (line {})", place.line), &table.lines()))
}

/// NCCL numbers its graphs by algorithm.
fn algorithm(id: u32) -> String {
    match id {
        0 => "Ring".to_owned(),
        1 => "Tree".to_owned(),
        2 => "CollNet chain".to_owned(),
        3 => "NVLS".to_owned(),
        4 => "CollNet direct".to_owned(),
        other => format!("graph {other}"),
    }
}

fn summary(graph: &NcclGraph) -> String {
    let mut words = vec![match graph.channels.len() {
        1 => "1 channel".to_owned(),
        count => format!("{count} channels"),
    }];
    let mut per = |where_to: &str, rate: Option<weft_base::Rate>, kind: &Option<String>| {
        if let Some(rate) = rate {
            let kind = kind.as_ref().map_or_else(String::new, |kind| format!(" ({kind})"));
            words.push(format!("{rate} each {where_to}{kind}"));
        }
    };
    per("within the host", graph.speed_intra, &graph.type_intra);
    per("between hosts", graph.speed_inter, &graph.type_inter);
    words.join(", ")
}

fn way(channel: &NcclChannel) -> String {
    let end = |end: &ChannelEnd| match end {
        ChannelEnd::Gpu(number) => number.to_string(),
        ChannelEnd::Net(number) => format!("NET{number}"),
    };
    channel.ends.iter().map(end).collect::<Vec<_>>().join(" ")
}
