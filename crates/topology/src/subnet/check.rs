//! What is wrong with a network, by what its nodes say.

use std::collections::BTreeMap;

use weft_base::Guid;

use super::{Signalling, Subnet, SubnetEnd, SubnetLink, SubnetNodeKind};

/// Something that an engineer should look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubnetFinding {
    /// One end says that it reaches the other, which does not say so.
    OneSided {
        /// The end that says it.
        said: SubnetEnd,
        /// The end that is silent, though its node lists its ports.
        silent: SubnetEnd,
    },
    /// A port with two cables.
    PortTwice {
        /// The port, with the line of the second.
        end: SubnetEnd,
        /// Where the first cable leads.
        first: SubnetEnd,
        /// Where the second leads.
        second: SubnetEnd,
    },
    /// Two ports with one GUID.
    GuidTwice {
        /// The GUID.
        guid: Guid,
        /// The first that has it.
        first: SubnetEnd,
        /// The second.
        second: SubnetEnd,
    },
    /// The two ends of a cable report different widths or generations.
    EndsDiffer {
        /// Index into [`Subnet::links`].
        link: u32,
    },
    /// Fewer lanes or an older generation than both ends could run, or than the like cables of that switch.
    Degraded {
        /// Index into [`Subnet::links`].
        link: u32,
        /// What it should run.
        usual: Signalling,
    },
    /// An adapter without any cable: its ports are down, or the far end does not answer.
    AdapterAlone {
        /// Index into [`Subnet::nodes`].
        node: u32,
    },
}

impl Subnet {
    /// All findings, by kind and then in the order of cables and nodes.
    pub fn check(&self) -> Vec<SubnetFinding> {
        let mut found = self.one_sided();
        found.extend(self.ports_twice());
        found.extend(self.guids_twice());
        found.extend(self.ends_differ());
        found.extend(self.degraded());
        found.extend(self.alone());
        found
    }

    fn one_sided(&self) -> Vec<SubnetFinding> {
        // A node that lists no cable at all was left out of the text, or is another subnet's.
        let mut lists = vec![false; self.nodes.len()];
        for end in self.links.iter().flat_map(|link| [link.a, link.b]) {
            lists[end.node as usize] |= end.line != 0;
        }
        let mut found = Vec::new();
        for link in &self.links {
            for (said, silent) in link.directions() {
                if said.line != 0 && silent.line == 0 && lists[silent.node as usize] {
                    found.push(SubnetFinding::OneSided { said: *said, silent: *silent });
                }
            }
        }
        found
    }

    fn ports_twice(&self) -> Vec<SubnetFinding> {
        let mut ends: Vec<(&SubnetEnd, &SubnetEnd)> =
            self.links.iter().flat_map(SubnetLink::directions).filter(|(own, _)| own.line != 0).collect();
        ends.sort_by_key(|(own, _)| (own.node, own.port, own.line));
        let twice = |pair: &[(&SubnetEnd, &SubnetEnd)]| {
            let [(a, first), (b, second)] = *pair else { return None };
            let same = (a.node, a.port) == (b.node, b.port);
            same.then_some(SubnetFinding::PortTwice { end: *b, first: *first, second: *second })
        };
        ends.windows(2).filter_map(twice).collect()
    }

    fn guids_twice(&self) -> Vec<SubnetFinding> {
        let mut ends: Vec<&SubnetEnd> =
            self.links.iter().flat_map(|link| [&link.a, &link.b]).filter(|end| end.guid.is_some()).collect();
        ends.sort_by_key(|end| (end.guid, end.node, end.port));
        let twice = |pair: &[&SubnetEnd]| {
            let [a, b] = *pair else { return None };
            let differ = (a.node, a.port) != (b.node, b.port);
            let guid = a.guid.filter(|guid| Some(*guid) == b.guid && differ)?;
            Some(SubnetFinding::GuidTwice { guid, first: *a, second: *b })
        };
        ends.windows(2).filter_map(twice).collect()
    }

    fn ends_differ(&self) -> Vec<SubnetFinding> {
        let differ = |link: &SubnetLink| match (link.a.signalling, link.b.signalling) {
            (Some(a), Some(b)) => a != b,
            (_, _) => false,
        };
        (0u32..)
            .zip(&self.links)
            .filter(|(_, link)| differ(link))
            .map(|(link, _)| SubnetFinding::EndsDiffer { link })
            .collect()
    }

    /// Cables of one switch to adapters are compared with each other, those to switches likewise. An adapter of an
    /// older generation is no fault; fewer lanes are, and so is an older generation between switches.
    fn degraded(&self) -> Vec<SubnetFinding> {
        let cables = self.cables();
        let mut usual: BTreeMap<u32, Signalling> = BTreeMap::new();
        for (index, _) in self.of_kind(SubnetNodeKind::Switch) {
            for to_switch in [false, true] {
                let like = |link: &&u32| {
                    let link = &self.links[**link as usize];
                    let far = if link.a.node == index { &link.b } else { &link.a };
                    (self.node(far).kind == SubnetNodeKind::Switch) == to_switch
                        && !self.node(far).is_aggregation()
                };
                let group: Vec<u32> = cables.of(index).iter().filter(like).copied().collect();
                let Some(most) = self.commonest(&group) else { continue };
                for link in group {
                    let Some(own) = self.links[link as usize].signalling else { continue };
                    let narrow = own.lanes < most.lanes && own.generation <= most.generation;
                    let old = to_switch && own.generation < most.generation && own.lanes <= most.lanes;
                    if narrow || old {
                        usual.entry(link).or_insert(most);
                    }
                }
            }
        }
        for (link, index) in self.links.iter().zip(0u32..) {
            if let (Some(own), Some(could)) = (link.signalling, link.capability) {
                if own != could {
                    usual.insert(index, could);
                }
            }
        }
        usual.into_iter().map(|(link, usual)| SubnetFinding::Degraded { link, usual }).collect()
    }

    /// What more than half of at least three cables run.
    fn commonest(&self, links: &[u32]) -> Option<Signalling> {
        let mut runs: Vec<Signalling> =
            links.iter().filter_map(|link| self.links[*link as usize].signalling).collect();
        runs.sort_by_key(|run| (run.generation, run.lanes));
        let middle = *runs.get(runs.len() / 2)?;
        let count = runs.iter().filter(|run| **run == middle).count();
        (runs.len() > 2 && count * 2 > runs.len()).then_some(middle)
    }

    fn alone(&self) -> Vec<SubnetFinding> {
        let mut joined = vec![false; self.nodes.len()];
        for end in self.links.iter().flat_map(|link| [link.a, link.b]) {
            joined[end.node as usize] = true;
        }
        self.of_kind(SubnetNodeKind::Adapter)
            .filter(|(index, node)| !joined[*index as usize] && !node.is_aggregation())
            .map(|(node, _)| SubnetFinding::AdapterAlone { node })
            .collect()
    }
}
