use weft_topology::Assumption;

use crate::style::Tone;
use crate::table::{Cell, Table};

/// What the input does not say; `None` where it says everything.
pub fn section(assumed: &[Assumption]) -> Option<String> {
    let mut table = Table::default();
    for one in assumed {
        let what = format!("{} {}", one.subject, one.what);
        table.row([Cell::new(what), Cell::new(&one.value), Cell::new(&one.why).tone(Tone::Faint)]);
    }
    (!table.is_empty()).then(|| super::titled("Not in the input, assumed", &table.lines()))
}
