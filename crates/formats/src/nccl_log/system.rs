//! The system graph that the library sees, and what its searches for channels end with.

use std::collections::{BTreeMap, BTreeSet};

use weft_base::Rate;

use super::line::{Speaker, number_after, word_after};
use super::tally::Tally;
use crate::evidence::{GraphSearch, SystemGraph, SystemNode};

/// Hosts whose system is kept, and lines of one.
const SYSTEMS_MAX: usize = 64;
const NODES_MAX: usize = 1 << 12;

/// Different results of searches that are kept.
const SEARCHES_MAX: usize = 1 << 10;

/// What is said of the system.
#[derive(Debug)]
pub(super) struct Systems<'a> {
    searches: Tally<Search<'a>>,
    all: Vec<SystemGraph>,
    /// Which system a thread is printing; `None` where the host's is there already.
    open: BTreeMap<Option<Speaker<'a>>, Option<usize>>,
    hosts: BTreeSet<&'a str>,
}

/// `Pattern 4, crossNic 0, nChannels 3, bw 24.0/12.0, type LOC/PHB`, bandwidths as printed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Search<'a> {
    pattern: u32,
    cross_nic: u32,
    channels: u32,
    bandwidths: Option<&'a str>,
    paths: Option<&'a str>,
}

impl<'a> Systems<'a> {
    pub fn new() -> Self {
        Self {
            searches: Tally::new(SEARCHES_MAX),
            all: Vec::new(),
            open: BTreeMap::new(),
            hosts: BTreeSet::new(),
        }
    }

    /// Whether `message` is of the system; it was read then. Its indentation draws the tree.
    pub fn take(
        &mut self,
        message: &'a str,
        speaker: Option<Speaker<'a>>,
        host: Option<usize>,
        line: u32,
    ) -> bool {
        let text = message.trim();
        if text.starts_with("Pattern ") {
            return self.take_search(text, line);
        }
        if text.starts_with("=== System") {
            self.begin(text, speaker, host, line);
            return true;
        }
        if self.open.is_empty() {
            return false;
        }
        let Some(open) = self.open.get(&speaker).copied() else { return false };
        if text.starts_with("====") {
            self.open.remove(&speaker);
            return true;
        }
        let Some(node) = node(message) else { return false };
        if let Some(system) = open.and_then(|index| self.all.get_mut(index)) {
            if system.nodes.len() < NODES_MAX {
                system.nodes.push(node);
            }
        }
        true
    }

    fn begin(&mut self, text: &str, speaker: Option<Speaker<'a>>, host: Option<usize>, line: u32) {
        let new = self.hosts.insert(speaker.map_or("", |speaker| speaker.host));
        let kept = new && self.all.len() < SYSTEMS_MAX;
        if kept {
            let number = |names: [&str; 2]| names.iter().find_map(|name| gigabytes(word_after(text, name)?));
            self.all.push(SystemGraph {
                hosts: host.into_iter().collect(),
                most: number(["maxBw ", "maxWidth "]),
                total: number(["totalBw ", "totalWidth "]),
                nodes: Vec::new(),
                line,
            });
        }
        self.open.insert(speaker, kept.then(|| self.all.len() - 1));
    }

    fn take_search(&mut self, text: &'a str, line: u32) -> bool {
        let (Some(pattern), Some(channels)) =
            (number_after(text, "Pattern "), number_after(text, "nChannels "))
        else {
            return false;
        };
        let search = Search {
            pattern,
            cross_nic: number_after(text, "crossNic ").unwrap_or(0),
            channels,
            bandwidths: word_after(text, " bw ").or_else(|| word_after(text, " speed ")),
            paths: word_after(text, " type "),
        };
        self.searches.add(search, line);
        true
    }

    pub fn finish(self) -> (Vec<GraphSearch>, Vec<SystemGraph>) {
        let searches = self.searches.map(|search, times| {
            let (intra, inter) = halves(search.bandwidths);
            let (path_intra, path_inter) = halves(search.paths);
            GraphSearch {
                pattern: search.pattern,
                channels: search.channels,
                cross_nic: search.cross_nic,
                intra: gigabytes(intra),
                inter: gigabytes(inter),
                path_intra: path_intra.to_owned(),
                path_inter: path_inter.to_owned(),
                count: times.count,
                line: times.line,
            }
        });
        let mut systems: Vec<SystemGraph> = Vec::new();
        for system in self.all {
            let same = |other: &&mut SystemGraph| {
                (other.most, other.total, &other.nodes) == (system.most, system.total, &system.nodes)
            };
            match systems.iter_mut().find(same) {
                Some(other) => other.hosts.extend(system.hosts),
                None => systems.push(system),
            }
        }
        (searches, systems)
    }
}

/// `a/b`; the oldest give one of both.
fn halves(text: Option<&str>) -> (&str, &str) {
    let text = text.unwrap_or("");
    text.split_once('/').unwrap_or((text, text))
}

/// The library's bandwidths are in gigabytes per second.
pub(super) fn gigabytes(text: &str) -> Option<Rate> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number >= 0.0).then(|| Rate::from_gigabytes(number))
}

/// `CPU/3 (1/2/-1)`, `              + PCI[24.0] - GPU/7000 (0)`.
fn node(message: &str) -> Option<SystemNode> {
    let text = message.trim();
    let indent = u32::try_from(message.len() - message.trim_start().len()).ok()?;
    let (link, rate, rest) = match text.strip_prefix("+ ") {
        Some(rest) => {
            let (link, name) = rest.split_once(" - ")?;
            let (kind, rate) = link.split_once('[')?;
            (Some(kind.to_owned()), gigabytes(rate.trim_end_matches(']')), name)
        }
        None => (None, None, text),
    };
    let (name, detail) = match rest.split_once(' ') {
        Some((name, detail)) => (name, detail.strip_prefix('(').and_then(|it| it.strip_suffix(')'))),
        None => (rest, None),
    };
    let (kind, _) = name.split_once('/')?;
    // Paths between nodes follow the tree: `GPU/7000 :GPU/7000 (0/5000.0/LOC) …`.
    let is_path = rest.contains(" :") || link.is_none() && detail.is_none() && rest.contains(' ');
    let known = kind.len() <= 4 && kind.bytes().all(|byte| byte.is_ascii_uppercase());
    (known && !is_path).then(|| SystemNode {
        indent,
        link,
        rate,
        name: name.to_owned(),
        detail: detail.map(str::to_owned),
    })
}
