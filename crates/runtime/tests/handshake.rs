//! Ranks that were started differently, or that call differently: the odd one is named to all, with what both have.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail")]

#[path = "common/group.rs"]
mod group;
#[path = "common/member.rs"]
mod member;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use group::{fresh_path, ranks};
use weft_collective::Rank;
use weft_runtime::transports::shared_memory::{Region, Settings, SharedMemory};
use weft_runtime::{Choice, Communicator, Either, Fault, Meeting, Place, Reduction, meet};

#[test]
fn another_protocol_is_told_with_both_versions() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcomes = ranks(2, |rank| {
        if rank == 0 {
            let meeting = Meeting::new(Place::Address(address.to_string()), Rank::new(0), 2);
            return meet(&meeting, Vec::new(), "").unwrap_err().to_string();
        }
        let mut stream = loop {
            if let Ok(stream) = TcpStream::connect(address) {
                break stream;
            }
        };
        // Kind 1, protocol 9, rank 1 of 2, meeting 0, version `9.9.9`, and what only that protocol knows.
        let mut hello = vec![1];
        for number in [9, 1, 2, 0, 0, 5_u32] {
            hello.extend(number.to_le_bytes());
        }
        hello.extend(b"9.9.9 and more");
        stream.write_all(b"WEFTMEET").unwrap();
        stream.write_all(&u32::try_from(hello.len()).unwrap().to_le_bytes()).unwrap();
        stream.write_all(&hello).unwrap();
        let mut answer = Vec::new();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    });
    let (theirs, ours) = ("9.9.9 with protocol 9 in place of 2", env!("CARGO_PKG_VERSION"));
    assert_eq!(outcomes[0], format!("rank 1 differs in version: it has {theirs}, the others {ours}"));
    assert!(outcomes[1].contains(theirs), "{}", outcomes[1]);
}

/// Three ranks call something; what each is told.
fn told(tcp: bool, call: impl Fn(&mut Communicator<Either>, u32) -> Result<(), Fault> + Sync) -> Vec<String> {
    let (path, waits) = (fresh_path(), (Duration::from_secs(10), Duration::from_secs(20)));
    ranks(3, |rank| {
        let mut group = member::group(&path, tcp, rank, 3, waits).unwrap();
        group.barrier().unwrap();
        match call(&mut group, rank) {
            Ok(()) => panic!("rank {rank} saw nothing"),
            Err(fault) => fault.to_string(),
        }
    })
}

fn names(faults: &[String], theirs: &str, ours: &str) {
    for fault in faults {
        assert!(fault.starts_with("rank 1 differs in"), "{fault}");
        let (odd, others) = fault.split_once("the others").unwrap();
        assert!(odd.contains(theirs) && others.contains(ours), "{fault}");
    }
}

#[test]
fn another_count_type_reduction_and_algorithm_are_told() {
    for tcp in [false, true] {
        let counts = told(tcp, |group, rank| {
            group.all_reduce(&mut vec![1_f32; if rank == 1 { 9 } else { 8 }], Reduction::Sum)
        });
        names(&counts, "all-reduce of 9 float", "all-reduce of 8 float");
        let types = told(tcp, |group, rank| match rank {
            1 => group.all_reduce(&mut [1_i32; 8], Reduction::Sum),
            _ => group.all_reduce(&mut [1_f32; 8], Reduction::Sum),
        });
        names(&types, "8 int32", "8 float");
        let reductions = told(tcp, |group, rank| {
            group.all_reduce(&mut [1_f32; 8], if rank == 1 { Reduction::Max } else { Reduction::Sum })
        });
        names(&reductions, "max", "sum");
        let algorithms = told(tcp, |group, rank| {
            if rank == 1 {
                group.choose(Choice::Named("recursive-doubling".to_owned()));
            }
            group.all_reduce(&mut [1_f32; 8], Reduction::Sum)
        });
        names(&algorithms, "by recursive-doubling", "by ring");
    }
}

#[test]
fn a_call_that_one_rank_makes_besides_is_told() {
    for tcp in [false, true] {
        let faults = told(tcp, |group, rank| {
            if rank == 1 {
                group.all_reduce(&mut [1_f32; 8], Reduction::Sum)?;
            }
            group.barrier().and_then(|()| group.barrier())
        });
        names(&faults, "all-reduce of 8 float", "barrier");
    }
}

#[test]
fn a_region_of_another_version_is_refused_with_both_layouts() {
    use std::os::unix::fs::FileExt;
    let region = SharedMemory::create(2, &Settings::default()).unwrap();
    let address = region.address();
    let (process, descriptor) = address.split_once('/').unwrap();
    let path = format!("/proc/{process}/fd/{descriptor}");
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    // "weft", and the number of the layout.
    file.write_all_at(&0x7765_6674_0000_0063_u64.to_ne_bytes(), 0).unwrap();
    let refused = Region::open(&address).unwrap_err().to_string();
    let start = "shared memory: the file is a region of layout 99, and this version of Weftwork has layout ";
    assert!(refused.starts_with(start), "{refused}");
}
