//! What an input says of the library that ran: a log, `env`, `nccl.conf`.

use weft_base::Place;
use weft_formats::{Evidence, Located};

use super::{Settings, Taken};

impl Settings {
    /// Takes what the evidence says, but for the variables that are given otherwise, and the version where none is
    /// set. A value that cannot be is left out: the reader of the format has warned of it. Returns what was taken, and
    /// from where.
    pub fn take_from(
        &mut self,
        evidence: &[Located<Evidence>],
        is_given: impl Fn(&str) -> bool,
    ) -> Vec<(String, Place)> {
        let mut taken = Vec::new();
        for located in evidence {
            let mut take = |name: &str, value: &str| {
                if !is_given(name) && self.read(name, value) == Ok(Taken::Yes) {
                    taken.push((format!("{name}={value}"), located.place.clone()));
                }
            };
            if let Evidence::Report(report) = &located.value {
                for record in report.records.iter().filter(|record| record.kind == "setting") {
                    if let Some(value) = record.text("value") {
                        take(&record.subject, value);
                    }
                }
            }
            if let Evidence::Log(log) = &located.value {
                log.settings.iter().for_each(|setting| take(&setting.name, &setting.value));
                let named = log.versions.first().and_then(|named| named.version.parse().ok());
                if let (None, Some(named)) = (self.version, named) {
                    self.version = Some(named);
                    taken.push((format!("version {named}"), located.place.clone()));
                }
            }
        }
        taken
    }
}
