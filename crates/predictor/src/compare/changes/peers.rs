//! Machines that should be alike: in what one differs from most of the others.

use std::collections::BTreeMap;

use weft_formats::Evidence;

use super::facts::{self, ChangeKind, Fact, facts};
use super::{Said, Side, origins};

/// Who says it, and what.
type Slots<'f> = BTreeMap<usize, &'f Fact>;

/// Machines below which there is no majority.
const PEERS_MIN: usize = 3;

/// Something in which some machines differ from most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is about.
    pub kind: ChangeKind,
    /// What differs, in words: `path between`, `NCCL_ALGO`.
    pub what: String,
    /// Of which devices, where it is of some.
    pub subjects: Vec<String>,
    /// What most say; `None` where most say nothing.
    pub usual: Option<Said>,
    /// How many of the machines say so.
    pub usual_count: usize,
    /// What the odd one says; `None` where it says nothing although it gave that tool's output.
    pub odd: Option<Said>,
    /// Which machine, by its number.
    pub machine: usize,
    /// How likely it makes that machine slower, 0 to 200: an order, not a probability.
    pub weight: u16,
}

/// In what machines differ from most of the others, the likeliest to cost first. What all say otherwise, such as serial
/// numbers, has no majority and is left out, as is what fewer than three gave.
pub fn differing(sides: &[Side<'_>]) -> Vec<Difference> {
    let hosts: Vec<Vec<String>> = sides.iter().map(|side| names(side)).collect();
    let all: Vec<_> = sides.iter().map(|side| facts(*side)).collect();
    let given: Vec<_> = all.iter().map(origins).collect();
    let mut said: BTreeMap<(ChangeKind, String, String), Slots<'_>> = BTreeMap::new();
    for (machine, facts) in all.iter().enumerate() {
        // Each event has its own time: what they mean is told of each machine by itself.
        for fact in facts.list.iter().filter(|fact| fact.what != "event") {
            let key = (fact.kind, fact.what.clone(), without(&fact.subject, &hosts[machine]));
            said.entry(key).or_default().entry(machine).or_insert(fact);
        }
    }
    let mut found: Vec<Difference> = Vec::new();
    for ((kind, what, subject), slots) in &said {
        let Some(origin) = slots.values().next().map(|fact| fact.origin) else { continue };
        let asked: Vec<usize> =
            (0..sides.len()).filter(|machine| given[*machine].contains(&origin)).collect();
        for (machine, usual, count) in odd_ones(slots, &asked) {
            let odd = slots.get(&machine).copied();
            let entry = Difference {
                kind: *kind,
                what: what.clone(),
                subjects: Some(subject.clone()).into_iter().filter(|subject| !subject.is_empty()).collect(),
                weight: facts::weight(usual, odd),
                usual: usual.cloned().map(Fact::said),
                usual_count: count,
                odd: odd.cloned().map(Fact::said),
                machine,
            };
            add(&mut found, entry);
        }
    }
    found.sort_by(|a, b| {
        b.weight.cmp(&a.weight).then(a.machine.cmp(&b.machine)).then_with(|| a.what.cmp(&b.what))
    });
    found
}

/// Machines that do not say what more than half of those that were asked say, with that and how many say it.
fn odd_ones<'f>(slots: &Slots<'f>, asked: &[usize]) -> Vec<(usize, Option<&'f Fact>, usize)> {
    if asked.len() < PEERS_MIN {
        return Vec::new();
    }
    let text = |machine: usize| slots.get(&machine).map(|fact| fact.text.as_str());
    let mut counts: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for machine in asked {
        counts.entry(text(*machine)).or_default().push(*machine);
    }
    let Some((usual, own)) = counts.iter().max_by_key(|(_, own)| own.len()) else { return Vec::new() };
    if own.len() * 2 <= asked.len() {
        return Vec::new();
    }
    let fact = own.first().and_then(|machine| slots.get(machine).copied());
    let is_odd = |machine: &&usize| text(**machine) != *usual;
    asked.iter().filter(is_odd).map(|machine| (*machine, fact, own.len())).collect()
}

/// Equal differences of several devices of a machine are one.
fn add(found: &mut Vec<Difference>, entry: Difference) {
    let words = |said: &Option<Said>| said.as_ref().map(|said| said.text.clone());
    let same = found.iter_mut().find(|own| {
        own.machine == entry.machine
            && own.kind == entry.kind
            && own.what == entry.what
            && words(&own.usual) == words(&entry.usual)
            && words(&own.odd) == words(&entry.odd)
    });
    match same {
        Some(own) => own.subjects.extend(entry.subjects),
        None => found.push(entry),
    }
}

/// What a machine calls itself.
fn names(side: &Side<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for located in &side.case.evidence {
        match &located.value {
            Evidence::Report(report) => names.extend(report.host.clone()),
            Evidence::Host(host) => names.extend(host.name.clone()),
            Evidence::Log(log) => names.extend(log.hosts.iter().cloned()),
            Evidence::Topology(_)
            | Evidence::Peers(_)
            | Evidence::Weights(_)
            | Evidence::Machine(_)
            | Evidence::Graphs(_)
            | Evidence::Subnet(_)
            | Evidence::Forwarding(_)
            | Evidence::Hierarchy(_)
            | Evidence::Benchmark(_)
            | Evidence::Pairs(_)
            | Evidence::Infrastructure(_)
            | Evidence::Workload(_) => {}
        }
    }
    names.sort();
    names.dedup();
    names
}

/// A subject without the name of the machine before it.
fn without(subject: &str, names: &[String]) -> String {
    let rest = names.iter().find_map(|name| subject.strip_prefix(name.as_str())?.strip_prefix(' '));
    rest.unwrap_or(subject).to_owned()
}
