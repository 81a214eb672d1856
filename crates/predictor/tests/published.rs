//! Every published training row is read, left out with the reason, or listed; machines can be built; and the score.

#![expect(clippy::disallowed_methods, reason = "tests read the folder of published measurements")]
#![expect(clippy::print_stdout, reason = "what was read and scored is worth seeing")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use weft_catalogue::Catalogue;
use weft_topology::{build, oneliner};

use weft_predictor::train::published::{Left, Published, StepKind, read};
use weft_predictor::train::{Tables, TrainReport};

fn tables() -> Option<Vec<(String, String)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/measured");
    let names = std::fs::read_dir(&folder).ok()?;
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let csv = |name: &String| Path::new(name).extension().is_some_and(|ending| ending == "csv");
    let mut names: Vec<String> = names.filter(|name| name.starts_with("train_") && csv(name)).collect();
    names.sort();
    let text = |name: String| Some((name.clone(), std::fs::read_to_string(folder.join(&name)).ok()?));
    names.into_iter().map(text).collect()
}

#[test]
fn every_published_row_is_read_left_out_or_listed() {
    let Some(tables) = tables() else {
        println!("skipped: the folder of published measurements is absent");
        return;
    };
    let catalogue = Catalogue::embedded();
    let mut report = String::new();
    let mut misfits: BTreeMap<String, u32> = BTreeMap::new();
    for (file, text) in &tables {
        let (rows, left, diagnostics) = read(file, text, catalogue);
        let lines = csv::Reader::from_reader(text.as_bytes()).records().count();
        assert_eq!(rows.len() + left.len() + diagnostics.len(), lines, "{file}");
        let out = left.iter().filter(|(_, left)| matches!(left, Left::Out { .. })).count();
        let experts = rows.iter().filter(|row| row.kind == StepKind::Experts).count();
        let (dense, unread) = (rows.len() - experts, left.len() - out);
        writeln!(
            report,
            "{file}: {lines} rows, {dense} dense, {experts} experts, {out} out, {unread} unread"
        )
        .unwrap();
        let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
        for (_, left) in &left {
            *reasons.entry(format!("{left:?}")).or_default() += 1;
        }
        for (reason, count) in reasons {
            writeln!(report, "    {count} {reason}").unwrap();
        }
        for row in &rows {
            assert!(row.step_s > 0.0 && catalogue.framework(&row.framework).is_ok(), "{file} {}", row.line);
            if let Err(misfit) = row.layout.check(&row.model) {
                *misfits.entry(format!("{file}: {} {misfit}", row.model.title)).or_default() += 1;
            }
        }
    }
    println!("{report}{misfits:#?}");
}

#[test]
fn every_machine_of_the_published_rows_can_be_built() {
    let Some(tables) = tables() else {
        println!("skipped: the folder of published measurements is absent");
        return;
    };
    let catalogue = Catalogue::embedded();
    let mut machines: BTreeSet<(String, u32)> = BTreeSet::new();
    for (file, text) in &tables {
        let rows = read(file, text, catalogue).0;
        machines.extend(rows.into_iter().map(|row| (row.machine, row.layout.gpus)));
    }
    assert!(!machines.is_empty());
    for (text, gpus) in machines {
        let mut machine =
            oneliner::parse(&text, catalogue).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let each: u32 = machine.gpus.iter().map(|group| u32::from(group.count)).sum();
        assert!(each * machine.host.count.max(1) >= gpus, "{text} has fewer than {gpus} GPUs");
        // Hosts are alike; two are enough to see that they can be built.
        machine.host.count = machine.host.count.min(2);
        build(&machine, catalogue).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[test]
#[ignore = "prices every published step; run it to see the score"]
fn score_of_every_published_row() {
    let Some(tables) = tables() else {
        println!("skipped: the folder of published measurements is absent");
        return;
    };
    let catalogue = Catalogue::embedded();
    let all = Tables::of(&tables, catalogue);
    let (report, rows) = (all.score(catalogue), &all.rows);
    print_report(&report);
    print_worst(rows);
    assert!(report.kinds.iter().all(|kind| kind.rows > 0));
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "inf".to_owned(), |value| format!("{:.1} %", 100.0 * value))
}

/// Rows that are off by more than 20 %.
fn print_worst(rows: &[(Published, Result<f64, String>)]) {
    for (row, predicted) in rows {
        let Ok(predicted) = predicted else { continue };
        let bias = predicted / row.step_s - 1.0;
        if bias.abs() > 0.2 {
            let (file, line, layout) = (&row.file, row.line, &row.layout);
            let sizes = [layout.tensor, layout.pipeline, layout.context, layout.expert, layout.micro_batch];
            println!(
                "{file}:{line} {} {:?} {} GPUs {sizes:?}: {:.3} s, off by {:.0} %",
                row.group,
                row.precision,
                layout.gpus,
                row.step_s,
                100.0 * bias
            );
        }
    }
}

fn print_report(report: &TrainReport) {
    for file in &report.files {
        let (median, p90) = (percent(file.median_error), percent(file.p90_error));
        let (bias, constant) =
            (percent(file.median_factor.map(|factor| factor - 1.0)), percent(file.constant_median_error));
        println!(
            "{:45} {:?} {:?} {}/{} median {median} p90 {p90} bias {bias} constant {constant}",
            file.file, file.kind, file.trust, file.scored, file.rows
        );
    }
    for kind in &report.kinds {
        println!(
            "{:?}: {}/{} median {} p90 {}; constant {} {}",
            kind.kind,
            kind.scored,
            kind.rows,
            percent(kind.median_error),
            percent(kind.p90_error),
            percent(kind.constant_median_error),
            percent(kind.constant_p90_error)
        );
    }
    println!("above 15 %: {:?}", report.missed);
    for (name, ratios) in [("all", &report.ratios), ("departing", &report.departing)] {
        println!("ratios, {name}: {ratios:?}");
    }
    for pair in report.pairs.iter().filter(|pair| pair.is_clear) {
        let (lines, error) = (pair.lines, percent(Some(pair.error())));
        println!(
            "{} {} {lines:?}: {} s, {:?}: {error}",
            pair.file, pair.what, pair.measured_s, pair.predicted_s
        );
    }
    for (file, line, why) in &report.unpredicted {
        println!("unpredicted: {file} {line} {why}");
    }
}
