//! A subnet as a net file. `ibsim` reads what `ibnetdiscover` prints, so that this is what is written.

use std::fmt::{self, Write};

use weft_base::{Diagnostic, Guid};
use weft_catalogue::Catalogue;
use weft_topology::{Generation, Subnet, SubnetEnd, SubnetLink, SubnetNode, SubnetNodeKind};

use crate::writers::{Writer, WriterInput, lacks};

/// The writer.
#[derive(Debug)]
pub struct IbsimWriter;

impl Writer for IbsimWriter {
    fn name(&self) -> &'static str {
        "ibsim"
    }

    fn title(&self) -> &'static str {
        "net file of ibsim, on which OpenSM and infiniband-diags run without hardware"
    }

    fn write(&self, input: &WriterInput<'_>, catalogue: &Catalogue) -> Result<String, Diagnostic> {
        let subnet = input.subnet(catalogue).ok_or_else(|| {
            lacks("the input has no InfiniBand network").hint(
                "give the output of `ibnetdiscover`, or servers with a network: `32 x dgx-h100 @ fat-tree`",
            )
        })?;
        ibsim_net(&subnet)
    }
}

/// Ports of the largest switch that `ibsim` takes: port numbers have eight bits, and 255 means none.
const PORTS_MAX: u16 = 254;
/// Bytes of a node description in InfiniBand.
const DESCRIPTION_MAX: usize = 64;

/// The net file of `subnet`. Reading it gives the same subnet.
pub fn ibsim_net(subnet: &Subnet) -> Result<String, Diagnostic> {
    check(subnet)?;
    let mut text = String::from(
        "# A net file for ibsim: `ibsim -s FILE`, then `ibsim-run opensm -o`, `ibsim-run ibnetdiscover`.\n",
    );
    // Writing to a string cannot fail.
    let _ = nodes(subnet, &mut text);
    Ok(text)
}

fn check(subnet: &Subnet) -> Result<(), Diagnostic> {
    for link in &subnet.links {
        let (a, b) = (subnet.label(link.a.node), subnet.label(link.b.node));
        match link.signalling.map(|signalling| signalling.generation) {
            None if link.rate.is_some() => {
                let message =
                    format!("the link between {a} and {b} is not InfiniBand, which is all that ibsim knows");
                return Err(lacks(message));
            }
            Some(Generation::Xdr) => {
                let message = format!("the link between {a} and {b} runs XDR, which ibsim does not know");
                return Err(lacks(message).hint("describe the network with NDR or older"));
            }
            Some(
                Generation::Sdr
                | Generation::Ddr
                | Generation::Qdr
                | Generation::Fdr10
                | Generation::Fdr
                | Generation::Edr
                | Generation::Hdr
                | Generation::Ndr,
            )
            | None => {}
        }
    }
    let large = subnet.nodes.iter().find(|node| node.ports > PORTS_MAX);
    large.map_or(Ok(()), |node| {
        Err(lacks(format!("{} has {} ports, but ibsim takes {PORTS_MAX} at most", node.name, node.ports)))
    })
}

fn nodes(subnet: &Subnet, text: &mut String) -> fmt::Result {
    let cables = subnet.cables();
    for (index, node) in (0u32..).zip(&subnet.nodes) {
        header(node, text)?;
        let links = cables.of(index).iter().map(|link| &subnet.links[*link as usize]);
        // A cable that returns to the same node is listed twice, once from each end.
        let mut last = None;
        let mut ends: Vec<(&SubnetEnd, &SubnetEnd, &SubnetLink)> = Vec::new();
        for link in links {
            let same = last == Some(std::ptr::from_ref(link));
            let [forth, back] = link.directions();
            let (own, far) = if link.a.node == index && !same { forth } else { back };
            ends.push((own, far, link));
            last = Some(std::ptr::from_ref(link));
        }
        ends.sort_by_key(|(own, ..)| own.port);
        for (own, far, link) in ends {
            port(subnet, own, far, link, text)?;
        }
    }
    Ok(())
}

fn header(node: &SubnetNode, text: &mut String) -> fmt::Result {
    let (vendor, device) = (node.vendor.unwrap_or(0), node.device.unwrap_or(0));
    write!(text, "\nvendid={vendor:#x}\ndevid={device:#x}\n")?;
    if let Some(guid) = node.system_guid {
        writeln!(text, "sysimgguid={:#x}", guid.get())?;
    }
    let guid = node.guid.get();
    let (key, word) = match node.kind {
        SubnetNodeKind::Adapter => ("caguid", "Ca"),
        SubnetNodeKind::Switch => ("switchguid", "Switch"),
        SubnetNodeKind::Router => ("rtguid", "Rt"),
    };
    writeln!(text, "{key}={guid:#x}")?;
    write!(text, "{word}\t{} \"{}\"\t\t# \"{}\"", node.ports, id(node), description(&node.name))?;
    if node.kind == SubnetNodeKind::Switch {
        write!(text, " enhanced port 0 lid {} lmc {}", node.lid.unwrap_or(0), node.lmc)?;
    }
    text.push('\n');
    Ok(())
}

fn port(
    subnet: &Subnet,
    own: &SubnetEnd,
    far: &SubnetEnd,
    link: &SubnetLink,
    text: &mut String,
) -> fmt::Result {
    let (node, other) = (subnet.node(own), subnet.node(far));
    let guid = |end: &SubnetEnd| end.guid.map_or_else(String::new, |guid| format!("({:x})", guid.get()));
    let lid = own.lid.unwrap_or(0);
    write!(text, "[{}]{}\t\"{}\"[{}]{}\t\t#", own.port, guid(own), id(other), far.port, guid(far))?;
    if node.kind != SubnetNodeKind::Switch {
        write!(text, " lid {lid} lmc {}", node.lmc)?;
    }
    // An equals sign would be read as an option of the port.
    if !other.name.contains('=') {
        write!(text, " \"{}\"", description(&other.name))?;
    }
    let far_lid = far.lid.or(other.lid).unwrap_or(0);
    write!(text, " lid {far_lid}")?;
    if let Some(signalling) = own.signalling.or(link.signalling) {
        write!(text, " {signalling}")?;
    }
    text.push('\n');
    Ok(())
}

/// `S-` and the GUID, as `ibnetdiscover` prints it; the description where there is no GUID.
fn id(node: &SubnetNode) -> String {
    let letter = match node.kind {
        SubnetNodeKind::Adapter => 'H',
        SubnetNodeKind::Switch => 'S',
        SubnetNodeKind::Router => 'R',
    };
    if node.guid == Guid::default() {
        // Both are reserved in `ibsim`.
        return description(&node.name).replace(['#', '@'], "_");
    }
    format!("{letter}-{:016x}", node.guid.get())
}

/// Without quotes and control characters, and as long as InfiniBand allows.
fn description(name: &str) -> String {
    let kept = |c: char| {
        if c == '"' {
            '\''
        } else if c.is_control() {
            ' '
        } else {
            c
        }
    };
    let end = (0..=name.len().min(DESCRIPTION_MAX)).rev().find(|end| name.is_char_boundary(*end));
    name[..end.unwrap_or(0)].chars().map(kept).collect()
}
