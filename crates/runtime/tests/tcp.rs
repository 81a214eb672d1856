//! Streams over TCP: random messages against what was sent, calls that differ, interfaces.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests may fail")]
#![allow(clippy::cast_precision_loss, reason = "small numbers")]

mod common;
#[path = "common/group.rs"]
mod group;

use common::Draws;
use group::{fresh_path, join, patient, ranks};
use weft_collective::{Rank, Terrain};
use weft_runtime::model::Calibration;
use weft_runtime::{
    Announced, Choice, Communicator, Fault, Listening, Port, Ports, Reduction, Tcp, TcpSettings, Transport,
};

/// The byte at a place of all that goes from one rank to another on a channel.
fn byte(seed: u64, from: u32, to: u32, channel: u16, at: usize) -> u8 {
    let mixed = seed * 31 + u64::from(from) * 7 + u64::from(to) * 13 + u64::from(channel) * 17;
    let at = (at + at / 251) as u64;
    (mixed + at).to_le_bytes()[0]
}

/// The messages of a stream, in units, as both its ends know them.
fn messages(seed: u64, from: u32, to: u32, channel: u16) -> Vec<(usize, usize)> {
    let mut draws = Draws(seed * 1000 + u64::from(from) * 100 + u64::from(to) * 10 + u64::from(channel));
    let count = draws.below(6);
    let lengths = [0, 1, 2, 7, 100, 5000, 70_000, 300_000];
    (0..count).map(|_| ([1, 2, 4, 8][draws.below(4)], lengths[draws.below(lengths.len())])).collect()
}

/// One end of a stream, with the piece that is under way.
struct End {
    port: Port,
    sends: bool,
    messages: Vec<(usize, usize)>,
    message: usize,
    /// Bytes of the present message that are over, and of all before it.
    done: usize,
    before: usize,
    piece: Option<(usize, usize)>,
}

impl End {
    fn open(&self) -> bool {
        self.message < self.messages.len()
    }

    /// Goes on; whether something moved.
    fn go_on(&mut self, me: u32, seed: u64, draws: &mut Draws, tcp: &mut Tcp) -> Result<bool, Fault> {
        let (unit, count) = self.messages[self.message];
        let length = unit * count;
        // A new piece when the last one is over: any number of units, or all that is left.
        let (start, size) = *self.piece.get_or_insert_with(|| {
            let left = count - self.done / unit;
            (self.done, if draws.below(3) == 0 { left } else { (1 + draws.below(left)).min(left) } * unit)
        });
        let end = start + size == length;
        let (peer, channel) = (self.port.peer.get(), self.port.channel);
        let (mut came, before) = (size == 0, self.done);
        if self.sends {
            let piece: Vec<u8> =
                (0..size).map(|at| byte(seed, me, peer, channel, self.before + start + at)).collect();
            self.done = start + tcp.push(self.port, &piece, self.done - start, end)?;
        } else {
            came = false;
            let (want, mut at) = (start + size - self.done, self.before + self.done);
            if size % 3 == 1 {
                // Kept, not combined: parts of units may come.
                let mut kept = vec![0; want];
                let got = tcp.pull_into(self.port, &mut kept, unit, end)?;
                let right = (at..at + got).map(|at| byte(seed, peer, me, channel, at));
                assert!(kept[..got].iter().copied().eq(right), "wrong bytes kept from {peer} at {at}");
                self.done += got;
            } else {
                let got = tcp.pull(self.port, want, unit, end, |part| {
                    assert_eq!(part.len() % unit, 0);
                    let right = (at..at + part.len()).map(|at| byte(seed, peer, me, channel, at));
                    assert!(part.iter().copied().eq(right), "wrong bytes from {peer} on {channel} at {at}");
                    (at, came) = (at + part.len(), true);
                })?;
                self.done += got;
                assert!(got <= want && got.is_multiple_of(unit));
            }
        }
        if self.done == start + size && (size > 0 || came) {
            self.piece = None;
            if end {
                (self.message, self.done, self.before) = (self.message + 1, 0, self.before + length);
            }
            return Ok(true);
        }
        Ok(self.done > before)
    }
}

/// Plays all messages of a seed at one rank.
fn exchange(tcp: &mut Tcp, me: u32, ranks: u32, seed: u64) {
    let text = format!("exchange {seed}");
    tcp.begin(Announced { signature_bits: seed, text: &text }).unwrap();
    let mut draws = Draws(seed * 77 + u64::from(me));
    let mut ends = Vec::new();
    for peer in (0..ranks).filter(|peer| *peer != me) {
        for channel in 0..3 {
            let port = Port { peer: Rank::new(peer), channel };
            for sends in [true, false] {
                let messages =
                    if sends { messages(seed, me, peer, channel) } else { messages(seed, peer, me, channel) };
                ends.push(End { port, sends, messages, message: 0, done: 0, before: 0, piece: None });
            }
        }
    }
    let mut rounds = 0;
    while ends.iter().any(End::open) {
        let mut moved = false;
        for end in &mut ends {
            if end.open() && draws.below(4) > 0 {
                moved |= end.go_on(me, seed, &mut draws, tcp).unwrap();
            }
        }
        rounds = if moved { 0 } else { rounds + 1 };
        if rounds > 0 {
            let on: Vec<Port> = ends.iter().filter(|end| end.open()).map(|end| end.port).collect();
            tcp.wait(rounds, &on).unwrap();
        }
    }
}

#[test]
fn random_messages_in_random_pieces_arrive_whole_and_in_order() {
    let settings =
        TcpSettings { staging_bytes: 10_000, socket_buffer_bytes: Some(256 << 10), ..patient(20_000) };
    for settings in [settings, patient(20_000)] {
        let path = fresh_path();
        ranks(3, |rank| {
            let mut tcp = join(&path, rank, 3, &settings).unwrap();
            for seed in 1..12 {
                exchange(&mut tcp, rank, 3, seed);
            }
            assert_eq!((tcp.rank(), tcp.ranks(), tcp.reasons().len()), (Rank::new(rank), 3, 2));
        });
        assert!(!path.exists(), "the file of the meeting is left over");
    }
}

fn quickest() -> Choice {
    Choice::Quickest(Box::new(Calibration::of_link(1e-5, 2e9)))
}

#[test]
fn collectives_run_over_it() {
    let path = fresh_path();
    let results = ranks(4, |rank| {
        let tcp = join(&path, rank, 4, &patient(20_000)).unwrap();
        let mut group = Communicator::new(Rank::new(rank), Terrain::flat(4), tcp, quickest());
        let mut data: Vec<f32> = (0_u16..1000).map(|at| f32::from(at) + rank as f32).collect();
        group.all_reduce(&mut data, Reduction::Sum).unwrap();
        group.barrier().unwrap();
        let mut large = vec![i32::try_from(rank).unwrap(); 1 << 20];
        group.all_reduce(&mut large, Reduction::Max).unwrap();
        assert!(large.iter().all(|value| *value == 3));
        data
    });
    // Four times the element, and 0 + 1 + 2 + 3.
    let right: Vec<f32> = (0_u16..1000).map(|at| 4.0 * f32::from(at) + 6.0).collect();
    assert!(results.iter().all(|data| *data == right));
}

/// Lets one rank make another call, and gives what all are told.
fn differing(count: u32, odd: u32) -> Vec<Fault> {
    let path = fresh_path();
    ranks(count, |rank| {
        let mut tcp = join(&path, rank, count, &patient(10_000)).unwrap();
        let call = if rank == odd { (5, "all-reduce of 8 float") } else { (4, "all-reduce of 4 float") };
        tcp.begin(Announced { signature_bits: call.0, text: call.1 }).unwrap();
        let next = Port { peer: Rank::new((rank + 1) % count), channel: 0 };
        let last = Port { peer: Rank::new((rank + count - 1) % count), channel: 0 };
        let (mut done, mut rounds) = (0, 0);
        loop {
            let step = tcp
                .push(next, &[1; 32], done, true)
                .and_then(|sent| {
                    done = sent;
                    tcp.pull(last, 1 << 20, 4, true, |_| {})
                })
                .and_then(|_| {
                    rounds += 1;
                    tcp.wait(rounds, &[last])
                });
            if let Err(fault) = step {
                return fault;
            }
        }
    })
}

#[test]
fn a_rank_that_makes_another_call_is_named_by_all() {
    for (count, odd) in [(3, 0), (3, 2), (4, 1)] {
        for fault in differing(count, odd) {
            let Fault::Differs { rank, what, theirs, ours } = &fault else { panic!("{fault}") };
            assert_eq!((rank.get(), *what), (odd, "call"), "{fault}");
            assert_eq!(theirs, "call 1: all-reduce of 8 float");
            assert_eq!(ours, "call 1: all-reduce of 4 float");
        }
    }
    // Of two, the second is taken to be the odd one.
    for fault in differing(2, 0) {
        assert_eq!(fault.rank(), Some(Rank::new(1)), "{fault}");
        assert!(fault.to_string().contains("8 float") && fault.to_string().contains("4 float"), "{fault}");
    }
}

#[test]
fn an_interface_can_be_forced_and_a_wrong_one_is_told() {
    let settings = TcpSettings { interface: Some("lo".to_owned()), ..patient(10_000) };
    let path = fresh_path();
    let reasons = ranks(2, |rank| join(&path, rank, 2, &settings).unwrap().reasons().join("\n"));
    assert!(reasons[1].contains("(lo") && reasons[1].contains("on the same host"), "{reasons:?}");
    assert!(reasons[0].contains("came from"), "{reasons:?}");
    let wrong = TcpSettings { interface: Some("ib9".to_owned()), ..patient(1000) };
    let fault = Listening::open(&wrong).unwrap_err();
    assert!(fault.to_string().contains("`ib9`") && fault.to_string().contains("lo (127.0.0.1)"), "{fault}");
}

#[test]
fn a_rank_that_leaves_early_is_named() {
    let path = fresh_path();
    let faults = ranks(2, |rank| {
        let mut tcp = join(&path, rank, 2, &patient(10_000)).unwrap();
        tcp.begin(Announced { signature_bits: 1, text: "a call" }).unwrap();
        let port = Port { peer: Rank::new(1), channel: 0 };
        if rank == 1 {
            return None;
        }
        for rounds in 1.. {
            tcp.pull(port, 8, 8, true, |_| panic!("nothing was sent")).unwrap();
            if let Err(fault) = tcp.wait(rounds, &[port]) {
                return Some(fault);
            }
        }
        None
    });
    let Some(Fault::Dead { rank, how }) = &faults[0] else { panic!("{faults:?}") };
    assert_eq!(rank.get(), 1);
    assert!(how.contains("left the group") && how.contains("call 1 (a call)"), "{how}");
}

#[test]
fn who_gives_up_tells_why() {
    let path = fresh_path();
    let faults = ranks(3, |rank| {
        // Rank 2 may have given up before the others are all connected.
        let mut tcp = match join(&path, rank, 3, &patient(10_000)) {
            Ok(tcp) => tcp,
            Err(fault) => return fault,
        };
        tcp.begin(Announced { signature_bits: 1, text: "a call" }).unwrap();
        if rank == 2 {
            let fault = Fault::Lacking { what: "memory", how: "there is none".to_owned() };
            tcp.abandon(&fault);
            return fault;
        }
        let port = Port { peer: Rank::new(1 - rank), channel: 0 };
        let mut rounds = 0;
        loop {
            rounds += 1;
            if let Err(fault) = tcp.pull(port, 8, 8, true, |_| {}).and_then(|_| tcp.wait(rounds, &[port])) {
                return fault;
            }
        }
    });
    let told = Fault::Abandoned { rank: Rank::new(2), reason: "memory: there is none".to_owned() };
    assert_eq!(faults[..2], [told.clone(), told]);
}
