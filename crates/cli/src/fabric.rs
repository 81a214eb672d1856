//! The network between hosts, for a prediction: how it chooses ways, and what was discovered of it.

use std::sync::Arc;

use weft_base::{Rate, nearest};
use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Located};
use weft_predictor::{Fabric, Request, Routing};
use weft_simulator::network::{NETWORK_MODELS, Settings, network_model};
use weft_topology::ForwardingTable;

use crate::load::Loaded;

/// How a network of that name chooses among equal ways.
pub fn routing(name: &str) -> Result<Routing, String> {
    let names = || NETWORK_MODELS.iter().map(|model| model.name());
    let model = network_model(name).ok_or_else(|| match nearest(name, names(), 1).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the network models are {}", names().collect::<Vec<_>>().join(", ")),
    })?;
    let library = Catalogue::embedded().library("network-models").ok();
    let constant = |name: &str| library?.tables.get(name)?.rows.get("constant")?.first().copied();
    let settings = Settings::new(Rate::ZERO, constant).map_err(|error| error.to_string())?;
    Ok(model.behaviour(&settings).choice)
}

/// Adds to a question how the network routes: as asked for, and as the input says.
pub fn set(request: &mut Request, routing: Option<Routing>, loaded: &Loaded, catalogue: &Catalogue) {
    request.routing = routing;
    // One host needs no network.
    let Some(subnet) = loaded.subnet().filter(|_| loaded.graph.topology.hosts() > 1) else { return };
    let table = |located: &Located<Evidence>| {
        let Evidence::Forwarding(table) = &located.value else { return None };
        Some((**table).clone())
    };
    let tables: Vec<ForwardingTable> = loaded.case.evidence.iter().filter_map(table).collect();
    let graph = subnet.topology(catalogue);
    request.fabric = Some(Arc::new(Fabric { subnet: subnet.clone(), tables, graph }));
}
