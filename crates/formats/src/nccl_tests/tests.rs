use weft_base::{Bytes, Rate, Span};
use weft_catalogue::Catalogue;

use crate::evidence::{Benchmark, Evidence};
use crate::format::Source;
use crate::{Reading, read};

const HEAD: &str = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n# (B) (elements) (us) (GB/s)\n";

fn reading(text: &str) -> Reading {
    read(&Source::file("t", text), Catalogue::embedded(), None)
}

fn tables(text: &str) -> Vec<Benchmark> {
    let evidence = reading(text).evidence;
    let table = |evidence| if let Evidence::Benchmark(table) = evidence { Some(*table) } else { None };
    evidence.into_iter().filter_map(|located| table(located.value)).collect()
}

fn codes(text: &str) -> Vec<&'static str> {
    reading(text).diagnostics.iter().map(|finding| finding.code.name).collect()
}

#[test]
fn a_row_gives_both_halves_with_their_units() {
    let text = format!("{HEAD} 1048576 262144 float sum -1 1000.0 1.05 1.84 0 500.0 2.10 3.67 N/A\n");
    let table = &tables(&text)[0];
    let [outside, inside] = &table.rows[..] else { panic!("{:?}", table.rows) };
    assert_eq!((outside.bytes, outside.count, outside.root), (Bytes::new(1 << 20), Some(1 << 18), None));
    assert_eq!(outside.time, Some(Span::from_microseconds(1000.0)));
    assert_eq!(
        (outside.algbw, outside.busbw),
        (Some(Rate::bytes_per_second(1_050_000_000)), Some(Rate::bytes_per_second(1_840_000_000)))
    );
    assert_eq!((outside.in_place, inside.in_place, inside.check.as_deref()), (false, true, Some("N/A")));
    // 1.84 / 1.05 lies between 1.740 and 1.766: 2 (n - 1) / n is 1.75 for 8 ranks, 1.714 for 7, 1.778 for 9; the
    // in-place half is the faster: 3.67 / 2.10 between 1.741 and 1.755.
    assert_eq!((table.collective.as_deref(), table.rank_count), (Some("all-reduce"), Some(8)));
}

#[test]
fn the_collective_follows_from_columns_and_elements_per_rank() {
    let of = |head: &str, row: &str| tables(&format!("# {head}\n{row}\n"))[0].collective.clone();
    let new = "size count type redop root time algbw busbw #wrong time algbw busbw #wrong";
    for (head, row, wanted) in [
        (new, "8000000 2000000 float sum -1 80.0 100.00 175.00 0 80.0 100.00 175.00 0", Some("all-reduce")),
        (new, "8000000 250000 float sum -1 80.0 100.00 87.50 0 80.0 100.00 87.50 0", Some("reduce-scatter")),
        (new, "8000000 250000 float none -1 80.0 100.00 87.50 0 80.0 100.00 87.50 0", Some("all-gather")),
        (new, "8000000 250000 float none -1 80.0 100.00 87.50 0 80.0 100.00 87.50 N/A", Some("all-to-all")),
        (new, "8000000 250000 float none -1 80.0 100.00 87.50 N/A 80.0 100.00 87.50 N/A", None),
        (new, "8000000 2000000 float sum 0 80.0 100.00 100.00 0 80.0 100.00 100.00 0", Some("reduce")),
        (new, "8000000 2000000 float none 0 80.0 100.00 100.00 0 80.0 100.00 100.00 0", Some("broadcast")),
        (new, "8000000 2000000 float sum -1 80.0 100.00 100.00 0 80.0 100.00 100.00 N/A", Some("send-recv")),
        (new, "8000000 2000000 float none -1 80.0 100.00 100.00 0 80.0 100.00 100.00 0", Some("send-recv")),
        (
            "size count type time algbw busbw error",
            "8000000 250000 float 80.0 100.00 87.50 N/A",
            Some("all-gather"),
        ),
        (
            "size count type redop time algbw busbw error",
            "8000000 250000 float 80.0 100.00 87.50 0e+00",
            Some("all-to-all"),
        ),
        (
            "bytes N type root time algbw busbw res",
            "8000000 2000000 float 0 80.0 100.00 100.00 0e+00",
            Some("broadcast"),
        ),
    ] {
        assert_eq!(of(head, row).as_deref(), wanted, "{row}");
    }
}

#[test]
fn prefixes_and_lines_between_rows_do_no_harm() {
    let text = "[1,0]<stdout>:# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n\
                [1,0]<stdout>:a:1:1 [0] NCCL INFO Launch mode Parallel\n\
                [1,0]<stdout>:  1000 250 float sum -1[0] 10.0 0.10 0.10 0 10.0 0.10 0.10 0\n\
                2025-01-31T10:00:00Z [1,0]<stdout>:  2000 500 float sum -1 10.0 0.20 0.20 0 10.0 0.20 0.20 0\n\
                [1,0]<stdout>:#  4000 1000 float sum -1 10.0 0.40 0.40 0 10.0 0.40 0.40 0\n\
                [1,0]<stdout>:# Avg bus bandwidth    : 0.25\n";
    let tables = tables(text);
    assert_eq!((tables.len(), tables[0].rows.len()), (1, 6));
    assert_eq!(tables[0].averages, [Rate::from_gigabytes(0.25)]);
    assert!(!codes(text).contains(&"benchmark-row-cut"));
}

#[test]
fn a_row_torn_by_a_log_line_keeps_what_came_and_takes_its_tail() {
    let text = format!(
        "{HEAD}8192 64 float none -1 106.5 0.08 0.07 0host:1:1 [0] NCCL INFO Channel 00\nhost:1:1 [0] NCCL INFO x\n  \
         2040.1 0.00 0.00 0\n16384 128 float none -1 102.8 0.16 0.15 0 104.1 0.16 0.15 0\n"
    );
    let table = &tables(&text)[0];
    let times: Vec<f64> = table.rows.iter().filter_map(|row| Some(row.time?.as_microseconds())).collect();
    assert_eq!(
        times.iter().map(|time| (time * 10.0).round() / 10.0).collect::<Vec<_>>(),
        [106.5, 2040.1, 102.8, 104.1]
    );
    assert_eq!(table.rows[1].line, 5);
    assert!(codes(&text).contains(&"benchmark-row-cut"));
}

#[test]
fn runs_of_one_size_each_make_one_table_and_other_runs_do_not() {
    let run = |size: u32, gpu: &str| {
        format!(
            "# nThread 1 nGpus 2 minBytes {size} maxBytes {size} step: 2(factor)\n# Using devices\n\
             #   Rank  0 Pid {size} on a device  0 [0x01] {gpu}\n#   Rank  1 Pid {size} on a device  1 [0x02] {gpu}\n\
             # size count type redop time algbw busbw error\n{size} {} float sum 10.0 {:.2} {:.2} N/A\n\
             # Avg bus bandwidth : 0.1\n",
            size / 4,
            f64::from(size) / 1e4,
            f64::from(size) / 1e4
        )
    };
    let joined = tables(&(run(1000, "X") + &run(2000, "X") + &run(4000, "X")));
    assert_eq!((joined.len(), joined[0].rows.len(), joined[0].averages.len()), (1, 3, 3));
    assert_eq!((joined[0].rank_count, joined[0].hosts(), joined[0].gpus()), (Some(2), vec!["a"], vec!["X"]));
    assert_eq!(tables(&(run(1000, "X") + &run(2000, "Y"))).len(), 2);
    assert_eq!(tables(&(run(2000, "X") + &run(1000, "X"))).len(), 2);
}

#[test]
fn headings_of_a_web_page_lose_their_marks() {
    let text = " nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 direction: H2D\n Using devices\n  \
                Rank  0 Group  0 Pid    127 on node-0 device  0 [0x00] NVIDIA A10G\n  size  count  type  redop  root  \
                time  algbw  busbw #wrong  time  algbw  busbw #wrong\n";
    let table = &tables(text)[0];
    assert_eq!((table.rank_count, table.ranks[0].host.as_deref()), (Some(1), Some("node-0")));
    let parameter = |name: &str| {
        table.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    };
    assert_eq!(
        (parameter("warmup iters"), parameter("direction"), parameter("step")),
        (Some("5"), Some("H2D"), Some("2(factor)"))
    );
    assert_eq!(codes(text), ["rank-alone"]);
}

#[test]
fn strange_numbers_are_survived() {
    for row in [
        "99999999999999999999 1 float sum -1 1 1 1 0",
        "8 99999999999999999999 float sum -1 1 1 1 0",
        "18446744073709551615 18446744073709551615 float sum -1 1e308 1e308 1e308 0 0 0 0 0",
        "8 0 float sum 4294967296 nan inf -1 N/A",
        "8 2 float",
        "8 2 float é",
    ] {
        let _ = reading(&format!("{HEAD}{row}\n"));
    }
    let rank = "#  Rank 4294967295 Group 0 Pid 1 on a device 0 [0x01] X\n";
    assert_eq!(tables(&format!("{rank}{HEAD}"))[0].rank_count, Some(1));
}
