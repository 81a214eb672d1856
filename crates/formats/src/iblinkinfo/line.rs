//! One line of `iblinkinfo`.

use weft_base::{Guid, TransferRate};
use weft_topology::SubnetNodeKind;

/// The line above the ports of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header<'a> {
    pub kind: SubnetNodeKind,
    /// Printed for switches only.
    pub guid: Option<Guid>,
    pub name: &'a str,
}

/// `CA: host-1 mlx5_0:`, `Switch: 0x… name:`.
pub(super) fn header(text: &str) -> Option<Header<'_>> {
    let text = text.trim_end();
    let words = [
        ("CA:", SubnetNodeKind::Adapter),
        ("Switch:", SubnetNodeKind::Switch),
        ("Router:", SubnetNodeKind::Router),
        ("RT:", SubnetNodeKind::Router),
    ];
    let (at, word, kind) = words.into_iter().find_map(|(word, kind)| {
        let at = text.find(word)?;
        crate::block::is_prefix(&text[..at]).then_some((at, word, kind))
    })?;
    let rest = text[at + word.len()..].trim_start().strip_suffix(':')?.trim_end();
    let first = rest.split_whitespace().next().unwrap_or_default();
    match guid(first) {
        Some(guid) => Some(Header { kind, guid: Some(guid), name: rest[first.len()..].trim() }),
        None => Some(Header { kind, guid: None, name: rest }),
    }
}

/// A port and what it says of its link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PortLine<'a> {
    pub own: End<'a>,
    /// Lanes and the rate of each; `None` where the link is down.
    pub runs: Option<(u8, TransferRate)>,
    /// `Active/ LinkUp`, blanks as printed.
    pub state: &'a str,
    /// `None` where the port has none, or the line is cut.
    pub far: Option<End<'a>>,
    /// Whether the line ends before the far end.
    pub is_cut: bool,
    /// What the link could run: lanes and the rate of each, where printed.
    pub could: (Option<u8>, Option<TransferRate>),
}

/// A port, as far as the line names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct End<'a> {
    /// Of the port at an adapter, of the node at a switch.
    pub guid: Option<Guid>,
    pub name: Option<&'a str>,
    pub lid: Option<u16>,
    pub port: u16,
}

/// `0x… 6 1[  ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 3 3[  ] "switch" ( )`.
pub(super) fn port(text: &str) -> Option<PortLine<'_>> {
    let open = text.find("==(")?;
    let own = end(&text[..open])?;
    // `ibqueryerrors` prints such a line below the counters of a port.
    if text[..open].contains("Link info:") {
        return None;
    }
    let rest = &text[open + 3..];
    let (inside, rest) = rest.split_once(')').unwrap_or((rest, ""));
    let inside = inside.trim();
    let words: Vec<&str> = inside.split_whitespace().collect();
    let runs = match words.as_slice() {
        [lanes, rate, unit, ..] if *unit == "Gbps" => Some((width(lanes)?, transfer_rate(rate)?)),
        _ => None,
    };
    let state = inside.split_once("Gbps").map_or(inside, |(_, state)| state.trim());
    let (far, remark) = match rest.split_once("==>") {
        Some((_, far)) => far.split_once(']').map_or((None, ""), |(before, rest)| {
            let (name, remark) = quoted(rest).unwrap_or((None, ""));
            (end(before).map(|end| End { name, ..end }), remark)
        }),
        None => (None, ""),
    };
    let far = far.filter(|far| far.port != 0);
    let is_cut = runs.is_some() && far.is_none();
    Some(PortLine { own, runs, state, far, is_cut, could: could(remark) })
}

/// `0x… "name" 4 1[  ]`: all but the port may be missing.
fn end(text: &str) -> Option<End<'_>> {
    let (left, _) = text.rsplit_once('[')?;
    let (name, left_of_name, numbers) = match (left.find('"'), left.rfind('"')) {
        (Some(from), Some(to)) if from < to => {
            (Some(left[from + 1..to].trim()), &left[..from], &left[to + 1..])
        }
        (_, _) => (None, left, left),
    };
    let mut numbers = numbers.split_whitespace().rev();
    let port = numbers.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let lid = numbers.next().and_then(|word| word.parse().ok()).filter(|lid| *lid != 0);
    let guid = left_of_name.split_whitespace().rev().find_map(guid);
    Some(End { guid, name, lid, port })
}

/// The quoted name and what is behind it.
fn quoted(text: &str) -> Option<(Option<&str>, &str)> {
    let (from, to) = (text.find('"')?, text.rfind('"')?);
    (from < to).then(|| (Some(text[from + 1..to].trim()).filter(|name| !name.is_empty()), &text[to + 1..]))
}

fn guid(word: &str) -> Option<Guid> {
    word.strip_prefix("0x").filter(|digits| digits.len() > 4)?;
    word.parse().ok()
}

/// `4X`.
fn width(word: &str) -> Option<u8> {
    word.strip_suffix(['X', 'x'])?.parse().ok().filter(|lanes| (1..=12).contains(lanes))
}

/// `25.78125`, in Gb/s of one lane.
fn transfer_rate(word: &str) -> Option<TransferRate> {
    format!("{word} Gb/s").parse().ok()
}

/// `(Could be 12X Could be 10.0 Gbps)`.
fn could(remark: &str) -> (Option<u8>, Option<TransferRate>) {
    let mut found = (None, None);
    for word in remark.split("Could be").skip(1) {
        let word = word.split_whitespace().next().unwrap_or_default().trim_end_matches(')');
        found = (found.0.or_else(|| width(word)), found.1.or_else(|| transfer_rate(word)));
    }
    found
}
