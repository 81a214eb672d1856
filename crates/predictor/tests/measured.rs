//! Predictions against published measurements, where the folder with those is present.

use std::path::Path;

use weft_catalogue::Catalogue;
use weft_predictor::validate::{LeftOut, Measurement, Nodes, read_rows, score};

const MIB_128: u64 = 128 << 20;

/// The files of `../shared/measured`, or nothing where that folder is absent.
#[expect(clippy::disallowed_methods, reason = "a test reads its inputs")]
fn files() -> Option<Vec<(String, Vec<Measurement>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/measured");
    let mut paths: Vec<_> =
        folder.read_dir().ok()?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("coll_") {
            let (read, _) = read_rows(&name, &std::fs::read_to_string(&path).ok()?);
            files.push((name, read.rows));
        }
    }
    Some(files)
}

#[test]
fn large_messages_on_one_server_are_within_ten_percent() {
    let Some(mut files) = files() else {
        println!("skipped: ../shared/measured is absent");
        return;
    };
    for (_, rows) in &mut files {
        let large = |row: &Measurement| row.size.is_none_or(|size| size.get() >= MIB_128);
        // The bars of one server; those of several have their own tests.
        rows.retain(|row| row.nodes == Nodes::Count(1) && !row.gpu.is_empty() && large(row));
    }
    let report = score(&files, None, Catalogue::embedded());
    let (rows, scored) = (report.kinds[0].rows, report.kinds[0].scored);
    assert!(rows >= 50, "only {rows} rows");
    assert_eq!(scored, rows);
    assert!(report.kinds[0].median_error.unwrap() <= 0.10, "{:?}", report.kinds);
    for group in &report.groups {
        for row in &group.scored {
            let factor = row.predicted.as_gigabytes() / row.measured.as_gigabytes();
            let far = !(0.5..=2.0).contains(&factor);
            assert!(!far || !row.warned.is_empty(), "{} line {}: {row:?}", group.file, row.line);
        }
    }
}

#[test]
fn a_field_that_is_no_number_is_diagnosed_with_its_line() {
    let text = "system,gpu,num_gpus,num_nodes,intra_link,collective,algo,size_bytes,time_us,algbw_GBps,busbw_GBps,software,source\n\
                \"A, B\",V100,8,1,,all_reduce,,1024,,,fast,,book\n\
                C,V100,8,1,,all_reduce,,1024,,,3.5,,book line 7\n\
                D,V100,8,2,,all_reduce,,1024,,,3.5,MSCCL++ tests,book\n";
    let (read, diagnostics) = read_rows("x.csv", text);
    assert_eq!(read.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [3]);
    assert_eq!(read.rows[0].group(), "C | all-reduce | book");
    let left_out = |why: &str| LeftOut { rows: 1, why: why.to_owned() };
    assert_eq!(read.left_out, [left_out("no time and no bandwidth"), left_out("MSCCL++, not NCCL")]);
    let shown: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["x.csv:2:1: warning[measurement-not-a-number]: `fast` in busbw_GBps is no number"]);
}

#[test]
fn a_row_without_a_prediction_stays_in_the_denominator() {
    let text = "system,gpu,num_gpus,num_nodes,intra_link,collective,size_bytes,busbw_GBps,source\n\
                A,H100,8,1,NVLink4,all_reduce,1073741824,470,book\n\
                A,Atari 2600,8,1,NVLink4,all_reduce,1073741824,470,book\n";
    let (read, _) = read_rows("x.csv", text);
    let report = score(&[("x.csv".to_owned(), read.rows)], None, Catalogue::embedded());
    let kind = &report.kinds[0];
    assert_eq!((kind.rows, kind.scored), (2, 1));
    // One of two errors is infinite: the median is still the other, nine tenths are not reached.
    assert!(kind.median_error.is_some() && kind.p90_error.is_none());
    assert!(report.groups[0].skipped[0].why.contains("Atari 2600"));
}
