//! Topology files for NCCL: what was written is read back as the same machine, and nothing in it is wrong.

#![allow(clippy::panic, reason = "what is not as expected must stop the test")]
#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]

use weft_catalogue::{Catalogue, LinkFamily, Machine};
use weft_formats::{
    Case, Evidence, Host, Overrides, Source, WriterInput, join, machine_of_host, read, writer,
};
use weft_topology::{NodeId, NodeKind, ReportedClass, Topology, build, nccl_path, reported_class};

fn written(case: &Case, topology: &Topology) -> String {
    let input = WriterInput { case, topology, host: topology };
    writer("nccl-topology").unwrap().write(&input, Catalogue::embedded()).unwrap()
}

/// The host in a file, of which nothing may be told but what `allowed` says.
fn host(name: &str, text: &str) -> Host {
    let reading = read(&Source::file(name, text), Catalogue::embedded(), None);
    // A switch that is slower than its devices is one in the catalogue too.
    let allowed = ["the way up from this bridge", "this is a file of RCCL's"];
    for finding in &reading.diagnostics {
        assert!(allowed.iter().any(|start| finding.message.starts_with(start)), "{name}: {finding}\n{text}");
    }
    let mut evidence = reading.evidence.into_iter();
    let Some(Evidence::Host(host)) = evidence.next().map(|located| located.value) else { panic!("{text}") };
    *host
}

fn lanes(topology: &Topology, node: NodeId, family: LinkFamily) -> u16 {
    let links = topology.links_from(node).filter(|(_, link)| topology.family(link) == family);
    links.map(|(_, link)| link.count).sum()
}

/// Devices with the capacity of their ports, and how each pair is joined.
fn summary(topology: &Topology) -> Vec<String> {
    let ends: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).chain(topology.of_kind(NodeKind::Nic)).collect();
    let mut lines = Vec::new();
    for (index, a) in ends.iter().enumerate() {
        let rate: u64 = topology
            .links_from(*a)
            .filter(|(_, link)| topology.family(link) == LinkFamily::Pcie)
            .map(|(_, link)| link.capacity.get())
            .sum();
        let fabric = lanes(topology, *a, LinkFamily::GpuFabric);
        lines.push(format!("{index} {:?} {:?} {rate} {fabric}", topology.node(*a).kind, topology.model(*a)));
        for b in &ends[index + 1..] {
            // Which host bridges there are, such a file does not say.
            let links = match reported_class(topology, *a, *b) {
                Some(ReportedClass::Nv(links)) => links,
                Some(_) | None => 0,
            };
            lines.push(format!("{index} {} {links}", nccl_path(topology, *a, *b).word()));
        }
    }
    lines
}

fn one_host(machine: &Machine) -> Machine {
    let mut one = machine.clone();
    one.host.count = 1;
    one.network = None;
    one
}

#[test]
fn every_system_of_the_catalogue_is_read_back_as_it_was() {
    let catalogue = Catalogue::embedded();
    let mut failed = Vec::new();
    for system in &catalogue.systems {
        // Racks whose GPUs are joined beyond a host are more than such a file says.
        if system.fabric.as_ref().is_some_and(|fabric| fabric.spans_hosts) {
            continue;
        }
        let machine = one_host(system);
        let topology = build(&machine, catalogue).unwrap().topology;
        let case = Case { machine: Some(machine), ..Case::default() };
        let text = written(&case, &topology);
        let host = host(&system.name, &text);
        let cpu = Overrides { cpu: system.host.cpu.clone(), ..Overrides::default() };
        let back = machine_of_host(&host, &system.name, &cpu, catalogue).unwrap();
        let again = build(&back.inferred.machine, catalogue).unwrap().topology;
        let (was, is) = (summary(&topology), summary(&again));
        if was != is {
            let differs = was.iter().zip(&is).find(|(was, is)| was != is);
            failed.push(format!("{}: {differs:?} ({} and {})", system.name, was.len(), is.len()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn a_file_that_was_read_keeps_its_addresses() {
    for text in [
        include_str!("../../../examples/formats/nccl-topology/server.xml"),
        include_str!("../../../examples/formats/nccl-topology/vm.xml"),
        include_str!("../../../examples/formats/nccl-topology/rccl.xml"),
    ] {
        let reading = read(&Source::file("t.xml", text), Catalogue::embedded(), None);
        let (case, _) = join(reading.evidence, &Overrides::default(), Catalogue::embedded());
        let topology = build(case.machine.as_ref().unwrap(), Catalogue::embedded()).unwrap().topology;
        let again = host("again", &written(&case, &topology));
        let mut first = host("first", text);
        let lineless = |host: &mut Host| {
            host.devices.iter_mut().for_each(|device| device.line = 0);
            host.gpu_links.iter_mut().for_each(|link| link.line = 0);
            host.virtual_adapters.iter_mut().for_each(|adapter| adapter.line = 0);
        };
        let mut again = again;
        lineless(&mut first);
        lineless(&mut again);
        assert_eq!(first, again);
    }
}
