//! What `weft plan` prints for a reader.

use std::fmt::Write as _;

use weft_base::Bytes;
use weft_collective::{Buffer, Collective, Layout, Plan, Proof, Rank, Unsuitable};

use super::{Answers, Counted, Studied, Timed, Verdict, folded};
use crate::names;
use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// One plan in full.
pub fn one(answers: &Answers, studied: &Studied, machine: &str) -> String {
    let mut sections = vec![opening(answers, studied, machine), facts(answers, studied), phases(studied)];
    sections.extend(answers.rank.map(|rank| operations(&studied.candidate.plan, rank)));
    sections.push(proof(&studied.verdict));
    sections.extend(time(answers, studied));
    sections.extend(limit(answers));
    sections.join("\n")
}

/// Several plans beside each other.
pub fn several(answers: &Answers, machine: &str) -> String {
    let mut sections = vec![format!("{}{machine}\n", heading(title(answers))), table(answers)];
    sections.extend(unsuited(answers));
    sections.extend(limit(answers));
    let more = "`--algorithm NAME` shows one of them in full, `--to msccl-algorithm` writes it for a runtime";
    sections.push(format!("{}\n", faint(more)));
    sections.join("\n")
}

fn title(answers: &Answers) -> String {
    let what = answers.call.collective.name();
    let place = if answers.call.in_place { ", in place," } else { "" };
    let size = match answers.call.collective {
        // It moves nothing.
        Collective::Barrier => String::new(),
        Collective::AllReduce
        | Collective::AllGather
        | Collective::ReduceScatter
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::AllToAll
        | Collective::SendRecv => format!(" {}", answers.size),
    };
    format!("{what}{size}{place} over {}", names::count(answers.ranks as usize, "GPU"))
}

fn opening(answers: &Answers, studied: &Studied, machine: &str) -> String {
    let candidate = &studied.candidate;
    let name = heading(format!("{}: {}", candidate.name, title(answers)));
    format!("{name}{machine}\n  {}\n", faint(&candidate.title))
}

/// `7`, `3 to 7`.
fn range<T: PartialEq + ToString>((least, most): &(T, T)) -> String {
    if least == most { least.to_string() } else { format!("{} to {}", least.to_string(), most.to_string()) }
}

fn facts(answers: &Answers, studied: &Studied) -> String {
    let (plan, counted) = (&studied.candidate.plan, &studied.counted);
    let layout = Layout::new(&answers.call, plan.ranks, plan.pieces);
    let channels: std::collections::BTreeSet<u16> =
        plan.threads.iter().flatten().map(|phase| phase.channel_of(Rank::new(0))).collect();
    let mut table = Table::default();
    let mut row = |name: &str, value: String| table.row([Cell::new(name), Cell::new(value)]);
    let threads = names::count(plan.threads.len(), "thread");
    row("channels", format!("{} on {threads} of each rank", channels.len()));
    let blocks = layout.blocks(Buffer::Output).max(layout.blocks(Buffer::Input));
    row("blocks", format!("{blocks} of {}", block_sizes(&layout, blocks)));
    if plan.scratch > 0 {
        row("scratch", format!("{} of as many blocks", names::count(usize::from(plan.scratch), "buffer")));
    }
    let each = if counted.is_of_all { "of each rank" } else { "of rank 0; not counted for the others" };
    row("steps", format!("{} {each}", range(&counted.steps)));
    row("messages", messages(counted, &studied.verdict));
    row("sent by a rank", sent(counted, &studied.verdict));
    table.lines()
}

/// The size of a block, or of the smallest and the largest.
fn block_sizes(layout: &Layout<'_>, blocks: u32) -> String {
    let buffer = if layout.blocks(Buffer::Output) == blocks { Buffer::Output } else { Buffer::Input };
    let size = |block| Bytes::new(layout.block_bytes(buffer, Rank::new(0), block));
    if layout.is_even() {
        return size(0).to_string();
    }
    let sizes = || (0..layout.pieces()).map(size);
    range(&(sizes().min().unwrap_or_default(), sizes().max().unwrap_or_default()))
}

fn messages(counted: &Counted, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Right(Proof { message_count, chain, .. }) => {
            format!("{message_count} of all ranks, {chain} in the longest chain of waiting")
        }
        Verdict::Wrong(_) | Verdict::Unchecked(_) => format!("{} of all ranks", counted.message_count),
    }
}

fn sent(counted: &Counted, verdict: &Verdict) -> String {
    let sent = range(&counted.sent);
    match verdict {
        Verdict::Right(proof) => {
            let help = match (proof.bound.assistance.multicast, proof.bound.assistance.reduction) {
                (false, false) => "",
                (true, false) => " with switches that copy",
                (false, true) => " with switches that add",
                (true, true) => " with switches that add and copy",
            };
            format!("{sent}; some rank must send {}{help}", proof.bound.sent.most)
        }
        Verdict::Wrong(_) | Verdict::Unchecked(_) => sent,
    }
}

fn phases(studied: &Studied) -> String {
    let mut text = format!("{}\n", heading("Phases"));
    for fold in folded(&studied.candidate.plan) {
        let threads: Vec<String> = fold.threads.iter().map(usize::to_string).collect();
        let noun = if threads.len() == 1 { "thread" } else { "threads" };
        let first = fold.phases.first().map_or(0, |phase| phase.channel);
        let place = match fold.threads.as_slice() {
            [_] => format!("on channel {first}"),
            _ => format!("alike; the first on channel {first}"),
        };
        let _ = writeln!(text, "  {noun} {} {place}", names::first_ranges(&threads));
        let mut table = Table::default();
        for phase in &fold.phases {
            let steps = if phase.steps == (1, 1) { "step" } else { "steps" };
            table.row([
                Cell::number(format!("  {} {steps}", range(&phase.steps))),
                Cell::new(phase.movement).tone(Tone::Heading),
                Cell::new(&phase.groups),
                Cell::new(&phase.window).tone(Tone::Faint),
            ]);
        }
        text.push_str(&table.lines());
    }
    text
}

fn operations(plan: &Plan, rank: Rank) -> String {
    let mut text = format!("{}\n", heading(format!("Rank {rank}")));
    let threads = u16::try_from(plan.threads.len()).unwrap_or(u16::MAX);
    for thread in 0..threads {
        let (mut walk, mut ops, mut step) = (plan.steps(rank, thread), Vec::new(), 0_u32);
        let mut table = Table::default();
        let mut on = None;
        while let Some(channel) = walk.next_into(&mut ops) {
            on.get_or_insert(channel);
            for (number, op) in ops.drain(..).enumerate() {
                let step = if number == 0 { format!("  step {step}") } else { String::new() };
                table.row([Cell::number(step).tone(Tone::Faint), Cell::new(op.to_string())]);
            }
            step += 1;
        }
        if let Some(channel) = on {
            let _ = writeln!(text, "  thread {thread} on channel {channel}");
            text.push_str(&table.lines());
        }
    }
    text
}

fn proof(verdict: &Verdict) -> String {
    let words = match verdict {
        Verdict::Right(proof) => {
            let buffers = if proof.rendezvous {
                "no message needs to be buffered"
            } else {
                "messages must be buffered: some ranks send before their receivers receive"
            };
            format!("right, in every order of events; {buffers}")
        }
        Verdict::Wrong(violation) => format!("wrong: {violation}"),
        Verdict::Unchecked(why) => format!("not proved: {why}"),
    };
    format!("{}: {words}\n", heading("Proof"))
}

fn time(answers: &Answers, studied: &Studied) -> Option<String> {
    let network = answers.network?;
    let words = match &studied.timed {
        Timed::Took { span, reached: None } => span.to_string(),
        Timed::Took { span, reached: Some(reached) } => {
            let share =
                share(answers, studied).map_or_else(String::new, |share| format!(", {share} of the limit"));
            format!("{span}; algbw {}, busbw {}{share}", reached.algbw, reached.busbw)
        }
        Timed::Not(why) => format!("not played: {why}"),
    };
    Some(format!("{} on the network model {network}: {words}\n", heading("Time")))
}

fn share(answers: &Answers, studied: &Studied) -> Option<String> {
    let share = studied.timed.reached()?.busbw.as_gigabytes() / answers.limit.as_ref()?.busbw.as_gigabytes();
    Some(format!("{:.1} %", share * 100.0))
}

fn limit(answers: &Answers) -> Option<String> {
    let limit = answers.limit.as_ref()?;
    let title = format!("Limit of all links together, whatever the algorithm: busbw at most {}", limit.busbw);
    Some(format!("{}\n  {}\n", heading(title), limit.derivation))
}

fn table(answers: &Answers) -> String {
    let mut table = Table::default();
    let left = |text: &str| Cell::new(text).tone(Tone::Faint);
    let right = |text: &str| Cell::number(text).tone(Tone::Faint);
    table.row([
        left("algorithm"),
        right("took"),
        right("busbw"),
        right("of the limit"),
        right("in a row"),
        right("messages"),
        right("a rank sends"),
        right("at least"),
        left("proved"),
    ]);
    for studied in &answers.plans {
        let or_dash = |text: Option<String>| Cell::number(text.unwrap_or_else(|| "-".to_owned()));
        let proof = match &studied.verdict {
            Verdict::Right(proof) => Some(proof),
            Verdict::Wrong(_) | Verdict::Unchecked(_) => None,
        };
        let took = studied.timed.span().map(|span| span.to_string());
        let proved = match &studied.verdict {
            Verdict::Right(proof) if proof.rendezvous => "yes".to_owned(),
            Verdict::Right(_) => "yes, with buffers".to_owned(),
            Verdict::Wrong(_) => "wrong".to_owned(),
            Verdict::Unchecked(_) => "too large".to_owned(),
        };
        table.row([
            Cell::new(&studied.candidate.name),
            or_dash(took).tone(Tone::Heading),
            or_dash(studied.timed.reached().map(|reached| reached.busbw.to_string())),
            or_dash(share(answers, studied)),
            or_dash(proof.map(|proof| proof.chain.to_string())),
            Cell::number(
                proof.map_or(studied.counted.message_count, |proof| proof.message_count).to_string(),
            ),
            Cell::number(studied.counted.sent.1.to_string()),
            or_dash(proof.map(|proof| proof.bound.sent.most.to_string())),
            Cell::new(proved),
        ]);
    }
    table.lines()
}

fn unsuited(answers: &Answers) -> Option<String> {
    let mut table = Table::default();
    let mut row = |name: &str, why: &str| table.row([Cell::new(name), Cell::new(why).tone(Tone::Faint)]);
    let mut others = Vec::new();
    for unsuited in &answers.unsuited {
        match &unsuited.reason {
            Unsuitable::Collective { .. } => others.push(unsuited.name),
            reason @ (Unsuitable::Ranks { .. }
            | Unsuitable::Root { .. }
            | Unsuitable::Terrain { .. }
            | Unsuitable::InPlace { .. }
            | Unsuitable::Uneven { .. }) => row(unsuited.name, &reason.to_string()),
        }
    }
    for studied in &answers.plans {
        if let Timed::Not(why) = &studied.timed {
            row(&studied.candidate.name, why);
        }
    }
    let mut text = table.lines();
    if !others.is_empty() {
        let what = answers.call.collective.name();
        let _ = writeln!(text, "  {}", faint(format!("no plan for {what}: {}", others.join(", "))));
    }
    (!text.is_empty()).then(|| format!("{}\n{text}", heading("Not here")))
}
