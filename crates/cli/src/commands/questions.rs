//! `weft` alone: the questions that it answers.

use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// Question, command, example.
const QUESTIONS: [(&str, &str); 16] = [
    ("What is my machine, really?", "nvidia-smi topo -m | weft show -"),
    ("What should it reach, and what limits it?", "weft predict dgx-a100 --collective all-reduce"),
    (
        "Is my busbw right?",
        "weft predict dgx-h100 --measured examples/formats/nccl-tests/all-reduce-8xh100.txt",
    ),
    ("Why is it slower than it should be?", "weft doctor examples/case"),
    ("What changed since it was fast?", "weft compare examples/compare/before examples/compare/after"),
    ("What should I buy, and what does it cost?", "weft advise --gpus 1024 --train llama-3-70b --batch 1024"),
    ("Which algorithms suit, and what does each do?", "weft plan dgx-h100 --collective all-reduce"),
    ("What will a cluster do, and what does a fault cost?", "weft simulate examples/scenarios/slow-nic.toml"),
    (
        "How long does a step of training take?",
        "weft train '64 x dgx-h100 @ rail-optimized(leaf 64x400G)' --model llama-3.1-70b --batch 1024",
    ),
    (
        "How long does a token take when a model is served?",
        "weft serve '2 rtx-3090 @ pcie4x16 + nvlink-bridge' --model qwen3-32b --weights int4 --tp 2",
    ),
    (
        "Which screen can two cards feed, and what limits them?",
        "weft frames '2 gtx-1080 @ pcie3x8 + sli-hb' --frame-time '20 ms' --refresh 144",
    ),
    ("Who gets which GPUs, and what if one dies?", "weft schedule examples/schedule/fail-over.toml"),
    ("Which policy leaves the fewest GPUs stranded?", "weft schedule examples/openb --study fgd --seeds 3"),
    ("What do the processes of this host reach?", "weft bench all-reduce --ranks 2"),
    ("How well does the model agree with what was measured?", "weft validate ../shared/measured"),
    ("Where does a number come from?", "weft explain a100-sxm4-80gb"),
];

/// The table of questions with an example each.
pub fn text() -> String {
    let mut table = Table::default();
    for (question, example) in QUESTIONS {
        table.row([Cell::new(question), Cell::new(example).tone(Tone::Heading)]);
    }
    let (title, more) = (heading("Weftwork"), faint("`weft --help` lists all commands and options"));
    let lines = table.lines();
    format!(
        "{title}: GPU interconnects, from one PCIe lane to a cluster\n\n{lines}\n\
         A machine is a file, a folder, `-`, the name of a system, or one line:\n  \
         '8 h100-sxm5-80gb @ nvswitch3(4) + 8 cx7 @ pcie5x16'\n\n{more}\n"
    )
}
