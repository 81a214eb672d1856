//! A step as a report of HTML.

use weft_predictor::train::{Breakdown, Candidate, Timeline};
use weft_topology::Assumption;
use weft_workload::{Layout, Memory};

use super::Run;
use super::text::{difference, size, span};
use super::timeline::{Drawing, svg};
use crate::page::{self, Card, Cell, Part};

/// What a report shows besides the run.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// Of the best layout; or why there is none.
    pub timeline: Result<&'a Timeline, &'a str>,
    /// The machine as a drawing.
    pub topology: &'a str,
    /// What the machine's description leaves open.
    pub assumed: &'a [Assumption],
}

/// The document.
pub fn html(run: &Run<'_>, shown: &Shown<'_>) -> String {
    let Some(best) = run.found.best.first() else { return String::new() };
    let title = format!("A step of {} takes {}", run.model.title, span(best.time.seconds));
    let lead = format!(
        "On {}: {} sequences of {} tokens, {}, {}. Layout: {}.",
        run.machine,
        run.global_batch,
        run.sequence_tokens,
        run.precision.word(),
        run.framework.title,
        best.layout
    );
    let mut body = page::head(&title, &lead);
    body += &cards(run, best);
    body += &page::columns(&time(&best.time.breakdown), &memory(&best.memory, run.site.gpu_bytes()));
    body += &timeline(&best.layout, shown.timeline);
    if run.searched {
        body += &layouts(run);
    }
    body += &page::section("The machine", "", &page::picture(shown.topology, "topology"));
    body += &assumed(run, shown.assumed);
    body += &page::made_by();
    page::document(&title, &body)
}

fn cards(run: &Run<'_>, best: &Candidate) -> String {
    let (layout, time) = (&best.layout, &best.time);
    let all = run.step_tokens() / time.seconds;
    let bound = time.bound_by();
    let share = time.breakdown.parts().into_iter().find(|(part, _)| *part == bound);
    let share = share.map_or(0.0, |(_, seconds)| 100.0 * seconds / time.seconds);
    let mut cards = vec![
        Card {
            name: "Step",
            figure: span(time.seconds),
            more: format!("90 % within {} to {}", span(time.low_s), span(time.high_s)),
        },
        Card {
            name: "Tokens a second, each GPU",
            figure: format!("{:.0}", all / f64::from(layout.gpus)),
            more: format!("{all:.0} on {} GPUs", layout.gpus),
        },
    ];
    cards.extend(run.mfu(layout, time).map(|mfu| Card {
        name: "MFU",
        figure: format!("{:.1} %", 100.0 * mfu),
        more: "model FLOP/s over the dense peak".to_owned(),
    }));
    cards.push(Card {
        name: "Bound by",
        figure: bound.to_owned(),
        more: format!("{share:.1} % of the step"),
    });
    cards.push(Card {
        name: "Memory of a GPU",
        figure: size(best.memory.total()),
        more: format!("of {}", size(run.site.gpu_bytes())),
    });
    page::cards(&cards)
}

/// Colours as in the timeline; idle stages are what is between its bars.
fn colour(part: &str) -> &'static str {
    match part {
        "computing" => "forward",
        "waiting for the host" => "host",
        "tensor parallelism" => "tensor",
        "context parallelism" => "context",
        "expert parallelism" => "expert",
        "between stages" => "hop",
        "data parallelism" => "data",
        "optimizer" => "optimizer",
        "idle stages" => "edge",
        _ => "straggler",
    }
}

/// Parts of a step.
pub fn time(breakdown: &Breakdown) -> String {
    let total = breakdown.total_s();
    let parts: Vec<Part> = breakdown
        .parts()
        .into_iter()
        .filter(|(_, seconds)| *seconds > 0.0005 * total)
        .map(|(name, seconds)| Part {
            colour: colour(name),
            name: name.to_owned(),
            figure: span(seconds),
            share: seconds / total,
        })
        .collect();
    page::section("Where the time goes", "", &page::bar(&parts))
}

/// What one GPU keeps, of what it has.
pub fn memory(memory: &Memory, capacity_bytes: f64) -> String {
    let colours = ["forward", "backward", "hop", "tensor", "expert"];
    let mut parts: Vec<Part> = memory
        .parts()
        .into_iter()
        .zip(colours)
        .filter(|((_, bytes), _)| *bytes > 0.0)
        .map(|((name, bytes), colour)| Part {
            colour,
            name: name.to_owned(),
            figure: size(bytes),
            share: bytes / capacity_bytes,
        })
        .collect();
    let free = capacity_bytes - memory.total();
    parts.push(Part {
        colour: "lane",
        name: "free".to_owned(),
        figure: size(free),
        share: free / capacity_bytes,
    });
    page::section("Memory of a GPU", "", &page::bar(&parts))
}

/// A step bar by bar; or why there is no such picture.
pub fn timeline(layout: &Layout, timeline: Result<&Timeline, &str>) -> String {
    let title = "One step";
    let timeline = match timeline {
        Ok(timeline) => timeline,
        Err(why) => return page::section(title, "", &page::paragraph(&format!("No timeline: {why}."))),
    };
    let lead = if layout.pipeline > 1 {
        "Each row is a stage of the pipeline; numbers are micro-batches. The thin row below shows what the network carries \
         meanwhile, hidden or not."
    } else {
        "What each GPU does; numbers are micro-batches. A thin row below shows what the network carries meanwhile, hidden \
         or not."
    };
    let drawing = Drawing { title: "", subtitle: "", stages: layout.pipeline, chunks: layout.virtual_stages };
    let mut html = page::picture(&svg(timeline, &drawing), "fit");
    html += &page::note(
        "Collectives inside a pass come layer by layer; those that nothing hides are drawn at its end.",
    );
    html += &rest(timeline);
    page::section(title, lead, &html)
}

/// Where schedule and formula differ, by how much.
fn rest(timeline: &Timeline) -> String {
    if timeline.rest_s.abs() < 0.0005 * timeline.seconds {
        return String::new();
    }
    let rest = span(timeline.rest_s.abs());
    page::note(&if timeline.rest_s > 0.0 {
        format!(
            "The last stage has less to do than the others; the step is priced as if it had as much, {rest} longer."
        )
    } else {
        format!(
            "The schedule as drawn takes {rest} longer than the step is priced at, whose passes are taken as equally long."
        )
    })
}

fn layouts(run: &Run<'_>) -> String {
    let found = run.found;
    let heads = [
        Cell::number("step"),
        Cell::number("MFU"),
        Cell::number("memory"),
        Cell::words("layout"),
        Cell::soft("against the first"),
    ];
    let row = |candidate: &Candidate| {
        let why = found.best.first().map_or_else(String::new, |first| difference(first, candidate));
        let mfu = run.mfu(&candidate.layout, &candidate.time);
        vec![
            Cell::number(span(candidate.time.seconds)),
            Cell::number(mfu.map_or_else(|| "–".to_owned(), |mfu| format!("{:.1} %", 100.0 * mfu))),
            Cell::number(size(candidate.memory.total())),
            Cell::words(candidate.layout.to_string()),
            Cell::soft(why),
        ]
    };
    let rows: Vec<Vec<Cell>> = found.best.iter().map(row).collect();
    let lead = format!(
        "{} of {} layouts fit; the last column says in which part a layout loses most against the first.",
        found.fitting_count, found.layout_count
    );
    page::section("Best layouts", &lead, &page::table(&heads, &rows, 1))
}

fn assumed(run: &Run<'_>, assumed: &[Assumption]) -> String {
    let mut rows: Vec<Vec<Cell>> = assumed
        .iter()
        .map(|one| {
            vec![
                Cell::text(format!("{} {}", one.subject, one.what)),
                Cell::text(&one.value),
                Cell::soft(&one.why),
            ]
        })
        .collect();
    rows.push(vec![
        Cell::text("program"),
        Cell::text(&run.framework.title),
        Cell::soft("what it hides and fuses was fitted on published steps"),
    ]);
    rows.push(vec![
        Cell::text("interval"),
        Cell::text("90 %"),
        Cell::soft("nine of ten published runs were within it"),
    ]);
    page::section("What was assumed", "", &page::table(&[], &rows, 0))
}
