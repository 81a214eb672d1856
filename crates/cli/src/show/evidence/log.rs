//! What NCCL said, in a dozen lines: version, ranks, networks, connections, channels, what went wrong.

use std::collections::BTreeMap;

use weft_base::Place;
use weft_formats::{ChannelCount, Gdr, NcclLog, Said, Transport, TransportKind};

use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Entries of one kind that are shown; the rest is counted.
const ENTRIES_MAX: usize = 8;

/// One log; `None` where it says nothing.
pub fn section(log: &NcclLog, place: &Place) -> Option<String> {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let mut add = |name: &'static str, text: String| {
        if !text.is_empty() {
            rows.push((name, text));
        }
    };
    add("version", versions(log));
    add("ranks", ranks(log));
    add("network", said(&log.networks));
    add("adapters", adapters(log));
    add("plugins", said(&log.plugins));
    add("connections", connections(&log.transports));
    add("GPUDirect RDMA", gdr(log));
    add("channels", listed(log.channels.iter().map(channels)));
    add("rings, trees", shapes(log));
    add("searches", searches(log));
    add("settings", listed(log.settings.iter().map(|it| format!("{}={}", it.name, it.value))));
    add("choices", choices(log));
    let remark = |it: &Said| format!("{} (line {}{})", it.text, it.line, times(it.count));
    for it in log.remarks.iter().take(ENTRIES_MAX) {
        add("remark", remark(it));
    }
    for problem in log.problems.iter().take(ENTRIES_MAX) {
        add("problem", format!("{} (line {}{})", problem.text, problem.line, times(problem.count)));
    }
    add("and", left(log));
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::default();
    for (name, text) in rows {
        table.row([Cell::new(name).tone(Tone::Faint), Cell::new(text).wide()]);
    }
    let library = if log.versions.iter().any(|it| it.library == "rccl") { "RCCL" } else { "NCCL" };
    Some(titled(&format!("{library}'s log (line {})", place.line), &table.lines()))
}

fn times(count: u32) -> String {
    if count > 1 { format!(", {count} times") } else { String::new() }
}

/// At most [`ENTRIES_MAX`] of them.
fn listed(entries: impl ExactSizeIterator<Item = String>) -> String {
    let more = entries.len().saturating_sub(ENTRIES_MAX);
    let mut shown: Vec<String> = entries.take(ENTRIES_MAX).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

fn versions(log: &NcclLog) -> String {
    listed(log.versions.iter().map(|it| it.version.clone()))
}

fn said(all: &[Said]) -> String {
    listed(all.iter().map(|it| it.text.clone()))
}

fn ranks(log: &NcclLog) -> String {
    let mut parts = Vec::new();
    match log.communicators.as_slice() {
        [] => {}
        [one] => parts.push(format!("{} in one communicator", one.ranks)),
        all => {
            let most = all.iter().map(|it| it.ranks).max().unwrap_or(0);
            parts.push(format!("{} communicators of up to {most} ranks", all.len()));
        }
    }
    match log.hosts.as_slice() {
        [] => {}
        [one] => parts.push(format!("on {one}")),
        [first, .., last] => parts.push(format!("on {} hosts, {first} to {last}", log.hosts.len())),
    }
    let members = || log.communicators.iter().flat_map(|it| &it.members);
    let stuck = members().filter(|member| !member.complete).count();
    if stuck > 0 {
        parts.push(format!("{stuck} of {} did not come up", members().count()));
    }
    parts.join(", ")
}

fn adapters(log: &NcclLog) -> String {
    let list = |it: &weft_formats::AdapterList| {
        let names: Vec<String> = it
            .adapters
            .iter()
            .map(|adapter| match adapter.rate {
                Some(rate) => format!("{} {rate}", adapter.name),
                None => adapter.name.clone(),
            })
            .collect();
        let layer = it.adapters.iter().find_map(|adapter| adapter.link_layer.as_deref());
        format!("{}: {}", layer.unwrap_or(&it.network), names.join(" "))
    };
    listed(log.adapters.iter().map(list))
}

/// `P2P/IPC 48, NET/IB/GDRDMA 16`: lines by kind, adapters taken together.
fn connections(transports: &[Transport]) -> String {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    for transport in transports {
        let without = |part: &&str| transport.adapter.is_none() || part.parse::<u32>().is_err();
        let name = transport.name.split('/').filter(without).collect::<Vec<_>>().join("/");
        let count = counts.entry(name.clone()).or_insert_with(|| {
            order.push(name);
            0
        });
        *count += transport.lines();
    }
    listed(order.into_iter().map(|name| {
        let count = counts.get(&name).copied().unwrap_or(0);
        format!("{name} {count}")
    }))
}

fn gdr(log: &NcclLog) -> String {
    let word = match log.gdr_in_use() {
        Gdr::Unknown => "",
        Gdr::Yes => "yes, on all connections between hosts",
        Gdr::No => "no",
        Gdr::Some => "on some connections between hosts",
        Gdr::OneSided => "one-sided: one end has it, the other has not",
    };
    let refused = log.gdr.iter().filter(|fact| !fact.enabled).map(|fact| match &fact.detail {
        Some(detail) => format!("{} ({detail})", fact.subject),
        None => fact.subject.clone(),
    });
    let refused = listed(refused.collect::<Vec<_>>().into_iter());
    let forwarded: u32 = log
        .transports
        .iter()
        .filter(|transport| transport.kind == TransportKind::Network)
        .map(|transport| transport.forwarded)
        .sum();
    let mut parts = vec![word.to_owned()];
    parts.extend((!refused.is_empty()).then(|| format!("disabled for {refused}")));
    parts.extend((forwarded > 0).then(|| format!("{forwarded} connections over another GPU (PXN)")));
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

fn channels(it: &ChannelCount) -> String {
    let mut parts = vec![format!("{} for collectives", it.collective)];
    parts.extend(it.nvls.filter(|count| *count > 0).map(|count| format!("{count} for NVLS")));
    parts.extend(it.collnet.filter(|count| *count > 0).map(|count| format!("{count} for CollNet")));
    parts.extend(it.peer_to_peer.map(|count| format!("{count} for sends and receives")));
    parts.extend(it.per_peer.map(|count| format!("{count} per peer")));
    parts.join(" + ")
}

fn shapes(log: &NcclLog) -> String {
    if log.ring_lines == 0 && log.tree_lines == 0 {
        return String::new();
    }
    let longest = log.rings.iter().map(|ring| ring.ranks.len()).max().unwrap_or(0);
    match log.rings.len() {
        0 => format!("trees of {} ranks", log.tree_lines),
        rings => format!("{rings} rings of up to {longest} ranks, trees of {} ranks", log.tree_lines),
    }
}

fn searches(log: &NcclLog) -> String {
    let search = |it: &weft_formats::GraphSearch| {
        let rate =
            |rate: Option<weft_base::Rate>| rate.map_or_else(|| "?".to_owned(), |rate| rate.to_string());
        format!(
            "pattern {}: {} channels, {} inside, {} between hosts, {}/{}",
            it.pattern,
            it.channels,
            rate(it.intra),
            rate(it.inter),
            it.path_intra,
            it.path_inter
        )
    };
    listed(log.searches.iter().map(search))
}

fn choices(log: &NcclLog) -> String {
    let choice = |it: &weft_formats::TuningChoice| {
        let time = it.time.map_or_else(String::new, |time| format!(" {time}"));
        format!("{} {} {}{time}", it.bytes, it.algorithm, it.protocol)
    };
    listed(log.choices.iter().map(choice))
}

fn left(log: &NcclLog) -> String {
    let more = [
        (log.remarks.len().saturating_sub(ENTRIES_MAX), "more remarks"),
        (log.problems.len().saturating_sub(ENTRIES_MAX) + log.problems_left as usize, "more problems"),
    ];
    let more =
        more.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    more.collect::<Vec<_>>().join(", ")
}
