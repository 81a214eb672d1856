//! Fits the constants of training steps to published rows, and shows how well each file comes out:
//! `cargo run --release -p weft-predictor --example fit_steps FOLDER [ROUNDS] [TABLE/ROW=VALUE] [FRAMEWORK/SHARE=VALUE]…`. With `ROWS=1` in the
//! environment every row is printed with where its time goes, with `RATIOS=1` every scaling ratio and pair.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a tool of those who fit the model")]
#![expect(clippy::cast_precision_loss, reason = "counts of rows")]

use std::collections::BTreeMap;
use std::error::Error;

use weft_catalogue::Catalogue;
use weft_predictor::train::published::{Published, StepKind, read};
use weft_predictor::train::{Pricer, Site, StepTime, Tables, score};
use weft_topology::oneliner;

type Sites<'c> = BTreeMap<String, Site<'c>>;

/// Rows of `step-time` that are fitted.
fn fitted(table: &str) -> bool {
    table == "multiply"
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name the folder of published measurements")?;
    let rest: Vec<String> = arguments.collect();
    let rounds: u32 = rest.first().and_then(|text| text.parse().ok()).unwrap_or(0);
    let embedded = Catalogue::embedded();
    let mut constants = embedded.clone();
    for change in rest.iter().filter(|text| text.contains('=')) {
        set(&mut constants, change)?;
    }
    let rows = rows(&folder, embedded)?;
    let mut sites = Sites::new();
    for row in &rows {
        if !sites.contains_key(&row.machine) {
            let machine = oneliner::parse(&row.machine, embedded).map_err(|error| error.message)?;
            sites.insert(row.machine.clone(), Site::new(&machine, embedded)?);
        }
    }
    let mut best = loss(&rows, &sites, &constants);
    for round in 0..rounds {
        best = improve(&rows, &sites, &mut constants, best);
        println!("round {round}: {best:.4}");
    }
    if rounds > 0 {
        print_tables(&constants);
    }
    report(&rows, &sites, &constants);
    if std::env::var_os("RATIOS").is_some() {
        print_ratios(&rows, &sites, &constants);
        print_copies(&folder, embedded)?;
    }
    Ok(())
}

fn set(catalogue: &mut Catalogue, change: &str) -> Result<(), Box<dyn Error>> {
    let (name, value) = change.split_once('=').ok_or("TABLE/ROW=VALUE")?;
    let (table, row) = name.split_once('/').ok_or("TABLE/ROW=VALUE")?;
    if let Some(framework) = catalogue.frameworks.iter_mut().find(|framework| framework.name == table) {
        if row == "kernel_gap" {
            framework.kernel_gap.value = value.parse()?;
            return Ok(());
        }
        if row == "multiply_factor" {
            if let Some(factor) = &mut framework.multiply_factor {
                factor.value = value.parse()?;
            }
            return Ok(());
        }
        let fact = match row {
            "eager_bytes" => &mut framework.eager_bytes,
            "tensor_hidden" => &mut framework.tensor_hidden,
            "data_hidden" => &mut framework.data_hidden,
            "shard_hidden" => &mut framework.shard_hidden,
            _ => return Err("no such share of a framework".into()),
        };
        fact.value = value.parse()?;
        return Ok(());
    }
    let library =
        catalogue.libraries.iter_mut().find(|library| library.name == "step-time").ok_or("step-time")?;
    let table = library.tables.get_mut(table).ok_or("no such table")?;
    table.rows.insert(row.to_owned(), vec![value.parse()?]);
    Ok(())
}

fn rows(folder: &str, catalogue: &Catalogue) -> Result<Vec<Published>, Box<dyn Error>> {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if name.starts_with("train_") && path.extension().is_some_and(|extension| extension == "csv") {
            let (rows, _, _) = read(&name, &std::fs::read_to_string(&path)?, catalogue);
            all.extend(rows);
        }
    }
    Ok(all)
}

/// Predicted over measured; `None` without a prediction.
fn ratio(row: &Published, sites: &Sites<'_>, constants: &Catalogue) -> Option<f64> {
    Some(step(row, sites, constants)?.seconds / row.step_s)
}

fn step(row: &Published, sites: &Sites<'_>, constants: &Catalogue) -> Option<StepTime> {
    let framework = constants.framework(&row.framework).ok()?;
    let site = sites.get(&row.machine)?;
    let pricer =
        Pricer::with_constants(site, row.layout.gpus, &row.model, (row.precision, framework), constants)
            .ok()?;
    pricer.step(&row.layout).ok()
}

/// Mean deviation of the logarithm, files weighing the same; a row counts for at most as much as half as far again.
fn loss(rows: &[Published], sites: &Sites<'_>, constants: &Catalogue) -> f64 {
    let mut files: BTreeMap<(&str, StepKind), (f64, f64)> = BTreeMap::new();
    for row in rows {
        let off = ratio(row, sites, constants).map_or(0.5, |ratio| ratio.ln().abs().min(0.5));
        let entry = files.entry((&row.file, row.kind)).or_default();
        *entry = (entry.0 + off, entry.1 + 1.0);
    }
    files.values().map(|(sum, count)| sum / count).sum::<f64>() / files.len() as f64
}

/// Moves each constant up and down by a twenty-fifth, and keeps what helps.
fn improve(rows: &[Published], sites: &Sites<'_>, constants: &mut Catalogue, mut best: f64) -> f64 {
    let at = constants.libraries.iter().position(|library| library.name == "step-time").unwrap_or_default();
    let names: Vec<(String, String)> = constants.libraries[at]
        .tables
        .iter()
        .filter(|(name, _)| fitted(name))
        .flat_map(|(name, table)| table.rows.keys().map(|row| (name.clone(), row.clone())))
        .collect();
    for (table, row) in names {
        for factor in [1.04, 1.0 / 1.04] {
            loop {
                let mut tried = constants.clone();
                if let Some(value) =
                    tried.libraries[at].tables.get_mut(&table).and_then(|table| table.rows.get_mut(&row))
                {
                    for value in value.iter_mut() {
                        *value *= factor;
                    }
                }
                let now = loss(rows, sites, &tried);
                if now >= best - 1e-6 {
                    break;
                }
                (best, *constants) = (now, tried);
            }
        }
    }
    best
}

fn print_tables(constants: &Catalogue) {
    for library in constants.libraries.iter().filter(|library| library.name == "step-time") {
        for (name, table) in library.tables.iter().filter(|(name, _)| fitted(name)) {
            for (row, values) in &table.rows {
                println!("{name}/{row} = {:.3}", values.first().copied().unwrap_or_default());
            }
        }
    }
}

fn print_parts(step: Option<StepTime>) {
    let Some(step) = step else { return };
    let parts = step.breakdown.parts().into_iter().filter(|(_, seconds)| *seconds > 0.0);
    let shares: Vec<String> = parts.map(|(part, seconds)| format!("{part} {seconds:.3}")).collect();
    println!("      {:.3} s: {}", step.seconds, shares.join(", "));
}

/// Scaling of copied models.
fn print_copies(folder: &str, catalogue: &Catalogue) -> Result<(), Box<dyn Error>> {
    let mut tables = Vec::new();
    for name in ["train_lambda_scaling_pcie_vs_nvlink.csv", "train_deeplearningexamples.csv"] {
        let path = std::path::Path::new(folder).join(name);
        if path.exists() {
            tables.push((name.to_owned(), std::fs::read_to_string(path)?));
        }
    }
    let report = Tables::of(&tables, catalogue).score(catalogue);
    for ratio in &report.copied {
        let predicted = ratio.predicted_ratio.unwrap_or(f64::NAN);
        let (file, lines) = (&ratio.file, ratio.lines);
        println!(
            "copy {:.3} {file}:{lines:?} {:.3} predicted {predicted:.3}",
            ratio.error(),
            ratio.measured_ratio
        );
    }
    println!("{:?}\n{:?}", report.copies, report.departing_copies);
    Ok(())
}

fn print_ratios(rows: &[Published], sites: &Sites<'_>, constants: &Catalogue) {
    let answer = |row: &Published| step(row, sites, constants).map(|step| step.seconds).ok_or(String::new());
    let answered: Vec<_> = rows.iter().map(|row| (row.clone(), answer(row))).collect();
    let report = score(&answered, &[], constants);
    for ratio in &report.scaled {
        let (file, lines, predicted) = (&ratio.file, ratio.lines, ratio.predicted_ratio.unwrap_or(f64::NAN));
        println!(
            "{:.3} {file}:{lines:?} {:.3} predicted {predicted:.3}",
            ratio.error(),
            ratio.measured_ratio
        );
    }
    for pair in &report.pairs {
        let (file, lines, predicted) = (&pair.file, pair.lines, pair.predicted_s.unwrap_or(f64::NAN));
        println!("pair {:.3} {file}:{lines:?} {:.3} predicted {predicted:.3}", pair.error(), pair.measured_s);
    }
    for kind in &report.kinds {
        let of = |error: Option<f64>| error.unwrap_or(f64::NAN);
        println!("{:?} {:.4} {:.4}", kind.kind, of(kind.median_error), of(kind.p90_error));
    }
    println!("{:?}\n{:?}", report.ratios, report.departing);
}

fn report(rows: &[Published], sites: &Sites<'_>, constants: &Catalogue) {
    let mut files: BTreeMap<(StepKind, &str), Vec<f64>> = BTreeMap::new();
    let print = std::env::var_os("ROWS").is_some();
    for row in rows {
        let ratio = ratio(row, sites, constants);
        if print {
            let ratio = ratio.unwrap_or(f64::NAN);
            println!(
                "{ratio:.3} {}:{} {} {:?} {} {:?} {}",
                row.file, row.line, row.model.name, row.precision, row.step_s, row.layout, row.machine
            );
            print_parts(step(row, sites, constants));
        }
        files.entry((row.kind, &row.file)).or_default().push(ratio.unwrap_or(0.0));
    }
    for ((kind, file), ratios) in files {
        let mut errors: Vec<f64> = ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let mut sorted = ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |tenths: usize, list: &[f64]| list[(list.len() - 1) * tenths / 10];
        println!(
            "{kind:?} {file}: {} rows, median {:.1} %, p90 {:.1} %, median ratio {:.3}",
            ratios.len(),
            100.0 * at(5, &errors),
            100.0 * at(9, &errors),
            at(5, &sorted)
        );
    }
}
