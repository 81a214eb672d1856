use weft_catalogue::Catalogue;

use super::{StepKind, TrainReport, score};
use crate::train::published::{Left, Published, read};

const HEADER: &str = "table,model,gpu,inter_link,num_gpus,tp,zero1_shard_size,micro_batches,micro_bsz,seq_len_tokens,\
    act_ckpt,tokens_per_s_per_gpu,source";

/// Rows of 7B runs: GPUs, sharding, tokens per second and GPU; in the order given.
fn rows(runs: &[(u32, &str, f64)]) -> Vec<Published> {
    let line = |(gpus, shards, rate): &(u32, &str, f64)| {
        format!("t,InternLM-7B,A100,x,{gpus},1,{shards},4,2,2048,False,{rate},x")
    };
    let text = format!("{HEADER}\n{}\n", runs.iter().map(line).collect::<Vec<_>>().join("\n"));
    read("train_internevo.csv", &text, Catalogue::embedded()).0
}

fn scored(rows: Vec<Published>, factors: &[Option<f64>], left: &[(String, u64, Left)]) -> TrainReport {
    let predict = |(row, factor): (Published, &Option<f64>)| {
        let seconds = factor.map(|factor| row.step_s * factor).ok_or_else(|| "no price".to_owned());
        (row, seconds)
    };
    let answered: Vec<_> = rows.into_iter().zip(factors).map(predict).collect();
    score(&answered, left, Catalogue::embedded())
}

fn near(value: Option<f64>, expected: f64) {
    assert!(value.is_some_and(|value| (value - expected).abs() < 1e-9), "{value:?} is not {expected}");
}

#[test]
fn errors_weigh_files_and_count_what_is_not_predicted() {
    let mut all = rows(&[(8, "8", 4000.0), (16, "8", 4000.0), (32, "8", 4000.0)]);
    let mut other = rows(&[(8, "8", 4000.0)]).remove(0);
    other.file = "train_other.csv".to_owned();
    all.push(other);
    let unread = Left::Unread { why: "unheard of".to_owned(), kind: StepKind::Dense };
    let out = Left::Out { why: "too little".to_owned() };
    let left = [("train_other.csv".to_owned(), 3, unread), ("train_other.csv".to_owned(), 4, out)];
    let report = scored(all, &[Some(1.1), Some(0.8), Some(1.3), Some(1.05)], &left);
    let dense = &report.kinds[0];
    assert_eq!((report.kinds.len(), dense.rows, dense.scored), (1, 5, 4));
    // Weights: 1/3 each of 0.1, 0.2, 0.3; 1/2 each of 0.05 and infinity. Half of 2 is reached at 0.2.
    near(dense.median_error, 0.2);
    assert_eq!(dense.p90_error, None, "a quarter of the weight is infinite");
    near(report.files[0].median_error, 0.2);
    assert_eq!(report.missed, ["train_internevo.csv"]);
    assert_eq!((report.unpredicted.len(), report.left_out.len()), (1, 1));
    // All were measured at the same rate: a constant one is exact, but for the row that is not read.
    near(dense.constant_median_error, 0.0);
    assert_eq!(dense.constant_p90_error, None);
}

#[test]
fn scaling_is_against_the_fewest_gpus() {
    let runs = rows(&[(8, "8", 4000.0), (16, "8", 3960.0), (32, "8", 3200.0)]);
    let report = scored(runs, &[Some(1.0), Some(1.0), Some(1.25)], &[]);
    assert_eq!((report.ratios.rows, report.departing.rows), (2, 1));
    // 0.8 was measured, 0.8 / 1.25 is predicted.
    near(report.departing.median_error, 0.2);
    near(report.departing.flat_median_error, 0.25);
    near(report.ratios.median_error, 0.0);
}

#[test]
fn pairs_differ_in_the_network_alone() {
    let runs = rows(&[(16, "8", 4096.0), (16, "all DP", 2048.0), (32, "all DP", 2048.0)]);
    let report = scored(runs, &[Some(1.0), Some(0.9), Some(1.0)], &[]);
    assert_eq!(report.pairs.len(), 1);
    let pair = &report.pairs[0];
    assert_eq!((pair.lines, pair.is_clear, pair.is_sign_right()), ((2, 3), true, true));
    // 4 s and 8 s were measured, 4 s and 7.2 s are predicted.
    near(Some(pair.measured_s), 4.0);
    near(Some(pair.error()), 0.2);
}
