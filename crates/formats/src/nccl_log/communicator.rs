//! Communicators: which ranks there are, on which host and GPU each is, and whether it came up.

use std::collections::BTreeMap;

use super::line::Speaker;
use crate::evidence::{Communicator, LogRank};
use crate::find::{cut, holds};

/// A process and an address in it, or a thread of it.
type Key<'a> = (&'a str, u32, &'a str);

/// What `comm 0x… rank 3 nranks 8 cudaDev 3 busId 1a000 …` says.
#[derive(Debug, Default, Clone, Copy)]
struct Words<'a> {
    pointer: &'a str,
    rank: Option<u32>,
    ranks: Option<u32>,
    nodes: Option<u32>,
    device: Option<u32>,
    bus: Option<&'a str>,
    id: Option<&'a str>,
    color: Option<&'a str>,
}

/// What is said of communicators.
#[derive(Debug, Default)]
pub(super) struct Communicators<'a> {
    all: Vec<Communicator>,
    by_id: BTreeMap<&'a str, usize>,
    /// Communicators without an id, by size and colour, in order.
    unnamed: BTreeMap<(u32, &'a str), Vec<usize>>,
    /// How often a rank joined an unnamed communicator of that size and colour.
    joined: BTreeMap<(u32, &'a str, u32), usize>,
    /// Where the rank behind a pointer is: communicator and member.
    by_pointer: BTreeMap<Key<'a>, (usize, usize)>,
    by_thread: BTreeMap<Speaker<'a>, usize>,
}

impl<'a> Communicators<'a> {
    /// The communicator that the thread works for.
    pub fn of(&self, speaker: Option<Speaker<'a>>) -> Option<usize> {
        self.by_thread.get(&speaker?).copied()
    }

    /// Reads what follows `comm ` in `message`; `false` if it names no rank.
    pub fn take(
        &mut self,
        message: &'a str,
        speaker: Option<Speaker<'a>>,
        host: Option<usize>,
        line: u32,
    ) -> bool {
        let words = words(message);
        let (Some(rank), Some(ranks)) = (words.rank, words.ranks) else { return false };
        let begins = holds(message, "Init START");
        let complete = holds(message, "Init COMPLETE");
        let process = speaker.map_or(("", 0), |speaker| (speaker.host, speaker.process));
        let key = (process.0, process.1, words.pointer);
        let known = self.by_pointer.get(&key).copied().filter(|(communicator, member)| {
            let member = self.all.get(*communicator).and_then(|it| it.members.get(*member));
            member.is_some_and(|member| member.rank == rank)
        });
        if !begins && !complete {
            // What is said in between adds the number of hosts; what is said at the end adds nothing.
            if let (Some((index, _)), Some(nodes)) = (known, words.nodes) {
                self.all[index].nodes = Some(nodes);
            }
            return true;
        }
        let open = known
            .filter(|(communicator, member)| complete && !self.all[*communicator].members[*member].complete);
        let index = match open {
            Some((communicator, member)) => {
                self.all[communicator].members[member].complete = true;
                communicator
            }
            None => self.join(
                &words,
                rank,
                ranks,
                LogRank {
                    rank,
                    host,
                    device: words.device,
                    address: words.bus.and_then(address),
                    complete,
                    line,
                },
                key,
            ),
        };
        if let Some(speaker) = speaker {
            self.by_thread.insert(speaker, index);
        }
        true
    }

    /// Puts a rank into its communicator: by its id, else the first of that size that lacks the rank.
    fn join(&mut self, words: &Words<'a>, rank: u32, ranks: u32, member: LogRank, key: Key<'a>) -> usize {
        let new = || Communicator {
            id: words.id.map(str::to_owned),
            ranks,
            line: member.line,
            ..Communicator::default()
        };
        let index = if let Some(id) = words.id {
            *self.by_id.entry(id).or_insert_with(|| {
                self.all.push(new());
                self.all.len() - 1
            })
        } else {
            let color = words.color.unwrap_or("");
            let times = self.joined.entry((ranks, color, rank)).or_default();
            let same = self.unnamed.entry((ranks, color)).or_default();
            if *times >= same.len() {
                self.all.push(new());
                same.push(self.all.len() - 1);
            }
            let index = same[(*times).min(same.len() - 1)];
            *times += 1;
            index
        };
        let members = &mut self.all[index].members;
        members.push(member);
        self.by_pointer.insert(key, (index, members.len() - 1));
        index
    }

    /// All of them, their members by rank, each rank once.
    pub fn finish(mut self) -> Vec<Communicator> {
        for communicator in &mut self.all {
            // What completed comes first, so that it stays.
            communicator.members.sort_by_key(|member| (member.rank, !member.complete));
            communicator.members.dedup_by_key(|member| member.rank);
        }
        self.all
    }
}

fn words(message: &str) -> Words<'_> {
    let mut found = Words::default();
    let Some((_, rest)) = cut(message, "comm ") else { return found };
    let mut words = rest.split([' ', ',']).filter(|word| !word.is_empty());
    found.pointer = words.next().unwrap_or("");
    while let Some(name) = words.next() {
        let mut value = || words.next();
        match name {
            "rank" => found.rank = value().and_then(|word| word.parse().ok()),
            "nranks" | "nRanks" => found.ranks = value().and_then(|word| word.parse().ok()),
            "nNodes" => found.nodes = value().and_then(|word| word.parse().ok()),
            "cudaDev" => found.device = value().and_then(|word| word.parse().ok()),
            "busId" => found.bus = value(),
            "commId" => found.id = value(),
            "color" => found.color = value(),
            _ => {}
        }
    }
    found
}

/// `0000:1a:00.0` from `1a000`: the library writes the address without its marks.
fn address(bus: &str) -> Option<String> {
    let bits = u64::from_str_radix(bus, 16).ok()?;
    let (domain, bus, device, function) = (bits >> 20, bits >> 12 & 0xff, bits >> 4 & 0xff, bits & 0xf);
    Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_addresses() {
        assert_eq!(address("1a000").as_deref(), Some("0000:1a:00.0"));
        assert_eq!(address("101c0").as_deref(), Some("0000:10:1c.0"));
        assert_eq!(address("1000000").as_deref(), Some("0010:00:00.0"));
        assert_eq!(address("x"), None);
    }
}
