use weft_base::{Bytes, Rate, Span};
use weft_catalogue::Catalogue;

use crate::evidence::{Benchmark, Evidence, Report};
use crate::format::Source;
use crate::read;

fn found(text: &str) -> (Vec<Benchmark>, Vec<Report>) {
    let (mut tables, mut reports) = (Vec::new(), Vec::new());
    for evidence in read(&Source::file("t", text), Catalogue::embedded(), None).evidence {
        if let Evidence::Benchmark(table) = evidence.value {
            tables.push(*table);
        } else if let Evidence::Report(report) = evidence.value {
            reports.push(*report);
        }
    }
    (tables, reports)
}

#[test]
fn a_markdown_table_of_sizes_is_one_benchmark_per_column() {
    let text = "| Message Size | New (GB/s) | Old (Gb/s) |\n| --- | --- | --- |\n| 64K | 3.5 | 20 |\n| 1M | 52 | 80 |\n";
    let (tables, _) = found(text);
    let [new, old] = &tables[..] else { panic!("{tables:?}") };
    assert_eq!((new.operation.as_deref(), old.operation.as_deref()), (Some("New"), Some("Old")));
    assert_eq!((new.rows[0].bytes, new.rows[1].bytes), (Bytes::new(65_536), Bytes::new(1 << 20)));
    // 80 Gb/s are 10 GB/s.
    assert_eq!(
        (new.rows[1].busbw, old.rows[1].busbw),
        (Some(Rate::from_gigabytes(52.0)), Some(Rate::from_gigabytes(10.0)))
    );
}

#[test]
fn columns_of_a_sweep_are_read_though_their_units_stand_elsewhere() {
    let text = "size\ttype\tredop\tbusbw\talgo\n(B)\t(us)\t(GB/s)\t(GB/s)\t\n1024\tfloat\tsum\t1.5\tTREE\n2048\tfloat\tsum\t3\tRING\n";
    let (tables, _) = found(text);
    assert_eq!((tables.len(), tables[0].rows.len()), (1, 2));
    assert_eq!(tables[0].rows[1].busbw, Some(Rate::from_gigabytes(3.0)));
}

#[test]
fn algbw_and_busbw_are_of_one_run_and_labels_name_it() {
    let text = "collective,size,time (ms),algbw,busbw\nall_reduce,1048576,0.5,2.1,3.7\nall_gather,1048576,0.25,4.2,3.7\n";
    let (tables, _) = found(text);
    let [first, second] = &tables[..] else { panic!("{tables:?}") };
    assert_eq!(
        (first.collective.as_deref(), second.collective.as_deref()),
        (Some("all-reduce"), Some("all-gather"))
    );
    assert_eq!(
        (first.rows[0].time, first.rows[0].algbw),
        (Some(Span::from_microseconds(500.0)), Some(Rate::from_gigabytes(2.1)))
    );
}

#[test]
fn a_table_without_sizes_and_a_list_become_reports() {
    let (_, reports) =
        found("| | X (GB/s) |\n|---|---|\n| Host to Device | 52 |\n| Device to Host | 50.5 |\n");
    assert_eq!(reports[0].records[0].subject, "Host to Device");
    assert_eq!(
        reports[0].records[1].fields[0].value,
        crate::evidence::Value::Rate(Rate::from_gigabytes(50.5))
    );
    let (_, reports) = found("before_Gbps: 104\nafter_Gbps: 65\n");
    // 104 Gb/s are 13 GB/s.
    assert_eq!(
        reports[0].records[0].fields[0].value,
        crate::evidence::Value::Rate(Rate::from_gigabytes(13.0))
    );
}

#[test]
fn prose_is_no_table() {
    for text in [
        "we reach 40 GB/s | sometimes\nand 2 more",
        "size matters: 3 GB/s\nor so\n",
        "busbw size\nis small\n",
    ] {
        let (tables, reports) = found(text);
        assert!(tables.is_empty() && reports.is_empty(), "{text}");
    }
}
