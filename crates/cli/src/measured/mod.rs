//! `weft predict --measured`: tables of benchmarks beside what is predicted of the machine that ran them.

mod text;

use weft_base::{Diagnostic, Place};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_predictor::compare::{Compared, Side, tables};
use weft_predictor::{NOT_COMPARED, Request};

use crate::load::Loaded;

pub use text::text;

/// Compares what `file` holds with what is expected of the machine in `loaded`, which was read together with it.
/// `request` says all but the collective, the GPUs and the sizes.
pub fn compared<'c>(
    loaded: &Loaded,
    file: &str,
    fallback: Collective,
    request: &Request,
    catalogue: &'c Catalogue,
) -> Compared<'c> {
    let (case, topology, diagnostics) = (&loaded.case, &loaded.graph.topology, &loaded.diagnostics[..]);
    let side = Side { case, topology, diagnostics, request };
    let mut found = tables(side, |place| is_of(place, file), fallback, catalogue);
    if found.tables.is_empty() && found.pairs.is_empty() && found.diagnostics.is_empty() {
        let message = format!("{file} holds no table of a benchmark of collectives");
        let hint = "nccl-tests, rccl-tests, nvbandwidth, p2pBandwidthLatencyTest and tables with a size and a busbw are read";
        found.diagnostics.push(Diagnostic::error(NOT_COMPARED, message).hint(hint));
    }
    found
}

/// Files of a folder or an archive begin with its name.
fn is_of(place: &Place, file: &str) -> bool {
    place.file.strip_prefix(file).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '!']))
}
