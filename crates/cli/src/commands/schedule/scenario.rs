//! A scenario under policies.

use std::path::Path;

use weft_base::{Diagnostic, Severity, nearest};
use weft_catalogue::Catalogue;
use weft_formats::Source;
use weft_formats::traces::{self, JobLine};
use weft_scheduler::scenario::{Scenario, scenario, tiresias_jobs, tiresias_nodes};
use weft_scheduler::world::Stories;

use super::{Args, Format, strategies, usage};
use crate::codes::NO_SUCH_JOB;
use crate::commands::Answer;
use crate::exit::{Exit, Failure};
use crate::schedule::compare::{self, Comparison};
use crate::{input, json, report};

/// What the files of a command line are.
#[derive(Default)]
struct Given {
    /// Scenarios in TOML; one is wanted.
    scenarios: Vec<Source>,
    tables: Vec<(Source, Vec<JobLine>)>,
    findings: Vec<Diagnostic>,
}

/// Plays a scenario.
pub fn run(args: &Args) -> Result<Answer, Failure> {
    let given = read(args)?;
    let sources =
        || given.scenarios.iter().chain(given.tables.iter().map(|(source, _)| source)).cloned().collect();
    let [file] = given.scenarios.as_slice() else {
        let hint = "name one scenario in TOML, and beside it tables of jobs that end in `.csv`";
        return Err(usage("exactly one scenario is played", hint));
    };
    let tables: Vec<(&str, &[JobLine])> =
        given.tables.iter().map(|(source, rows)| (source.name.as_str(), rows.as_slice())).collect();
    let read = scenario((&file.name, &file.text), &tables, Catalogue::embedded());
    let (scenario, more) = read.map_err(|findings| {
        Failure::because(Exit::BadInput, format!("read {}", file.name), findings, sources())
    })?;
    let findings: Vec<Diagnostic> = given.findings.iter().cloned().chain(more).collect();
    let names = if args.policy.is_empty() { &scenario.policies } else { &args.policy };
    let strategies = strategies(names)?;
    let explain = args.explain.as_deref().or(scenario.explain.as_deref());
    let explain = explain.map(|name| known_job(&scenario, name)).transpose()?;
    let stories = explain.map_or(Stories::None, |name| Stories::Of(vec![name.to_owned()]));
    let runs = compare::play(&scenario, &strategies, &stories);
    let comparison = Comparison { scenario: &scenario, runs: &runs, explain };
    let talk = report::findings(&findings, &sources());
    let answer = match args.format {
        Format::Json => Answer::plain(json::text(&json::schedule_run::document(&comparison, &findings))),
        Format::Csv => Answer::plain(compare::csv(&comparison)),
        Format::Svg => Answer::plain(compare::svg(&comparison)),
        Format::Html => Answer::plain(compare::html(&comparison)),
        Format::Text => Answer::text(compare::text(&comparison)),
    };
    Ok(Answer { talk, ..answer })
}

/// The job whose story is asked for, by its own name or that of a row of one job.
fn known_job<'s>(scenario: &'s Scenario, name: &str) -> Result<&'s str, Failure> {
    let names = || scenario.loads.iter().map(|load| load.job.name.as_str());
    if let Some(found) = names().find(|known| *known == name) {
        return Ok(found);
    }
    let near = nearest(name, names(), 3);
    let hint = if near.is_empty() {
        format!("jobs are {}", names().take(8).collect::<Vec<_>>().join(", "))
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    let why = Diagnostic::error(NO_SUCH_JOB, format!("there is no job `{name}`")).hint(hint);
    Err(Failure::new(Exit::Usage, "tell the story of a job", why))
}

fn read(args: &Args) -> Result<Given, Failure> {
    let mut given = Given::default();
    for path in &args.sources {
        let source = input::file(path, false)?.source;
        if is_table(path) {
            table(source, &mut given)?;
        } else {
            given.scenarios.push(source);
        }
    }
    Ok(given)
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

/// A table: of jobs as Weftwork or Tiresias write them, or of the nodes of a Tiresias trace.
fn table(source: Source, given: &mut Given) -> Result<(), Failure> {
    let refused = |findings: Vec<Diagnostic>, source: Source| {
        Failure::because(Exit::BadInput, format!("read {}", source.name), findings, vec![source])
    };
    let head = source.text.lines().next().unwrap_or_default().to_owned();
    let has = |column: &str| head.split(',').any(|name| name.trim() == column);
    if has("num_node_p_switch") {
        match traces::tiresias_cluster(&source.name, &source.text) {
            Ok(cluster) => given.scenarios.push(Source::file(source.name, tiresias_nodes(&cluster))),
            Err(why) => return Err(refused(vec![why], source)),
        }
        return Ok(());
    }
    let (rows, findings) = if has("job_id") {
        let found = traces::tiresias(&source.name, &source.text);
        (tiresias_jobs(&found.rows), found.diagnostics)
    } else {
        let found = traces::jobs(&source.name, &source.text);
        (found.rows, found.diagnostics)
    };
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(refused(findings, source));
    }
    given.findings.extend(findings);
    given.tables.push((source, rows));
    Ok(())
}
