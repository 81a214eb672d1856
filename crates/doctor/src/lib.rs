//! Why is it slower than it should be: a case in, findings out.
//!
//! A [`Chart`] holds what is known of a patient: what was read, the machine that follows, the library's settings, and
//! each benchmark beside what is expected of that machine. Each [`Rule`] looks at the chart for causes of its own and
//! says what it rests on, how sure it is, what it costs and what to do. What the rules found is weighed together: a
//! cause of low bandwidth where the bandwidth is as expected is none.

mod cause;
mod chart;
mod diagnosis;
mod finding;
mod fleet;
mod inside;
pub mod rules;
mod weigh;
mod words;

pub use cause::{Cause, Effect, Nature};
pub use chart::{Chart, Patient, Run, Said, Seat, Stated};
pub use diagnosis::{Diagnosis, Reached, diagnose};
pub use finding::{Confidence, Cost, Evidence, Figure, Finding};
pub use fleet::{Fleet, Member};
pub use inside::{Iommu, NamedGpu, OnOff, Stands};
pub use rules::{RULES, Rule, cause_named, causes};
