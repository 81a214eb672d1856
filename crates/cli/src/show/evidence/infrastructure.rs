//! A described cluster: instances, components, edges.

use weft_base::Place;
use weft_formats::{InfraEnd, Infrastructure};

use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Edges that are shown; the rest is counted.
const EDGES_MAX: usize = 20;

/// Instances, what they are made of, and how they are joined.
pub fn section(infrastructure: &Infrastructure, place: &Place) -> String {
    let mut table = Table::default();
    let mut row = |name: &str, text: String| {
        table.row([Cell::new(name).tone(Tone::Faint), Cell::new(text).wide()]);
    };
    for instance in &infrastructure.instances {
        let device = instance.device.and_then(|device| infrastructure.devices.get(device));
        let device = device.map_or("an unknown device", |device| &device.name);
        row(&instance.name, format!("{} x {device}", instance.count));
    }
    let totals = infrastructure.totals();
    let totals: Vec<String> = totals.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    row("components", totals.join(", "));
    for edge in infrastructure.edges.iter().take(EDGES_MAX) {
        let rate = infrastructure.links.iter().find(|link| link.name == edge.link).and_then(|link| link.rate);
        let rate = rate.map_or_else(String::new, |rate| format!(" of {rate}"));
        let text = format!("{} to {}: {} links{rate}", end(&edge.a), end(&edge.b), edge.count);
        row(&edge.link, text);
    }
    let left = infrastructure.edges.len().saturating_sub(EDGES_MAX);
    if left > 0 {
        row("and", format!("{left} more edges"));
    }
    let title = format!("{}: {} (line {})", infrastructure.format, infrastructure.name, place.line);
    titled(&title, &table.lines())
}

fn end(end: &InfraEnd) -> String {
    format!("{} {}", end.instance, end.component)
}
