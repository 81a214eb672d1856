//! Networks of ours on the real tools: `ibsim` simulates them, OpenSM routes them, and what `ibnetdiscover`,
//! `iblinkinfo` and `dump_fts` print is read back and must be what was generated. Skipped where the tools are not
//! installed (Debian: `ibsim-utils opensm infiniband-diags`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "what is not as expected must stop the test")]
#![allow(clippy::type_complexity, clippy::wildcard_enum_match_arm, reason = "plain facts to compare")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests run other programs, read their output and bound their time"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use weft_base::{Guid, Rate};
use weft_catalogue::Catalogue;
use weft_formats::{Evidence, FORMATS, Source, ibsim_net, read};
use weft_topology::{
    Delivery, ForwardingTable, Generation, Rates, Routes, Signalling, Subnet, SubnetLink, SubnetNodeKind,
    build, oneliner,
};

/// 128 hosts of 8 HDR rails: 1,024 adapters; 40 leaves of 26 ports down and 14 up, one to each of 14 spines.
const TWO_TIERS: &str =
    "128 x 8 h100-sxm5-80gb @ nvswitch3(4) + 8 cx6 @ rail-optimized(switch qm8700, oversubscription 2:1)";
/// 60 hosts of 8: 480 adapters, 24 leaves of 20 down and 20 up on 20-port spines would not do: two tiers of 12 spines.
const WHOLE_HOSTS: &str = "60 x 8 h100-sxm5-80gb @ nvswitch3(4) + 8 cx6 @ fat-tree(switch qm8700)";

const TOOLS: [&str; 6] = ["ibsim", "ibsim-run", "opensm", "ibnetdiscover", "iblinkinfo", "dump_fts"];
/// No tool takes more than a few seconds here.
const TOOL_TIME: Duration = Duration::from_secs(90);

/// Where programs are looked for; those of system administrators are not in everyone's path.
fn path() -> String {
    let own = std::env::var_os("PATH").unwrap_or_default().to_string_lossy().into_owned();
    format!("{own}:/usr/sbin:/usr/local/sbin:/sbin")
}

/// Whether all tools are here; else says that the test is skipped.
fn tools_are_here() -> bool {
    let is_here = |tool: &&str| path().split(':').any(|folder| Path::new(folder).join(tool).is_file());
    let missing: Vec<&str> = TOOLS.into_iter().filter(|tool| !is_here(tool)).collect();
    if !missing.is_empty() {
        println!("skipped: {} not installed (ibsim-utils opensm infiniband-diags)", missing.join(", "));
    }
    missing.is_empty()
}

/// A simulated subnet with a folder and a socket of its own; gone when dropped, also when a test fails.
struct Simulator {
    child: Child,
    folder: PathBuf,
    socket: String,
    host: String,
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Simulator {
    /// Runs `subnet`; tools see it from its first adapter.
    fn new(subnet: &Subnet) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let socket = format!("weft-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(&socket);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("net"), ibsim_net(subnet).unwrap()).unwrap();
        let ports: usize = subnet.nodes.iter().map(|node| usize::from(node.ports) + 1).sum();
        let file = |name: &str| File::create(folder.join(name)).unwrap();
        let child = Command::new("ibsim")
            .args(["-s", "-n", "-N", &(subnet.nodes.len() + 1).to_string()])
            .args(["-S", &(subnet.of_kind(SubnetNodeKind::Switch).count() + 1).to_string()])
            .args(["-P", &(ports + 1).to_string(), "net"])
            .env("PATH", path())
            .env("IBSIM_SOCKNAME", &socket)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(file("ibsim.out"))
            .stderr(file("ibsim.err"))
            .spawn()
            .unwrap();
        let (_, first) = subnet.of_kind(SubnetNodeKind::Adapter).next().unwrap();
        let host = format!("H-{:016x}", first.guid.get());
        let simulator = Self { child, folder, socket, host };
        simulator.wait_until_ready();
        simulator
    }

    /// Clients that come too early wait two seconds.
    fn wait_until_ready(&self) {
        let start = Instant::now();
        while !self.text("ibsim.out").contains("ready") {
            assert!(start.elapsed() < TOOL_TIME, "ibsim does not start: {}", self.text("ibsim.err"));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn text(&self, name: &str) -> String {
        let bytes = fs::read(self.folder.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// What `tool` prints on this subnet.
    fn run(&self, tool: &str, arguments: &[&str]) -> String {
        let file = |name: &str| File::create(self.folder.join(name)).unwrap();
        let mut child = Command::new("ibsim-run")
            .arg(tool)
            .args(arguments)
            .env("PATH", path())
            .env("IBSIM_SOCKNAME", &self.socket)
            .env("SIM_HOST", &self.host)
            .env("OSM_TMP_DIR", &self.folder)
            .env("OSM_CACHE_DIR", &self.folder)
            .env_remove("IBSIM_SERVER_NAME")
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(file("tool.out"))
            .stderr(file("tool.err"))
            .spawn()
            .unwrap();
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > TOOL_TIME {
                let _ = child.kill();
                let _ = child.wait();
                panic!("{tool} took too long: {}", self.text("tool.err"));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // dump_fts is a script around ibnetdiscover and ibroute in some versions; what it prints tells.
        assert!(status.success(), "{tool} {arguments:?}: {status}: {}", self.text("tool.err"));
        self.text("tool.out")
    }

    /// Routes the subnet once with `engine`.
    fn route(&self, engine: &str) {
        self.run("opensm", &["-o", "-R", engine, "-D", "0x43", "-f", "opensm.log"]);
        let log = self.text("opensm.log");
        assert!(log.contains("SUBNET UP"), "{engine}: {log}");
        assert!(log.contains(&format!("{engine} tables configured")), "{engine} was not used: {log}");
    }
}

fn generated(line: &str) -> Subnet {
    let catalogue = Catalogue::embedded();
    let machine = oneliner::parse(line, catalogue).unwrap();
    Subnet::of(&build(&machine, catalogue).unwrap().topology, catalogue)
}

/// The one subnet and all tables of a text, all of whose lines must have been used.
fn read_back(name: &str, text: &str) -> (Option<Subnet>, Vec<ForwardingTable>) {
    let reading = read(&Source::file(name, text), Catalogue::embedded(), None);
    assert!(reading.diagnostics.is_empty(), "{name}: {:?}", reading.diagnostics.first());
    let (mut subnets, mut tables) = (Vec::new(), Vec::new());
    for evidence in reading.evidence {
        match evidence.value {
            Evidence::Subnet(subnet) => subnets.push(*subnet),
            Evidence::Forwarding(table) => tables.push(*table),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(subnets.len() < 2, "{name} holds {} subnets", subnets.len());
    (subnets.pop(), tables)
}

type NodeFacts = (SubnetNodeKind, Guid, String, u16);
type LinkFacts = ([(Guid, u16); 2], Option<Signalling>, Option<Rate>);

/// All of a subnet that does not depend on the order of the text or on what a subnet manager gives out.
fn facts(subnet: &Subnet) -> (Vec<NodeFacts>, BTreeMap<[(Guid, u16); 2], LinkFacts>) {
    let node = |node: &weft_topology::SubnetNode| (node.kind, node.guid, node.name.clone(), node.ports);
    let mut nodes: Vec<NodeFacts> = subnet.nodes.iter().map(node).collect();
    nodes.sort();
    let link = |link: &SubnetLink| {
        let mut ends = [&link.a, &link.b].map(|end| (subnet.node(end).guid, end.port));
        ends.sort_unstable();
        (ends, (ends, link.signalling, link.rate))
    };
    (nodes, subnet.links.iter().map(link).collect())
}

fn assert_same(found: &Subnet, wanted: &Subnet, by: &str) {
    let ((nodes, links), (wanted_nodes, wanted_links)) = (facts(found), facts(wanted));
    assert_eq!(nodes.len(), wanted_nodes.len(), "{by}: nodes");
    for (found, wanted) in nodes.iter().zip(&wanted_nodes) {
        assert_eq!(found, wanted, "{by}");
    }
    assert_eq!(links.len(), wanted_links.len(), "{by}: cables");
    for (ends, wanted) in &wanted_links {
        assert_eq!(links.get(ends), Some(wanted), "{by}");
    }
    assert!(found.links.iter().all(|link| link.a.line != 0 && link.b.line != 0), "{by}: cables of one end");
}

/// Switches on the shortest way between the leaves of any two adapters, by breadth first.
fn shortest(subnet: &Subnet) -> Vec<Option<BTreeMap<u32, usize>>> {
    let cables = subnet.cables();
    let switches_near = |node: u32| {
        let far = |link: &u32| {
            let link = &subnet.links[*link as usize];
            if link.a.node == node { link.b.node } else { link.a.node }
        };
        let near: Vec<u32> = cables.of(node).iter().map(far).collect();
        near.into_iter().filter(|near| subnet.nodes[*near as usize].kind == SubnetNodeKind::Switch)
    };
    let from = |start: u32| {
        let mut found = BTreeMap::from([(start, 1)]);
        let mut open = vec![start];
        while !open.is_empty() {
            let mut next = Vec::new();
            for here in open {
                let distance = found[&here];
                for near in switches_near(here) {
                    found.entry(near).or_insert_with(|| {
                        next.push(near);
                        distance + 1
                    });
                }
            }
            open = next;
        }
        found
    };
    let is_switch = |node: u32| subnet.nodes[node as usize].kind == SubnetNodeKind::Switch;
    (0u32..).zip(&subnet.nodes).map(|(node, _)| is_switch(node).then(|| from(node))).collect()
}

/// Follows a packet from every adapter to every other one; all arrive over as few switches as can be.
fn assert_routes(subnet: &Subnet, tables: &[ForwardingTable], engine: &str) -> usize {
    let routes = Routes::new(subnet, tables);
    let distances = shortest(subnet);
    let mut leaf_of = BTreeMap::new();
    for link in &subnet.links {
        for (own, far) in link.directions() {
            if subnet.node(own).kind == SubnetNodeKind::Adapter {
                leaf_of.insert(own.node, (own.port, far.node));
            }
        }
    }
    let mut count = 0;
    for (from, (port, leaf)) in &leaf_of {
        let distance = distances[*leaf as usize].as_ref().unwrap();
        for (lid, to) in routes.lids().filter(|(_, to)| to != from) {
            let Some((_, far_leaf)) = leaf_of.get(&to) else { continue };
            let (visited, end) = routes.walk(*from, *port, lid);
            assert_eq!(end, Delivery::Delivered { node: to }, "{engine}: {from} to {to}");
            assert_eq!(visited.len() - 1, distance[far_leaf], "{engine}: {from} to {to} by {visited:?}");
            count += 1;
        }
    }
    count
}

/// Reads `iblinkinfo`, where its reader is there.
fn assert_iblinkinfo(simulator: &Simulator, wanted: &Subnet) {
    if !FORMATS.iter().any(|format| format.name() == "iblinkinfo") {
        println!("no reader of iblinkinfo yet");
        return;
    }
    let text = simulator.run("iblinkinfo", &[]);
    let reading = read(&Source::file("iblinkinfo", text), Catalogue::embedded(), None);
    let mut subnets = Vec::new();
    for evidence in reading.evidence {
        if let Evidence::Subnet(subnet) = evidence.value {
            subnets.push(*subnet);
        }
    }
    assert_eq!(subnets.len(), 1, "iblinkinfo: {:?}", reading.diagnostics.first());
    let (found, wanted) = (cables_by_name(&subnets[0]), cables_by_name(wanted));
    assert_eq!(found.len(), wanted.len(), "iblinkinfo");
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!(found, wanted, "iblinkinfo");
    }
}

type NamedCable = ([(String, u16); 2], Option<Signalling>, Option<Rate>);

/// Cables by the names of what they join: lists of ports have the GUIDs of ports and not of adapters.
fn cables_by_name(subnet: &Subnet) -> Vec<([(String, u16); 2], String, Option<Rate>)> {
    let cable = |link: &SubnetLink| -> NamedCable {
        let mut ends = [&link.a, &link.b].map(|end| (subnet.label(end.node), end.port));
        ends.sort();
        (ends, link.signalling, link.rate)
    };
    let words = |signalling: Option<Signalling>| signalling.map_or_else(String::new, |runs| runs.to_string());
    let mut cables: Vec<_> =
        subnet.links.iter().map(cable).map(|(ends, runs, rate)| (ends, words(runs), rate)).collect();
    cables.sort();
    cables
}

#[test]
fn generated_networks_come_back_through_the_real_tools() {
    if !tools_are_here() {
        return;
    }
    let wanted = generated(TWO_TIERS);
    assert_eq!(wanted.of_kind(SubnetNodeKind::Adapter).count(), 1024);
    assert_eq!(wanted.of_kind(SubnetNodeKind::Switch).count(), 40 + 14);
    for engine in ["minhop", "updn", "ftree"] {
        let start = Instant::now();
        let simulator = Simulator::new(&wanted);
        simulator.route(engine);
        let (found, _) = read_back("ibnetdiscover", &simulator.run("ibnetdiscover", &[]));
        let found = found.unwrap();
        assert_same(&found, &wanted, "ibnetdiscover");
        let (ports, _) = read_back("ibnetdiscover -p", &simulator.run("ibnetdiscover", &["-p"]));
        assert_eq!(cables_by_name(&ports.unwrap()), cables_by_name(&wanted), "ibnetdiscover -p");
        assert_iblinkinfo(&simulator, &wanted);
        let (_, tables) = read_back("dump_fts", &simulator.run("dump_fts", &[]));
        assert_eq!(tables.len(), 54);
        let (_, dumped) = read_back("opensm-lfts.dump", &simulator.text("opensm-lfts.dump"));
        let by_switch = |tables: &[ForwardingTable]| -> BTreeMap<Guid, Vec<(u16, u8)>> {
            tables.iter().map(|table| (table.switch, table.ports.clone())).collect()
        };
        assert_eq!(by_switch(&tables), by_switch(&dumped), "{engine}: OpenSM's own dump");
        // In a tree of two tiers all three engines use the shortest ways.
        let routes = assert_routes(&found, &tables, engine);
        assert_eq!(routes, 1024 * 1023);
        println!("{engine}: {routes} routes, {:.1} s", start.elapsed().as_secs_f64());
    }
}

#[test]
fn a_fat_tree_of_whole_hosts_comes_back_too() {
    if !tools_are_here() {
        return;
    }
    let wanted = generated(WHOLE_HOSTS);
    let simulator = Simulator::new(&wanted);
    simulator.route("ftree");
    let (found, _) = read_back("ibnetdiscover", &simulator.run("ibnetdiscover", &["-f"]));
    let found = found.unwrap();
    assert_same(&found, &wanted, "ibnetdiscover -f");
    let (_, tables) = read_back("dump_fts -a", &simulator.run("dump_fts", &["-a"]));
    assert_eq!(assert_routes(&found, &tables, "ftree"), 480 * 479);
}

/// A cable that trained at one lane is seen by the simulator, told by `ibnetdiscover`, and found by us.
#[test]
fn a_narrow_cable_is_found_through_the_real_tools() {
    if !tools_are_here() {
        return;
    }
    let mut subnet = generated("8 x 2 h100-sxm5-80gb @ nvswitch3(4) + 2 cx6 @ rail-optimized(leaf 8)");
    let rates = Rates::new(Catalogue::embedded());
    let link = subnet.links.iter_mut().rfind(|link| link.b.node < 6).unwrap();
    let narrow = Some(Signalling::new(1, Generation::Hdr));
    (link.a.signalling, link.b.signalling) = (narrow, narrow);
    *link = SubnetLink::new(link.a, link.b, &rates);
    let simulator = Simulator::new(&subnet);
    simulator.route("minhop");
    let text = simulator.run("ibnetdiscover", &[]);
    let reading = read(&Source::file("t", &*text), Catalogue::embedded(), None);
    let codes: Vec<&str> = reading.diagnostics.iter().map(|finding| finding.code.name).collect();
    assert_eq!(codes, ["fabric-link-slow"]);
    let line = reading.diagnostics[0].place.as_ref().map(|place| place.line as usize).unwrap();
    assert!(text.lines().nth(line - 1).unwrap().contains("1xHDR"));
}
