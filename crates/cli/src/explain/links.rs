//! Links, retimers and channels.

use weft_base::Ratio;
use weft_catalogue::{ChannelPart, ChannelUnit, LinkFamily, LinkKind, Retimer};

use super::Entry;

pub fn link(link: &LinkKind) -> Entry<'_> {
    let kind = format!("{} link", link.family.word());
    let mut entry = Entry::new(&link.name, &link.title, kind, &link.aliases)
        .note(link.note.as_ref())
        .fact("one lane signals", &link.lane)
        .fact("lanes of one link", &link.lanes)
        .fact_if("survives the encoding", link.encoding.as_ref())
        .fact_if("survives the protocol", link.protocol.as_ref())
        .fact_if("achieved", link.achieved.as_ref())
        .fact_if("latency, one way", link.latency.as_ref())
        .fact_if("channel loss allowed", link.channel_budget.as_ref());
    // What a reader wants to know follows from these: per direction, for the usual widths.
    let widths: Vec<u16> = match (link.family, link.widths.last()) {
        (LinkFamily::Pcie, Some(_)) => link.widths.clone(),
        (
            LinkFamily::Pcie
            | LinkFamily::OnPackage
            | LinkFamily::GpuFabric
            | LinkFamily::Coherent
            | LinkFamily::Socket
            | LinkFamily::Memory
            | LinkFamily::Network
            | LinkFamily::DisplayBridge,
            _,
        ) => vec![1],
    };
    for width in widths {
        let what = if link.family == LinkFamily::Pcie {
            format!("x{width} carries")
        } else {
            "one link carries".to_owned()
        };
        let usable = match (&link.achieved, &link.protocol) {
            (None, None) => String::new(),
            (Some(_), _) | (None, Some(_)) => format!(", of which programs reach {}", link.usable(width)),
        };
        entry = entry.plain(what, format!("{} per direction{usable}", link.rate(width)));
    }
    entry
}

pub fn retimer(retimer: &Retimer) -> Entry<'_> {
    Entry::new(&retimer.name, &retimer.title, "retimer", &retimer.aliases)
        .note(retimer.note.as_ref())
        .plain("serves", retimer.links.join(", "))
        .fact("adds, one way", &retimer.latency)
}

pub fn channel(part: &ChannelPart) -> Entry<'_> {
    let per = match part.per {
        ChannelUnit::Inch => "per inch",
        ChannelUnit::Metre => "per metre",
        ChannelUnit::Piece => "per piece",
    };
    let entry = Entry::new(&part.name, &part.title, "channel part", &[]).note(part.note.as_ref());
    part.loss.iter().fold(entry, |entry, loss| {
        let value = format!("{} {per}", loss.loss.value.times(Ratio::ONE));
        entry.valued(format!("loses at {}", loss.link), value, &loss.loss)
    })
}
