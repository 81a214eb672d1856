//! How ranks meet, and what they are told when they can't.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests may fail")]
#![allow(clippy::disallowed_methods, reason = "a test waits, and leaves a file")]

#[path = "common/group.rs"]
mod group;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use group::{fresh_path, ranks};
use weft_collective::Rank;
use weft_runtime::{Fault, Meeting, MeetingId, Place, Roster, meet};

/// A port that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn meeting(place: &Place, rank: u32, ranks: u32, deadline_ms: u64) -> Meeting {
    let deadline = Duration::from_millis(deadline_ms);
    Meeting { deadline, ..Meeting::new(place.clone(), Rank::new(rank), ranks) }
}

fn at_port() -> Place {
    Place::Address(format!("127.0.0.1:{}", free_port()))
}

fn texts(roster: &Roster) -> Vec<&str> {
    roster.members.iter().map(|member| member.text.as_str()).collect()
}

#[test]
fn ranks_meet_at_an_address_and_at_a_file() {
    for place in [at_port(), Place::File(fresh_path())] {
        let rosters = ranks(4, |rank| {
            // Rank 0 comes last.
            std::thread::sleep(Duration::from_millis(if rank == 0 { 150 } else { 0 }));
            meet(&meeting(&place, rank, 4, 20_000), Vec::new(), &format!("I am {rank}")).unwrap()
        });
        assert_eq!(texts(&rosters[0]), ["I am 0", "I am 1", "I am 2", "I am 3"]);
        assert!(rosters.iter().all(|roster| *roster == rosters[0]));
        assert_eq!(rosters[0].members[2].process, std::process::id());
    }
}

#[test]
fn one_rank_meets_itself() {
    let roster = meet(&meeting(&at_port(), 0, 1, 1000), Vec::new(), "alone").unwrap();
    assert_eq!(texts(&roster), ["alone"]);
}

#[test]
fn strangers_neither_disturb_nor_hold_up() {
    let place = at_port();
    let Place::Address(address) = &place else { unreachable!() };
    let outcomes = ranks(3, |who| {
        if who < 2 {
            std::thread::sleep(Duration::from_millis(u64::from(who) * 500));
            return meet(&meeting(&place, who, 2, 20_000), Vec::new(), "").map(Some);
        }
        // One says nothing, one the wrong thing, one the right beginning and then nonsense.
        let connect = || {
            let until = Instant::now() + Duration::from_secs(10);
            loop {
                match TcpStream::connect(address) {
                    Ok(stream) => return stream,
                    Err(error) => assert!(Instant::now() < until, "{error}"),
                }
            }
        };
        let _silent = connect();
        let mut wrong = connect();
        wrong.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut noisy = connect();
        noisy.write_all(b"WEFTMEET\xff\xff\xff\xff\xff\xff\xff").unwrap();
        for mut stream in [wrong, noisy] {
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            // Sent away: the end of the stream or a reset, but no answer and no waiting.
            let read = stream.read(&mut [0; 16]);
            assert!(matches!(read, Ok(0)) || read.is_err_and(|error| error.raw_os_error() == Some(104)));
        }
        Ok(None)
    });
    assert!(
        outcomes[..2].iter().all(|outcome| matches!(outcome, Ok(Some(roster)) if roster.members.len() == 2))
    );
}

#[test]
fn a_wrong_number_of_ranks_is_told_to_all() {
    let place = at_port();
    for fault in ranks(3, |rank| {
        let count = if rank == 1 { 4 } else { 3 };
        meet(&meeting(&place, rank, count, 20_000), Vec::new(), "").unwrap_err()
    }) {
        assert_eq!(fault.to_string(), "rank 1 differs in number of ranks: it has 4, the others 3");
    }
}

#[test]
fn a_wrong_version_is_told_to_all() {
    let place = at_port();
    for fault in ranks(3, |rank| {
        // Rank 0 is the odd one, and is told so by the majority.
        let version = if rank == 0 { "0.0.9" } else { "0.1.7" }.to_owned();
        let meeting = Meeting { version, ..meeting(&place, rank, 3, 20_000) };
        meet(&meeting, Vec::new(), "").unwrap_err()
    }) {
        assert_eq!(fault.to_string(), "rank 0 differs in version: it has 0.0.9, the others 0.1.7");
    }
}

#[test]
fn a_rank_that_is_there_twice_is_told_to_all() {
    let place = at_port();
    for fault in
        ranks(3, |who| meet(&meeting(&place, who.min(1), 3, 20_000), Vec::new(), "").map(|_| ()).unwrap_err())
    {
        let Fault::Differs { rank, what, theirs, .. } = &fault else { panic!("{fault}") };
        assert_eq!((rank.get(), *what), (1, "rank"));
        assert!(theirs.starts_with("two processes"), "{theirs}");
    }
}

#[test]
fn missing_ranks_are_named_exactly_by_all_who_came() {
    let place = at_port();
    let came = [0, 1, 4];
    for fault in
        ranks(3, |who| meet(&meeting(&place, came[who as usize], 6, 1500), Vec::new(), "").unwrap_err())
    {
        let Fault::Unreachable { rank, how } = &fault else { panic!("{fault}") };
        assert_eq!(rank.get(), 2);
        assert_eq!(how, "ranks 2, 3 and 5 of 6 have not come to the meeting within 1.5 s");
    }
}

#[test]
fn a_missing_rank_0_is_named_with_what_was_tried() {
    for place in [at_port(), Place::File(fresh_path())] {
        let fault = meet(&meeting(&place, 1, 2, 300), Vec::new(), "").unwrap_err();
        let Fault::Unreachable { rank, how } = &fault else { panic!("{fault}") };
        assert_eq!(rank.get(), 0);
        let expected = if matches!(place, Place::Address(_)) { "Connection refused" } else { "No such file" };
        assert!(how.contains("within 0.3 s") && how.contains(expected), "{how}");
    }
}

#[test]
fn a_port_in_use_and_a_foreign_address_say_what_helps() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::Address(taken.local_addr().unwrap().to_string());
    let fault = meet(&meeting(&place, 0, 2, 1000), Vec::new(), "").unwrap_err();
    assert!(matches!(&fault, Fault::Lacking { how, .. } if how.contains("take another port")), "{fault}");
    let place = Place::Address("192.0.2.1:5000".to_owned());
    let fault = meet(&meeting(&place, 0, 2, 1000), Vec::new(), "").unwrap_err();
    assert!(matches!(&fault, Fault::Lacking { how, .. } if how.contains("rank 0 must run")), "{fault}");
}

#[test]
fn a_file_that_is_left_from_another_meeting_is_passed_over() {
    let path = fresh_path();
    let old = format!(
        "weftwork meeting 1\nid 0000000000000001\nnetwork x\naddress 127.0.0.1:{}\nend\n",
        free_port()
    );
    std::fs::write(&path, old).unwrap();
    let place = Place::File(path.clone());
    let rosters = ranks(2, |rank| {
        std::thread::sleep(Duration::from_millis(if rank == 0 { 200 } else { 0 }));
        meet(&Meeting { id: MeetingId(2), ..meeting(&place, rank, 2, 20_000) }, Vec::new(), "").unwrap()
    });
    assert_eq!(rosters[0], rosters[1]);
    assert!(!path.exists());
}

#[test]
fn a_rank_of_another_meeting_does_not_count() {
    let place = at_port();
    let faults = ranks(2, |rank| {
        let meeting = Meeting { id: MeetingId(u64::from(rank)), ..meeting(&place, rank, 2, 700) };
        meet(&meeting, Vec::new(), "").unwrap_err()
    });
    assert_eq!(faults[0].rank(), Some(Rank::new(1)));
    assert_eq!(faults[1].rank(), Some(Rank::new(0)));
}
