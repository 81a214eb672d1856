//! The derivation of a prediction: which channels, at what rate, limited by what.

use weft_base::Span;
use weft_catalogue::{Catalogue, LinkFamily};
use weft_topology::Topology;

use crate::nccl::choice::{Algorithm, Protocol};
use crate::nccl::cluster::Cluster;
use crate::nccl::constants::Constants;
use crate::nccl::system::{Resource, System};
use crate::step::{Cite, Step};
use crate::time::{Expected, Time};

/// What is narrow on the way: the NICs of a node, or what [`within`] one is.
pub(crate) fn narrowest(topology: &Topology, cluster: &Cluster) -> Option<(String, f64)> {
    let system = &cluster.system;
    let within = within(topology, system, &cluster.graphs.ring.order);
    let Some(first) = system.nics.first() else { return within };
    let nics: usize = system.nics.iter().map(|nic| 1 + nic.others.len()).sum();
    let ring = &cluster.graphs.ring;
    let ways = system.nics.iter().filter_map(|nic| nic.out[nic.local].as_ref());
    let rate: f64 = ways.map(|path| path.rate).sum();
    #[expect(clippy::cast_precision_loss, reason = "GPUs of one node")]
    let gpus = system.gpus.len() as f64;
    // Which of the two the rings fill more; a chain has one hop fewer than GPUs.
    let channels = f64::from(ring.count);
    let inside = channels * ring.intra * (gpus - 1.0) / gpus / system.total;
    if channels * ring.inter / rate < inside {
        return within;
    }
    Some((format!("{nics} x {} of each node", first.title), rate))
}

/// What is narrow on the first ring: its resource with the least capacity for the traffic it carries.
fn within(topology: &Topology, system: &System, order: &[usize]) -> Option<(String, f64)> {
    let hops = order.iter().zip(order.iter().cycle().skip(1));
    let uses = hops.filter_map(|(from, to)| system.path(*from, *to)).flat_map(|path| path.uses.iter());
    let narrow = uses.min_by(|a, b| {
        let room = |(index, weight): &(usize, f64)| system.capacity[*index] / weight;
        room(a).total_cmp(&room(b))
    })?;
    Some((describe(topology, system, system.resources[narrow.0]), system.capacity[narrow.0] / narrow.1))
}

/// `12 x NVLink 3 out of GPU0`, `PCIe 4.0 x16 from SW0 to RC0`.
fn describe(topology: &Topology, system: &System, resource: Resource) -> String {
    let ports = |gpu, way: &str| {
        let links: Vec<_> = topology
            .links_from(gpu)
            .map(|(_, link)| *link)
            .filter(|link| topology.family(link) == LinkFamily::GpuFabric)
            .collect();
        let count = links.iter().map(|link| u32::from(link.count)).sum();
        let title = links.first().map_or("NVLink", |link| topology.kind(link.kind).title.as_str());
        format!("{} {way} {}", LinkFamily::GpuFabric.bundle(title, count), topology.name(gpu))
    };
    match resource {
        Resource::OutOf(gpu) => ports(gpu, "out of"),
        Resource::Into(gpu) => ports(gpu, "into"),
        Resource::Sent(nic) | Resource::Received(nic) => {
            system.nics.get(nic).map_or("a NIC", |nic| nic.name.as_str()).to_owned()
        }
        Resource::Link(id) => {
            let link = topology.link(id);
            let kind = topology.kind(link.kind);
            let ends = format!("from {} to {}", topology.name(link.from), topology.name(link.to));
            format!("{} {ends}", kind.family.bundle(&kind.title, link.count.into()))
        }
    }
}

/// How the bandwidth of a choice comes about.
pub(crate) fn steps(
    expected: &Expected<'_>,
    narrow: Option<&(String, f64)>,
    constants: Constants<'_>,
    catalogue: &Catalogue,
    time: &Time,
    bus_factor: f64,
) -> Vec<Step> {
    let choice = &expected.choice;
    let step = |text: String, table: &str| {
        let cites: Vec<Cite<'_>> = constants.cite(table).into_iter().collect();
        Step::cited(text, catalogue, &cites)
    };
    let mut steps = Vec::new();
    if let Some((name, rate)) = narrow {
        let text =
            format!("narrowest on the ring: {name}, for which {} counts {rate:.1} GB/s", constants.title());
        steps.push(step(text, "link-rate"));
    }
    let total = f64::from(choice.channels) * choice.intra_gbps;
    let noun = if choice.channels == 1 { "channel" } else { "channels" };
    let network = if choice.nodes > 1 {
        let (inter, kind) = (choice.inter_gbps, choice.kind_inter.word());
        format!(", and of {inter} GB/s to the network ({kind}), on {} nodes", choice.nodes)
    } else {
        String::new()
    };
    let text = format!(
        "the channel search fits {} {noun} of {} GB/s = {total:.1} GB/s ({}){network}",
        choice.channels,
        choice.intra_gbps,
        choice.kind.word()
    );
    steps.push(step(text, "speeds-intra"));
    let busbw = choice.algbw * bus_factor;
    let protocol = match (choice.algorithm, choice.protocol) {
        (Algorithm::Nvls | Algorithm::NvlsTree, _) => "added and copied in the switches",
        (_, Protocol::Ll) => "half of each store is a flag",
        (_, Protocol::Ll128) => "8 of each 128 bytes are flags",
        (_, Protocol::Simple) => "a flag with every chunk",
    };
    let text = format!(
        "{} with {} ({protocol}): busbw {busbw:.1} GB/s",
        choice.algorithm.name(),
        choice.protocol.name()
    );
    steps.push(step(text, "rules"));
    for reason in &expected.reasons {
        let text = format!("{}: busbw {:.1} GB/s", reason.text, expected.algbw * bus_factor);
        steps.push(Step::cited(text, catalogue, &reason.cites));
    }
    steps.push(filling(time, bus_factor));
    steps
}

/// What the start and the filling of the pipeline leave of the bandwidth at one size.
fn filling(time: &Time, bus_factor: f64) -> Step {
    let busbw = time.bytes.as_f64() / time.total_us() / 1000.0 * bus_factor;
    let show = Span::from_microseconds;
    let text = format!(
        "{} takes {} on the wire, {} to start, {} of steps and {} to fill their pipeline: busbw {busbw:.1} GB/s",
        time.bytes,
        show(time.wire_us),
        show(time.call_us + time.kernel_us),
        show(time.steps_us),
        show(time.filling_us)
    );
    Step::modelled(text)
}
