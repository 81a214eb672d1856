//! The program as the shell sees it: alone, its help, completions, the man page, and closed pipes.

mod common;

use std::process::{Command, Stdio};

use common::{refused, stdout, weft};

const COMMANDS: [&str; 14] = [
    "show",
    "predict",
    "compare",
    "calibrate",
    "plan",
    "simulate",
    "bench",
    "validate",
    "gather",
    "check",
    "convert",
    "explain",
    "completions",
    "man",
];

#[test]
fn alone_it_shows_the_questions() {
    insta::assert_snapshot!(weft(&[]), @r#"
    Weftwork: GPU interconnects, from one PCIe lane to a cluster

      What is my machine, really?                             nvidia-smi topo -m | weft show -
      What should it reach, and what limits it?               weft predict dgx-a100 --collective all-reduce
      Is my busbw right?                                      weft predict dgx-h100 --measured examples/formats/nccl-tests/all-reduce-8xh100.txt
      Why is it slower than it should be?                     weft doctor examples/case
      What changed since it was fast?                         weft compare examples/compare/before examples/compare/after
      What should I buy, and what does it cost?               weft advise --gpus 1024 --train llama-3-70b --batch 1024
      Which algorithms suit, and what does each do?           weft plan dgx-h100 --collective all-reduce
      What will a cluster do, and what does a fault cost?     weft simulate examples/scenarios/slow-nic.toml
      How long does a step of training take?                  weft train '64 x dgx-h100 @ rail-optimized(leaf 64x400G)' --model llama-3.1-70b --batch 1024
      How long does a token take when a model is served?      weft serve '2 rtx-3090 @ pcie4x16 + nvlink-bridge' --model qwen3-32b --weights int4 --tp 2
      Which screen can two cards feed, and what limits them?  weft frames '2 gtx-1080 @ pcie3x8 + sli-hb' --frame-time '20 ms' --refresh 144
      Who gets which GPUs, and what if one dies?              weft schedule examples/schedule/fail-over.toml
      Which policy leaves the fewest GPUs stranded?           weft schedule examples/openb --study fgd --seeds 3
      What do the processes of this host reach?               weft bench all-reduce --ranks 2
      How well does the model agree with what was measured?   weft validate ../shared/measured
      Where does a number come from?                          weft explain a100-sxm4-80gb

    A machine is a file, a folder, `-`, the name of a system, or one line:
      '8 h100-sxm5-80gb @ nvswitch3(4) + 8 cx7 @ pcie5x16'

    `weft --help` lists all commands and options
    [stdout ends]
    exit 0
    "#);
}

#[test]
fn the_examples_of_the_questions_work() {
    stdout(&["predict", "dgx-a100", "--collective", "all-reduce"]);
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/formats/nccl-tests/all-reduce-8xh100.txt");
    assert!(stdout(&["predict", "dgx-h100", "--measured", run]).contains("Verdict"));
    stdout(&["plan", "dgx-h100", "--collective", "all-reduce"]);
    stdout(&["bench", "all-reduce", "--ranks", "2", "--max", "1KiB"]);
    stdout(&["explain", "a100-sxm4-80gb"]);
    stdout(&["show", "8 h100-sxm5-80gb @ nvswitch3(4) + 8 cx7 @ pcie5x16"]);
}

#[test]
fn help_completions_and_man_page_know_every_command() {
    let mut texts = vec![stdout(&["--help"]), stdout(&["man"])];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        texts.push(stdout(&["completions", shell]));
    }
    for text in texts {
        for command in COMMANDS {
            assert!(text.contains(command), "{command} is not in {text}");
        }
    }
}

#[test]
fn each_command_has_a_manual_page_and_help() {
    for command in COMMANDS {
        let page = stdout(&["man", command]);
        assert!(page.contains(&format!("weft\\-{command}")), "{page}");
        assert!(stdout(&[command, "--help"]).contains("Usage: weft"));
    }
    let (code, talk) = refused(&["man", "shwo"], b"");
    assert_eq!(code, 2);
    assert!(talk.contains("did you mean `show`"), "{talk}");
}

#[test]
fn help_of_show_lists_what_is_worth_pasting() {
    let (help, list) = (stdout(&["show", "--help"]), stdout(&["show", "--list", "formats"]));
    for format in weft_formats::FORMATS {
        let command = format.command().unwrap_or_default();
        assert!(list.contains(format.name()) && list.contains(command), "{}", format.name());
        assert!(help.contains(command) || !format.is_first_choice(), "{}", format.name());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weft"))
        .args(["show", "100 x dgx-h100", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn pipes_get_no_colours_unless_asked() {
    assert!(!stdout(&["show", "dgx-a100"]).contains('\u{1b}'));
    let forced = Command::new(env!("CARGO_BIN_EXE_weft"))
        .args(["show", "dgx-a100"])
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    assert!(forced.stdout.contains(&0x1b));
}
