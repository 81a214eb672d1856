//! What `weft simulate` prints for a reader.

use std::fmt::Write as _;

use weft_base::{Span, Time};

use super::choose::{Judged, PATIENCE};
use super::report::{Critical, JobReport, Report};
use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// Parts of a critical path that are shown.
const PARTS: usize = 6;
/// Algorithms that are named with their times beside the quickest.
const RUNNERS_UP: usize = 3;

/// The report. `cluster` and `network` say what was simulated.
pub fn text(report: &Report, cluster: &str, network: &str) -> String {
    let mut sections =
        vec![format!("{}: {cluster}\n  {}\n", heading("Simulated"), faint(network)), jobs(report)];
    for job in &report.jobs {
        sections.extend(job.critical.as_ref().map(|path| critical(job, path)));
        sections.extend(spread(job));
    }
    sections.extend(busiest(report));
    sections.extend(happened(report));
    sections.extend(losses(report));
    sections.extend(limits(report));
    sections.join("\n")
}

fn jobs(report: &Report) -> String {
    let mut table = Table::default();
    let left = |text: &str| Cell::new(text).tone(Tone::Faint);
    let right = |text: &str| Cell::number(text).tone(Tone::Faint);
    table.row([
        left("job"),
        right("ranks"),
        left("what"),
        left("algorithm"),
        right("began"),
        right("took"),
        right("algbw"),
        right("busbw"),
        right("of its limit"),
    ]);
    for job in &report.jobs {
        let times = if job.repeat > 1 { format!("{} x ", job.repeat) } else { String::new() };
        let what = format!("{times}{} {}", job.collective.name(), job.size);
        let took = job.took.map_or_else(|| "never ended".to_owned(), |took| took.to_string());
        let bandwidth = |of: fn(&super::report::Reached) -> weft_base::Rate| {
            job.reached.as_ref().map_or_else(|| "-".to_owned(), |reached| of(reached).to_string())
        };
        let share = job
            .reached
            .as_ref()
            .zip(job.limit.as_ref())
            .map(|(reached, limit)| percent(reached.busbw.as_gigabytes() / limit.busbw.as_gigabytes()));
        table.row([
            Cell::new(&job.name),
            Cell::number(job.ranks.to_string()),
            Cell::new(what),
            Cell::new(job.algorithm),
            Cell::number(job.start.to_string()),
            Cell::number(took).tone(Tone::Heading),
            Cell::number(bandwidth(|reached| reached.algbw)),
            Cell::number(bandwidth(|reached| reached.busbw)),
            Cell::number(share.unwrap_or_else(|| "-".to_owned())),
        ]);
    }
    let mut text = table.lines();
    for job in &report.jobs {
        if let Some(judged) = &job.judged {
            let _ = writeln!(text, "  {}", faint(choice(job, judged)));
        }
    }
    for job in report.jobs.iter().filter(|job| job.reruns > 0) {
        let _ = writeln!(text, "  {} was begun again {}", job.name, times(job.reruns));
    }
    for job in report.jobs.iter().filter(|job| job.noticing > Span::ZERO) {
        let _ = writeln!(text, "  {} waited {} before it noticed dead links", job.name, job.noticing);
    }
    for job in report.jobs.iter().filter(|job| job.took.is_none()) {
        let left = job.ends.iter().filter(|end| end.is_none()).count();
        let (name, stalled) = (&job.name, job.stalled);
        let _ = writeln!(
            text,
            "  {name}: {left} ranks wait for ever, with {stalled} messages on links that are down"
        );
    }
    text
}

/// Why that algorithm: `job0: ring is the quickest; double-binary-tree takes 5 ms`.
fn choice(job: &JobReport, judged: &Judged) -> String {
    let others = judged.times.iter().skip(1).take(RUNNERS_UP);
    let others: Vec<String> = others.map(|(name, span)| format!("{name} {span}")).collect();
    let (first, name) = (job.algorithm, &job.name);
    let mut text = match (judged.times.as_slice(), others.as_slice()) {
        ([], _) => format!("{name}: {first} has the fewest messages"),
        (_, []) => format!("{name}: {first} is the quickest"),
        (_, others) => format!("{name}: {first} is the quickest, before {}", others.join(", ")),
    };
    let rest = judged.times.len().saturating_sub(1 + RUNNERS_UP);
    if rest + judged.slower.len() > 0 {
        let _ = match rest {
            0 => write!(text, "; more than {PATIENCE} times as long: {}", judged.slower.join(", ")),
            _ => write!(text, "; {} others take longer", rest + judged.slower.len()),
        };
    }
    if !judged.unplayed.is_empty() {
        let _ = write!(text, "; not judged, as that would take too long: {}", judged.unplayed.join(", "));
    }
    text
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Where the time of the slowest rank went.
fn critical(job: &JobReport, path: &Critical) -> String {
    let mut text =
        format!("{} of {}: rank {} was done last\n", heading("Critical path"), job.name, path.rank);
    let mut table = Table::default();
    for part in path.parts.iter().take(PARTS) {
        let messages = match part.messages {
            0 => String::new(),
            1 => "1 message".to_owned(),
            count => format!("{count} messages"),
        };
        let shared = match part.sharing_count {
            Some(sharing) if sharing >= 1.5 => format!("shared by {sharing:.0} flows"),
            Some(_) => "alone".to_owned(),
            None => String::new(),
        };
        table.row([
            Cell::number(percent(part.span.as_seconds() / path.total.as_seconds())).tone(Tone::Heading),
            Cell::number(part.span.to_string()),
            Cell::new(&part.on),
            Cell::number(messages).tone(Tone::Faint),
            Cell::new(shared),
        ]);
    }
    text.push_str(&table.lines());
    let rest = path.parts.iter().skip(PARTS);
    let (count, span) = rest.fold((0, Span::ZERO), |(count, span), part| (count + 1, span + part.span));
    if count > 0 {
        let share = percent(span.as_seconds() / path.total.as_seconds());
        let _ = writeln!(text, "  {share} on {count} other resources");
    }
    text
}

/// When the ranks were done, where they were not done together.
fn spread(job: &JobReport) -> Option<String> {
    let mut ends: Vec<Time> = job.ends.iter().flatten().copied().collect();
    ends.sort_unstable();
    let (first, last) = (*ends.first()?, *ends.last()?);
    let middle = ends[ends.len() / 2];
    let span = |time: Time| time - job.start.min(time);
    (first != last).then(|| {
        format!(
            "{} of {}: first after {}, half after {}, last after {}\n",
            heading("Ranks"),
            job.name,
            span(first),
            span(middle),
            span(last)
        )
    })
}

fn busiest(report: &Report) -> Option<String> {
    let mut table = Table::default();
    for busy in &report.busiest {
        table.row([
            Cell::number(percent(busy.share)),
            Cell::new(&busy.name),
            Cell::new(sparkline(&busy.interval_share)).tone(Tone::Faint),
        ]);
    }
    let until = report.end;
    (!table.is_empty()).then(|| format!("{} from 0 to {until}\n{}", heading("Busiest links"), table.lines()))
}

/// Up to 32 columns, each as high as the share of its interval.
fn sparkline(shares: &[f64]) -> String {
    const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let used = shares.iter().rposition(|share| *share > 0.0).map_or(0, |last| last + 1);
    let size = used.div_ceil(32).max(1);
    let height = |chunk: &[f64]| {
        let mean = chunk.iter().sum::<f64>() / chunk.iter().map(|_| 1.0).sum::<f64>();
        let reached = |eighths: u32| mean * 8.0 + 0.5 >= f64::from(eighths);
        HEIGHTS.iter().zip(0..).filter(|(_, eighths)| reached(*eighths)).last().map_or(' ', |(high, _)| *high)
    };
    let line: String = shares[..used].chunks(size).map(height).collect();
    line.trim_end().to_owned()
}

fn happened(report: &Report) -> Option<String> {
    let mut table = Table::default();
    for (at, what) in &report.happened {
        table.row([Cell::number(at.to_string()), Cell::new(what)]);
    }
    (!table.is_empty()).then(|| format!("{}\n{}", heading("What happened"), table.lines()))
}

fn losses(report: &Report) -> Option<String> {
    let counts = report.counts;
    let mut text = String::new();
    if counts.lost_packets_count >= 0.5 {
        let again = weft_base::Bytes::new(whole(counts.sent_again_bytes));
        let _ = writeln!(
            text,
            "  {:.0} packets were lost in full buffers, {again} were sent again",
            counts.lost_packets_count
        );
    }
    if counts.victims_count > 0 {
        let _ = writeln!(
            text,
            "  messages were held up {} times by pauses that were not meant for them",
            counts.victims_count
        );
    }
    (!text.is_empty()).then(|| format!("{}\n{text}", heading("On the network")))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

fn limits(report: &Report) -> Option<String> {
    let mut text = String::new();
    for job in &report.jobs {
        if let Some(limit) = &job.limit {
            let busbw = limit.busbw;
            let _ = writeln!(text, "{} of {}: busbw at most {busbw}", heading("Limit"), job.name);
            let _ = writeln!(text, "  {}", faint(&limit.derivation));
        }
    }
    (!text.is_empty()).then_some(text)
}

fn percent(share: f64) -> String {
    if share >= 0.0995 { format!("{:.0} %", share * 100.0) } else { format!("{:.1} %", share * 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparklines_are_as_high_as_shares() {
        assert_eq!(sparkline(&[0.0, 0.5, 1.0, 0.0]), " ▄█");
        assert_eq!(sparkline(&[]), "");
        // 64 samples go into 32 columns.
        assert_eq!(sparkline(&[1.0; 64]).chars().count(), 32);
    }

    #[test]
    fn shares_have_two_figures_below_a_tenth() {
        assert_eq!(
            (percent(0.84), percent(0.05), percent(1.0)),
            ("84 %".into(), "5.0 %".into(), "100 %".into())
        );
    }
}
