//! The rules, one per file. Adding one is one file and one line in [`RULES`].

mod figures;
mod inside;
mod net;

use weft_base::nearest;

pub(crate) use figures::UNEXPLAINED;

use crate::cause::Cause;
use crate::chart::Chart;
use crate::finding::Finding;

/// Looks for causes of its own.
pub trait Rule: Sync {
    /// All that it can find.
    fn causes(&self) -> &'static [&'static Cause];
    /// What it finds on a chart; nothing where the evidence is silent.
    fn check(&self, chart: &Chart<'_>) -> Vec<Finding>;
}

/// All rules.
pub const RULES: &[&dyn Rule] = &[
    // Inside one machine.
    &inside::Acs,
    &inside::Peers,
    &inside::NvLink,
    &inside::Fabric,
    &inside::Pcie,
    &inside::Signal,
    &inside::Guest,
    &inside::Faults,
    &inside::Staging,
    &inside::Uplink,
    &inside::NicSlot,
    &inside::Isolated,
    &inside::Memory,
    &inside::Mixed,
    &inside::Partition,
    &inside::Serving,
    // Between machines.
    &net::Gdr,
    &net::Bonds,
    &net::Sockets,
    &net::Bootstrap,
    &net::Nics,
    &net::Remote,
    &net::Slots,
    &net::Roce,
    &net::Health,
    &net::Failover,
    &net::Routes,
    &net::Rails,
    &net::Wiring,
    // How figures are read and tests are run.
    &figures::AboveWire,
    &figures::SeveralNodes,
    &figures::Nameplate,
    &figures::Reading,
    &figures::Units,
    &figures::TestSetup,
    &figures::KnownVersions,
    &figures::Choice,
    &figures::Nvls,
    &figures::SlowGpu,
    &figures::Distance,
    &figures::Unexplained,
];

/// All causes, by code.
pub fn causes() -> Vec<&'static Cause> {
    let mut all: Vec<&Cause> = RULES.iter().flat_map(|rule| rule.causes().iter().copied()).collect();
    all.sort_by_key(|cause| cause.code);
    all
}

/// The cause with that code or word, in any case; else the nearest names.
pub fn cause_named(name: &str) -> Result<&'static Cause, Vec<String>> {
    let all = causes();
    let found = all
        .iter()
        .find(|cause| cause.code.eq_ignore_ascii_case(name) || cause.word.eq_ignore_ascii_case(name));
    found.copied().ok_or_else(|| {
        let known = all.iter().flat_map(|cause| [cause.code, cause.word]);
        nearest(name, known, 3).into_iter().map(str::to_owned).collect()
    })
}
