//! Programs.

use weft_catalogue::Engine;

use super::Entry;

pub fn engine(engine: &Engine) -> Entry<'_> {
    let mut entry = Entry::new(&engine.name, &engine.title, "program that serves models", &engine.aliases)
        .note(engine.note.as_ref())
        .fact("share of the memory's rate", &engine.memory_share)
        .fact("of that, with unpacking", &engine.quantised_share)
        .fact("a layer besides its bytes", &engine.layer_time)
        .fact("host time of a step", &engine.step_host)
        .fact("multiplying, over training", &engine.multiply_factor)
        .fact("tokens of a prompt at once", &engine.chunk_tokens)
        .fact("share of a GPU's memory", &engine.memory_use)
        .fact("splits matrices", &engine.splits_matrices)
        .fact("all-reduce of its own", &engine.one_shot)
        .fact("interleaves a pipeline", &engine.interleaves);
    for (gpu, on) in &engine.on {
        entry = entry
            .fact(format!("share of the memory's rate, {gpu}"), &on.memory_share)
            .fact(format!("multiplying, over training, {gpu}"), &on.multiply_factor);
    }
    entry
}
