//! `weft validate`: on a small folder of our own, and on the published measurements where they are.

mod common;

use std::path::PathBuf;

use common::{refused, stdout, weft};

const SMALL: &str = "crates/cli/tests/measured";

#[test]
fn a_small_folder_is_scored_row_by_row() {
    insta::assert_snapshot!(weft(&["validate", SMALL]), @r#"
    Published measurements against predictions: one server, a named GPU, all sizes

      kind       rows  scored  median error  90th percentile
      bandwidth     5       3         1.9 %            2.7 %
      latency       1       1         8.6 %            8.6 %

      kind       rows  median   90th  group
      bandwidth     4   1.8 %  1.9 %  Example A100 node | all-reduce | own example
      bandwidth     1   2.7 %  2.7 %  Pair | all-gather | own example
      latency       1   8.6 %  8.6 %  Example A100 node | all-reduce | own example

    Largest errors
      row               measured   predicted   error  warned of
      coll_own.csv:2  3.373 GB/s  3.663 GB/s  +8.6 %
      coll_own.csv:8     41 GB/s  39.91 GB/s  -2.7 %  bridged-pair-uncertain
      coll_own.csv:4    235 GB/s  239.4 GB/s  +1.9 %
      coll_own.csv:3    210 GB/s  206.2 GB/s  -1.8 %

    Skipped
      coll_own.csv:5  busbw_GBps, algbw_GBps and time_us are empty
      coll_own.csv:6  busbw_GBps, algbw_GBps and time_us are empty

    Files left out
      coll_tartan_p100.csv  NCCL of 2018

    bandwidth median error 1.9 %, latency median error 8.6 %; 0 off by more than 2x without a printed reason; 2 of 6 rows skipped (33.3 %)
    [stdout ends]
    warning[measurement-not-a-number]: `fast` in algbw_GBps is no number
     --> crates/cli/tests/measured/coll_own.csv:6:1
      |
    6 | Example A100 node,A100 SXM,8,1,NVLink3/NVSwitch,,all_reduce,,2147483648,,fast,,nccl-tests,made up,not a number,own example line 5
      | ^
    [stderr ends]
    exit 0
    "#);
}

#[test]
fn the_page_of_the_models_is_markdown() {
    insta::assert_snapshot!(stdout(&["validate", SMALL, "--min-size", "128MiB", "--format", "markdown"]), @r#"
    # Accuracy: published measurements against predictions

    Written by `weft validate ../shared/measured --min-size 128MiB --format markdown`; do not edit. Rows: one server, a named GPU, 128 MiB and above, and peaks. A row without a size is a peak, compared with the best predicted busbw up to 16 GiB. Every group (system, collective, section of the source) weighs the same within its kind.

    **bandwidth median error 1.9 %; 0 off by more than 2x without a printed reason; 2 of 5 rows skipped (40.0 %).**

    | kind | rows | scored | median error | 90th percentile |
    |---|---:|---:|---:|---:|
    | bandwidth | 5 | 3 | 1.9 % | 2.7 % |

    ## Groups

    | file | group | kind | rows | median error | 90th percentile |
    |---|---|---|---:|---:|---:|
    | coll_own | Example A100 node \| all-reduce \| own example | bandwidth | 4 | 1.8 % | 1.9 % |
    | coll_own | Pair \| all-gather \| own example | bandwidth | 1 | 2.7 % | 2.7 % |

    ## Largest errors

    | row | measured | predicted | error | warned of |
    |---|---:|---:|---:|---|
    | coll_own:8 | 41 GB/s | 39.91 GB/s | -2.7 % | bridged-pair-uncertain |
    | coll_own:4 | 235 GB/s | 239.4 GB/s | +1.9 % |  |
    | coll_own:3 | 210 GB/s | 206.2 GB/s | -1.8 % |  |

    ## Skipped rows

    | row | why |
    |---|---|
    | coll_own:5 | busbw_GBps, algbw_GBps and time_us are empty |
    | coll_own:6 | busbw_GBps, algbw_GBps and time_us are empty |

    ## Files left out

    | file | why |
    |---|---|
    | coll_tartan_p100 | NCCL of 2018 |
    "#);
}

#[test]
fn a_folder_without_measurements_is_refused() {
    let (code, talk) = refused(&["validate", "examples/topo"], b"");
    assert_eq!(code, 3);
    assert!(talk.contains("holds no coll_*.csv"), "{talk}");
    let (code, _) = refused(&["validate", "nowhere"], b"");
    assert_eq!(code, 4);
}

#[test]
fn published_measurements_are_met() {
    let Some(folder) = common::measured().as_deref().map(PathBuf::from) else { return };
    let folder = folder.to_string_lossy().into_owned();
    let text = stdout(&["validate", &folder, "--min-size", "128MiB"]);
    let sentence = text.trim_end().lines().last().unwrap();
    let median: f64 = sentence
        .strip_prefix("bandwidth median error ")
        .and_then(|rest| rest.split_once(" %"))
        .and_then(|(number, _)| number.parse().ok())
        .unwrap_or_else(|| panic!("{sentence}"));
    assert!(median <= 10.0, "{sentence}");
    assert!(sentence.contains("; 0 off by more than 2x without a printed reason"), "{sentence}");
    let skipped = sentence.rsplit_once('(').and_then(|(_, share)| share.split_once(" %")).unwrap().0;
    assert!(skipped.parse::<f64>().unwrap() <= 5.0, "{sentence}");
    for file in ["coll_tartan_p100", "coll_mscclpp_baselines", "coll_deepep_moe_alltoall"] {
        assert!(text.contains(file), "{file}");
    }
}
