//! The public cases once more, damaged as what people paste is: put into one text, behind prefixes, with lines of an
//! application between, cut, mangled by terminals and mail, under other names. A sample by default;
//! `DAMAGE=all cargo test -p weft-doctor --test all -- --nocapture damage` takes all cases, `DAMAGE=prefix` the kinds of
//! damage whose names begin so, and both name the cases that broke.

use std::env;
use std::thread;

use weft_base::Severity;
use weft_doctor::{Confidence, Diagnosis};
use weft_formats::Source;

use crate::cases::{Notes, Outcome, StoredCase, outcome_of, stored, words};
use crate::common;

/// Cases of a kind of damage in the quick run.
const SAMPLE: usize = 12;
/// Points of a hundred that a share may fall below what was measured: two cases, since cases come and go.
const MARGIN_PERCENT: usize = 17;

/// One way in which texts suffer on their way.
struct Damage {
    name: &'static str,
    /// Of the sample's cases told first undamaged, how many of a hundred were so still.
    kept_percent: usize,
    is_cut: bool,
    apply: fn(Vec<Source>, &mut Chance) -> Vec<Source>,
}

const DAMAGES: &[Damage] = &[
    damage("paste", 91, paste),
    damage("prefix-mpi", 100, |files, _| prefixed(files, "[1,0]<stdout>:")),
    damage("prefix-rank", 100, |files, _| prefixed(files, " 0: ")),
    damage("prefix-host", 100, |files, _| prefixed(files, "node17: ")),
    damage("prefix-kubernetes", 100, |files, _| prefixed(files, "2026-03-01T10:00:00.123456789Z stdout F ")),
    damage("prefix-journal", 91, |files, _| prefixed(files, "Mar 01 10:00:00 node17 app[123]: ")),
    damage("noise", 100, noise),
    Damage { is_cut: true, ..damage("cut", 83, cut) },
    damage("crlf", 100, |files, _| by_line(files, |line| format!("{line}\r"))),
    damage("tabs-to-blanks", 100, |files, _| by_line(files, |line| line.replace('\t', "    "))),
    damage("colours", 100, |files, _| by_line(files, |line| format!("\u{1b}[32m{line}\u{1b}[0m"))),
    damage("fences", 100, |files, _| by_text(files, |text| format!("Here it is:\n\n```\n{text}\n```\n"))),
    damage("quoted", 100, |files, _| prefixed(files, "> ")),
    damage("names", 100, renamed),
];

const fn damage(
    name: &'static str,
    kept_percent: usize,
    apply: fn(Vec<Source>, &mut Chance) -> Vec<Source>,
) -> Damage {
    Damage { name, kept_percent, is_cut: false, apply }
}

/// Chance that a seed settles.
struct Chance(u64);

impl Chance {
    fn of(case: &str, kind: &str) -> Self {
        let bytes = case.bytes().chain([0]).chain(kind.bytes());
        Self(
            bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            }),
        )
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(count.max(1)).unwrap()).unwrap()
    }
}

/// Documents are passed on whole.
fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['<', '{'])
}

fn by_text(files: Vec<Source>, change: impl Fn(&str) -> String) -> Vec<Source> {
    files.into_iter().map(|file| Source::file(file.name, change(&file.text))).collect()
}

fn by_line(files: Vec<Source>, change: impl Fn(&str) -> String) -> Vec<Source> {
    by_text(files, |text| {
        let lines: Vec<String> = text.lines().map(&change).collect();
        lines.join("\n") + "\n"
    })
}

fn prefixed(files: Vec<Source>, prefix: &str) -> Vec<Source> {
    let (documents, texts) = files.into_iter().partition(|file| is_document(&file.text));
    let mut texts = by_line(texts, |line| format!("{prefix}{line}"));
    texts.extend::<Vec<Source>>(documents);
    texts
}

/// All files in one text, in any order.
fn paste(mut files: Vec<Source>, chance: &mut Chance) -> Vec<Source> {
    for last in (1..files.len()).rev() {
        files.swap(last, chance.below(last + 1));
    }
    let texts: Vec<String> = files.into_iter().map(|file| file.text).collect();
    vec![Source::file("paste.txt", texts.join("\n"))]
}

/// Lines of an application between any two lines.
fn noise(files: Vec<Source>, chance: &mut Chance) -> Vec<Source> {
    const LINES: [&str; 5] = [
        "INFO:trainer:step 1180 loss 2.3172 lr 3.0e-04",
        "W0301 10:00:00.412000 4242 torch/distributed/run.py:793] Setting OMP_NUM_THREADS to 1",
        "[rank0]: saving checkpoint to /ckpt/step_1180 (12.4 GB)",
        "2026-03-01 10:00:00,318 - dataloader - WARNING - worker 3 is slow",
        "warnings.warn(\"None of the inputs have requires_grad=True.\")",
    ];
    let mut one = |file: Source| {
        if is_document(&file.text) {
            return file;
        }
        let mut lines = Vec::new();
        for line in file.text.lines() {
            lines.push(line);
            if chance.below(8) == 0 {
                lines.push(LINES[chance.below(LINES.len())]);
            }
        }
        let text = lines.join("\n") + "\n";
        Source::file(file.name, text)
    };
    files.into_iter().map(&mut one).collect()
}

/// Without the last third of each text.
fn cut(files: Vec<Source>, _: &mut Chance) -> Vec<Source> {
    by_text(files, |text| {
        let mut end = text.len() * 2 / 3;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text[..end].to_owned()
    })
}

/// Under names that say nothing; the folders, which name hosts, stay.
fn renamed(files: Vec<Source>, _: &mut Chance) -> Vec<Source> {
    let one = |(index, file): (usize, Source)| {
        let folder = file.name.rfind('/').map_or("", |at| &file.name[..=at]);
        Source::file(format!("{folder}attachment-{index}"), file.text)
    };
    files.into_iter().enumerate().map(one).collect()
}

/// What a damaged case came to.
struct Told {
    outcome: Outcome,
    line: String,
    falsehoods: Vec<String>,
}

fn tell(case: &StoredCase, damage: &Damage) -> Told {
    let mut chance = Chance::of(&case.name, damage.name);
    let diagnosis = common::examine(&(damage.apply)(case.files.clone(), &mut chance));
    let outcome = outcome_of(&case.notes, &diagnosis);
    let line = format!(
        "  {:<18} {:<44} {:<24} {outcome:?}: {}",
        damage.name,
        case.name,
        case.notes.cause,
        words(&diagnosis).join(", ")
    );
    Told { outcome, line, falsehoods: falsehoods(case, damage, &diagnosis) }
}

/// What no damage may make the doctor say.
fn falsehoods(case: &StoredCase, damage: &Damage, diagnosis: &Diagnosis) -> Vec<String> {
    let Notes { cause, may, certain, absent, .. } = &case.notes;
    let mut found = Vec::new();
    for finding in diagnosis.findings.iter().filter(|finding| finding.severity > Severity::Note) {
        let word = finding.cause.word.to_owned();
        let is_allowed = may.contains(&word);
        let is_known = *cause == word || is_allowed || certain.contains(&word);
        let told = || format!("{} {}: {word}: {}", damage.name, case.name, finding.what);
        if finding.confidence == Confidence::Certain && !is_known {
            found.push(format!("certain: {}", told()));
        }
        if absent.contains(&word) {
            found.push(format!("absent: {}", told()));
        }
        if cause == "healthy" && !diagnosis.is_healthy() && !(damage.is_cut && is_allowed) {
            found.push(format!("healthy: {}", told()));
        }
    }
    found
}

/// The cases that a kind of damage is tried on: all, or those that a seed settles.
fn chosen<'c>(cases: &'c [StoredCase], damage: &Damage, are_all: bool) -> Vec<&'c StoredCase> {
    let mut chosen: Vec<&StoredCase> = cases.iter().collect();
    if !are_all {
        chosen.sort_by_key(|case| Chance::of(&case.name, damage.name).next());
        chosen.truncate(SAMPLE);
    }
    chosen
}

/// What `f` makes of each, by two threads, in order.
fn by_two<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (front, back) = items.split_at(items.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| back.iter().map(&f).collect::<Vec<R>>());
        let mut all: Vec<R> = front.iter().map(&f).collect();
        all.extend(other.join().unwrap());
        all
    })
}

/// What the developer's shell asks for.
#[expect(clippy::disallowed_methods, reason = "how much is tried is asked of the developer's shell")]
fn asked() -> Option<String> {
    env::var("DAMAGE").ok()
}

#[test]
fn damage_makes_no_falsehood_and_takes_few_causes() {
    let asked = asked();
    let wanted = asked.as_deref().filter(|asked| *asked != "all").unwrap_or_default();
    let mut cases = stored();
    cases.retain(|case| case.notes.expressible);
    // What is not told of the whole case is no loss.
    let sound =
        by_two(&cases, |case| outcome_of(&case.notes, &common::examine(&case.files)) == Outcome::First);
    let mut sound = sound.into_iter();
    cases.retain(|_| sound.next().unwrap_or_default());
    let (mut lines, mut broken) = (Vec::new(), Vec::new());
    for damage in DAMAGES.iter().filter(|damage| damage.name.starts_with(wanted)) {
        let told = by_two(&chosen(&cases, damage, asked.is_some()), |case| tell(case, damage));
        let count = |wanted: Outcome| told.iter().filter(|told| told.outcome == wanted).count();
        let first = count(Outcome::First);
        println!(
            "{:<18} {first} of {} first, {} among three, {} silent, {} wrong",
            damage.name,
            told.len(),
            count(Outcome::AmongThree),
            count(Outcome::Silent),
            count(Outcome::Wrong)
        );
        // The shares were measured of the sample.
        let floor_percent = damage.kept_percent.saturating_sub(MARGIN_PERCENT);
        if asked.is_none() && first * 100 < told.len() * floor_percent {
            broken.push(format!("{}: {first} of {} are still first", damage.name, told.len()));
        }
        broken.extend(told.iter().flat_map(|told| told.falsehoods.clone()));
        lines.extend(told.into_iter().filter(|told| told.outcome != Outcome::First).map(|told| told.line));
    }
    if asked.is_none() {
        lines.clear();
    }
    println!("{}\n{}", lines.join("\n"), broken.join("\n"));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
