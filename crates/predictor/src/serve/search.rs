//! The best layouts for the machine: the quickest for a request, and the one that serves most.

use weft_workload::{ServeLayout, Serving};

use super::{ServeTime, Server};
use crate::train::TrainError;

/// A layout with what it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeCandidate {
    /// The layout.
    pub layout: ServeLayout,
    /// Sequences at a time.
    pub batch: u32,
    /// What they take.
    pub time: ServeTime,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServeFound {
    /// For the batch that was asked, the shortest request first.
    pub quickest: Vec<ServeCandidate>,
    /// With as many sequences as fit, most tokens per second first.
    pub most: Vec<ServeCandidate>,
    /// Layouts that were looked at.
    pub layout_count: usize,
    /// Those in which the batch fits.
    pub fitting_count: usize,
    /// The one that lacks least memory, where none fits.
    pub nearest: Option<ServeCandidate>,
}

/// Prices every layout of the machine's GPUs; keeps so many of each kind. Batches grow to at most `most_sequences`.
pub fn best(
    server: &Server<'_>,
    asked: &Serving<'_>,
    keep: usize,
    most_sequences: u32,
) -> Result<ServeFound, TrainError> {
    let mut found = ServeFound::default();
    let mut lacking = f64::INFINITY;
    for layout in ServeLayout::all(asked.model, server.site().gpus) {
        if layout.tensor > 1 && !server.engine().splits_matrices.value {
            continue;
        }
        found.layout_count += 1;
        let serving = Serving { layout, ..*asked };
        let time = server.time(&serving)?;
        let lacks = time.memory.total() - time.usable_bytes;
        let most = time.fitting_count.min(f64::from(most_sequences));
        let candidate = ServeCandidate { layout, batch: asked.batch, time };
        if candidate.time.fits() {
            found.fitting_count += 1;
            found.quickest.push(candidate);
        } else if lacks < lacking {
            lacking = lacks;
            found.nearest = Some(candidate);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no more than a u32")]
        let batch = most as u32;
        if batch > 0 {
            let time = server.time(&Serving { batch, ..serving })?;
            found.most.push(ServeCandidate { layout, batch, time });
        }
    }
    let request = |candidate: &ServeCandidate| candidate.time.request_s(asked.generated_tokens);
    found.quickest.sort_by(|a, b| request(a).total_cmp(&request(b)));
    found.most.sort_by(|a, b| b.time.served_tokens_per_s.total_cmp(&a.time.served_tokens_per_s));
    found.quickest.truncate(keep);
    found.most.truncate(keep);
    if found.fitting_count > 0 {
        found.nearest = None;
    }
    Ok(found)
}
