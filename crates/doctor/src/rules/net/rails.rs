//! Rails: traffic that leaves on one and arrives on another.

use std::collections::BTreeMap;

use weft_base::Place;
use weft_formats::{Connection, NcclLog, TransportKind};

use super::{health, lookup, routes};
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// From one rail to another.
pub const CROSS_RAIL: Cause = Cause {
    code: "D060",
    word: "cross-rail",
    title: "traffic leaves on one rail and arrives on another",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "In a network of rails the NICs of one number of all hosts hang off one leaf. A channel that leaves by NIC 0 and \
        arrives at NIC 1 goes over the spine, which is often thin, or is not there at all: then the job ends with error 12. \
        NCCL does not know rails; NCCL_CROSS_NIC=0 keeps rings on NICs of one number (within one host; which NIC the peer takes \
        is not bound by it), trees and sends may cross nevertheless. In NCCL's log compare the NIC of `[send]` with that of \
        `[receive]` of one connection. Known from NVIDIA/nccl#1933, #836, #2345, ROCm/rccl#1540.",
};

/// PXN off.
pub const PXN_OFF: Cause = Cause {
    code: "D061",
    word: "pxn-off",
    title: "PXN is switched off: sends to other rails cross the spine",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "With PXN a GPU hands its message over NVLink to the GPU whose NIC is on the rail of the receiver, so that \
        all-to-all stays on rails and eight messages become one. NCCL_PXN_DISABLE=1 (an old remedy against hangs) makes each \
        send take its own NIC. Unset it. Known from NVIDIA/nccl#2193, #918.",
};

/// The rule.
#[derive(Debug)]
pub struct Rails;

impl Rule for Rails {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&CROSS_RAIL, &PXN_OFF]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let crossing = chart.logs().map(|(log, place)| Crossing::of(log, place)).max_by_key(|it| it.crossed);
        let Some(crossing) = crossing.filter(|it| it.crossed > 0) else {
            return apart(chart, None).into_iter().collect();
        };
        let found = pxn(chart, &crossing)
            .or_else(|| apart(chart, Some(&crossing)))
            .or_else(|| cross(chart, &crossing));
        found.into_iter().collect()
    }
}

/// How many connections cross.
struct Crossing {
    crossed: usize,
    all: usize,
    /// The ranks of one that does, both NICs, and where its ends are.
    example: Option<(u32, u32, u32, u32, Place)>,
    nics: usize,
}

impl Crossing {
    fn of(log: &NcclLog, place: &Place) -> Self {
        let mut ends = Ends::new();
        let mut nics = std::collections::BTreeSet::new();
        let network = |connection: &Connection| {
            let transport = log.transports.get(connection.transport)?;
            transport.adapter.filter(|_| transport.kind == TransportKind::Network)
        };
        for connection in &log.connections {
            let Some(adapter) = network(connection) else { continue };
            nics.insert(adapter);
            let key = (connection.communicator, connection.from, connection.to);
            let entry = ends.entry(key).or_insert((Vec::new(), Vec::new(), connection.line));
            if connection.sends > 0 {
                entry.0.push(adapter);
            }
            if connection.receives > 0 {
                entry.1.push(adapter);
            }
        }
        infer(log, &mut ends);
        let both = ends.iter().filter(|(_, (sends, receives, _))| !sends.is_empty() && !receives.is_empty());
        let mut crossing = Self { crossed: 0, all: 0, example: None, nics: nics.len() };
        for ((_, from, to), (sends, receives, line)) in both {
            crossing.all += 1;
            // Over several channels the same sets of NICs on both ends are no crossing.
            let (mut own, mut far) = (sends.clone(), receives.clone());
            own.sort_unstable();
            far.sort_unstable();
            if own != far {
                crossing.crossed += 1;
                crossing.example.get_or_insert((*from, *to, own[0], far[0], at(place, *line)));
            }
        }
        crossing
    }

    fn share(&self) -> f64 {
        lookup::quotient(self.crossed, self.all)
    }

    fn with(&self, mut found: Finding) -> Finding {
        if let Some((from, to, own, far, place)) = &self.example {
            found = found.at(
                place.clone(),
                format!(
                    "rank {from} sends by NIC {own}, rank {to} receives by NIC {far}; so do {} of {} pairs",
                    self.crossed, self.all
                ),
            );
        }
        found
    }
}

/// NICs of the sending and of the receiving side, and a line, of each connection.
type Ends = BTreeMap<(Option<usize>, u32, u32), (Vec<u32>, Vec<u32>, u32)>;

/// A log of one host shows one side of each connection. Hosts are alike: the peer receives by the NICs by which the rank
/// of the same place in this host receives.
fn infer(log: &NcclLog, ends: &mut Ends) {
    let per_host = |group: Option<usize>| {
        let communicator = log.communicators.get(group.unwrap_or(0))?;
        let host = communicator.members.first()?.host?;
        let spoken = communicator.members.iter().filter(|member| member.host == Some(host)).count();
        let spoken = u32::try_from(spoken).ok()?;
        let count = communicator.nodes.map_or(spoken, |nodes| communicator.ranks / nodes.max(1));
        (count > 0 && count < communicator.ranks && communicator.ranks.is_multiple_of(count)).then_some(count)
    };
    let mut receivers: BTreeMap<(Option<usize>, u32), Vec<u32>> = BTreeMap::new();
    for ((group, _, to), (_, receives, _)) in ends.iter() {
        if let Some(count) = per_host(*group) {
            receivers.entry((*group, to % count)).or_default().extend(receives);
        }
    }
    for ((group, _, to), (sends, receives, _)) in ends.iter_mut() {
        let Some(count) = per_host(*group) else { continue };
        let known = receivers.get(&(*group, to % count)).filter(|known| !known.is_empty());
        if let (true, false, Some(known)) = (receives.is_empty(), sends.is_empty(), known) {
            // Where the peer may receive by the NIC that sends, nothing crosses.
            let crosses = sends.iter().all(|nic| !known.contains(nic));
            *receives = if crosses { vec![known[0]] } else { sends.clone() };
        }
    }
}

fn pxn(chart: &Chart<'_>, crossing: &Crossing) -> Option<Finding> {
    let stated = chart
        .setting("NCCL_PXN_DISABLE")
        .filter(|stated| stated.value.trim().trim_end_matches('.') == "1")?;
    let what = "NCCL_PXN_DISABLE=1: sends to other rails cross the spine";
    let gain = lookup::otherwise(chart, |request| request.settings.without_pxn = false);
    let found = Finding::new(&PXN_OFF, Confidence::Certain, what).at(stated.place, "NCCL_PXN_DISABLE=1");
    let measured = chart.compared().next().and_then(|(_, comparison)| Some(comparison.points.last()?.busbw));
    let (share, found) = match gain.zip(measured) {
        Some(((with, _), own)) => {
            let share = 1.0 - own.as_gigabytes() / with.as_gigabytes().max(1e-9);
            (share.max(0.3), found.figures("busbw at the largest size", with, own))
        }
        None => (0.5, found),
    };
    Some(
        thin(chart, crossing.with(found))
            .costs(share, "what all-to-all loses between rails")
            .fix("unset NCCL_PXN_DISABLE")
            .check(
                "the log says NET/IB/…/PXN or `(…)` with another rank that forwards; all-to-all is faster",
            ),
    )
}

/// The thin place that what crosses has to pass.
fn thin(chart: &Chart<'_>, found: Finding) -> Finding {
    match routes::thinnest(chart) {
        Some((name, down, up, place)) => found.at(place, format!("{name}: {up} up for {down} down")),
        None => found,
    }
}

/// Rails that do not meet, and a job that needs them to.
fn apart(chart: &Chart<'_>, crossing: Option<&Crossing>) -> Option<Finding> {
    let separate = health::separate(chart);
    let failed = health::retry_exceeded(chart);
    if separate.len() < 2 || failed.is_none() && crossing.is_none() {
        return None;
    }
    let confidence = if failed.is_some() { Confidence::Likely } else { Confidence::Possible };
    let mut found = Finding::new(
        &CROSS_RAIL,
        confidence,
        "NICs of different rails have to reach each other, and their networks do not meet",
    );
    for (names, place) in separate.iter().take(2) {
        let switch = names.first().cloned().unwrap_or_default();
        found = found.at(place.clone(), format!("a network of its own, with {switch}"));
    }
    if let Some((text, place)) = failed {
        found = found.at(place, text);
    }
    if let Some(crossing) = crossing {
        found = crossing.with(found);
    }
    Some(
        found
            .costs(1.0, "the job ends")
            .fix("use GPUs of the same numbers on all hosts, so that all NICs are of one rail, or join the rails by spines")
            .check("ibnetdiscover from NICs of both rails finds the same switches")
            .settle("ibnetdiscover from each NIC of one host (-C mlx5_0, -C mlx5_1, …)"),
    )
}

fn cross(chart: &Chart<'_>, crossing: &Crossing) -> Option<Finding> {
    if crossing.nics < 2 || crossing.share() < 0.25 {
        return None;
    }
    let stated = chart.setting("NCCL_CROSS_NIC");
    let is_thin = routes::thinnest(chart).is_some();
    let low = chart.shortfall().is_some();
    let confidence = match (is_thin || stated.is_some(), low) {
        (true, true) => Confidence::Certain,
        (true, false) | (false, true) => Confidence::Likely,
        (false, false) => Confidence::Possible,
    };
    let value = stated.as_ref().map(|stated| stated.value.trim().trim_end_matches('.').to_owned());
    let what = match value.as_deref() {
        Some("0") => {
            "connections go from one rail to another although NCCL_CROSS_NIC=0: it binds one host's NICs, not the peer's"
        }
        Some(_) => "rings leave on one rail and arrive on another, as NCCL_CROSS_NIC allows",
        None => "connections leave on one rail and arrive on another",
    };
    let mut found = crossing.with(Finding::new(&CROSS_RAIL, confidence, what));
    if let Some(stated) = &stated {
        found = found.at(stated.place.clone(), format!("NCCL_CROSS_NIC={}", stated.value));
    }
    Some(
        thin(chart, found)
            .costs(0.5 * crossing.share(), "what goes over the spine in place of one leaf")
            .fix(match value.as_deref() {
                Some("0") => "keep the same GPUs and NICs in the same order on all hosts (NCCL_IB_HCA with `=` and one order), or use a version that keeps NICs of one number together",
                _ => "NCCL_CROSS_NIC=0 (for the job), where the network is of rails; a version whose trees keep their rail",
            })
            .check("in NCCL's log [send] and [receive] of each connection name NICs of one number; busbw rises")
            .settle("ibnetdiscover or the cabling plan: do NICs of different numbers hang off different leaves?"),
    )
}
