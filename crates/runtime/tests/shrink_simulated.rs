//! Ranks that agree who is left, over a network that delays as a seed says, while ranks die and are stopped.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests may fail")]

mod common;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use common::network::{Behaviour, Ended, played};
use common::{Draws, expected::expected, filled};
use weft_collective::{ALGORITHMS, Call, Collective, Counts, Rank, Terrain};
use weft_runtime::agreement::{Agreement, Loss, Outcome, Word, may_go_on};
use weft_runtime::{Element, Reduction};

/// Who says nothing for so long is taken to be lost.
const DEADLINE: u64 = 200;
/// The longest delay of a word. Two of them and a little are less than the deadline.
const DELAY: usize = 60;
const FOREVER: u64 = u64::MAX;

/// What a rank's connection to another carries: words, and at last its end.
#[derive(Debug)]
enum Parcel {
    Word(Word),
    End,
}

#[derive(Debug)]
struct Member {
    agreement: Agreement,
    /// From when to when it does nothing; dead if for ever and `dies`.
    still: (u64, u64),
    dies: bool,
    comes: u64,
    began: bool,
    changed: u64,
    missed: usize,
}

struct World {
    draws: Draws,
    now: u64,
    members: Vec<Member>,
    lines: BTreeMap<(usize, usize), VecDeque<(u64, Parcel)>>,
}

fn rank(index: usize) -> Rank {
    Rank::new(u32::try_from(index).unwrap())
}

impl World {
    fn new(seed: u64, ranks: usize, deaths: usize, stops: usize) -> Self {
        let mut draws = Draws(seed);
        let mut members: Vec<Member> = (0..ranks)
            .map(|me| Member {
                agreement: Agreement::new(rank(me), u32::try_from(ranks).unwrap()),
                still: (FOREVER, FOREVER),
                dies: false,
                comes: draws.below(40) as u64,
                began: false,
                changed: 0,
                missed: 0,
            })
            .collect();
        for event in 0..deaths + stops {
            let who = draws.below(ranks);
            let begins = 1 + draws.below(300) as u64;
            let wakes = if draws.below(2) == 0 { FOREVER } else { begins + draws.below(900) as u64 };
            members[who].dies = event < deaths;
            members[who].still = (begins, if event < deaths { FOREVER } else { wakes });
        }
        Self { draws, now: 0, members, lines: BTreeMap::new() }
    }

    fn send(&mut self, from: usize, to: usize, parcel: Parcel) {
        let arrives = self.now + self.draws.below(DELAY + 1) as u64;
        let line = self.lines.entry((from, to)).or_default();
        let last = line.back().map_or(0, |(arrives, _)| *arrives);
        line.push_back((arrives.max(last), parcel));
    }

    fn step(&mut self) {
        self.now += 1;
        let now = self.now;
        for me in 0..self.members.len() {
            let (begins, wakes) = self.members[me].still;
            if self.members[me].dies && begins == now {
                // What it wanted to say at this moment is said only in part.
                let words = self.members[me].agreement.take();
                let said = self.draws.below(words.len() + 1);
                let began = self.members[me].began;
                for (to, word) in words.into_iter().take(if began { said } else { 0 }) {
                    self.send(me, to.index(), Parcel::Word(word));
                }
                for to in (0..self.members.len()).filter(|to| *to != me) {
                    self.send(me, to, Parcel::End);
                }
            }
            let member = &mut self.members[me];
            if now < member.comes || (begins..wakes).contains(&now) {
                continue;
            }
            if !std::mem::replace(&mut member.began, true) {
                member.changed = now;
            }
            self.hear(me);
            self.miss(me);
            let words = self.members[me].agreement.take();
            for (to, word) in words {
                self.send(me, to.index(), Parcel::Word(word));
            }
        }
    }

    fn hear(&mut self, me: usize) {
        for from in 0..self.members.len() {
            let Some(line) = self.lines.get_mut(&(from, me)) else { continue };
            while line.front().is_some_and(|(arrives, _)| *arrives <= self.now) {
                match line.pop_front().unwrap().1 {
                    Parcel::Word(word) => self.members[me].agreement.hear(rank(from), &word),
                    Parcel::End => self.members[me].agreement.lose(rank(from), Loss::Gone),
                }
            }
        }
    }

    fn miss(&mut self, me: usize) {
        let member = &mut self.members[me];
        if member.agreement.outcome().is_none() && self.now >= member.changed + DEADLINE {
            let awaited: Vec<Rank> = member.agreement.awaited().collect();
            for rank in awaited {
                member.agreement.lose(rank, Loss::Silent);
            }
        }
        if member.agreement.lost().len() != member.missed {
            (member.missed, member.changed) = (member.agreement.lost().len(), self.now);
        }
    }

    /// Who takes part at the end.
    fn lives(&self, me: usize) -> bool {
        !(self.members[me].still.0..self.members[me].still.1).contains(&self.now)
    }

    fn runs(&mut self) {
        let ranks = self.members.len() as u64;
        while self.now < (ranks + 2) * (DEADLINE + 2 * DELAY as u64) + 1300 {
            self.step();
            // Nothing can happen any more.
            let still = |member: &Member| member.still.0 < self.now && member.still.1 == FOREVER;
            let over = |member: &Member| member.agreement.outcome().is_some() && member.still.0 == FOREVER;
            if self.lines.values().all(VecDeque::is_empty)
                && self.members.iter().all(|member| still(member) || over(member))
            {
                break;
            }
        }
    }

    /// Whom each goes on with, by who goes on.
    fn groups(&self) -> BTreeMap<usize, BTreeSet<usize>> {
        let ranks = self.members.len();
        let count = u32::try_from(ranks).unwrap();
        let group = |me: usize| match self.members[me].agreement.outcome() {
            Some(Outcome::GoesOn(lost)) if may_go_on(count, lost) => {
                Some((0..ranks).filter(|other| !lost.contains_key(&rank(*other))).collect())
            }
            Some(Outcome::GoesOn(_) | Outcome::LeftOut(_)) | None => None,
        };
        (0..ranks).filter_map(|me| Some((me, group(me)?))).collect()
    }
}

/// The sum of what ranks of a group bring, over the simulated network.
fn sums_are_right(ranks: usize, draws: &mut Draws) {
    let call = Call {
        counts: Counts::Even(37),
        data_type: Element::I32.data_type(),
        ..Call::bytes(Collective::AllReduce, 0)
    };
    let count = u32::try_from(ranks).unwrap();
    let terrain = Terrain::flat(count);
    let fits: Vec<_> = ALGORITHMS.iter().filter(|entry| entry.suits(&call, &terrain).is_ok()).collect();
    let plan = fits[draws.below(fits.len())].plan(&call, &terrain);
    let before = filled(&plan, &call, Element::I32, draws);
    let behaviour = Behaviour { room: 8 + draws.below(300), delay: 9, part: 70, death: None };
    let seed = draws.next();
    let ended = played(&plan, &call, (Element::I32, Reduction::Sum), before.clone(), (behaviour, seed));
    let Ended::Whole(after) = ended else { panic!("stuck") };
    for me in (0..count).map(Rank::new) {
        for (at, bytes) in expected(&plan, &call, &before, me) {
            assert_eq!(after[me.index()].output[at..at + bytes.len()], bytes);
        }
    }
}

#[test]
fn after_deaths_all_that_live_agree() {
    let (mut shrunk, mut again) = (0, 0);
    for seed in 0..1000 {
        let mut draws = Draws(seed);
        let (mut ranks, deaths) = (1 + draws.below(8), draws.below(4));
        let mut world = World::new(seed, ranks, deaths, 0);
        loop {
            world.runs();
            let living: BTreeSet<usize> = (0..ranks).filter(|me| world.lives(*me)).collect();
            let groups = world.groups();
            let going: BTreeSet<usize> = groups.keys().copied().filter(|me| living.contains(me)).collect();
            assert_eq!(going, living, "seed {seed}: all that live go on");
            let Some(first) = living.first() else { break };
            let group = &groups[first];
            for me in &living {
                assert_eq!(&groups[me], group, "seed {seed}, rank {me}");
            }
            assert!(group.is_superset(&living), "seed {seed}: nobody that lives is left out");
            sums_are_right(group.len(), &mut draws);
            shrunk += usize::from(group.len() < ranks);
            if *group == living {
                break;
            }
            // Somebody died after all had agreed on it: those who are left agree once more.
            again += 1;
            let dead: Vec<usize> =
                (0..group.len()).filter(|me| !living.contains(group.iter().nth(*me).unwrap())).collect();
            ranks = group.len();
            world = World::new(seed + 7_000, ranks, 0, 0);
            for me in dead {
                world.members[me].dies = true;
                world.members[me].still = (1, FOREVER);
            }
        }
    }
    println!("{shrunk} smaller groups, {again} of them after another death");
    assert!(shrunk > 400 && again > 50);
}

#[test]
fn stopped_ranks_that_wake_never_make_a_second_group() {
    let (mut went_on, mut left_out, mut refused) = (0, 0, 0);
    for seed in 0..1500 {
        let mut draws = Draws(seed + 50_000);
        let (ranks, deaths, stops) = (2 + draws.below(7), draws.below(2), 1 + draws.below(3));
        let mut world = World::new(seed + 50_000, ranks, deaths, stops);
        world.runs();
        for me in (0..ranks).filter(|me| world.lives(*me)) {
            let outcome = world.members[me].agreement.outcome();
            assert!(outcome.is_some(), "seed {seed}: rank {me} waits for ever");
            left_out += usize::from(matches!(outcome, Some(Outcome::LeftOut(_))));
        }
        // A group is one once all in it say so; then it has no rank in common with another one.
        let groups = world.groups();
        let whole: BTreeSet<&BTreeSet<usize>> = groups
            .values()
            .filter(|group| group.iter().all(|member| groups.get(member) == Some(*group)))
            .collect();
        assert!(whole.len() <= 1, "seed {seed}: {whole:?}");
        match whole.first() {
            Some(group) => {
                sums_are_right(group.len(), &mut draws);
                went_on += 1;
            }
            None => refused += 1,
        }
    }
    println!("{went_on} went on, {refused} did not, {left_out} ranks left out");
    assert!(went_on > 1000 && left_out > 50);
}
