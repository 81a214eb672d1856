//! `weft plan` as a user sees it.
#![expect(clippy::disallowed_methods, reason = "tests write files to read")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{refused, run, stdout, weft};
use serde_json::Value;

const MACHINE: &str = "4 h100-sxm5-80gb @ nvswitch3(4)";

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--format", "json"]].concat())).unwrap()
}

#[test]
fn one_plan_is_shown_in_full() {
    let args =
        ["plan", "2 h100-sxm5-80gb @ nvswitch3(4)", "--algorithm", "ring", "--size", "1MiB", "--rank", "1"];
    insta::assert_snapshot!(weft(&args), @r#"
    ring: all-reduce 1 MiB over 2 GPUs: 2 x NVIDIA H100 SXM5 80GB, 1 socket
      a ring over all ranks; bandwidth-optimal (Patarasuk and Yuan, 2009)

      channels        1 on 1 thread of each rank
      blocks          2 of 512 KiB
      steps           2 of each rank
      messages        4 of all ranks, 2 in the longest chain of waiting
      sent by a rank  1 MiB; some rank must send 1 MiB

    Phases
      thread 0 on channel 0
        1 step  ring reduce-scatter  all 2 ranks  chunks of 1 from block 0 on
        1 step  ring all-gather      all 2 ranks  chunks of 1 from block 0 on

    Rank 1
      thread 0 on channel 0
        step 0  send input block 0 to rank 0
                receive from rank 0, add input block 1, into output block 1
        step 1  send output block 1 to rank 0
                receive output block 0 from rank 0

    Proof: right, in every order of events; no message needs to be buffered

    Time on the network model ideal: 3.73 us; algbw 281.1 GB/s, busbw 281.1 GB/s, 54.8 % of the limit

    Limit of all links together, whatever the algorithm: busbw at most 513 GB/s
      the message leaves rank 0 over 1 edge of 63.02 GB/s + 2 edges of 100 GB/s + 2 edges of 125 GB/s = 513 GB/s
    [stdout ends]
    exit 0
    "#);
}

#[test]
fn counts_are_those_of_the_formulas() {
    let of = |algorithm: &str, chunks: &str| {
        let args = ["plan", MACHINE, "--size", "1MiB", "--algorithm", algorithm, "--chunks", chunks];
        json(&args)["plans"][0].clone()
    };
    // A ring over 4: 2 x 3 steps, in each a quarter to the next: 4 x 6 messages, 1.5 MiB sent by each.
    let ring = of("ring", "1");
    assert_eq!(
        (&ring["steps_most"], &ring["messages"], &ring["messages_in_a_row"]),
        (&6.into(), &24.into(), &6.into())
    );
    assert_eq!((&ring["sent_least_bytes"], &ring["sent_most_bytes"]), (&1_572_864.into(), &1_572_864.into()));
    assert_eq!(ring["bound_sent_bytes"], 1_572_864);
    assert_eq!((&ring["proved"], &ring["needs_buffers"]), (&true.into(), &false.into()));
    let phases = ring["threads"][0]["phases"].as_array().unwrap();
    let said: Vec<_> =
        phases.iter().map(|phase| (phase["steps_most"].as_u64().unwrap(), &phase["movement"])).collect();
    assert_eq!(said, [(3, &"ring reduce-scatter".into()), (3, &"ring all-gather".into())]);
    // The full mesh adds in one step of 3 messages and gathers in another: 2 in a row.
    assert_eq!(of("direct", "1")["messages_in_a_row"], 2);
    // Switches add and copy: each rank sends the message once, which is the least.
    let nvls = of("nvls", "1");
    assert_eq!((&nvls["sent_most_bytes"], &nvls["bound_sent_bytes"]), (&1_048_576.into(), &1_048_576.into()));
    // Two trees over 4 have 3 ways each; 3 chunks go up and down each of them.
    assert_eq!(of("double-binary-tree", "3")["messages"], 2 * 3 * 3 * 2);
}

#[test]
fn comparison_names_every_algorithm_once_and_the_quickest_first() {
    let document = json(&["plan", MACHINE, "--size", "16MiB"]);
    let plans = document["plans"].as_array().unwrap();
    let times: Vec<f64> = plans.iter().map(|plan| plan["time_s"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let unsuited = document["unsuited"].as_array().unwrap().len();
    assert_eq!(plans.len() + unsuited, weft_collective::ALGORITHMS.len());
    assert!(plans.iter().all(|plan| plan["proved"] == true));
    // The same time as the simulator says when it is asked.
    let simulated: Value = serde_json::from_str(&stdout(&[
        "simulate",
        MACHINE,
        "--size",
        "16MiB",
        "--algorithm",
        "ring",
        "--format",
        "json",
    ]))
    .unwrap();
    let ring = plans.iter().find(|plan| plan["algorithm"] == "ring").unwrap();
    assert_eq!(ring["time_s"], simulated["jobs"][0]["took_s"]);
    assert_eq!(document["limit"], simulated["jobs"][0]["limit"]);
}

#[test]
fn a_written_plan_is_read_proved_and_timed_again() {
    let xml = stdout(&[
        "plan",
        MACHINE,
        "--size",
        "16MiB",
        "--algorithm",
        "halving-doubling",
        "--to",
        "msccl-algorithm",
    ]);
    let file = std::env::temp_dir().join(format!("weft-plan-{}.xml", std::process::id()));
    std::fs::write(&file, xml).unwrap();
    let name = file.to_string_lossy().into_owned();
    let alone = json(&["plan", &name, "--size", "16MiB"]);
    let timed = json(&["plan", &name, "--size", "16MiB", "--on", MACHINE]);
    let written = json(&["plan", MACHINE, "--size", "16MiB", "--algorithm", "halving-doubling"]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!((&alone["network"], &alone["plans"][0]["time_s"]), (&Value::Null, &Value::Null));
    for key in ["messages", "messages_in_a_row", "sent_most_bytes", "bound_sent_bytes", "proved"] {
        assert_eq!(timed["plans"][0][key], written["plans"][0][key], "{key}");
        assert_eq!(alone["plans"][0][key], written["plans"][0][key], "{key}");
    }
    let seconds = |document: &Value| document["plans"][0]["time_s"].as_f64().unwrap();
    assert!((seconds(&timed) / seconds(&written) - 1.0).abs() < 0.2, "{timed}");
    // Without a name it is the quickest that MSCCL has steps for.
    let quickest = stdout(&["plan", MACHINE, "--size", "16MiB", "--to", "msccl-algorithm"]);
    assert!(quickest.starts_with("<algo name="), "{quickest}");
}

#[test]
fn a_wrong_file_is_a_finding_with_its_line() {
    let output =
        run(&["plan", "examples/formats/msccl-algorithm/all-pairs-no-wait.xml", "--on", "dgx-h100"], b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("Proof: wrong: nothing orders rank 2") && text.contains("(line 65)"), "{text}");
    assert!(text.contains("not played: what is wrong is not played"), "{text}");
}

#[test]
fn what_cannot_be_planned_says_why_and_what_to_do() {
    let file = "examples/formats/msccl-algorithm/all-pairs.xml";
    let cases: [(&[&str], i32, &str, &str); 10] = [
        (&[MACHINE, "--algorithm", "rings"], 2, "there is no algorithm `rings`", "did you mean `ring`?"),
        (&[MACHINE, "--algorithm", "bruck"], 2, "bruck has no plan for all-reduce", "these suit: ring, "),
        (&[MACHINE, "--rank", "4"], 2, "there is no rank 4", "ranks are 0 to 3"),
        (&[MACHINE, "-c", "broadcast", "--root", "4"], 2, "there is no rank 4", "ranks are 0 to 3"),
        (&[MACHINE, "--gpus", "5"], 2, "there are not 5 GPUs", "0 to 3"),
        (
            &[MACHINE, "--network", "infinband"],
            2,
            "no network model `infinband`",
            "did you mean `infiniband`?",
        ),
        (&[file, "--gpus", "0-3"], 2, "says nothing of the machine", "`--on dgx-h100`"),
        (
            &[file, "--on", "2 x dgx-h100", "--gpus", "0-2"],
            2,
            "for 4 GPUs, not for 3",
            "choose 4 with `--gpus`",
        ),
        (&["2 x dgx-h100"], 1, "no plan can be played: no path leads from rank", "that a network joins"),
        (
            &[MACHINE, "--algorithm", "nvls", "--to", "msccl-algorithm"],
            1,
            "lets switches copy or add",
            "name another algorithm",
        ),
    ];
    for (args, code, message, hint) in cases {
        let (exit, talk) = refused(&[&["plan"], args].concat(), b"");
        assert_eq!(exit, code, "{args:?}: {talk}");
        assert!(talk.contains(message) && talk.contains(hint), "{args:?}:\n{talk}");
    }
    // More chunks than MSCCL holds steps for.
    let args =
        ["plan", MACHINE, "--algorithm", "double-binary-tree", "--chunks", "300", "--to", "msccl-algorithm"];
    let (exit, talk) = refused(&args, b"");
    assert!(
        exit == 1
            && talk.contains("error[not-written]")
            && talk.contains("MSCCL holds 256")
            && talk.contains("`--chunks`"),
        "{talk}"
    );
}
