//! A text as large as the largest that users have, to measure with: what `ibnetdiscover` would print of a
//! three-tier network.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use weft_catalogue::Catalogue;
use weft_topology::{Subnet, SubnetEnd, SubnetNode, SubnetNodeKind, build, oneliner};

/// LIDs of one subnet; a network of this size would have several, which changes nothing for a reader.
const LIDS: u32 = 48_000;

/// Writes the text of a network of `adapters` adapters, eight to a host, on 144-port switches. 100,000 give 600,000
/// ports and about 100 MB.
pub fn run(file: &Path, adapters: &str) -> Result<()> {
    let adapters: u32 = adapters.parse().context("the number of adapters")?;
    let hosts = adapters.div_ceil(8);
    let line = format!("{hosts} x 8 h100-sxm5-80gb @ nvswitch3(4) + 8 cx7 @ fat-tree(leaf 144)");
    let catalogue = Catalogue::embedded();
    let Ok(machine) = oneliner::parse(&line, catalogue) else { bail!("{line} cannot be read") };
    let topology = build(&machine, catalogue)?.topology;
    let subnet = Subnet::of(&topology, catalogue);
    drop(topology);
    let created =
        std::fs::File::create(file).with_context(|| format!("failed to create {}", file.display()))?;
    let mut out = std::io::BufWriter::new(created);
    writeln!(out, "#\n# Topology file: generated on Tue Mar  3 09:12:41 2026\n#")?;
    let cables = subnet.cables();
    for (index, node) in (0u32..).zip(&subnet.nodes) {
        header(&mut out, index, node)?;
        for link in cables.of(index) {
            let link = &subnet.links[*link as usize];
            let (own, far) = if link.a.node == index { (&link.a, &link.b) } else { (&link.b, &link.a) };
            let runs = link.signalling.map_or_else(String::new, |runs| runs.to_string());
            port(&mut out, &subnet, own, far, &runs)?;
        }
    }
    out.flush()?;
    println!("{} nodes and {} ports in {}", subnet.nodes.len(), 2 * subnet.links.len(), file.display());
    Ok(())
}

fn header(out: &mut impl Write, index: u32, node: &SubnetNode) -> Result<()> {
    let guid = node.guid.get();
    let (device, key, word, letter) = match node.kind {
        SubnetNodeKind::Switch => (0xd2f2, "switchguid", "Switch", 'S'),
        SubnetNodeKind::Adapter | SubnetNodeKind::Router => (0x1021, "caguid", "Ca", 'H'),
    };
    writeln!(out, "\nvendid=0x2c9\ndevid={device:#x}\nsysimgguid={guid:#x}")?;
    let (ports, name) = (node.ports, &node.name);
    if letter == 'S' {
        writeln!(out, "{key}={guid:#x}({guid:x})")?;
        let lid = lid(index);
        let name = format!("MF0;{name}:MQM9700/U1");
        writeln!(out, "{word}\t{ports} \"S-{guid:016x}\"\t\t# \"{name}\" enhanced port 0 lid {lid} lmc 0")?;
    } else {
        writeln!(out, "{key}={guid:#x}")?;
        writeln!(out, "{word}\t{ports} \"H-{guid:016x}\"\t\t# \"{name}\"")?;
    }
    Ok(())
}

fn port(out: &mut impl Write, subnet: &Subnet, own: &SubnetEnd, far: &SubnetEnd, runs: &str) -> Result<()> {
    let (node, other) = (subnet.node(own), subnet.node(far));
    let is_switch = |node: &SubnetNode| node.kind == SubnetNodeKind::Switch;
    let (guid, far_guid) = (node.guid.get(), other.guid.get());
    let (far_port, far_lid) = (far.port, lid(far.node));
    if !is_switch(node) {
        let (name, lid) = (&other.name, lid(own.node));
        writeln!(
            out,
            "[{}]({:x}) \t\"S-{far_guid:016x}\"[{far_port}]\t\t# lid {lid} lmc 0 \"MF0;{name}:MQM9700/U1\" lid {far_lid} {runs}",
            own.port,
            guid + u64::from(own.port),
        )?;
    } else if is_switch(other) {
        let name = &other.name;
        writeln!(
            out,
            "[{}]\t\"S-{far_guid:016x}\"[{far_port}]\t\t# \"MF0;{name}:MQM9700/U1\" lid {far_lid} {runs}",
            own.port
        )?;
    } else {
        let (name, port_guid) = (&other.name, far_guid + u64::from(far_port));
        writeln!(
            out,
            "[{}]\t\"H-{far_guid:016x}\"[{far_port}]({port_guid:x}) \t\t# \"{name}\" lid {far_lid} {runs}",
            own.port
        )?;
    }
    Ok(())
}

fn lid(node: u32) -> u32 {
    node % LIDS + 1
}
