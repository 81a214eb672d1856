//! What `topo -p2p` says: who may access whose memory.

use weft_formats::{Access, PeerMatrix};

use crate::load::Loaded;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// The accesses that were read; `None` where there are none.
pub fn section(loaded: &Loaded) -> Option<String> {
    let texts: Vec<String> = loaded.case.peers.iter().map(|peers| one(&peers.value)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn one(peers: &PeerMatrix) -> String {
    let mode = peers.mode.map_or_else(String::new, |mode| format!(" ({})", mode.word()));
    let title = format!("Access to each other's memory{mode}");
    let all_ok = peers.cells.iter().all(|cell| cell.access == Some(Access::Ok));
    if all_ok && !peers.cells.is_empty() {
        return super::titled(&title, &format!("  all {} pairs: OK\n", peers.cells.len()));
    }
    let mut table = Table::default();
    let faint = |label: &String| Cell::new(label).tone(Tone::Faint);
    table.row(std::iter::once(Cell::default()).chain(peers.ends.iter().map(faint)));
    for (row, label) in peers.ends.iter().enumerate() {
        let cell = |column: usize| {
            let found = peers.cells.iter().find(|cell| cell.row == row && cell.column == column);
            match found.map(|cell| cell.access) {
                Some(Some(Access::Ok)) => Cell::new("OK").tone(Tone::Fast),
                Some(Some(access)) => Cell::new(access.word()).tone(Tone::Slow),
                None if row == column => Cell::new("-").tone(Tone::Faint),
                Some(None) | None => Cell::new("?").tone(Tone::Slow),
            }
        };
        table.row(std::iter::once(faint(label)).chain((0..peers.ends.len()).map(cell)));
    }
    super::titled(&title, &table.lines())
}
