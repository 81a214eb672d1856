//! All lines of a log, one after the other, into evidence.

use std::collections::BTreeMap;

use super::channel::Channels;
use super::communicator::Communicators;
use super::line::{Level, Speaker, Spoken, is_number, prefix, take_number};
use super::network::Networks;
use super::problem::Problems;
use super::said;
use super::system::Systems;
use super::tally::{Tally, Times};
use super::tuning::Tuning;
use crate::evidence::{ChannelCount, LibraryVersion, LoggedSetting, NcclLog};
use crate::find::holds;

/// Different settings, plugins, remarks and other statements that are kept.
const SAID_MAX: usize = 256;

/// What marks a statement that is known to matter.
const REMARKS: &[&str] = &[
    "falling back to",
    "efaulting to",
    "HINT:",
    "could not ",
    "Could not ",
    "No device found",
    "ncclSystemError",
    " disabled",
    " Disabled",
    "nable to ",
    "Connection refused",
    "timed out",
    "MNNVL",
    "NVLS multicast support",
    "use ring PXN",
    "speed change detected",
    "not supported",
    "max attempts reached",
    "ailed to bind NVLink SHARP",
    "o socket interface found",
];

/// What marks a statement on plugins.
const PLUGINS: &[&str] = &[
    "NET/Plugin",
    "NET/OFI",
    "TUNER/Plugin",
    "PROFILER/Plugin",
    "GIN/Plugin",
    "ENV/Plugin",
    "Plugin Path",
    "P2P plugin",
    "Successfully loaded external",
    "External ",
    "Initialized NET plugin",
    "Assigned NET plugin",
    "Failed to initialize NET plugin",
    "Loaded net plugin",
];

/// A trap: NCCL says `use ring PXN 0 GDR 1` of what it may use, not of what it uses.
pub(super) const RING_GDR: &str = "use ring PXN";

/// A trap: a virtual machine that hides the speed of a PCIe link.
pub(super) const NO_LINK_SPEED: &str = "could not find value of '' in dictionary";

/// A log as far as it was read.
pub(super) struct Collector<'a> {
    log: NcclLog,
    hosts: BTreeMap<&'a str, usize>,
    last: Who<'a>,
    versions: Tally<(&'static str, &'a str)>,
    networks: Tally<&'a str>,
    plugins: Tally<&'a str>,
    settings: Tally<(&'a str, &'a str)>,
    counts: Tally<ChannelCount>,
    remarks: Tally<&'a str>,
    others: Tally<&'a str>,
    channels: Channels<'a>,
    communicators: Communicators<'a>,
    net: Networks<'a>,
    systems: Systems<'a>,
    tuning: Tuning<'a>,
    problems: Problems<'a>,
}

/// What a prefix says. Lines of one thread mostly follow each other, so that it is worked out once for many.
#[derive(Debug, Default, Clone, Copy)]
struct Who<'a> {
    prefix: &'a str,
    speaker: Option<Speaker<'a>>,
    source: Option<&'a str>,
    host: Option<usize>,
    /// For which the thread works.
    communicator: Option<usize>,
}

impl<'a> Collector<'a> {
    pub fn new() -> Self {
        Self {
            log: NcclLog::default(),
            hosts: BTreeMap::new(),
            last: Who::default(),
            versions: Tally::new(SAID_MAX),
            networks: Tally::new(SAID_MAX),
            plugins: Tally::new(SAID_MAX),
            settings: Tally::new(SAID_MAX),
            counts: Tally::new(SAID_MAX),
            remarks: Tally::new(SAID_MAX),
            others: Tally::new(SAID_MAX),
            channels: Channels::default(),
            communicators: Communicators::default(),
            net: Networks::new(),
            systems: Systems::new(),
            tuning: Tuning::new(),
            problems: Problems::new(),
        }
    }

    pub fn take(&mut self, spoken: &Spoken<'a>, line: u32) {
        let who = self.who(spoken.prefix);
        match spoken.level {
            Level::Info => {
                self.log.info_lines += 1;
                self.take_info(spoken, who, line);
            }
            Level::Warn => {
                self.log.warning_lines += 1;
                self.problems.take(spoken.message.trim(), who.source, who.host, line);
            }
            Level::Framework => self.problems.take(spoken.message, None, None, line),
            Level::NcclVersion => {
                self.versions.add(("nccl", spoken.message), line);
            }
            Level::RcclVersion => {
                self.versions.add(("rccl", spoken.message), line);
            }
            Level::Trace => self.other("(trace)", line),
        }
    }

    /// Counts a line that goes on with the one before.
    pub fn take_rest(&mut self, text: &'a str, line: u32) {
        self.other(beginning(text.trim()), line);
    }

    fn who(&mut self, before: &'a str) -> Who<'a> {
        if self.last.prefix != before {
            let (speaker, source) = prefix(before);
            let host = speaker.map(|speaker| self.host(speaker));
            let communicator = self.communicators.of(speaker);
            self.last = Who { prefix: before, speaker, source, host, communicator };
        }
        self.last
    }

    fn host(&mut self, speaker: Speaker<'a>) -> usize {
        if let Some(index) = self.hosts.get(speaker.host) {
            return *index;
        }
        let index = self.log.hosts.len();
        self.log.hosts.push(speaker.host.to_owned());
        self.hosts.insert(speaker.host, index);
        index
    }

    fn take_info(&mut self, spoken: &Spoken<'a>, who: Who<'a>, line: u32) {
        let text = spoken.message.trim();
        if let Some(rest) = after_channel(text) {
            if self.channels.take(rest, who.communicator, line) {
                return;
            }
        } else if let Some(rest) = text.strip_prefix("Trees ") {
            self.channels.take_trees(rest, who.communicator, line);
            return;
        }
        let names_communicator = text.starts_with("comm ") || holds(text, " comm 0x");
        if names_communicator && self.communicators.take(text, who.speaker, who.host, line) {
            self.last.communicator = self.communicators.of(who.speaker);
            return;
        }
        if self.net.take(text, who.host, line)
            || self.systems.take(spoken.message, who.speaker, who.host, line)
            || self.tuning.take(text, who.speaker, line)
            || self.take_small(text, line)
        {
            return;
        }
        if REMARKS.iter().any(|mark| holds(text, mark)) {
            if self.remarks.add(text, line).is_some() {
                return;
            }
        }
        self.other(beginning(text), line);
    }

    fn take_small(&mut self, text: &'a str, line: u32) -> bool {
        if let Some((name, value)) = setting(text) {
            return self.settings.add((name, value), line).is_some();
        }
        if let Some(name) = text.strip_prefix("Using network ") {
            return self.networks.add(name, line).is_some();
        }
        // Newer versions print the line with a prefix, as any other.
        for (mark, library) in [("NCCL version ", "nccl"), ("RCCL version ", "rccl")] {
            let version =
                text.strip_prefix(mark).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            if let Some(version) = version {
                return self.versions.add((library, version.trim()), line).is_some();
            }
        }
        if let Some(counts) = channel_count(text) {
            return self.counts.add(counts, line).is_some();
        }
        PLUGINS.iter().any(|mark| text.starts_with(mark)) && self.plugins.add(text, line).is_some()
    }

    fn other(&mut self, beginning: &'a str, line: u32) {
        self.others.add(beginning, line);
    }

    pub fn finish(self) -> NcclLog {
        let channels = self.channels.finish();
        let net = self.net.finish();
        let (searches, systems) = self.systems.finish();
        let (tuning, choices) = self.tuning.finish();
        let (problems, problems_left) = self.problems.finish();
        let versions = self.versions.map(|(library, version), times| LibraryVersion {
            library,
            version: version.to_owned(),
            count: times.count,
            line: times.line,
        });
        let settings = self.settings.map(|(name, value), times| LoggedSetting {
            name: name.to_owned(),
            value: value.to_owned(),
            count: times.count,
            line: times.line,
        });
        let counted = |counts: ChannelCount, times: Times| ChannelCount {
            count: times.count,
            line: times.line,
            ..counts
        };
        NcclLog {
            versions,
            communicators: self.communicators.finish(),
            networks: self.networks.map(said),
            adapters: net.lists,
            bootstrap: net.bootstrap,
            interfaces: net.interfaces,
            plugins: self.plugins.map(said),
            channels: self.counts.map(counted),
            transports: channels.transports,
            connections: channels.connections,
            connections_left: channels.connections_left,
            rings: channels.rings,
            ring_lines: channels.ring_lines,
            trees: channels.trees,
            tree_lines: channels.tree_lines,
            gdr: net.gdr,
            searches,
            systems,
            settings,
            tuning,
            choices,
            problems,
            problems_left,
            remarks: self.remarks.map(said),
            others_left: self.others.left,
            others: self.others.map(said),
            ..self.log
        }
    }
}

fn after_channel(text: &str) -> Option<&str> {
    ["Channel ", "Ring ", "CollNet "].iter().find_map(|mark| text.strip_prefix(mark))
}

/// `NCCL_IB_DISABLE set by environment to 1.`
fn setting(text: &str) -> Option<(&str, &str)> {
    if !text.contains(" set ") {
        return None;
    }
    let (name, value) = text.split_once(" set by environment to ").or_else(|| text.split_once(" set to "))?;
    let named = name.contains('_')
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    // Only numbers are followed by a full stop.
    let number = value.strip_suffix('.').filter(|value| is_number(value.trim_start_matches('-')));
    named.then_some((name, number.unwrap_or(value)))
}

/// `2 coll channels, 0 nvls channels, 2 p2p channels, 1 p2p channels per peer`.
fn channel_count(text: &str) -> Option<ChannelCount> {
    if !text.contains(" coll channels") {
        return None;
    }
    let mut found = ChannelCount::default();
    for part in text.split(", ") {
        let mut rest = part;
        let number = take_number(&mut rest)?;
        let words: Vec<&str> = rest.split_whitespace().take(5).collect();
        match words.as_slice() {
            ["coll", "channels", ..] => found.collective = number,
            ["collnet", "channels", ..] => found.collnet = Some(number),
            ["nvls", "channels", ..] => found.nvls = Some(number),
            ["p2p", "channels", "per", "peer", ..] => found.per_peer = Some(number),
            ["p2p", "channels", ..] => found.peer_to_peer = Some(number),
            _ => {}
        }
    }
    Some(found)
}

/// The words up to the first number: what a statement is about, whatever it says of it.
fn beginning(text: &str) -> &str {
    let end = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let end = text[..end].char_indices().nth(60).map_or(end, |(at, _)| at);
    let words = text[..end].trim_end();
    if words.is_empty() { "(numbers)" } else { words }
}
