//! The figures by which the model is judged as a whole.

use weft_predictor::validate::{GroupScore, Report, Scored};

/// Rows that count as worst in the output.
pub const WORST_MAX: usize = 12;

/// A scored row with its group.
pub struct Row<'r> {
    /// The group.
    pub group: &'r GroupScore,
    /// The row.
    pub scored: &'r Scored,
}

impl Row<'_> {
    /// predicted / measured.
    pub fn ratio(&self) -> f64 {
        self.scored.predicted.as_gigabytes() / self.scored.measured.as_gigabytes()
    }

    /// Whether it is off by more than 2x in either direction.
    pub fn is_far_off(&self) -> bool {
        let ratio = self.ratio();
        !(0.5..=2.0).contains(&ratio)
    }
}

/// Counts over all groups.
pub struct Measures<'r> {
    /// Rows that were selected.
    pub rows: usize,
    /// Those that were not scored.
    pub skipped: usize,
    /// Scored rows, the largest error first.
    pub worst_first: Vec<Row<'r>>,
}

impl<'r> Measures<'r> {
    /// The measures of a report.
    pub fn of(report: &'r Report) -> Self {
        let mut worst_first: Vec<Row<'r>> = report
            .groups
            .iter()
            .flat_map(|group| group.scored.iter().map(move |scored| Row { group, scored }))
            .collect();
        worst_first.sort_by(|a, b| b.scored.error.total_cmp(&a.scored.error));
        Self {
            rows: report.groups.iter().map(|group| group.rows).sum(),
            skipped: report.groups.iter().map(|group| group.skipped.len()).sum(),
            worst_first,
        }
    }

    /// Rows off by more than 2x of which the prediction gave no warning.
    pub fn unexplained(&self) -> usize {
        self.worst_first.iter().filter(|row| row.is_far_off() && row.scored.warned.is_empty()).count()
    }

    /// Skipped rows, of all that were selected.
    #[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
    pub fn skipped_share(&self) -> f64 {
        self.skipped as f64 / self.rows.max(1) as f64
    }

    /// One sentence with the measures.
    pub fn sentence(&self, report: &Report) -> String {
        let medians: Vec<String> = report
            .kinds
            .iter()
            .map(|kind| format!("{} median error {}", kind.kind.name(), super::optional(kind.median_error)))
            .collect();
        format!(
            "{}; {} off by more than 2x without a printed reason; {} of {} rows without a prediction ({})",
            medians.join(", "),
            self.unexplained(),
            self.skipped,
            self.rows,
            super::percent(self.skipped_share()),
        )
    }
}
