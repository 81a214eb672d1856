//! `weft simulate` as a user sees it: what scenarios say, and what is wrong with them.
#![expect(clippy::disallowed_methods, reason = "tests write files to read")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{run, stdout};
use serde_json::Value;

const CLUSTER: &str = "cluster = \"2 x dgx-h100 @ rail-optimized(leaf 64x400G)\"\n";
const JOB: &str = "[[job]]\ncollective = \"all-reduce\"\nsize = \"64 MiB\"\nalgorithm = \"ring\"\n";

/// What is said of a scenario that is read from standard input, and the exit code.
fn said(scenario: &str) -> (String, i32) {
    let output = run(&["simulate", "-"], scenario.as_bytes());
    (String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap())
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(args)).unwrap()
}

#[test]
fn names_that_are_not_there_are_shown_where_they_stand() {
    let cases = [
        ("collective = \"all-reduce\"", "collective = \"all-reduse\"", ":3:14", "did you mean `all-reduce`?"),
        ("algorithm = \"ring\"", "algorithm = \"rings\"", ":5:13", "did you mean `ring`?"),
        ("size = \"64 MiB\"", "size = \"64\"", ":4:8", ""),
        ("[[job]]", "[[job]]\ngpus = \"0-16\"", ":3:8", "the cluster has 16 GPUs, 0 to 15"),
        ("[[job]]", "[[job]]\ngpu = \"0-7\"", ":3:1", "docs/reference/scenario.md"),
        ("[[job]]", "network = \"infinband\"\n[[job]]", ":2:11", "did you mean `infiniband`?"),
        ("[[job]]", "loss = 1.0\n[[job]]", ":2:8", "one packet of 100,000"),
        ("[[job]]", "[[job]]\nrepeat = 0", ":3:10", "`repeat = 1`"),
    ];
    let whole = format!("{CLUSTER}{JOB}");
    for (good, bad, place, hint) in cases {
        let (talk, code) = said(&whole.replace(good, bad));
        assert_eq!(code, 3, "{bad}: {talk}");
        assert!(talk.contains(place) && talk.contains(hint), "{bad}:\n{talk}");
    }
}

#[test]
fn faults_of_what_is_not_there_are_refused() {
    let fault = |what: &str, carries: &str| {
        format!("{CLUSTER}{JOB}[[fault]]\nat = \"1 ms\"\nwhat = \"{what}\"\ncarries = \"{carries}\"\n")
    };
    let (talk, code) = said(&fault("host0/NIC99", "down"));
    assert!(code == 3 && talk.contains(":8:8") && talk.contains("did you mean `host0/NIC9`?"), "{talk}");
    let (talk, code) = said(&fault("host0/NIC0", "half"));
    assert!(code == 3 && talk.contains(":9:11") && talk.contains("50 %"), "{talk}");
    let (talk, code) = said(&fault("host0/GPU0 -> host1/GPU0", "down"));
    assert!(code == 3 && talk.contains("no link leads from"), "{talk}");
}

#[test]
fn what_cannot_be_played_says_why() {
    // Two servers that no network joins: `unplayable`.
    let output = run(&["simulate", "2 x dgx-h100"], b"");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(talk.contains("error[unplayable]") && talk.contains("no path leads from rank"), "{talk}");
    // A tree over switches that cannot add.
    let output = run(&["simulate", "8 a100-sxm4-80gb @ nvswitch2(6)", "--algorithm", "nvls"], b"");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(3) && talk.contains("these suit: ring"), "{talk}");
    // A trace into a folder that does not exist: `file-unwritable`.
    let output =
        run(&["simulate", "dgx-h100", "--size", "1MiB", "--trace", "no/such/folder/trace.json"], b"");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(4) && talk.contains("error[file-unwritable]"), "{talk}");
}

#[test]
fn a_job_that_never_ends_is_a_finding() {
    let fault = "[[fault]]\nat = \"100 us\"\nwhat = \"host1/GPU3\"\ncarries = \"down\"\n";
    let output = run(&["simulate", "-"], format!("{CLUSTER}{JOB}{fault}").as_bytes());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("never ended") && text.contains("wait for ever"), "{text}");
}

#[test]
fn a_trace_has_an_event_for_each_step_of_each_rank() {
    let file = std::env::temp_dir().join(format!("weft-trace-{}.json", std::process::id()));
    let name = file.to_string_lossy().into_owned();
    stdout(&["simulate", "dgx-h100", "--size", "1MiB", "--algorithm", "ring", "--trace", &name]);
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    // 8 ranks take 2 x 7 steps each.
    assert_eq!(events.iter().filter(|event| event["ph"] == "X").count(), 8 * 14);
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let args = ["simulate", "examples/scenarios/two-jobs.toml", "--format", "json"];
    assert_eq!(stdout(&args), stdout(&args));
    let svg = stdout(&["simulate", "examples/scenarios/slow-nic.toml", "--format", "svg"]);
    assert!(svg.starts_with("<svg") && svg.contains("host1/NIC0 carries 50 %"));
}

#[test]
fn rings_and_two_levels_use_all_rails() {
    let took = |algorithm: &str| {
        let cluster = "4 x dgx-h100 @ rail-optimized(leaf 64x400G)";
        let args = ["simulate", cluster, "--size", "256MiB", "--algorithm", algorithm, "--format", "json"];
        json(&args)["jobs"][0]["took_s"].as_f64().unwrap()
    };
    // 8 rings over 32 ranks: 62 messages of 256 MiB / 32 / 8 = 1 MiB one after the other, 20.97 us each at 50 GB/s with
    // 26 bytes more for each 4096, and at most 3 us on the way.
    let least = 62.0 * 1_048_576.0 / 50e9 * 4122.0 / 4096.0;
    let ring = took("ring");
    assert!((least..least + 62.0 * 3e-6).contains(&ring), "{ring}");
    // Two levels move as much over each NIC, and before and after that half of the time nothing.
    let ratio = took("two-level") / ring;
    assert!((1.2..2.0).contains(&ratio), "{ratio}");
}

/// What `weft simulate` says of its only job.
fn job(args: &[&str]) -> Value {
    let args = [&["simulate"], args, &["--format", "json"]].concat();
    serde_json::from_str::<Value>(&stdout(&args)).unwrap()["jobs"][0].clone()
}

#[test]
fn without_a_name_the_quickest_algorithm_is_taken() {
    for (cluster, collective, size) in [
        ("4 x dgx-h100 @ rail-optimized(leaf 64x400G)", "all-reduce", "256MiB"),
        ("4 x dgx-h100 @ rail-optimized(leaf 64x400G)", "all-reduce", "8KiB"),
        ("3 x dgx-a100 @ fat-tree(leaf 16x200G)", "all-to-all", "16MiB"),
        ("dgx-1", "broadcast", "1MiB"),
    ] {
        let chosen = job(&[cluster, "--collective", collective, "--size", size]);
        let choice = &chosen["choice"];
        let times = choice["times"].as_array().unwrap();
        assert_eq!(times[0]["algorithm"], chosen["algorithm"]);
        assert_eq!(times[0]["took_s"], chosen["took_s"]);
        // On 32 GPUs it has hundreds of threads, which are too much to play only to compare.
        let not_judged = choice["not_judged"].as_array().unwrap();
        assert!(not_judged.iter().all(|name| name == "synthesised"), "{not_judged:?}");
        // Each takes as long as it takes when it is named; none of the others is quicker.
        let best = chosen["took_s"].as_f64().unwrap();
        let named = |name: &Value| {
            let name = name.as_str().unwrap();
            let args = [cluster, "--collective", collective, "--size", size, "--algorithm", name];
            let named = job(&args);
            assert_eq!(named["choice"], Value::Null);
            named["took_s"].as_f64().unwrap()
        };
        for time in times {
            assert_eq!(time["took_s"], named(&time["algorithm"]), "{time}");
            assert!((best..=2.0 * best).contains(&time["took_s"].as_f64().unwrap()));
        }
        for slower in choice["slower"].as_array().unwrap() {
            assert!(named(slower) > 2.0 * best, "{slower}");
        }
    }
}

#[test]
fn a_dead_nic_is_waited_for_until_it_is_noticed_or_back() {
    let over = |network: &str, job: &str, fault: &str| {
        // 50 MB over one NIC: 1 ms at 50 GB/s, and another NIC beside it.
        let cluster = "cluster = \"2 x 2 h100-pcie + 2 cx7 @ fat-tree(leaf 64x400G)\"\n";
        let cluster = format!("{cluster}network = \"{network}\"\n");
        let sent = "[[job]]\ngpus = \"0, 2\"\ncollective = \"send-recv\"\nsize = \"50 MB\"\n";
        let dies = "[[fault]]\nat = \"500 us\"\nwhat = \"host0/NIC0\"\ncarries = \"down\"\n";
        let fault = if fault == "none" { String::new() } else { format!("{dies}{fault}") };
        let scenario = format!("{cluster}{sent}on-fault = \"fail-over\"\n{job}\n{fault}");
        let output = run(&["simulate", "-", "--format", "json"], scenario.as_bytes());
        let job = &serde_json::from_slice::<Value>(&output.stdout).unwrap()["jobs"][0];
        (job["took_s"].as_f64().unwrap() * 1e6, job["noticing_s"].as_f64().unwrap() * 1e6)
    };
    let took_and_waited = |job: &str, fault: &str| over("infiniband", job, fault);
    let near = |(took, waited): (f64, f64), (want_took, want_waited): (f64, f64)| {
        assert!((took - want_took).abs() < 1e-3 && (waited - want_waited).abs() < 1e-3, "{took} {waited}");
    };
    let (usual, waited) = took_and_waited("", "none");
    assert!(usual > 1000.0 && waited == 0.0, "{usual} {waited}");
    let (at_once, waited) = took_and_waited("notice = \"0 s\"", "");
    assert!((at_once - usual).abs() < 1.0 && waited == 0.0, "{at_once} {waited}");
    // Noticed after 100 us: so much longer.
    near(took_and_waited("notice = \"100 us\"", ""), (at_once + 100.0, 100.0));
    // Back after 40 us: it goes on where it was.
    near(took_and_waited("notice = \"100 us\"", "for = \"40 us\""), (usual + 40.0, 40.0));
    // As NCCL is set: 8 times 4.096 us x 2^20.
    near(took_and_waited("", ""), (at_once + 34_359_738.368, 34_359_738.368));
    // As Linux is set for TCP: waits that double from 0.2 s on, 204.6 s of them, then 6 of 120 s.
    let (_, waited) = over("tcp", "", "");
    assert!((waited - 924.6e6).abs() < 1e-3, "{waited}");

    let stalls = format!("{CLUSTER}{JOB}notice = \"1 s\"\n");
    let (talk, code) = said(&stalls);
    assert!(code == 3 && talk.contains(":6:10") && talk.contains("fail-over"), "{talk}");
}

#[test]
fn a_job_that_begins_again_loses_what_came_after_its_checkpoint() {
    let played = |nics: u32, job: &str, fault: &str| {
        let cluster = format!("cluster = \"2 x 2 h100-pcie + {nics} cx7 @ fat-tree(leaf 64x400G)\"\n");
        let sent = "[[job]]\ngpus = \"0, 2\"\ncollective = \"send-recv\"\nsize = \"50 MB\"\nrepeat = 4\ncompute = \"1 ms\"\n";
        let scenario = format!("{cluster}{sent}on-fault = \"rerun\"\n{job}\n{fault}");
        let output = run(&["simulate", "-", "--format", "json"], scenario.as_bytes());
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let us = |document: &Value| document["jobs"][0]["took_s"].as_f64().unwrap() * 1e6;
    // Within the latency of a way, which passes also while a message waits for a link.
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 2.0, "{found} {wanted}");
    // One repetition: a millisecond of computation, and 50 MB at 50 GB/s.
    let one = us(&played(2, "", "")) / 4.0;
    assert!((2000.0..2020.0).contains(&one), "{one}");
    // In the third one's message the NIC dies; 300 us later it is noticed, and the job stops.
    let dies = "[[fault]]\nat = \"5500 us\"\nwhat = \"host0/NIC0\"\ncarries = \"down\"\n";
    let usual = "notice = \"300 us\"\nrestart = \"10 ms\"\n";
    let whole = played(2, usual, dies);
    near(us(&whole), 5500.0 + 300.0 + 10_000.0 + 4.0 * one);
    assert_eq!((&whole["jobs"][0]["reruns"], &whole["jobs"][0]["noticing_s"]), (&1.into(), &3e-4.into()));
    for (checkpoint, left) in [(1, 2.0), (2, 2.0), (3, 4.0)] {
        let again = played(2, &format!("{usual}checkpoint = {checkpoint}\n"), dies);
        near(us(&again), 5500.0 + 300.0 + 10_000.0 + left * one);
    }
    let happened = whole["happened"].to_string();
    assert!(happened.contains("from its beginning; 2 that were done are lost"), "{happened}");
    // A link that is dead at the end is shown as busy as it was, and no busier.
    let links = whole["busiest"].as_array().unwrap();
    let of_links = links.iter().flat_map(|link| link["shares"].as_array().unwrap());
    assert!(of_links.clone().any(|share| share.as_f64().unwrap() > 0.5));
    assert!(of_links.clone().all(|share| (0.0..=1.001).contains(&share.as_f64().unwrap())), "{links:?}");
    // Back before it is noticed: the message goes on.
    near(us(&played(2, usual, &format!("{dies}for = \"200 us\"\n"))), 4.0 * one + 200.0);
    // Without another way it waits for the link, once begun again, and does not give up over and over.
    let alone = played(1, usual, &format!("{dies}for = \"50 ms\"\n"));
    assert_eq!(alone["jobs"][0]["reruns"], 1);
    near(us(&alone), 5500.0 + 50_000.0 + 4.0 * one - 1000.0);
    let never = played(1, usual, dies);
    assert!(never["jobs"][0]["took_s"].is_null(), "{never}");
    // So does a job that fails over, with messages which begin after the link was noticed to be dead.
    let scenario = "cluster = \"2 x 2 h100-pcie + 1 cx7 @ fat-tree(leaf 64x400G)\"\n[[job]]\ngpus = \"0, 2\"\n\
        collective = \"send-recv\"\nsize = \"50 MB\"\ncompute = \"1 ms\"\non-fault = \"fail-over\"\nnotice = \"100 us\"\n\
        [[fault]]\nat = \"500 us\"\nwhat = \"host0/NIC0\"\ncarries = \"down\"\nfor = \"2500 us\"\n";
    let output = run(&["simulate", "-", "--format", "json"], scenario.as_bytes());
    near(us(&serde_json::from_slice::<Value>(&output.stdout).unwrap()), 3000.0 + one - 1000.0);

    for wrong in ["restart = \"1 s\"\n", "checkpoint = 2\n"] {
        let (talk, code) = said(&format!("{CLUSTER}{JOB}on-fault = \"fail-over\"\n{wrong}"));
        assert!(code == 3 && talk.contains(":7:") && talk.contains("rerun"), "{talk}");
    }
    let (talk, code) = said(&format!("{CLUSTER}{JOB}on-fault = \"rerun\"\ncheckpoint = 0\n"));
    assert!(code == 3 && talk.contains("after no repetition"), "{talk}");
}
