//! `weft doctor`: findings for a reader.

mod text;

use weft_base::{Diagnostic, Severity};

pub use text::text;

/// What reading found that the doctor's reader should know: lines that nobody used are no news here.
pub fn worth_telling(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    diagnostics.iter().filter(|finding| finding.severity > Severity::Note).cloned().collect()
}
