//! The verbs transport over queue pairs in memory, and the library by its double. Neither has seen hardware.
#![cfg(all(target_os = "linux", feature = "verbs"))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests may fail")]

mod common;

use std::process::Command;
use std::time::Duration;

use common::cases::{cases, plays_all};
use weft_base::Guid;
use weft_collective::{Rank, Terrain};
use weft_runtime::transports::verbs::{
    Completion, Device, Library, LinkLayer, PortState, QueuePair, SoftFabric, SoftQueue, Verbs,
};
use weft_runtime::{Choice, Communicator, Fault, Reduction};

#[test]
fn the_library_tells_devices_and_ports() {
    let folder = std::env::temp_dir().join(format!("weft-verbs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libibverbs.so.1");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doubles/ibverbs.rs");
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .arg(&library)
        .arg(source)
        .output();
    match compiled {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => return println!("skipped: rustc is not here to make the double: {error}"),
    }
    let devices = Library::open_at(library.as_os_str()).unwrap().devices().unwrap();
    let ports = vec![
        PortState { number: 1, active: true, mtu_bytes: 4096, lid: 0x1234, layer: LinkLayer::InfiniBand },
        PortState { number: 2, active: false, mtu_bytes: 1024, lid: 0, layer: LinkLayer::Ethernet },
    ];
    let first = Device { name: "fake_0".into(), guid: Guid::new(0x506b_4b03_00a1_b2c3), ports };
    let second = Device { name: "fake_1".into(), guid: Guid::new(7), ports: Vec::new() };
    assert_eq!(devices, [first, second]);
    std::fs::remove_dir_all(&folder).unwrap();
    // Where it is not installed that is a fault with what helps, not an end.
    let fault = Library::open_at("libibverbs-that-is-not-here.so".as_ref()).unwrap_err().to_string();
    assert!(
        fault.starts_with("the verbs library: ") && fault.ends_with("install rdma-core, or use TCP"),
        "{fault}"
    );
}

#[test]
fn a_message_waits_for_a_slot_and_its_own_is_free_only_then() {
    let (mut here, mut there) = SoftQueue::pair(1, 16);
    here.sending(0)[..3].copy_from_slice(b"abc");
    here.post_send(0, 3).unwrap();
    assert_eq!((here.poll(), there.poll()), (Ok(None), Ok(None)));
    there.post_receive(0).unwrap();
    assert_eq!(there.poll(), Ok(Some(Completion::Received { slot: 0, bytes: 3 })));
    // A slot that is posted early is kept.
    here.post_receive(0).unwrap();
    assert_eq!(here.poll(), Ok(Some(Completion::Sent { slot: 0 })));
    assert_eq!(here.poll(), Ok(None));
    there.post_send(0, 1).unwrap();
    assert_eq!(here.poll(), Ok(Some(Completion::Received { slot: 0, bytes: 1 })));
    assert_eq!(&there.received(0)[..3], b"abc");
    assert_eq!(there.poll(), Ok(Some(Completion::Sent { slot: 0 })));
    here.post_send(0, 2).unwrap();
    drop(here);
    // What was sent before the end is still there.
    assert_eq!(there.poll(), Ok(None));
    there.post_receive(0).unwrap();
    assert_eq!(there.poll(), Ok(Some(Completion::Received { slot: 0, bytes: 2 })));
    assert!(there.poll().is_err());
}

/// Does the same on each rank, over queue pairs with few small slots.
fn together<R: Send>(
    ranks: u32,
    deadline: Duration,
    work: impl Fn(&mut Communicator<Verbs<SoftFabric>>) -> R + Sync,
) -> Vec<R> {
    let fabric = SoftFabric::new(3, 72);
    std::thread::scope(|scope| {
        let member = |rank| {
            let (fabric, work) = (fabric.clone(), &work);
            scope.spawn(move || {
                let verbs = Verbs::new(Rank::new(rank), fabric, deadline);
                let ring = Choice::Named("ring".to_owned());
                work(&mut Communicator::new(Rank::new(rank), Terrain::flat(ranks), verbs, ring))
            })
        };
        let members: Vec<_> = (0..ranks).map(member).collect();
        members.into_iter().map(|member| member.join().unwrap()).collect()
    })
}

#[test]
fn every_algorithm_gives_over_queue_pairs_what_its_plan_says_bit_by_bit() {
    let mut played = 0;
    for ranks in [1, 2, 3, 4, 8] {
        let cases = cases(ranks);
        let counts = together(ranks, Duration::from_secs(60), |group| plays_all(group, &cases, false));
        assert!(counts.iter().all(|count| *count == cases.len()));
        played += cases.len();
    }
    println!("{played} plans");
    assert!(played > 500);
}

#[test]
fn who_ends_stays_away_or_calls_something_else_is_named() {
    let deadline = Duration::from_millis(500);
    let ended = together(2, Duration::from_secs(20), |group| {
        group.barrier().unwrap();
        (group.rank().get() == 0).then(|| group.barrier().unwrap_err())
    });
    assert!(matches!(&ended[0], Some(Fault::Dead { rank, .. }) if rank.get() == 1), "{ended:?}");
    let away = together(2, deadline, |group| {
        group.barrier().unwrap();
        if group.rank().get() == 1 {
            std::thread::sleep(deadline * 2);
            return None;
        }
        group.barrier().err()
    });
    assert!(matches!(&away[0], Some(Fault::Silent { rank, .. }) if rank.get() == 1), "{away:?}");
    let other = together(2, Duration::from_secs(20), |group| {
        let mut data = vec![1_f32; 4 + group.rank().index()];
        group.all_reduce(&mut data, Reduction::Sum).unwrap_err()
    });
    assert!(other.iter().any(|fault| matches!(fault, Fault::Differs { .. })), "{other:?}");
}
