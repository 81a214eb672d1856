//! Machines that should be alike: each by itself, and in what one differs from the others.

use weft_base::Severity;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_predictor::Request;
use weft_predictor::compare::{ChangeKind, Difference, Side, differing};

use crate::chart::Patient;
use crate::diagnosis::{Diagnosis, diagnose};

/// Differences from here on are likely to cost.
const WEIGHTY: u16 = 50;

/// What the doctor says of several machines.
#[derive(Debug, Default)]
pub struct Fleet {
    /// Each machine by itself.
    pub members: Vec<Member>,
    /// In what machines differ from most, the likeliest to cost first.
    pub differences: Vec<Difference>,
}

/// One of the machines.
#[derive(Debug)]
pub struct Member {
    /// What it is called.
    pub name: String,
    /// What is wrong with it.
    pub diagnosis: Diagnosis,
}

impl Fleet {
    /// Looks at each machine and holds them against each other.
    pub fn new(patients: &[(String, Patient<'_>)], catalogue: &Catalogue) -> Self {
        let members = patients
            .iter()
            .map(|(name, patient)| Member { name: name.clone(), diagnosis: diagnose(*patient, catalogue) });
        let request = Request::new(Collective::AllReduce);
        let sides: Vec<Side<'_>> = patients
            .iter()
            .map(|(_, patient)| Side {
                case: patient.case,
                topology: &patient.graph.topology,
                diagnostics: patient.diagnostics,
                request: &request,
            })
            .collect();
        Self { members: members.collect(), differences: differing(&sides) }
    }

    /// Differences that are likely to cost: links, health, what the library uses. The rest may be meant so.
    pub fn weighty(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|difference| is_weighty(difference))
    }

    /// Whether a machine has a finding of severity error.
    pub fn has_error(&self) -> bool {
        let mut findings = self.members.iter().flat_map(|member| &member.diagnosis.findings);
        findings.any(|finding| finding.severity == Severity::Error)
    }
}

/// A version or a setting that one machine has otherwise is worth knowing, and no more.
fn is_weighty(difference: &Difference) -> bool {
    difference.weight >= WEIGHTY && difference.kind != ChangeKind::Version
}
