//! Streams between ranks of one host: every byte arrives, and who is to blame is named.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may, as tests do")]
#![expect(clippy::disallowed_methods, reason = "tests start this very program again and tell it why")]

use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use weft_collective::Rank;
use weft_runtime::transports::shared_memory::{Region, Settings, SharedMemory};
use weft_runtime::{Announced, Fault, Port, Ports, Transport};

/// Long enough for a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(60);
/// What a test waits for that ends by it.
const SHORT: Duration = Duration::from_secs(2);

const NEVER: usize = usize::MAX - 1;

fn rank(number: usize) -> Rank {
    Rank::new(u32::try_from(number).unwrap())
}

fn port(peer: usize, channel: u16) -> Port {
    Port { peer: rank(peer), channel }
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most.max(1)
    }
}

/// A message as both ends know it: its bytes, and what they are multiples of.
fn message(from: usize, to: usize, channel: u16, number: usize) -> (Vec<u8>, usize) {
    let mut random = Random((from * 31 + to * 7 + usize::from(channel) * 3 + number * 1009) as u64 ^ 0x5eed);
    random.below(1);
    let unit = [1, 2, 4, 8, 12][random.below(5)];
    let most = [1, 48, 200, 5_000, 70_000, 1 << 20][random.below(6)];
    let length = random.below(most) / unit * unit;
    ((0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect(), unit)
}

/// One direction of a port, with the message it is at.
struct End {
    port: Port,
    sends: bool,
    number: usize,
    bytes: Vec<u8>,
    unit: usize,
    /// Bytes over, and of the present piece: where it begins and ends, and how much of it is over.
    at: usize,
    piece: Option<(usize, usize, usize)>,
    /// Whether the message is over; an empty one is only once it has come.
    over: bool,
}

impl End {
    /// Goes on a little; whether anything moved.
    fn step(&mut self, transport: &mut SharedMemory, random: &mut Random) -> bool {
        if self.sends { self.push(transport, random) } else { self.pull(transport, random) }
    }

    fn push(&mut self, transport: &mut SharedMemory, random: &mut Random) -> bool {
        let rest = self.bytes.len() - self.at;
        let length = if random.below(3) == 0 { rest } else { random.below(rest + 1) };
        let (start, end, done) = self.piece.unwrap_or((self.at, self.at + length, 0));
        let last = end == self.bytes.len();
        let now = transport.push(self.port, &self.bytes[start..end], done, last).unwrap();
        assert!(now >= done && now <= end - start);
        self.piece = (start + now < end).then_some((start, end, now));
        if self.piece.is_none() {
            self.at = end;
            self.over = last;
        }
        now > done || last
    }

    fn pull(&mut self, transport: &mut SharedMemory, random: &mut Random) -> bool {
        let rest = self.bytes.len() - self.at;
        let want = if random.below(3) == 0 { rest } else { random.below(rest + 1) / self.unit * self.unit };
        let mut at = self.at;
        let (bytes, unit) = (&self.bytes, self.unit);
        let end = self.at + want == bytes.len();
        if want > 0 && random.below(2) == 0 {
            let mut into = vec![0; want];
            let got = transport.pull_into(self.port, &mut into, unit, end).unwrap();
            assert!(got.is_multiple_of(unit));
            assert!(into[..got] == bytes[at..at + got], "wrong bytes at {at} of {}", bytes.len());
            self.at += got;
            self.over = end && got == want;
            return got > 0;
        }
        let mut called = false;
        let got = transport.pull(self.port, want, unit, end, |part| {
            called = true;
            assert!(part.len().is_multiple_of(unit));
            assert!(part == &bytes[at..at + part.len()], "wrong bytes at {at} of {}", bytes.len());
            at += part.len();
        });
        let got = got.unwrap();
        assert_eq!(self.at + got, at);
        self.at = at;
        self.over = called && end && at == self.bytes.len();
        got > 0 || self.over
    }
}

/// One rank sends to and receives from all others on all channels at once, and itself on the first.
fn exchange(mut transport: SharedMemory, channels: u16, messages: usize) {
    let me = transport.rank().index();
    let mut random = Random(me as u64 + 99);
    transport.begin(Announced { signature_bits: 7, text: "an exchange" }).unwrap();
    let mut ends = Vec::new();
    for peer in 0..transport.ranks() {
        for channel in 0..channels {
            for sends in [true, false] {
                let (bytes, unit) =
                    if sends { message(me, peer, channel, 0) } else { message(peer, me, channel, 0) };
                let port = port(peer, channel * 5);
                ends.push(End { port, sends, number: 0, bytes, unit, at: 0, piece: None, over: false });
            }
        }
    }
    let mut rounds = 0;
    while !ends.is_empty() {
        let mut moved = false;
        for end in &mut ends {
            moved |= end.step(&mut transport, &mut random);
            if std::mem::take(&mut end.over) {
                end.number += 1;
                let (peer, channel) = (end.port.peer.index(), end.port.channel / 5);
                let (from, to) = if end.sends { (me, peer) } else { (peer, me) };
                (end.bytes, end.unit) = message(from, to, channel, end.number);
                end.at = 0;
            }
        }
        ends.retain(|end| end.number < messages);
        let on: Vec<Port> = ends.iter().map(|end| end.port).collect();
        rounds = if moved { 0 } else { rounds + 1 };
        if !moved {
            transport.wait(rounds, &on).unwrap();
        }
    }
}

/// Runs one closure per rank, each in a thread, and gives what they return.
fn threads<T: Send>(ranks: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let run = &run;
        let started: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || run(rank))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn exchange_with(settings: Settings, ranks: usize, channels: u16) {
    let region = SharedMemory::create(ranks, &settings).unwrap();
    threads(ranks, |me| {
        let transport = SharedMemory::join(&region, rank(me), DEADLINE, &settings).unwrap();
        exchange(transport, channels, 12);
    });
}

#[test]
fn random_messages_in_random_pieces_arrive_staged() {
    exchange_with(Settings { ring_bytes: 4096, direct_from_bytes: NEVER, ..Settings::default() }, 3, 2);
}

#[test]
fn random_messages_in_random_pieces_arrive_directly() {
    exchange_with(Settings { direct_from_bytes: 49, direct_part_bytes: 1000, ..Settings::default() }, 3, 1);
}

#[test]
fn random_messages_in_random_pieces_arrive_by_default() {
    exchange_with(Settings::default(), 2, 3);
}

#[test]
fn random_messages_arrive_where_reading_is_not_tried() {
    exchange_with(Settings { direct_from_bytes: usize::MAX, ..Settings::default() }, 2, 1);
}

/// Sends all of it, or fails.
fn send(transport: &mut SharedMemory, to: Port, piece: &[u8]) -> Result<(), Fault> {
    let (mut done, mut rounds) = (transport.push(to, piece, 0, true)?, 0);
    while done < piece.len() {
        rounds += 1;
        transport.wait(rounds, &[to])?;
        done = transport.push(to, piece, done, true)?;
    }
    Ok(())
}

fn receive(transport: &mut SharedMemory, from: Port, length: usize) -> Result<Vec<u8>, Fault> {
    let (mut bytes, mut rounds) = (Vec::new(), 0);
    while bytes.len() < length {
        rounds += 1;
        let want = length - bytes.len();
        if transport.pull(from, want, 1, true, |part| bytes.extend_from_slice(part))? == 0 {
            transport.wait(rounds, &[from])?;
        } else {
            rounds = 0;
        }
    }
    Ok(bytes)
}

/// Processor time that this thread has had.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_ascii_whitespace().next().unwrap().parse().unwrap())
}

/// Two ranks that have a processor each if the machine has two, and eight that probably have not.
#[test]
fn who_waits_for_long_takes_no_processor_time() {
    for ranks in [2, 8] {
        let region = SharedMemory::create(ranks, &Settings::default()).unwrap();
        threads(ranks, |me| {
            let mut transport =
                SharedMemory::join(&region, rank(me), DEADLINE, &Settings::default()).unwrap();
            if me == 0 {
                thread::sleep(Duration::from_millis(200));
                (1..ranks).for_each(|peer| send(&mut transport, port(peer, 0), &[5; 8]).unwrap());
                return;
            }
            let (begun, before) = (Instant::now(), processor_time());
            assert_eq!(receive(&mut transport, port(0, 0), 8), Ok(vec![5; 8]));
            let (waited, used) = (begun.elapsed(), processor_time().saturating_sub(before));
            // Others may have come late; of what was waited, the first 0.3 ms are yielded, and the rest slept.
            assert!(
                waited < Duration::from_millis(100) || used < Duration::from_millis(5),
                "{used:?} of {waited:?}"
            );
        });
    }
}

#[test]
fn empty_messages_come_one_by_one() {
    let region = SharedMemory::create(2, &Settings::default()).unwrap();
    threads(2, |me| {
        let mut transport = SharedMemory::join(&region, rank(me), DEADLINE, &Settings::default()).unwrap();
        // More than a stream holds at a time.
        for number in 0..100_u8 {
            if me == 0 {
                assert_eq!(transport.push(port(1, 0), &[], 0, true), Ok(0));
                send(&mut transport, port(1, 0), &[number; 3]).unwrap();
                continue;
            }
            let (mut has_come, mut rounds) = (false, 0);
            while !has_come {
                assert_eq!(transport.pull(port(0, 0), 0, 4, true, |part| has_come = part.is_empty()), Ok(0));
                rounds += 1;
                transport.wait(rounds, &[port(0, 0)]).unwrap();
            }
            assert_eq!(receive(&mut transport, port(0, 0), 3), Ok(vec![number; 3]));
        }
    });
}

#[test]
fn buffers_that_are_shared_are_read_where_they_are() {
    let settings = Settings { registered_from_bytes: 100, ..Settings::default() };
    let region = SharedMemory::create(2, &settings).unwrap();
    let seen = threads(2, |me| {
        let mut transport = SharedMemory::join(&region, rank(me), DEADLINE, &settings).unwrap();
        let mut seen = 0;
        // More buffers than are kept mapped, each written anew and used from its middle.
        for round in 0..40_u8 {
            if me == 0 {
                let mut buffer = transport.allocate(300_000).unwrap();
                assert!(buffer.iter().all(|byte| *byte == 0));
                assert_eq!(buffer.len(), 300_000);
                for (index, number) in buffer.numbers_mut::<u32>().iter_mut().enumerate() {
                    *number = u32::try_from(index).unwrap() * 3 + u32::from(round);
                }
                send(&mut transport, port(1, 0), &buffer[4000..290_000]).unwrap();
            } else {
                let bytes = receive(&mut transport, port(0, 0), 286_000).unwrap();
                let numbers = bytes.chunks(4).map(|four| u32::from_ne_bytes(four.try_into().unwrap()));
                for (index, number) in numbers.enumerate() {
                    assert_eq!(number, (u32::try_from(index).unwrap() + 1000) * 3 + u32::from(round));
                    seen += 1;
                }
            }
        }
        seen
    });
    assert_eq!(seen, [0, 40 * 71_500]);
}

/// What a started process does, by name, with the region's address, as its last rank.
const ROLE: &str = "WEFT_TEST_ROLE";

/// Not a test of its own: what the other process of the tests below does.
#[test]
fn other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (role, address) = role.split_once(' ').unwrap();
    let region = Region::open(address).unwrap();
    let me = region.ranks() - 1;
    let mut transport = SharedMemory::join(&region, rank(me), DEADLINE, &Settings::default()).unwrap();
    transport.begin(Announced { signature_bits: 5, text: "waiting" }).unwrap();
    match role {
        "echo" => {
            let mut bytes = receive(&mut transport, port(0, 0), 3_000_001).unwrap();
            bytes.reverse();
            send(&mut transport, port(0, 0), &bytes).unwrap();
            let mut shared = transport.allocate(bytes.len()).unwrap();
            shared.copy_from_slice(&bytes);
            send(&mut transport, port(0, 1), &shared).unwrap();
        }
        "wait" => drop(receive(&mut transport, port(0, 3), 1)),
        role => panic!("no such role: {role}"),
    }
}

fn start(role: &str, region: &Region) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "other_process", "--nocapture"]);
    command.env(ROLE, format!("{role} {}", region.address())).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn another_process_sends_back_what_it_got() {
    let region = SharedMemory::create(2, &Settings::default()).unwrap();
    let mut child = start("echo", &region);
    let mut transport = SharedMemory::join(&region, rank(0), DEADLINE, &Settings::default()).unwrap();
    transport.begin(Announced { signature_bits: 5, text: "waiting" }).unwrap();
    let bytes: Vec<u8> = (0..3_000_001_u32).map(|index| index.to_le_bytes()[index as usize % 3]).collect();
    send(&mut transport, port(1, 0), &bytes).unwrap();
    let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
    assert!(receive(&mut transport, port(1, 0), bytes.len()).unwrap() == reversed);
    assert!(receive(&mut transport, port(1, 1), bytes.len()).unwrap() == reversed);
    assert!(child.wait().unwrap().success());
}

/// Ranks 0 and 1 are threads and rank 2 a process that is signalled. Rank 0 waits for rank 1, and that for rank 2.
fn faults_after(name: &str, deadline: Duration) -> Vec<Fault> {
    let region = SharedMemory::create(3, &Settings::default()).unwrap();
    let mut child = start("wait", &region);
    let faults = threads(2, |me| {
        let mut transport = SharedMemory::join(&region, rank(me), DEADLINE, &Settings::default()).unwrap();
        transport.set_deadline(deadline);
        transport.begin(Announced { signature_bits: 5, text: "waiting" }).unwrap();
        if me == 1 {
            thread::sleep(Duration::from_millis(100));
            signal(&child, name);
        }
        let begun = Instant::now();
        let fault = receive(&mut transport, port(me + 1, 0), 8).unwrap_err();
        assert!(begun.elapsed() < DEADLINE);
        assert_eq!(transport.push(port(0, 0), &[1], 0, true), Err(fault.clone()));
        fault
    });
    child.kill().unwrap();
    child.wait().unwrap();
    faults
}

#[test]
fn a_killed_process_is_named_by_all() {
    for fault in faults_after("-KILL", DEADLINE) {
        assert!(matches!(&fault, Fault::Dead { rank, .. } if rank.get() == 2), "{fault}");
    }
}

#[test]
fn a_stopped_process_is_named_by_all() {
    for fault in faults_after("-STOP", SHORT) {
        let Fault::Silent { rank, how, waited } = &fault else { panic!("{fault}") };
        assert_eq!(rank.get(), 2, "{fault}");
        assert!(how.contains("is stopped") && *waited >= SHORT, "{fault}");
    }
}

#[test]
fn a_rank_that_does_not_take_part_is_named() {
    let region = SharedMemory::create(3, &Settings::default()).unwrap();
    let faults = threads(3, |me| {
        let mut transport = SharedMemory::join(&region, rank(me), DEADLINE, &Settings::default()).unwrap();
        transport.set_deadline(SHORT);
        transport.set_patience(SHORT);
        if me == 1 {
            // Busy with something else until the others have given up.
            let mut rounds = 0;
            while rounds < 300 && transport.begin(Announced { signature_bits: 1, text: "late" }).is_ok() {
                thread::sleep(if rounds == 0 { SHORT * 2 } else { Duration::from_millis(100) });
                if transport.wait(5000, &[port(0, 0)]).is_err() {
                    break;
                }
                rounds += 1;
            }
        }
        receive(&mut transport, port((me + 1) % 3, 0), 8).unwrap_err()
    });
    for fault in &faults {
        assert!(matches!(fault, Fault::Silent { rank, .. } if rank.get() == 1), "{fault}");
        assert_eq!(fault, &faults[0]);
    }
}

/// Each of three ranks sends to the next; the second has announced something else.
fn differing(sends: bool) -> Vec<Fault> {
    let region = SharedMemory::create(3, &Settings::default()).unwrap();
    threads(3, |me| {
        let mut transport = SharedMemory::join(&region, rank(me), DEADLINE, &Settings::default()).unwrap();
        let alike = Announced { signature_bits: 1, text: "all-reduce of 8 float" };
        transport.begin(alike).unwrap();
        send(&mut transport, port((me + 1) % 3, 0), &[9; 32]).unwrap();
        assert_eq!(receive(&mut transport, port((me + 2) % 3, 0), 32), Ok(vec![9; 32]));
        let odd = Announced { signature_bits: 2, text: "all-reduce of 9 float" };
        transport.begin(if me == 1 { odd } else { alike }).unwrap();
        let sent = if sends { send(&mut transport, port((me + 1) % 3, 0), &[9; 36]) } else { Ok(()) };
        // The first rank gets what it waits for, and learns of the odd one when it waits for more.
        let mut take = || receive(&mut transport, port((me + 2) % 3, 0), 36);
        sent.and_then(|()| take()).and_then(|_| take()).unwrap_err()
    })
}

#[test]
fn a_rank_that_does_something_else_is_named_by_all() {
    for fault in [differing(true), differing(false)].concat() {
        assert_eq!(
            fault.to_string(),
            "rank 1 differs in the call: it has all-reduce of 9 float, the others all-reduce of 8 float"
        );
    }
}

#[test]
fn what_one_rank_gives_up_for_all_learn() {
    let region = SharedMemory::create(2, &Settings::default()).unwrap();
    let faults = threads(2, |me| {
        let mut transport = SharedMemory::join(&region, rank(me), DEADLINE, &Settings::default()).unwrap();
        if me == 1 {
            transport.abandon(&Fault::Lacking { what: "memory", how: "out of it".to_owned() });
        }
        receive(&mut transport, port(1 - me, 0), 8).unwrap_err()
    });
    let expected = Fault::Abandoned { rank: rank(1), reason: "out of it".to_owned() };
    assert_eq!(faults, [expected.clone(), expected]);
}

#[test]
fn a_rank_that_leaves_is_missed_only_once_what_it_sent_is_taken() {
    let region = SharedMemory::create(2, &Settings::default()).unwrap();
    threads(2, |me| {
        let mut transport = SharedMemory::join(&region, rank(me), DEADLINE, &Settings::default()).unwrap();
        if me == 1 {
            return send(&mut transport, port(0, 0), &vec![3; 20_000]).unwrap();
        }
        thread::sleep(Duration::from_millis(50));
        assert_eq!(receive(&mut transport, port(1, 0), 20_000), Ok(vec![3; 20_000]));
        let fault = receive(&mut transport, port(1, 0), 1).unwrap_err();
        assert!(fault.to_string().starts_with("rank 1 is dead: its process"), "{fault}");
        assert!(fault.to_string().ends_with("has left the group while others waited for it"), "{fault}");
    });
}

#[test]
fn who_does_not_come_is_named() {
    let settings = Settings::default();
    let region = SharedMemory::create(4, &settings).unwrap();
    let faults = threads(2, |me| {
        SharedMemory::join(&region, rank(me * 2), Duration::from_millis(300), &settings)
            .map(drop)
            .unwrap_err()
    });
    for fault in faults {
        let expected = "rank 1 cannot be reached: it has not joined within 0.3 s, nor have 1 others";
        assert_eq!(fault.to_string(), expected);
    }
    let taken = SharedMemory::join(&region, rank(2), DEADLINE, &settings).map(drop).unwrap_err();
    assert!(matches!(&taken, Fault::Differs { rank, what: "who it is", .. } if rank.get() == 2), "{taken}");
    let beyond = SharedMemory::join(&region, rank(4), DEADLINE, &settings).map(drop).unwrap_err();
    assert_eq!(beyond.to_string(), "rank 4 cannot be reached: there are 4 ranks, numbered from 0");
}

#[test]
fn what_is_no_region_is_refused() {
    let refused = |address: &str| Region::open(address).unwrap_err().to_string();
    assert_eq!(
        refused("here"),
        "shared memory: `here` is no address of a region: that is `process/descriptor`"
    );
    let gone = refused("4194305/3");
    assert!(gone.starts_with("shared memory: opening /proc/4194305/fd/3, which needs"), "{gone}");
    let none = SharedMemory::create(0, &Settings::default()).unwrap_err().to_string();
    assert_eq!(none, "shared memory: 0 ranks are asked for, 1 to 1024 can share a region");
    let file = std::fs::OpenOptions::new().read(true).write(true).open(std::env::current_exe().unwrap());
    if let Ok(file) = file {
        let refused = Region::from_file(file.into()).unwrap_err().to_string();
        assert_eq!(refused, "shared memory: the file is no region of Weftwork");
    }
}
