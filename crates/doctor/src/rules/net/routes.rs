//! Routes, uplinks, and hosts that are slow.

use weft_base::{Place, Rate};
use weft_topology::{Subnet, SubnetNodeKind};

use super::groups::{self, Boundary};
use super::lookup::best_rate;
use super::pairs::{self, Pair, Verdict};
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed_to;

/// Flows on one link while others are idle.
pub const ECMP_COLLISION: Cause = Cause {
    code: "D057",
    word: "ecmp-collision",
    title: "flows share a link while others are idle: routes or hashes collide",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "Between two leaves there are many paths, and each flow takes one of them: by a static route in InfiniBand, by a \
        hash in Ethernet. Two flows on one uplink get half each, three a third, although as many uplinks as downlinks are \
        there. It shows as pairs of hosts that are slow with each other and fast with all others, as hosts that are fast \
        below one leaf and slow across, and it changes with the hosts chosen. Adaptive routing, more queue pairs per connection \
        (NCCL_IB_QPS_PER_CONNECTION), newer routes of the subnet manager, or a layout by rails mend it. Known from \
        NVIDIA/nccl#319, #325, uccl-project/uccl#153.",
};

/// One host.
pub const SLOW_NODE: Cause = Cause {
    code: "D058",
    word: "slow-node",
    title: "one host is slower than the others",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "All pairs with one host are slow and all others are fast: the fault is in that host or its cable, not in the \
        fabric. A ring is as fast as its slowest member, so that one host slows the whole job. Run the same benchmark inside \
        that host, compare its PCIe links, NIC ports, settings and firmware with those of a good one. Known from \
        NVIDIA/nccl-tests#106.",
};

/// Fewer uplinks than downlinks.
pub const OVERSUBSCRIBED_LEAF: Cause = Cause {
    code: "D059",
    word: "oversubscribed-leaf",
    title: "a leaf switch has less bandwidth up than down",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "Where the uplinks of a leaf carry less than its downlinks, jobs across leaves share them: each NIC gets the \
        quotient. Jobs below one leaf, or whose rails stay below one, do not notice. Count cables in ibnetdiscover or iblinkinfo; \
        place jobs by leaf (Slurm's topology plugin), keep rings on their rail, or add uplinks. Known from NVIDIA/nccl#319.",
};

/// One switch.
pub const SLOW_SWITCH: Cause = Cause {
    code: "D067",
    word: "slow-switch",
    title: "all hosts below one switch are slow, with each other too",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "Pairs of hosts below one leaf are slow with each other and with all others, and pairs that do not touch it are \
        fast: what they share is the switch. A switch whose ports run at a lower speed, that is out of buffers, or whose firmware \
        or settings (MTU, PFC, adaptive routing, a virtual lane) differ from the others' does that; hosts of one delivery that \
        are all below it do too, so look at one of them first. Compare the switch's port counters, temperature, firmware and \
        settings with a good one's.",
};

/// The rule.
#[derive(Debug)]
pub struct Routes;

impl Rule for Routes {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&ECMP_COLLISION, &SLOW_NODE, &OVERSUBSCRIBED_LEAF, &SLOW_SWITCH]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        let all = pairs::pairs(chart);
        let verdict = pairs::judge(&all);
        if let Some(switch) = groups::slow_switch(chart, &all) {
            return vec![slow_switch(switch, &all)];
        }
        let thin = thinnest(chart);
        if let Some(verdict) = &verdict {
            found.extend(slow_host(verdict));
            match groups::boundary(chart, &all, verdict) {
                Some(boundary) => {
                    found.push(between(&boundary, verdict, thin.as_ref()));
                    return found;
                }
                None => found.extend(slow_routes(verdict)),
            }
        }
        let across = across(chart);
        if let Some((name, down, up, place)) = &thin {
            found.push(oversubscribed(name, *down, *up, place.clone(), across.as_ref()));
        } else if let (Some(across), true) = (&across, verdict.is_none()) {
            found.extend(collide(chart, across));
        }
        found
    }
}

fn slow_host(verdict: &Verdict) -> Option<Finding> {
    let mut names = verdict.slow_hosts.clone();
    let is_certain = !names.is_empty();
    if names.is_empty() {
        let pair = verdict.open.first()?;
        names = vec![format!("{} or {}", pair.ends.0, pair.ends.1)];
    }
    let confidence = if is_certain { Confidence::Certain } else { Confidence::Likely };
    let what = format!("{} is slow with each host that it was paired with", listed_to(&names, 4));
    let slowest = verdict.slow.iter().map(|pair| pair.rate).min()?;
    let mut found = Finding::new(&SLOW_NODE, confidence, what);
    for pair in
        verdict.slow.iter().filter(|pair| !verdict.slow_routes.iter().any(|it| it.ends == pair.ends)).take(4)
    {
        found = found.at(pair.place.clone(), format!("{} and {}: {}", pair.ends.0, pair.ends.1, pair.rate));
    }
    Some(with_rates(found, verdict.usual, slowest)
        .fix(format!(
            "take {} out of the job; compare its NIC ports (ibstat, error counters), PCIe links (lspci -vv), settings and firmware with a good host's",
            listed_to(&names, 4)
        ))
        .check("the same pairs reach what the others do")
        .settle("pairs of that host with several others, and the benchmark inside it"))
}

/// All pairs with hosts below a switch.
fn slow_switch((name, best, least): (String, Rate, Rate), all: &[Pair]) -> Finding {
    let what = format!("all hosts below {name} are slow, with each other too, and all others are fast");
    let slowest = all.iter().map(|pair| pair.rate).min().unwrap_or(best);
    let mut found = Finding::new(&SLOW_SWITCH, Confidence::Likely, what);
    for pair in all.iter().filter(|pair| pair.rate <= best).take(3) {
        found = found.at(pair.place.clone(), format!("{} and {}: {}", pair.ends.0, pair.ends.1, pair.rate));
    }
    found = found.without(format!("pairs that do not touch it reach {least} or more"));
    with_rates(found, least, slowest)
        .fix(format!(
            "compare {name} with a good switch: port speeds and counters, firmware, MTU, PFC and routing settings, temperature; \
             jobs elsewhere until then"
        ))
        .check("pairs below it reach what the others do")
        .settle("one host of it on a port of another switch: fast there, it is the switch")
}

/// Groups of hosts that are fast within and slow with each other: what joins them.
fn between(boundary: &Boundary, verdict: &Verdict, thin: Option<&(String, Rate, Rate, Place)>) -> Finding {
    let names: Vec<String> = match &boundary.switches {
        Some(switches) => switches.clone(),
        None => boundary.groups.iter().map(|group| format!("the group of {}", group[0])).collect(),
    };
    let what = format!(
        "each of {} pairs across {} is slow, and pairs within are fast: what joins them, not single routes",
        verdict.slow_routes.len(),
        listed_to(&names, 4)
    );
    let confidence = if thin.is_some() { Confidence::Certain } else { Confidence::Likely };
    let mut found = Finding::new(&OVERSUBSCRIBED_LEAF, confidence, what);
    for pair in verdict.slow_routes.iter().take(3) {
        found = found.at(pair.place.clone(), format!("{} and {}: {}", pair.ends.0, pair.ends.1, pair.rate));
    }
    if let Some((name, down, up, place)) = thin {
        found = found.at(place.clone(), format!("{name}: uplinks {up}, downlinks {down} in each direction"));
    }
    let slowest = verdict.slow_routes.iter().map(|pair| pair.rate).min().unwrap_or(verdict.usual);
    with_rates(found, verdict.usual, slowest)
        .fix("more uplinks, or those that are down or slow back (iblinkinfo); jobs below one leaf until then (Slurm: topology/tree with --switches=1)")
        .check("pairs across reach what pairs within do")
        .settle("one pair across alone: slow alone, a cable or port between the switches; fast alone, too few uplinks")
}

fn slow_routes(verdict: &Verdict) -> Option<Finding> {
    let first = verdict.slow_routes.first()?;
    let slowest = verdict.slow_routes.iter().map(|pair| pair.rate).min()?;
    let what = if verdict.slow_routes.len() == 1 {
        format!(
            "{} and {} are slow with each other and fast with others: a route, not a host",
            first.ends.0, first.ends.1
        )
    } else {
        format!(
            "{} pairs are slow whose hosts are fast with others: routes collide",
            verdict.slow_routes.len()
        )
    };
    let mut found = Finding::new(&ECMP_COLLISION, Confidence::Certain, what);
    for pair in verdict.slow_routes.iter().take(3) {
        found = found.at(pair.place.clone(), format!("{} and {}: {}", pair.ends.0, pair.ends.1, pair.rate));
    }
    found = found.without(format!("most pairs reach {} or more", verdict.usual));
    Some(with_rates(found, verdict.usual, slowest)
        .fix(
            "adaptive routing in the fabric (InfiniBand: subnet manager, with NCCL_IB_SL of that class and NCCL_IB_ADAPTIVE_ROUTING=1; \
             RoCE: switch and adapter), or NCCL_IB_QPS_PER_CONNECTION=4; new routes by restarting the subnet manager",
        )
        .check("the pairs are alike when all run at once")
        .settle("the same pairs at once and alone; `ibtracert` or the switches' port counters"))
}

fn with_rates(found: Finding, usual: Rate, slowest: Rate) -> Finding {
    let share = 1.0 - slowest.as_gigabytes() / usual.as_gigabytes().max(1e-9);
    found.figures("rate between two hosts", usual, slowest).costs(
        share,
        format!("{:.0} % for these pairs, and for each ring that goes over them", 100.0 * share),
    )
}

/// The leaf with the least bandwidth up for what it has down: its name, both rates, and where it stands.
pub(super) fn thinnest(chart: &Chart<'_>) -> Option<(String, Rate, Rate, Place)> {
    let leaves = chart.subnets().flat_map(|(subnet, place)| leaves(subnet, place));
    let thin =
        leaves.filter(|(_, down, up, _)| *up > Rate::ZERO && down.as_gigabytes() > 1.5 * up.as_gigabytes());
    thin.max_by(|a, b| {
        (a.1.as_gigabytes() / a.2.as_gigabytes()).total_cmp(&(b.1.as_gigabytes() / b.2.as_gigabytes()))
    })
}

fn leaves(subnet: &Subnet, place: &Place) -> Vec<(String, Rate, Rate, Place)> {
    let cables = subnet.cables();
    let tiers = subnet.tiers();
    let mut found = Vec::new();
    for (index, node) in subnet.of_kind(SubnetNodeKind::Switch) {
        // What has no name stands only where others name it as their far end: the list was cut.
        if tiers.get(index as usize).copied().flatten() != Some(0) || node.name.is_empty() {
            continue;
        }
        let (mut down, mut up) = (0u64, 0u64);
        for link in cables.of(index) {
            let link = &subnet.links[*link as usize];
            let far = if link.a.node == index { &link.b } else { &link.a };
            let rate = link.rate.map_or(0, Rate::get);
            if subnet.node(far).kind == SubnetNodeKind::Switch {
                up = up.saturating_add(rate);
            } else if !subnet.node(far).is_aggregation() {
                down = down.saturating_add(rate);
            }
        }
        found.push((
            node.name.clone(),
            Rate::bytes_per_second(down),
            Rate::bytes_per_second(up),
            at(place, node.line),
        ));
    }
    found
}

/// Two runs of like size of which one is across leaves.
struct Across<'r, 'a> {
    fast: (&'r Run<'a>, Rate),
    slow: (&'r Run<'a>, Rate),
}

/// Runs of as many hosts, not the same ones, whose rates differ; the best of each set of hosts counts.
fn across<'r, 'a>(chart: &'r Chart<'a>) -> Option<Across<'r, 'a>> {
    let runs: Vec<(&Run<'a>, Rate)> =
        chart.runs.iter().filter_map(|run| Some((run, best_rate(run)?))).collect();
    let hosts =
        |run: &Run<'a>| run.benchmark.hosts().iter().map(|host| (*host).to_owned()).collect::<Vec<_>>();
    for (at, (first, first_rate)) in runs.iter().enumerate() {
        for (second, second_rate) in &runs[at + 1..] {
            let (a, b) = (hosts(first), hosts(second));
            let is_like = a.len() == b.len() && a.len() > 2 && a != b;
            let is_same = first.benchmark.collective == second.benchmark.collective;
            let (fast, slow) = if first_rate >= second_rate {
                ((*first, *first_rate), (*second, *second_rate))
            } else {
                ((*second, *second_rate), (*first, *first_rate))
            };
            if is_like && is_same && slow.1.as_gigabytes() < 0.75 * fast.1.as_gigabytes() {
                return Some(Across { fast, slow });
            }
        }
    }
    None
}

fn oversubscribed(
    name: &str,
    down: Rate,
    up: Rate,
    place: Place,
    across: Option<&Across<'_, '_>>,
) -> Finding {
    let share = 1.0 - up.as_gigabytes() / down.as_gigabytes();
    let confidence = if across.is_some() { Confidence::Certain } else { Confidence::Possible };
    let what = format!("{name} has {down} down to adapters and {up} up");
    let mut found = Finding::new(&OVERSUBSCRIBED_LEAF, confidence, what)
        .at(place, format!("uplinks {up}, downlinks {down} in each direction"));
    if let Some(Across { fast, slow }) = across {
        found = found
            .at(slow.0.place.clone(), format!("{} over these hosts", slow.1))
            .at(fast.0.place.clone(), format!("{} over as many others", fast.1))
            .figures("best busbw", fast.1, slow.1);
    }
    found
        .costs(share, format!("up to {:.0} % of what crosses the leaf", 100.0 * share))
        .fix("jobs below one leaf (Slurm: topology/tree with --switches=1), rings on their rail (NCCL_CROSS_NIC=0), or more uplinks")
        .check("uplinks in iblinkinfo carry what the downlinks do")
        .settle("the same benchmark over hosts of one leaf and over hosts of two")
}

/// Slow across leaves that have enough uplinks.
fn collide(chart: &Chart<'_>, across: &Across<'_, '_>) -> Option<Finding> {
    let has_leaves = chart.subnets().any(|(subnet, place)| {
        leaves(subnet, place).iter().filter(|(_, _, up, _)| *up > Rate::ZERO).count() > 1
    });
    if !has_leaves {
        return None;
    }
    let Across { fast, slow } = across;
    let what = "hosts of different leaves are slow together, though the leaves have as many uplinks as downlinks: routes collide";
    let found = Finding::new(&ECMP_COLLISION, Confidence::Likely, what)
        .at(slow.0.place.clone(), format!("{} over these hosts", slow.1))
        .at(fast.0.place.clone(), format!("{} over as many others", fast.1));
    Some(with_rates(found, fast.1, slow.1)
        .fix(
            "adaptive routing (subnet manager: AR or SHIELD, with NCCL_IB_ADAPTIVE_ROUTING=1), or NCCL_IB_QPS_PER_CONNECTION=4; \
             new routes by restarting the subnet manager",
        )
        .check("the run across leaves reaches what the one below one leaf does")
        .settle("`dump_fts` or the port counters of the uplinks during the run: some full, others idle"))
}
