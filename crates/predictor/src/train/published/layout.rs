//! What tables leave out of a layout, filled in by the same rules for all.

use weft_workload::Layout;

use super::Left;
use super::table::Row;

/// Micro-batches for each stage from which it hardly matters how a pipeline is interleaved.
const MANY: u32 = 4;
/// Virtual stages where neither a table nor its program says: the first that divides the layers.
const USUAL_VIRTUAL: [u32; 2] = [2, 3];
/// Sequences of a micro-batch where a table does not say: without a pipeline, and with one.
const USUAL_MICRO: u32 = 4;

/// Sets how a pipeline is interleaved by the column `vp`. One that is not printed matters where micro-batches are few.
pub(super) fn interleave(layout: &mut Layout, row: &Row) -> Result<(), Left> {
    if layout.pipeline == 1 {
        layout.virtual_stages = 1;
        return Ok(());
    }
    match row.whole("vp") {
        Some(stages) => layout.virtual_stages = stages,
        None if layout.micro_batches() < MANY * layout.pipeline => {
            return Err(Left::out("a pipeline of few micro-batches whose interleaving is not printed"));
        }
        None => layout.virtual_stages = 1,
    }
    Ok(())
}

/// Interleaves a pipeline whose table has no such column: two or three chunks of layers where they divide, else none.
pub(super) fn usual_interleave(layout: &mut Layout, layers: u32) {
    layout.virtual_stages = 1;
    if layout.pipeline == 1 || !layout.micro_batches().is_multiple_of(layout.pipeline) {
        return;
    }
    let divides = |stages: &u32| layers.is_multiple_of(layout.pipeline * stages);
    layout.virtual_stages = USUAL_VIRTUAL.into_iter().find(divides).unwrap_or(1);
}

/// Sequences of a micro-batch where the table does not say: four without a pipeline, one with, or what divides.
pub(super) fn usual_micro(layout: &mut Layout) {
    let each = layout.global_batch / layout.data().max(1);
    let most = if layout.pipeline == 1 { USUAL_MICRO } else { 1 };
    layout.micro_batch = (1..=most).rev().find(|size| each.is_multiple_of(*size)).unwrap_or(1);
}

/// Tensor, pipeline and context sizes as the columns say.
pub(super) fn sizes(layout: &mut Layout, row: &Row) {
    layout.tensor = row.size("tp");
    layout.pipeline = row.size("pp");
    layout.context = row.size("cp");
    // A footnote's mark behind the number: 41 is 1.
    let fits = |pipeline: u32| layout.gpus.is_multiple_of(layout.tensor * layout.context * pipeline.max(1));
    if !fits(layout.pipeline) && layout.pipeline >= 10 && fits(layout.pipeline / 10 % 10) {
        let unmarked = layout.pipeline % 10;
        layout.pipeline = if fits(unmarked) { unmarked.max(1) } else { layout.pipeline };
    }
    layout.sequence_parallel = layout.tensor > 1;
}
