//! Which switch port each NIC of the host is cabled to.

use weft_formats::Tie;

use crate::style::Tone;
use crate::table::{Cell, Table};

/// One line per cable; `None` where none is known.
pub fn section(ties: &[Tie]) -> Option<String> {
    let mut table = Table::default();
    for tie in ties {
        table.row([
            Cell::new(format!("{} port {}", tie.port.adapter, tie.port.port)),
            Cell::new(format!("{} port {}", tie.switch, tie.switch_port)),
            Cell::number(tie.rate.map_or_else(String::new, |rate| rate.to_string())),
            Cell::new(tie.switch_guid.to_string()).tone(Tone::Faint),
        ]);
    }
    (!table.is_empty()).then(|| super::titled("Cabled to", &table.lines()))
}
