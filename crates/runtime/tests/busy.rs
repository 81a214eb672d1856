//! A rank that lives and is busy with something else is waited for, and told apart from one that is stopped.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail")]
#![allow(clippy::disallowed_methods, reason = "a test measures time")]

#[path = "common/group.rs"]
mod group;
#[path = "common/member.rs"]
mod member;

use std::time::{Duration, Instant};

use group::{fresh_path, ranks};
use weft_runtime::{Fault, Reduction};

const DEADLINE: Duration = Duration::from_secs(2);

/// Three ranks, the second of which is busy for three deadlines while the others wait for it, each by another one.
fn busy(tcp: bool, patience: Duration) -> Vec<(Result<f64, Fault>, Duration)> {
    let path = fresh_path();
    ranks(3, |rank| {
        let mut group = member::group(&path, tcp, rank, 3, (DEADLINE, patience)).unwrap();
        group.barrier().unwrap();
        let start = Instant::now();
        if rank == 1 {
            std::thread::sleep(DEADLINE * 3);
        }
        let mut data = [f64::from(rank)];
        (group.all_reduce(&mut data, Reduction::Sum).map(|()| data[0]), start.elapsed())
    })
}

#[test]
fn who_is_busy_is_waited_for() {
    for tcp in [false, true] {
        for (sum, waited) in busy(tcp, Duration::from_secs(60)) {
            // 0 + 1 + 2
            assert_eq!(sum, Ok(3.0), "TCP: {tcp}");
            assert!(waited >= DEADLINE * 3);
        }
    }
}

#[test]
fn who_is_busy_for_too_long_is_named_as_that() {
    for tcp in [false, true] {
        let ended = busy(tcp, DEADLINE * 3 / 2);
        for (outcome, waited) in [&ended[0], &ended[2]] {
            let Err(Fault::Silent { rank, how, .. }) = outcome else { panic!("{outcome:?}") };
            assert_eq!(rank.get(), 1, "{how}");
            assert!(how.contains("lives"), "{how}");
            assert!(*waited >= DEADLINE && *waited < DEADLINE * 4, "{waited:?}");
        }
        assert!(ended[1].0.is_err());
    }
}
