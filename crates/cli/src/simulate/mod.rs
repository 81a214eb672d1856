//! `weft simulate`: from a scenario to a report.

mod choose;
mod noticing;
mod outcome;
mod progress;
mod reacting;
mod report;
mod run;
pub mod scenario;
mod setup;
mod text;
mod timeline;
mod trace;

pub use choose::Judged;
pub use progress::Progress;
pub use report::{Busy, JobReport, Reached, Report};
pub use run::run;
pub use setup::{JobSetup, Reaction, Setup, prepare};
pub use text::text;
pub use timeline::svg;
pub use trace::trace;
