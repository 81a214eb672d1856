//! How well a machine is predicted once a third of its rows was measured: fitted to every third row by ascending
//! size of each machine and collective, scored on the others, for each of the three thirds.

use std::collections::{BTreeMap, BTreeSet};

use weft_catalogue::Catalogue;

use super::question::{Answer, Ask, Machines};
use super::score::{Case, GroupScore, KindScore, Report, cases, kind_scores, report};
use super::{Kind, Measurement};
use crate::calibrate::{Calibration, Observation, Regime, fit};

/// Scores of rows that the calibration had not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibratedReport {
    /// One for each third that was fitted to.
    pub thirds: Vec<Third>,
    /// Of each kind the worst of the three.
    pub worst: Kinds,
}

/// One third was fitted to, the rows of the others are scored.
#[derive(Debug, Clone, PartialEq)]
pub struct Third {
    /// All that is scored.
    pub report: Report,
    /// By what the calibration had seen of the group.
    pub kinds: Kinds,
}

/// Scores of kinds, all together and by whether the calibration had seen any row of the group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Kinds {
    /// All groups.
    pub all: Vec<KindScore>,
    /// Groups of which at least one row was fitted to.
    pub told: Vec<KindScore>,
    /// Groups of which none was: of a single row, or of fewer than there are thirds.
    pub untold: Vec<KindScore>,
}

impl Kinds {
    /// The three with their names.
    pub fn named(&self) -> [(&'static str, &[KindScore]); 3] {
        [
            ("all groups", &self.all),
            ("groups with a row that was fitted to", &self.told),
            ("groups without", &self.untold),
        ]
    }

    fn of(report: &Report, told: &BTreeSet<(&str, &str)>) -> Self {
        let groups = |wanted: bool| {
            let of =
                |group: &&GroupScore| told.contains(&(group.file.as_str(), group.group.as_str())) == wanted;
            kind_scores(&report.groups.iter().filter(of).collect::<Vec<_>>())
        };
        Self { all: report.kinds.clone(), told: groups(true), untold: groups(false) }
    }

    fn worst(thirds: &[Third]) -> Self {
        let kinds = [Kind::Bandwidth, Kind::Between, Kind::Latency];
        let worst = |of: fn(&Self) -> &Vec<KindScore>| {
            let scores: Vec<&KindScore> = thirds.iter().flat_map(|third| of(&third.kinds)).collect();
            kinds.into_iter().filter_map(|kind| worst(kind, &scores)).collect()
        };
        Self {
            all: worst(|kinds| &kinds.all),
            told: worst(|kinds| &kinds.told),
            untold: worst(|kinds| &kinds.untold),
        }
    }
}

const THIRDS: usize = 3;

/// Scores the rows of several files, each third of a machine's rows calibrating the others in turn.
pub fn score_calibrated(files: &[(String, Vec<Measurement>)], catalogue: &Catalogue) -> CalibratedReport {
    let cases = cases(files, catalogue);
    let mut machines = Machines::default();
    let asks: Vec<Result<Ask, String>> = cases.iter().map(|case| case.ask.clone()).collect();
    let answers = machines.answer(&asks, catalogue);
    let third = thirds(&cases);
    let mut scored = Vec::new();
    for chosen in 0..THIRDS {
        let seen = (0..cases.len()).filter(|index| third[*index] == chosen);
        let calibrations = calibrations(seen.map(|index| (&cases[index], &answers[index])), catalogue);
        let unseen: Vec<usize> = (0..cases.len()).filter(|index| third[*index] != chosen).collect();
        let asks: Vec<Result<Ask, String>> = unseen
            .iter()
            .map(|index| {
                let calibration = calibrations.get(&cases[*index].machine()).cloned().transpose()?;
                asks[*index].clone().map(|ask| Ask { calibration, ..ask })
            })
            .collect();
        let answers = machines.answer(&asks, catalogue);
        let report = report(unseen.iter().map(|index| &cases[*index]).zip(answers));
        let seen = (0..cases.len()).filter(|index| third[*index] == chosen);
        let told: BTreeSet<(&str, &str)> =
            seen.map(|index| (cases[index].file.as_str(), cases[index].group.as_str())).collect();
        scored.push(Third { kinds: Kinds::of(&report, &told), report });
    }
    let worst = Kinds::worst(&scored);
    CalibratedReport { thirds: scored, worst }
}

/// By ascending size of each machine and collective, in turn; peaks come last.
fn thirds(cases: &[Case]) -> Vec<usize> {
    let mut rows: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        rows.entry((case.machine(), &case.collective)).or_default().push(index);
    }
    let mut third = vec![0; cases.len()];
    for mut rows in rows.into_values() {
        rows.sort_by_key(|index| (cases[*index].size.is_none(), cases[*index].size, cases[*index].line));
        for (place, index) in rows.into_iter().enumerate() {
            third[index] = place % THIRDS;
        }
    }
    third
}

/// A calibration of each machine of which something was measured and predicted.
fn calibrations<'c>(
    rows: impl Iterator<Item = (&'c Case, &'c Result<Answer, String>)>,
    catalogue: &Catalogue,
) -> BTreeMap<(&'c str, &'c str), Result<Calibration, String>> {
    let mut observations: BTreeMap<(&str, &str), Vec<Observation>> = BTreeMap::new();
    for (case, answer) in rows {
        let Some((measured, answer)) = case.measured.zip(answer.as_ref().ok()) else { continue };
        observations.entry(case.machine()).or_default().push(Observation {
            regime: Regime {
                collective: answer.collective,
                algorithm: answer.row.algorithm,
                protocol: answer.row.protocol,
            },
            parts: answer.row.parts,
            measured_us: answer.time_us(measured),
        });
    }
    let fitted = |(machine, rows): (_, Vec<Observation>)| {
        (machine, fit(&rows, &[], catalogue).map_err(|error| error.to_string()))
    };
    observations.into_iter().map(fitted).collect()
}

fn worst(kind: Kind, scores: &[&KindScore]) -> Option<KindScore> {
    let scores = || scores.iter().copied().filter(|score| score.kind == kind);
    // What is not reached is worst of all.
    let most = |of: fn(&KindScore) -> Option<f64>| {
        let values: Option<Vec<f64>> = scores().map(of).collect();
        values.and_then(|values| values.into_iter().reduce(f64::max))
    };
    Some(KindScore {
        kind,
        rows: scores().map(|score| score.rows).max()?,
        scored: scores().map(|score| score.scored).min()?,
        median_error: most(|score| score.median_error),
        p90_error: most(|score| score.p90_error),
        p90_factor: most(|score| score.p90_factor),
        covered_share: scores().filter_map(|score| score.covered_share).reduce(f64::min),
        left_out_share: scores().filter_map(|score| score.left_out_share).reduce(f64::min),
        median_width_factor: most(|score| score.median_width_factor),
    })
}

#[cfg(test)]
mod tests {
    use super::{score_calibrated, thirds};
    use crate::validate::score::{cases, score};
    use crate::validate::{Kind, read_rows};
    use weft_catalogue::Catalogue;

    /// A server that is a quarter slower than predicted at every size.
    fn slow_server() -> Vec<(String, Vec<crate::validate::Measurement>)> {
        let header = "system,gpu,num_gpus,num_nodes,intra_link,collective,size_bytes,busbw_GBps,source";
        let rows = |busbw: &dyn Fn(usize) -> f64| {
            let line = |power: usize| {
                format!("A,A100 SXM,8,1,NVLink3,all_reduce,{},{},book\n", 1u64 << power, busbw(power))
            };
            format!("{header}\n{}", (10..34).map(line).collect::<String>())
        };
        let asked = read_rows("x.csv", &rows(&|_| 1.0)).0.rows;
        let report = score(&[("x.csv".to_owned(), asked)], None, Catalogue::embedded());
        let mut predicted: Vec<_> = report
            .groups
            .iter()
            .flat_map(|group| &group.scored)
            .map(|row| (row.line, row.predicted.as_gigabytes()))
            .collect();
        predicted.sort_by_key(|(line, _)| *line);
        let slow = rows(&|power| 0.75 * predicted[power - 10].1);
        vec![("x.csv".to_owned(), read_rows("x.csv", &slow).0.rows)]
    }

    #[test]
    fn a_third_of_the_rows_tells_what_the_others_do() {
        let files = slow_server();
        let catalogue = Catalogue::embedded();
        let third = thirds(&cases(&files, catalogue));
        assert_eq!(third[..6], [0, 1, 2, 0, 1, 2]);
        // Uncalibrated every bandwidth is a third too high, 1 / 0.75, and every time a quarter too short.
        for kind in score(&files, None, catalogue).kinds {
            let error = if kind.kind == Kind::Latency { 0.25 } else { 1.0 / 3.0 };
            assert!((kind.median_error.unwrap() - error).abs() < 0.01, "{kind:?}");
        }
        let calibrated = score_calibrated(&files, catalogue);
        assert_eq!(calibrated.thirds.len(), 3);
        for third in &calibrated.thirds {
            assert_eq!(third.report.kinds.iter().map(|kind| kind.rows).sum::<usize>(), 16);
            assert_eq!((&third.kinds.told, third.kinds.untold.len()), (&third.report.kinds, 0));
        }
        for kind in &calibrated.worst.all {
            assert!(kind.median_error.unwrap() < 0.05, "{kind:?}");
        }
    }

    /// A group of one row is in the first third: the others are fitted without it.
    #[test]
    fn a_group_of_which_nothing_was_fitted_is_scored_by_itself() {
        let mut files = slow_server();
        let header = "system,gpu,num_gpus,num_nodes,intra_link,collective,size_bytes,busbw_GBps,source";
        let lone = format!("{header}\nB,A100 SXM,8,1,NVLink3,all_reduce,1073741824,230,book\n");
        files.push(("y.csv".to_owned(), read_rows("y.csv", &lone).0.rows));
        let calibrated = score_calibrated(&files, Catalogue::embedded());
        let untold =
            |third: usize| calibrated.thirds[third].kinds.untold.iter().map(|kind| kind.rows).sum::<usize>();
        assert_eq!([0, 1, 2].map(untold), [0, 1, 1]);
        let kinds = &calibrated.thirds[1].kinds;
        assert_eq!(kinds.told.iter().map(|kind| kind.rows).sum::<usize>(), 16);
        assert_eq!(kinds.all.iter().map(|kind| kind.rows).sum::<usize>(), 17);
    }
}
