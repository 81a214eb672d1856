//! What can be written for other programs: one line in [`WRITERS`] each.

use std::borrow::Cow;

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, Machine};
use weft_topology::{NodeKind, Subnet, Topology};

use crate::codes;
use crate::evidence::{Evidence, Hierarchy, Host};
use crate::ibsim::IbsimWriter;
use crate::join::Case;
use crate::nccl_topology::NcclTopologyWriter;
use crate::slurm_writers::{SlurmTopologyConfWriter, SlurmTopologyYamlWriter};

/// All writers; help, reference and tests iterate over this list.
pub const WRITERS: &[&dyn Writer] = &[
    &IbsimWriter, // one entry per line
    &NcclTopologyWriter,
    &SlurmTopologyConfWriter,
    &SlurmTopologyYamlWriter,
];

/// What is there to be written.
#[derive(Debug, Clone, Copy)]
pub struct WriterInput<'a> {
    /// All that was read.
    pub case: &'a Case,
    /// The graph of all hosts; without nodes where the input describes no machine.
    pub topology: &'a Topology,
    /// The graph of one host; the same where there is only one.
    pub host: &'a Topology,
}

/// A writer of one format.
pub trait Writer: Sync {
    /// What `--to` calls it: `ibsim`.
    fn name(&self) -> &'static str;
    /// In words, for help and the reference.
    fn title(&self) -> &'static str;
    /// The text, which ends with a line break. The error says what the input lacks, with a code of
    /// [`codes::CODES`](crate::CODES).
    fn write(&self, input: &WriterInput<'_>, catalogue: &Catalogue) -> Result<String, Diagnostic>;
}

/// The writer of that name.
pub fn writer(name: &str) -> Option<&'static dyn Writer> {
    WRITERS.iter().copied().find(|writer| writer.name() == name)
}

impl<'a> WriterInput<'a> {
    /// The machine, where the input describes one.
    pub fn machine(&self) -> Option<&'a Machine> {
        self.case.machine.as_ref()
    }

    /// The first network in the input, else that of the machine; `None` where neither has a switch or an adapter.
    pub fn subnet(&self, catalogue: &Catalogue) -> Option<Cow<'a, Subnet>> {
        let read = self.case.evidence.iter().find_map(|evidence| {
            if let Evidence::Subnet(subnet) = &evidence.value { Some(Cow::Borrowed(&**subnet)) } else { None }
        });
        let has_network = self.topology.of_kind(NodeKind::NetworkSwitch).next().is_some();
        read.or_else(|| has_network.then(|| Cow::Owned(Subnet::of(self.topology, catalogue))))
    }

    /// The first hierarchy in the input.
    pub fn hierarchy(&self) -> Option<&'a Hierarchy> {
        self.case.evidence.iter().find_map(|evidence| {
            if let Evidence::Hierarchy(hierarchy) = &evidence.value { Some(&**hierarchy) } else { None }
        })
    }

    /// The hosts whose devices the input lists.
    pub fn hosts(&self) -> impl Iterator<Item = &'a Host> {
        self.case.evidence.iter().filter_map(|evidence| {
            if let Evidence::Host(host) = &evidence.value { Some(&**host) } else { None }
        })
    }
}

/// The input lacks what the format is about.
pub(crate) fn lacks(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::CANNOT_WRITE, message)
}
