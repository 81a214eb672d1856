//! How long a plan takes on a machine: it is played by the simulator.

use toml::Spanned;
use weft_base::{Bytes, Diagnostic, Span, Time};
use weft_catalogue::Catalogue;
use weft_collective::{Call, Plan, Terrain};
use weft_topology::{NodeId, Topology};

use crate::simulate::{self, JobSetup, Progress, Reached, Reaction, Setup, scenario};

/// The outcome.
pub enum Timed {
    /// It was played.
    Took {
        span: Span,
        /// `None` where nothing is moved.
        reached: Option<Reached>,
    },
    /// Why there is no time.
    Not(String),
}

impl Timed {
    /// The time, where there is one.
    pub fn span(&self) -> Option<Span> {
        match self {
            Self::Took { span, .. } => Some(*span),
            Self::Not(_) => None,
        }
    }

    /// The bandwidths, where there are some.
    pub fn reached(&self) -> Option<Reached> {
        match self {
            Self::Took { reached, .. } => *reached,
            Self::Not(_) => None,
        }
    }
}

/// The job's name, with which findings about it begin.
const NAME: &str = "plan";

/// What is said of the job, without its name.
fn reason(message: &str) -> String {
    let own = message.strip_prefix(NAME).and_then(|rest| rest.strip_prefix(": "));
    own.unwrap_or(message).to_owned()
}

/// A machine on which plans are timed.
pub struct Clock<'a> {
    topology: &'a Topology,
    catalogue: &'a Catalogue,
    gpus: Vec<NodeId>,
    setup: Setup,
}

impl<'a> Clock<'a> {
    /// With GPUs as ranks, and the named network model, else the usual one of the machine's links.
    pub fn new(
        topology: &'a Topology,
        catalogue: &'a Catalogue,
        gpus: Vec<NodeId>,
        network: Option<&str>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let spanned = |text: &str| Spanned::new(0..0, text.to_owned());
        let bare = scenario::Scenario {
            cluster: spanned(""),
            network: network.map(spanned),
            loss: None,
            recovery: None,
            seed: 1,
            jobs: Vec::new(),
            faults: Vec::new(),
        };
        let setup = simulate::prepare(("", ""), &bare, topology, catalogue).map_err(|mut findings| {
            // There is no file in which they could stand.
            for finding in &mut findings {
                finding.place = None;
            }
            findings
        })?;
        Ok(Self { topology, catalogue, gpus, setup })
    }

    /// The name of the network model.
    pub fn network(&self) -> &'static str {
        self.setup.network.model.name()
    }

    /// Plays a plan once.
    pub fn time(&mut self, plan: &Plan, call: &Call, size: Bytes) -> Timed {
        self.setup.jobs = vec![JobSetup {
            name: NAME.to_owned(),
            gpus: self.gpus.clone(),
            call: call.clone(),
            plan: plan.clone(),
            size,
            algorithm: "",
            judged: None,
            repeat: 1,
            compute: Span::ZERO,
            start: Time::default(),
            reaction: Reaction::default(),
            // It is there for the limit alone, which is the same for all plans.
            terrain: Terrain::flat(plan.ranks),
        }];
        let progress = Progress::new();
        let report = simulate::run(&self.setup, self.topology, self.catalogue, &progress);
        progress.end();
        let job = match report {
            Ok(report) => report.jobs.into_iter().next(),
            Err(finding) => return Timed::Not(reason(&finding.message)),
        };
        match job.and_then(|job| job.took.map(|span| Timed::Took { span, reached: job.reached })) {
            Some(timed) => timed,
            None => Timed::Not("it never ends".to_owned()),
        }
    }
}
