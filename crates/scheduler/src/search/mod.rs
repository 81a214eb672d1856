//! Finds places for all members of a job at once: together where they have to be, near where they want to be, each on the
//! node that the placing likes best.

mod domains;
mod fill;
mod index;
mod trial;

use std::collections::BTreeMap;

use crate::book::{Book, Seat};
use crate::cluster::{LEVELS, Level, NodeId};
use crate::contention::crossings;
use crate::fleet::{Models, Pod};
use crate::job::{Ask, Group, JobId, Need, Within};
use crate::placings::Scorer;
use crate::policy::{Lack, Member, Reason};

use crate::strategies::Nearness;

use index::Index;
pub use trial::Trial;

use domains::Domains;

/// Domains that are tried one after the other before a level is given up; with one group, the first that has the room is
/// right.
const TRIES_MOST: usize = 64;

/// Finds places.
pub struct Searcher {
    index: Index,
    domains: Domains,
    nearness: Nearness,
    /// Whether the job at hand is to be on few leaves.
    is_near: bool,
    /// Traffic of running jobs over the uplinks of each leaf, in the rate of one node.
    loads: Vec<f64>,
    crossings: BTreeMap<JobId, Vec<(u32, f64)>>,
}

/// A part of the cluster: one domain of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scope {
    level: Level,
    domain: u32,
}

const EVERYWHERE: Scope = Scope { level: Level::Cluster, domain: 0 };

impl Searcher {
    /// For clusters like that of `book`.
    pub fn new(book: &Book, scorer: Box<dyn Scorer>, nearness: Nearness, seed: u64) -> Self {
        Self {
            index: Index::new(scorer, seed),
            domains: Domains::new(book.cluster()),
            nearness,
            is_near: false,
            loads: Vec::new(),
            crossings: BTreeMap::new(),
        }
    }

    /// Counts the traffic of a job that is on over leaves' uplinks, once.
    pub fn count_traffic(&mut self, book: &Book, job: JobId) {
        if self.nearness != Nearness::NearAndQuiet || self.crossings.contains_key(&job) {
            return;
        }
        let entry = book.entry(job);
        let members: Vec<Member> = entry.held().copied().collect();
        let found = crossings(book.cluster(), entry.job.traffic, &members);
        self.loads.resize(book.cluster().domain_count(Level::Leaf) as usize, 0.0);
        for (leaf, crossing) in &found {
            self.loads[*leaf as usize] += crossing;
        }
        self.crossings.insert(job, found);
    }

    /// Counts it no longer.
    pub fn forget_traffic(&mut self, job: JobId) {
        for (leaf, crossing) in self.crossings.remove(&job).unwrap_or_default() {
            self.loads[leaf as usize] -= crossing;
        }
    }

    /// Places for all members, and why there; nothing if there are none. `without` are nodes that are kept for others.
    pub fn find(&mut self, trial: &mut Trial<'_>, need: &Need) -> Option<(Vec<Member>, Vec<Reason>)> {
        let asks = |of: &dyn Fn(&Ask) -> Ask| -> Vec<Ask> {
            need.groups.iter().map(|group| of(&group.ask)).collect()
        };
        let tiers = need.groups.iter().map(|group| tiers(&group.ask)).max().unwrap_or(1);
        let found = (0..tiers).find_map(|tier| self.find_asks(trial, need, &asks(&|ask| of_tier(ask, tier))));
        if found.is_some() || tiers == 1 {
            return found;
        }
        // All on models of one rank would be better than some on each, which is better than nothing.
        self.find_asks(trial, need, &asks(&any_model))
    }

    fn find_asks(
        &mut self,
        trial: &mut Trial<'_>,
        need: &Need,
        asks: &[Ask],
    ) -> Option<(Vec<Member>, Vec<Reason>)> {
        // Nothing further is looked at where there are not even enough places in all.
        for (group, ask) in need.groups.iter().zip(asks) {
            if self.total(trial, ask) < u64::from(group.least_count) {
                return None;
            }
        }
        let within = need.within.or_else(|| single_within(need));
        self.is_near = within.is_some() || self.nearness != Nearness::Unasked;
        match within {
            Some(Within { level, required: true }) => self.in_one(trial, need, asks, level),
            Some(Within { level, required: false }) => self.near(trial, need, asks, level),
            None if self.nearness != Nearness::Unasked && !is_single(need) => {
                self.near(trial, need, asks, Level::Node)
            }
            None => self.fill_all(trial, need, asks, EVERYWHERE).map(|members| (members, Vec::new())),
        }
    }

    /// In one domain of that level, or of the next coarser one, and so on; if no level but the cluster holds it, over as
    /// few domains of a leaf as possible.
    fn near(
        &mut self,
        trial: &mut Trial<'_>,
        need: &Need,
        asks: &[Ask],
        level: Level,
    ) -> Option<(Vec<Member>, Vec<Reason>)> {
        for coarser in LEVELS.into_iter().filter(|other| *other >= level && *other < Level::Cluster) {
            if coarser != level && self.domains.is_as_finer(coarser) {
                continue;
            }
            if let Some((members, mut why)) = self.in_one(trial, need, asks, coarser) {
                if coarser != level && need.within.is_some() {
                    why.push(apart(trial.book(), &members, level));
                }
                return Some((members, why));
            }
        }
        let members = self.fill_all(trial, need, asks, EVERYWHERE)?;
        let why = apart(trial.book(), &members, level);
        Some((members, vec![why]))
    }

    /// In one domain of that level: of those that have the room, the one where least is left over.
    fn in_one(
        &mut self,
        trial: &mut Trial<'_>,
        need: &Need,
        asks: &[Ask],
        level: Level,
    ) -> Option<(Vec<Member>, Vec<Reason>)> {
        if !self.can_hold(trial.book(), need, asks, level) {
            return None;
        }
        let candidates = self.candidates(trial, need, asks, level, EVERYWHERE);
        for (room_count, domain) in candidates.into_iter().take(TRIES_MOST) {
            let scope = Scope { level, domain };
            if let Some(members) = self.fill_all(trial, need, asks, scope) {
                let room_count = u32::try_from(room_count).unwrap_or(u32::MAX);
                return Some((members, vec![Reason::Fits { level, domain, room_count }]));
            }
        }
        None
    }

    /// Whether one domain of that level could hold the job if nothing else were there.
    fn can_hold(&mut self, book: &Book, need: &Need, asks: &[Ask], level: Level) -> bool {
        let widest = u64::from(self.domains.widest(level));
        let mut groups = need.groups.iter().zip(asks);
        groups.all(|(group, ask)| {
            self.index.most(book, ask).saturating_mul(widest) >= u64::from(group.least_count)
        })
    }

    /// Domains in a scope that have room for each group by itself: that room, and the domain; least room first.
    fn candidates(
        &mut self,
        trial: &Trial<'_>,
        need: &Need,
        asks: &[Ask],
        level: Level,
        scope: Scope,
    ) -> Vec<(u64, u32)> {
        let mut found: Option<Vec<(u64, u32)>> = None;
        for (group, ask) in need.groups.iter().zip(asks) {
            let rooms = self.rooms_of(trial, ask, level, scope, u64::from(group.least_count));
            found = Some(match found {
                None => rooms,
                Some(known) => {
                    let mut enough: Vec<u32> = rooms.into_iter().map(|(_, domain)| domain).collect();
                    enough.sort_unstable();
                    known.into_iter().filter(|(_, domain)| enough.binary_search(domain).is_ok()).collect()
                }
            });
        }
        let mut found = found.unwrap_or_default();
        let most = u64::from(need.groups.first().map_or(0, |group| group.most_count));
        // Those that have room for all that is wanted come before those that only have room for what is needed.
        found.sort_unstable_by_key(|(room, domain)| (*room < most, *room, *domain));
        found
    }

    /// Whether there is room for each group by itself, if nothing else mattered: quick, and never wrong when it says no.
    pub fn has_room(&mut self, trial: &Trial<'_>, need: &Need) -> bool {
        need.groups
            .iter()
            .all(|group| self.total(trial, &any_model(&group.ask)) >= u64::from(group.least_count))
    }

    /// Room for members like this in the whole cluster.
    fn total(&mut self, trial: &Trial<'_>, ask: &Ask) -> u64 {
        self.rooms(trial, ask, Level::Cluster, EVERYWHERE).first().map_or(0, |(room, _)| *room)
    }

    /// Room for members of a group in each domain of a level, with any of their models.
    pub fn room(&mut self, trial: &Trial<'_>, group: &Group, level: Level) -> Vec<(u64, u32)> {
        self.rooms(trial, &any_model(&group.ask), level, EVERYWHERE)
    }

    /// Room for members on a node.
    pub fn room_on(trial: &Trial<'_>, ask: &Ask, node: NodeId) -> u64 {
        u64::from(trial.count(node, ask).min(index::COUNT_MOST))
    }

    /// A place for a lost member, in the domains of those that are left where it has to be with them.
    pub fn replacement(
        &mut self,
        trial: &mut Trial<'_>,
        need: &Need,
        seats: &[(Member, Seat)],
        number: usize,
    ) -> Option<Member> {
        let of_group = seats[number].0.group;
        let group = &need.groups[usize::from(of_group)];
        let rank = seats[..number].iter().filter(|(member, _)| member.group == of_group).count();
        let set = group.sets.map(|(size, within)| (rank / (size as usize).max(1), size as usize, within));
        let mut scope = EVERYWHERE;
        let mut place_in_group = 0;
        for (at, (member, seat)) in seats.iter().enumerate() {
            let is_mine = member.group == of_group;
            let mine = place_in_group;
            place_in_group += usize::from(is_mine);
            if at == number || *seat == Seat::Lost {
                continue;
            }
            let of_set = set
                .filter(|(row, size, _)| is_mine && mine / (*size).max(1) == *row)
                .map(|(_, _, within)| within);
            for within in [need.within, group.within.filter(|_| is_mine), of_set].into_iter().flatten() {
                if within.required && within.level < scope.level {
                    let domain = trial.book().cluster().domain(member.node, within.level);
                    scope = Scope { level: within.level, domain };
                }
            }
        }
        let tiers = 0..tiers(&group.ask);
        tiers.into_iter().find_map(|tier| {
            let ask = of_tier(&group.ask, tier);
            self.fill(trial, of_group, &ask, 1, scope).and_then(|members| members.first().copied())
        })
    }

    /// What stands in the way, for a job that does not fit: the group that lacks most, by what is free now.
    pub fn lack(&mut self, trial: &Trial<'_>, need: &Need) -> Lack {
        let level = match need.within.or_else(|| single_within(need)) {
            Some(Within { level, required: true }) => level,
            Some(Within { required: false, .. }) | None => Level::Cluster,
        };
        let mut worst: Option<(u64, Lack)> = None;
        for group in &need.groups {
            let (level, count) = match group.sets {
                Some((size, Within { level: inner, required: true })) if level == Level::Cluster => {
                    (inner, size)
                }
                Some(_) | None => (level, group.least_count),
            };
            let mut rooms = self.room(trial, group, level);
            rooms.sort_unstable_by_key(|(room, domain)| (std::cmp::Reverse(*room), *domain));
            let most = rooms.first().map_or(0, |(room, _)| *room);
            let short = u64::from(count).saturating_sub(most);
            if worst.as_ref().is_none_or(|(known, _)| short > *known) {
                let small = |room: u64| u32::try_from(room).unwrap_or(u32::MAX);
                let best = rooms.iter().take(3).map(|(room, domain)| (*domain, small(*room))).collect();
                let each = words(&group.ask);
                worst = Some((short, Lack { needed_count: count, each, level, best, blockers: Vec::new() }));
            }
        }
        worst.map_or_else(
            || Lack { needed_count: 0, each: String::new(), level, best: Vec::new(), blockers: Vec::new() },
            |(_, lack)| lack,
        )
    }
}

fn apart(book: &Book, members: &[Member], level: Level) -> Reason {
    let mut domains: Vec<u32> =
        members.iter().map(|member| book.cluster().domain(member.node, level)).collect();
    domains.sort_unstable();
    domains.dedup();
    Reason::Apart { level, domain_count: u32::try_from(domains.len()).unwrap_or(u32::MAX) }
}

/// How many ranks of models an ask has; a pod without GPUs first looks at nodes without GPUs.
fn tiers(ask: &Ask) -> usize {
    if ask.pod.gpu_count == 0 { 2 } else { ask.tiers().count() }
}

/// The ask with the models of one rank only.
fn of_tier(ask: &Ask, tier: usize) -> Ask {
    let last = ask.tiers().last().unwrap_or(ask.pod.models);
    let models = match ask.pod.gpu_count {
        // Models that no node has stand for nodes without GPUs.
        0 if tier == 0 => Models(0),
        0 => Models::ANY,
        _ => ask.tiers().nth(tier).unwrap_or(last),
    };
    Ask { pod: Pod { models, ..ask.pod.clone() }, fallback: Vec::new(), ..ask.clone() }
}

/// The ask with models of all ranks.
pub fn any_model(ask: &Ask) -> Ask {
    let all = if ask.pod.gpu_count == 0 {
        Models::ANY
    } else {
        Models(ask.tiers().fold(0, |all, models| all | models.0))
    };
    Ask { pod: Pod { models: all, ..ask.pod.clone() }, fallback: Vec::new(), ..ask.clone() }
}

/// What holds for the only group holds for the job.
fn single_within(need: &Need) -> Option<Within> {
    match need.groups.as_slice() {
        [group] => group.within,
        _ => None,
    }
}

fn is_single(need: &Need) -> bool {
    matches!(need.groups.as_slice(), [Group { most_count: 1, .. }])
}

/// What a member asks for, in words: `8 GPUs`, `0.5 GPU`, `3g.20gb`, `4 CPUs`.
pub fn words(ask: &Ask) -> String {
    let pod = &ask.pod;
    match (&ask.slice, pod.gpu_count) {
        (Some(slice), _) => slice.clone(),
        (None, 0) => format!("{} CPUs", f64::from(pod.cpu_milli) / 1000.0),
        (None, 1) if pod.is_share() => format!("{} GPU", f64::from(pod.gpu_milli) / 1000.0),
        (None, 1) => "1 GPU".to_owned(),
        (None, count) => format!("{count} GPUs"),
    }
}
