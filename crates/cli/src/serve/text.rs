//! The answer as text: the layout, its times, where they go, what fits; then the next layouts.

use std::fmt::Write as _;

use weft_predictor::serve::{ServeCandidate, ServeTime};

use super::{Served, words};
use crate::style::{Tone, heading};
use crate::table::{Cell, Table};
use crate::train::{breakdown, span};

/// The whole answer.
pub fn text(served: &Served<'_>) -> String {
    let Some(first) = served.found.quickest.first() else { return String::new() };
    let serving = served.serving;
    let mut sections = vec![format!(
        "{} on {}: {} of {} tokens, {} generated for each, weights in {}, {}\n",
        heading(format!("Serving {}", serving.model.title)),
        served.machine,
        plural(serving.batch, "prompt", "prompts"),
        serving.prompt_tokens,
        serving.generated_tokens,
        serving.weights.word(),
        served.engine.title
    )];
    if served.searched {
        sections.push(quickest(served));
        sections.push(most(served));
    }
    sections.push(summary(served, first));
    sections.push(breakdown("Where the time of a token goes", &first.time.decode.parts()));
    sections.push(breakdown("Where the time to the first token goes", &first.time.prefill.parts()));
    sections.push(memory(served, first));
    sections.join("\n")
}

fn summary(served: &Served<'_>, first: &ServeCandidate) -> String {
    let time = &first.time;
    let mut text = format!("{} {}\n", heading("Layout"), words(&first.layout));
    let within = |(low, high): (f64, f64)| format!("90 % within {} to {}", span(low), span(high));
    let _ = writeln!(
        text,
        "  first token after {} ({}), for a prompt that does not wait",
        span(time.first_token_s),
        within(time.first_token_within_s)
    );
    let _ = writeln!(text, "  then {} a token ({})", span(time.token_s), within(time.token_within_s));
    let _ = writeln!(
        text,
        "  {} tokens/s for each sequence, {} in all; with the prompts' time {}",
        rate(1.0 / time.token_s),
        rate(time.decode_tokens_per_s),
        rate(time.served_tokens_per_s)
    );
    let _ = writeln!(
        text,
        "  a token is bound by {}, the first one by {}",
        time.decode.bound_by(),
        time.prefill.bound_by()
    );
    if let Some(link) = served.link {
        let _ = writeln!(text, "  between GPUs: {link}");
    }
    if time.decode.tensor_s > 0.0 {
        let share = 100.0 * time.decode.tensor_latency_s / time.decode.tensor_s;
        let _ = writeln!(
            text,
            "  of the all-reduces of a token {share:.0} % is latency, which more bandwidth does not take away"
        );
    }
    text
}

fn memory(served: &Served<'_>, first: &ServeCandidate) -> String {
    let (memory, mut table) = (&first.time.memory, Table::default());
    let parts = [
        ("weights", memory.weights_bytes),
        ("KV cache", memory.cache_bytes),
        ("buffers", memory.buffer_bytes),
    ];
    for (what, bytes) in parts {
        table.row([Cell::new(what), Cell::number(size(bytes))]);
    }
    let all = format!(
        "{} of {} that {} takes",
        size(memory.total()),
        size(first.time.usable_bytes),
        served.engine.title
    );
    table.row([Cell::new("together"), Cell::number(all).wide().tone(Tone::Heading)]);
    let fit = format!(
        "  {} sequences of {} tokens fit, {} a GPU each\n",
        first.time.fitting_count,
        served.serving.prompt_tokens + served.serving.generated_tokens,
        size(memory.sequence_bytes)
    );
    format!("{}\n{}{fit}", heading("Memory of a GPU"), table.lines())
}

fn quickest(served: &Served<'_>) -> String {
    let found = served.found;
    let title = format!(
        "Quickest of {} layouts, in {} of which {} fit",
        found.layout_count,
        found.fitting_count,
        plural(served.serving.batch, "sequence", "sequences")
    );
    listed(served, &title, &found.quickest)
}

fn most(served: &Served<'_>) -> String {
    listed(served, "Most tokens per second, with as many sequences as fit", &served.found.most)
}

fn listed(served: &Served<'_>, title: &str, list: &[ServeCandidate]) -> String {
    let mut table = Table::default();
    let faint = |text: &str| Cell::new(text).tone(Tone::Faint);
    let right = |text: &str| Cell::number(text).tone(Tone::Faint);
    table.row([
        right("request"),
        right("first token"),
        right("a token"),
        right("tokens/s"),
        right("sequences"),
        faint("layout"),
        faint("a token is bound by"),
    ]);
    for candidate in list {
        let time: &ServeTime = &candidate.time;
        table.row([
            Cell::number(span(time.request_s(served.serving.generated_tokens))).tone(Tone::Heading),
            Cell::number(span(time.first_token_s)),
            Cell::number(span(time.token_s)),
            Cell::number(rate(time.served_tokens_per_s)),
            Cell::number(candidate.batch.to_string()),
            Cell::new(words(&candidate.layout)),
            Cell::new(time.decode.bound_by()),
        ]);
    }
    format!("{}\n{}", heading(title), table.lines())
}

/// `does not fit, by 11 GiB: weights 131 GiB, …`.
pub fn overflow(served: &Served<'_>, nearest: &ServeCandidate) -> String {
    let (memory, usable) = (&nearest.time.memory, nearest.time.usable_bytes);
    let which = if served.searched { "no layout fits; the nearest" } else { "the layout does not fit" };
    format!(
        "{which} ({}) by {} of {} that {} takes of a GPU: weights {}, KV cache {}, buffers {}",
        words(&nearest.layout),
        size(memory.total() - usable),
        size(usable),
        served.engine.title,
        size(memory.weights_bytes),
        size(memory.cache_bytes),
        size(memory.buffer_bytes)
    )
}

fn plural(count: u32, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

fn size(bytes: f64) -> String {
    match bytes.max(0.0) {
        bytes if bytes < 1e8 => format!("{:.1} MiB", bytes / f64::from(1 << 20)),
        bytes => format!("{:.1} GiB", bytes / f64::from(1 << 30)),
    }
}

fn rate(tokens_per_s: f64) -> String {
    if tokens_per_s < 100.0 { format!("{tokens_per_s:.1}") } else { format!("{tokens_per_s:.0}") }
}
