use serde::Serialize;
use weft_base::Place;
use weft_formats::{ChannelEnd, NcclGraph, NcclGraphs};

/// A graph file of NCCL's.
#[derive(Debug, Serialize)]
pub struct GraphsJson {
    file: String,
    line: u32,
    graphs: Vec<GraphJson>,
}

#[derive(Debug, Serialize)]
struct GraphJson {
    id: u32,
    pattern: u32,
    cross_nic: Option<u32>,
    channel_count: Option<u32>,
    speed_intra_bytes_per_s: Option<u64>,
    speed_inter_bytes_per_s: Option<u64>,
    latency_inter_s: Option<f64>,
    type_intra: Option<String>,
    type_inter: Option<String>,
    same_channels: Option<bool>,
    channels: Vec<Vec<String>>,
    line: u32,
}

impl GraphsJson {
    pub fn new(graphs: &NcclGraphs, place: &Place) -> Self {
        let graphs = graphs.graphs.iter().map(graph).collect();
        Self { file: place.file.clone(), line: place.line, graphs }
    }
}

fn graph(graph: &NcclGraph) -> GraphJson {
    let end = |end: &ChannelEnd| match end {
        ChannelEnd::Gpu(number) => format!("gpu {number}"),
        ChannelEnd::Net(number) => format!("net {number}"),
    };
    GraphJson {
        id: graph.id,
        pattern: graph.pattern,
        cross_nic: graph.cross_nic,
        channel_count: graph.channel_count,
        speed_intra_bytes_per_s: graph.speed_intra.map(weft_base::Rate::get),
        speed_inter_bytes_per_s: graph.speed_inter.map(weft_base::Rate::get),
        latency_inter_s: graph.latency_inter.map(weft_base::Span::as_seconds),
        type_intra: graph.type_intra.clone(),
        type_inter: graph.type_inter.clone(),
        same_channels: graph.same_channels,
        channels: graph.channels.iter().map(|channel| channel.ends.iter().map(end).collect()).collect(),
        line: graph.line,
    }
}
