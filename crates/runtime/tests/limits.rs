//! Processes with too little memory to share, too few descriptors, or a sandbox: all ranks use the same instead, and say
//! why, or all name the rank that lacks something.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests may fail, and children tell"
)]
#![allow(clippy::disallowed_methods, reason = "the ranks are told by the environment who they are")]

#[path = "common/group.rs"]
mod group;
#[path = "common/sandbox.rs"]
mod sandbox;

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use group::fresh_path;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use weft_runtime::{Communicator, Either, Fault, Joining, Place, Reduction};

const WHO: &str = "WEFT_TEST_LIMITED";
const DEADLINE: Duration = Duration::from_secs(4);

fn lower(resource: Resource, to: u64) {
    let maximum = getrlimit(resource).maximum;
    setrlimit(resource, Rlimit { current: Some(to), maximum }).unwrap();
}

fn limit(kind: &str) {
    match kind {
        "no-memfd" => sandbox::refuse(libc::SYS_memfd_create, None, libc::ENOSPC),
        "no-room" => sandbox::refuse(libc::SYS_fallocate, None, libc::ENOSPC),
        // For reading and writing, as a region is opened, and nothing else.
        "no-open" => {
            let (bits, value) = (libc::O_ACCMODE.cast_unsigned(), libc::O_RDWR.cast_unsigned());
            sandbox::refuse(libc::SYS_openat, Some((2, bits, value)), libc::EACCES);
            #[cfg(target_arch = "x86_64")]
            sandbox::refuse(libc::SYS_open, Some((1, bits, value)), libc::EACCES);
        }
        "no-reading" => sandbox::refuse(libc::SYS_process_vm_readv, None, libc::EPERM),
        "no-locking" => lower(Resource::Memlock, 0),
        "no-threads" => sandbox::refuse(libc::SYS_clone3, None, libc::EAGAIN),
        "none" => {}
        few => {
            let more: u64 = few.strip_prefix("files-").unwrap().parse().unwrap();
            let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64 - 1;
            lower(Resource::Nofile, open + more);
        }
    }
}

/// Not a test of its own: one rank, limited or not.
#[test]
fn child() {
    let Ok(who) = std::env::var(WHO) else { return };
    let words: Vec<&str> = who.split(' ').collect();
    let (rank, ranks) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let late = words[0].strip_prefix("late-");
    limit(late.map_or(words[0], |_| "none"));
    let only_tcp = words[0].starts_with("files") || words[3] == "tcp";
    let joining =
        Joining { deadline: DEADLINE, only_tcp, ..Joining::new(Place::File(words[4].into()), rank, ranks) };
    let run = |group: &mut Communicator<Either>| {
        println!("\nover {}", group.transport().describe());
        if let Some(late) = late {
            limit(late);
        }
        // To everyone, and large enough to be read directly.
        let mut all = vec![0_f32; ranks as usize * 600_000];
        let own = vec![f32::from(u8::try_from(rank).unwrap()); all.len()];
        group.all_to_all(&own, &mut all)?;
        let mut sum = [1_i32];
        group.all_reduce(&mut sum, Reduction::Sum)?;
        assert_eq!(sum[0].cast_unsigned(), ranks);
        for (part, from) in all.chunks(600_000).zip(0_u8..) {
            assert!(part.iter().all(|it| it.to_bits() == f32::from(from).to_bits()));
        }
        Ok::<(), Fault>(())
    };
    match Communicator::join(&joining).and_then(|mut group| run(&mut group)) {
        Ok(()) => println!("\nright"),
        Err(fault) => println!("\nfault {fault}"),
    }
}

/// What each rank says, the odd one of which has the limit.
fn said(kind: &str, odd: u32, ranks: u32, over: &str) -> Vec<String> {
    let path = fresh_path();
    let start = |rank: u32| {
        let kind = if rank == odd { kind } else { "none" };
        // Ranks of one group must ask for the same transport.
        let over = if over == "tcp" { "tcp" } else { "any" };
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(WHO, format!("{kind} {rank} {ranks} {over} {}", path.display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..ranks).map(start).collect();
    let begun = Instant::now();
    let read = |mut child: std::process::Child| {
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        child.wait().unwrap();
        let wanted = |line: &&str| ["over ", "right", "fault "].iter().any(|word| line.starts_with(word));
        text.lines().filter(wanted).collect::<Vec<_>>().join("\n")
    };
    let said = children.into_iter().map(read).collect();
    assert!(begun.elapsed() < DEADLINE * 6, "{:?}: {said:?}", begun.elapsed());
    said
}

#[test]
fn without_memory_to_share_all_use_tcp_and_say_why() {
    for (kind, odd, why) in [
        ("no-memfd", 0, "rank 0 has no shared memory: memfd_create"),
        (
            "no-room",
            0,
            "rank 0 has no shared memory: 45056 bytes for what 3 ranks tell each other: No space left",
        ),
        ("no-open", 2, "rank 2 has no shared memory: opening /proc/"),
    ] {
        for text in said(kind, odd, 3, "any") {
            assert!(text.starts_with(&format!("over TCP, since {why}")), "{kind}: {text}");
            let helps = if odd == 0 { "is used up: give it more" } else { "a sandbox may forbid it" };
            assert!(text.contains(helps) && text.ends_with("\nright"), "{kind}: {text}");
        }
    }
}

#[test]
fn where_reading_is_forbidden_messages_are_copied_twice() {
    let said = said("no-reading", 1, 3, "any");
    for text in &said {
        assert!(text.starts_with("over shared memory; large messages are copied twice: "), "{text}");
        assert!(text.ends_with("\nright"), "{text}");
    }
    assert!(said[1].contains("Operation not permitted"), "{}", said[1]);
}

#[test]
fn memory_that_may_not_be_locked_is_not_needed() {
    assert!(said("no-locking", 1, 2, "any").iter().all(|text| text == "over shared memory\nright"));
}

#[test]
fn without_another_thread_tcp_works_too() {
    assert!(said("no-threads", 1, 2, "tcp").iter().all(|text| text == "over TCP\nright"));
}

#[test]
fn a_rank_with_too_few_descriptors_is_named_by_all() {
    // The first has too few to connect, the second to connect for data.
    for kind in ["files-3", "files-5"] {
        let said = said(kind, 1, 4, "tcp");
        let own = said[1].lines().last().unwrap();
        assert!(own.starts_with("fault file descriptors: ") && own.contains("`ulimit -n`"), "{kind}: {own}");
        for rank in [0, 2, 3] {
            let fault = said[rank].lines().last().unwrap();
            assert!(fault.starts_with("fault rank 1 "), "{kind}, rank {rank}: {fault}");
        }
    }
}

#[test]
fn a_rank_whose_memory_ends_during_a_call_is_named_by_all() {
    let said = said("late-no-room", 2, 4, "any");
    let own = said[2].lines().last().unwrap();
    assert!(
        own.starts_with("fault shared memory: ") && own.contains("bytes for a stream with rank"),
        "{own}"
    );
    for rank in [0, 1, 3] {
        let fault = said[rank].lines().last().unwrap();
        assert!(fault.starts_with("fault rank 2 gave up: ") && fault.contains("No space left"), "{fault}");
    }
}
