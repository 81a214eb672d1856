use std::collections::BTreeMap;

use serde::Serialize;
use weft_base::Place;
use weft_formats::{InfraEdge, InfraLink, Infrastructure};

/// A description of a cluster.
#[derive(Debug, Serialize)]
pub struct InfrastructureJson {
    format: &'static str,
    file: String,
    line: u32,
    name: String,
    components: BTreeMap<String, u64>,
    instances: Vec<InstanceJson>,
    links: Vec<LinkJson>,
    edges: Vec<EdgeJson>,
}

#[derive(Debug, Serialize)]
struct InstanceJson {
    name: String,
    device: Option<String>,
    count: u32,
    inner_links: u64,
    line: u32,
}

#[derive(Debug, Serialize)]
struct LinkJson {
    name: String,
    rate_bytes_per_s: Option<u64>,
    transfers: Option<String>,
    latency_ps: Option<u64>,
}

#[derive(Debug, Serialize)]
struct EdgeJson {
    a: [String; 2],
    b: [String; 2],
    scheme: String,
    link: String,
    links: u64,
    line: u32,
}

impl InfrastructureJson {
    pub fn new(infrastructure: &Infrastructure, place: &Place) -> Self {
        let instance = |own: &weft_formats::InfraInstance| {
            let device = own.device.and_then(|device| infrastructure.devices.get(device));
            InstanceJson {
                name: own.name.clone(),
                device: device.map(|device| device.name.clone()),
                count: own.count,
                inner_links: device.map_or(0, |device| device.edges.iter().map(|edge| edge.count).sum()),
                line: own.line,
            }
        };
        Self {
            format: infrastructure.format,
            file: place.file.clone(),
            line: place.line,
            name: infrastructure.name.clone(),
            components: infrastructure.totals(),
            instances: infrastructure.instances.iter().map(instance).collect(),
            links: infrastructure.links.iter().map(link).collect(),
            edges: infrastructure.edges.iter().map(edge).collect(),
        }
    }
}

fn link(own: &InfraLink) -> LinkJson {
    LinkJson {
        name: own.name.clone(),
        rate_bytes_per_s: own.rate.map(weft_base::Rate::get),
        transfers: own.transfers.map(|transfers| transfers.to_string()),
        latency_ps: own.latency.map(weft_base::Span::get),
    }
}

fn edge(own: &InfraEdge) -> EdgeJson {
    let end = |end: &weft_formats::InfraEnd| [end.instance.clone(), end.component.clone()];
    EdgeJson {
        a: end(&own.a),
        b: end(&own.b),
        scheme: own.scheme.clone(),
        link: own.link.clone(),
        links: own.count,
        line: own.line,
    }
}
