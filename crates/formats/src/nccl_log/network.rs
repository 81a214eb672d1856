//! Networks: adapters found, their speeds, GPUDirect RDMA.

use std::collections::BTreeMap;

use weft_base::Rate;

use super::line::{number_after, take_number, word_after};
use super::tally::Tally;
use crate::evidence::{AdapterList, GdrFact, LogAdapter, LogInterface};
use crate::find::cut;

/// Different lists and facts that are kept.
const LISTS_MAX: usize = 1 << 10;

/// An adapter as it stands in a line: number, name, port, link layer.
type Named<'a> = (u32, &'a str, Option<u32>, Option<&'a str>);

/// Network, adapters, relaxed ordering.
type List<'a> = (&'a str, Vec<Named<'a>>, bool);

/// What is said of networks.
#[derive(Debug)]
pub(super) struct Networks<'a> {
    lists: Tally<List<'a>>,
    rates: BTreeMap<&'a str, Rate>,
    gdr: Tally<(&'a str, bool, Option<&'a str>)>,
    bootstrap: Tally<&'a str>,
    interfaces: Tally<(Option<usize>, &'a str, &'a str)>,
}

/// What is left of [`Networks`] at the end.
pub(super) struct Found {
    pub lists: Vec<AdapterList>,
    pub gdr: Vec<GdrFact>,
    pub bootstrap: Vec<crate::evidence::Said>,
    pub interfaces: Vec<LogInterface>,
}

impl<'a> Networks<'a> {
    pub fn new() -> Self {
        Self {
            lists: Tally::new(LISTS_MAX),
            rates: BTreeMap::new(),
            gdr: Tally::new(LISTS_MAX),
            bootstrap: Tally::new(LISTS_MAX),
            interfaces: Tally::new(LISTS_MAX),
        }
    }

    /// Whether `text` is of networks; it was read then.
    pub fn take(&mut self, text: &'a str, host: Option<usize>, line: u32) -> bool {
        if let Some((_, rest)) = cut(text, "GPU Direct RDMA ") {
            return self.take_gdr(rest, line);
        }
        if let Some(rest) = text.strip_prefix("Bootstrap").map(|rest| rest.trim_start_matches([' ', ':'])) {
            return self.take_bootstrap(rest, host, line);
        }
        let Some(rest) = text.strip_prefix("NET/") else { return false };
        if let Some((network, list)) = cut(rest, ": Using ") {
            return self.take_list(network.trim_end(), list, line);
        }
        self.take_rate(rest)
    }

    fn take_gdr(&mut self, rest: &'a str, line: u32) -> bool {
        let (enabled, rest) = match rest.split_once(" for ") {
            Some((word, rest)) if word.starts_with("Enabled") => (true, rest),
            Some((word, rest)) if word.starts_with("Disabled") => (false, rest),
            Some(_) | None => return false,
        };
        let (subject, detail) = match rest.split_once(" (") {
            Some((subject, detail)) => (subject, detail.split(')').next()),
            None => (rest, None),
        };
        self.gdr.add((subject.trim().trim_end_matches(['.', ',']), enabled, detail), line);
        true
    }

    /// `Using [0]ib0:10.0.0.1<0> [1]ib1:10.0.0.2<0>`, `Using eth0:10.0.0.1<0>`.
    fn take_bootstrap(&mut self, rest: &'a str, host: Option<usize>, line: u32) -> bool {
        let Some(list) = rest.strip_prefix("Using") else { return false };
        for word in list.split_whitespace() {
            let word = word.rsplit(']').next().unwrap_or(word);
            if let Some((name, address)) = word.split_once(':') {
                self.bootstrap.add(name, line);
                let address = address.split('<').next().unwrap_or(address);
                self.interfaces.add((host, name, address), line);
            }
        }
        true
    }

    fn take_list(&mut self, network: &'a str, list: &'a str, line: u32) -> bool {
        let list = cut(list, "OOB").map_or(list, |(list, _)| list);
        let relaxed = list.contains("[RO]");
        let named: Vec<Named<'a>> = list.split_whitespace().filter_map(named).collect();
        let found = !named.is_empty();
        if found {
            self.lists.add((network, named, relaxed), line);
        }
        found
    }

    /// `IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000`, `IB : Made virtual device [8] name=a+b speed=…`.
    fn take_rate(&mut self, rest: &'a str) -> bool {
        let Some(megabits) = number_after(rest, " speed=") else { return false };
        let name = word_after(rest, " name=").or_else(|| {
            let after = rest.split_once(']')?.1.trim_start();
            after.split([':', ' ']).next()
        });
        let Some(name) = name else { return false };
        // Megabits per second.
        let rate = Rate::bytes_per_second(u64::from(megabits) * 125_000);
        self.rates.insert(name, rate);
        true
    }

    pub fn finish(self) -> Found {
        let adapter = |(number, name, port, layer): Named<'_>| LogAdapter {
            number,
            name: name.to_owned(),
            port,
            link_layer: layer.map(str::to_owned),
            rate: self.rates.get(name).copied(),
        };
        let list = |(network, named, relaxed_ordering): List<'_>, times: super::tally::Times| AdapterList {
            network: network.to_owned(),
            adapters: named.into_iter().map(adapter).collect(),
            relaxed_ordering,
            count: times.count,
            line: times.line,
        };
        Found {
            lists: self.lists.map(list),
            gdr: self.gdr.map(|(subject, enabled, detail), times| GdrFact {
                subject: subject.to_owned(),
                enabled,
                detail: detail.map(str::to_owned),
                count: times.count,
                line: times.line,
            }),
            bootstrap: self.bootstrap.map(super::said),
            interfaces: self.interfaces.map(|(host, name, address), times| LogInterface {
                host,
                name: name.to_owned(),
                address: address.to_owned(),
                count: times.count,
                line: times.line,
            }),
        }
    }
}

/// `[0]mlx5_0:1/IB/SHARP`, `[0]eth0:10.0.0.1<0>`.
fn named(word: &str) -> Option<Named<'_>> {
    let (number, rest) = word.strip_prefix('[')?.split_once(']')?;
    let number = number.parse().ok()?;
    let (name, rest) = rest.split_once(':')?;
    let (mut ends, layer) = match rest.split_once('/') {
        Some((ends, layer)) => (ends, Some(layer.trim_end_matches(';'))),
        None => (rest, None),
    };
    let port = layer.and_then(|_| take_number(&mut ends));
    Some((number, name, port, layer))
}
