//! Every kind of input that is not good, and how the program ends on it.

mod common;

use common::{refused, weft, weft_reading};

#[test]
fn nothing_at_all() {
    insta::assert_snapshot!(weft_reading(&["show", "-"], b""), @r#"
    weft: failed to show standard input
    error[empty-input]: the input is empty
      in standard input
      = help: did the command fail? `nvidia-smi topo -m` prints at least two lines

    Worth pasting:
      nvidia-smi topo -m
      nvidia-smi topo -p2p r
    and the output of many more commands: `weft show --list formats`; `weft gather` packs them into one file
    Or describe the machine: `weft show '8 h100-sxm5-80gb @ nvswitch3(4)'`, `weft show dgx-a100`
    [stderr ends]
    exit 3
    "#);
}

#[test]
fn bytes_of_something_else() {
    insta::assert_snapshot!(weft_reading(&["show", "-"], b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00"), @r#"
    weft: failed to show standard input
    error[not-text]: the input is binary, not text
     --> standard input:1:1
      |
    1 | �PNG
      | ^
      |
      = help: give the text that the command printed; a picture of it cannot be read

    Worth pasting:
      nvidia-smi topo -m
      nvidia-smi topo -p2p r
    and the output of many more commands: `weft show --list formats`; `weft gather` packs them into one file
    Or describe the machine: `weft show '8 h100-sxm5-80gb @ nvswitch3(4)'`, `weft show dgx-a100`
    [stderr ends]
    exit 3
    "#);
}

#[test]
fn prose() {
    insta::assert_snapshot!(weft_reading(&["show", "-"], b"Dear all,\nthe new server is slow.\n"), @r#"
    weft: failed to show standard input
    error[no-device]: no GPU and no NIC found in this text, which begins with `Dear all,`
     --> standard input:1:1
      |
    1 | Dear all,
      | ^
      |
      = help: paste the output of `nvidia-smi topo -m` from the line with GPU0 on, or name a system such as `dgx-a100`

    Worth pasting:
      nvidia-smi topo -m
      nvidia-smi topo -p2p r
    and the output of many more commands: `weft show --list formats`; `weft gather` packs them into one file
    Or describe the machine: `weft show '8 h100-sxm5-80gb @ nvswitch3(4)'`, `weft show dgx-a100`
    [stderr ends]
    exit 3
    "#);
}

#[test]
fn a_cut_row_is_read_as_far_as_it_goes() {
    let text = "        GPU0    GPU1    GPU2\nGPU0     X      PIX     PHB\nGPU1    PIX      X\nGPU2    PHB     PHB      X\n";
    let output = weft_reading(&["show", "-"], text.as_bytes());
    let matrix: Vec<&str> = output.lines().skip_while(|line| !line.starts_with("Links")).take(6).collect();
    insta::assert_snapshot!(matrix.join("\n"), @r#"
    Links, as in the input
            GPU0  GPU1  GPU2
      GPU0  -     PIX   PHB
      GPU1  PIX   -     ?
      GPU2  PHB   PHB   -
    "#);
    let talk: Vec<&str> = output.lines().skip_while(|line| *line != "[stdout ends]").skip(1).collect();
    insta::assert_snapshot!(talk.join("\n"), @r#"
    warning[row-cut]: row GPU1 ends before column GPU2
     --> standard input:3:19
      |
    3 | GPU1    PIX      X
      |                   ^
    [stderr ends]
    exit 0
    "#);
}

#[test]
fn more_links_than_the_gpu_has() {
    let text = "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n";
    insta::assert_snapshot!(weft_reading(&["show", "-", "--gpu", "v100-sxm2-16gb"], text.as_bytes()), @r#"
    weft: failed to show standard input
    error[impossible-nvlink]: GPU0 to GPU1 is NV18, but NVIDIA Tesla V100 SXM2 16GB has only 6 NVLinks
     --> standard input:2:10
      |
    2 | GPU0     X     NV18
      |                ^^^^
      |
      = help: GPUs with 18 NVLinks are h100-sxm5-80gb, h100-sxm5-96gb-hbm2e, gh200-96gb, b200-sxm
    [stderr ends]
    exit 3
    "#);
}

#[test]
fn a_typo_in_a_one_liner() {
    insta::assert_snapshot!(weft(&["show", "8 h100-sxm5-80gb @ nvswtch3(4)"]), @r#"
    weft: failed to show 8 h100-sxm5-80gb @ nvswtch3(4)
    error[unknown-name]: place `nvswtch3` is not in the catalogue
     --> command line:1:20
      |
    1 | 8 h100-sxm5-80gb @ nvswtch3(4)
      |                    ^^^^^^^^
      |
      = help: did you mean `nvswitch3` or `nvswitch1` or `nvswitch2`?
    [stderr ends]
    exit 3
    "#);
}

#[test]
fn an_unknown_gpu_in_a_one_liner_and_in_an_option() {
    insta::assert_snapshot!(weft(&["predict", "2 rtx-3091 @ pcie4x8"]), @r#"
    weft: failed to predict for 2 rtx-3091 @ pcie4x8
    error[unknown-name]: device `rtx-3091` is not in the catalogue
     --> command line:1:3
      |
    1 | 2 rtx-3091 @ pcie4x8
      |   ^^^^^^^^
      |
      = help: did you mean `rtx-3090` or `rtx-3090-ti` or `rtx-3050`?
    [stderr ends]
    exit 3
    "#);
    insta::assert_snapshot!(weft(&["show", "examples/topo/asymmetric.txt", "--gpu", "rtx-3091"]), @r#"
    weft: failed to show examples/topo/asymmetric.txt
    error[unknown-name]: GPU `rtx-3091` is not in the catalogue
      = help: did you mean `rtx-3090` or `rtx-3090-ti` or `rtx-3050`?
    warning[pair-asymmetric]: GPU3 to GPU1 is NODE, but GPU1 to GPU3 is SYS
     --> examples/topo/asymmetric.txt:5:17
      |
    5 | GPU3    SYS     NODE    PIX      X      32-63   1
      |                 ^^^^
      |
      = help: both are kept; where one answer is needed, SYS (line 3) is used
    [stderr ends]
    exit 3
    "#);
}

#[test]
fn a_machine_that_the_hardware_refuses() {
    insta::assert_snapshot!(weft(&["show", "8 t4 @ nvswitch3(4)"]), @r#"
    weft: failed to show 8 t4 @ nvswitch3(4)
    error[impossible-machine]: NVIDIA T4 has no links to other GPUs
     --> command line:1:8
      |
    1 | 8 t4 @ nvswitch3(4)
      |        ^^^^^^^^^
      |
      = help: leave the links out: such cards talk over PCIe
    [stderr ends]
    exit 3
    "#);
}

#[test]
fn a_system_that_does_not_exist() {
    let (code, talk) = refused(&["show", "dgx-a10"], b"");
    assert_eq!(code, 3, "{talk}");
    assert!(talk.contains("dgx-a100"), "{talk}");
}

#[test]
fn a_file_that_does_not_exist() {
    insta::assert_snapshot!(weft(&["show", "examples/topo/dgx-a10.txt"]), @r#"
    weft: failed to read examples/topo/dgx-a10.txt
    error[file-unreadable]: there is no file examples/topo/dgx-a10.txt
      = help: did you mean examples/topo/dgx-a100.txt?
    [stderr ends]
    exit 4
    "#);
    insta::assert_snapshot!(weft(&["show", "nowhere/topo.txt"]), @r#"
    weft: failed to read nowhere/topo.txt
    error[file-unreadable]: there is no file nowhere/topo.txt
      = help: there is no folder nowhere
    [stderr ends]
    exit 4
    "#);
}

#[test]
fn a_file_that_is_too_large() {
    // Sparse: it takes no room, and is refused by its length, unread.
    let path = std::env::temp_dir().join(format!("weft-too-large-{}.txt", std::process::id()));
    std::fs::File::create(&path).and_then(|file| file.set_len((1 << 30) + 1)).unwrap();
    let (code, talk) = refused(&["show", &path.to_string_lossy()], b"");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(code, 3, "{talk}");
    assert!(talk.contains("file-too-large"), "{talk}");
}

#[test]
fn wrong_utf8_is_read_and_named() {
    let mut text = b"        GPU0    GPU1\nGPU0     X      PIX\nGPU1    PIX      X\n\nuser: J".to_vec();
    text.extend(b"\xf6rg\n");
    let output = weft_reading(&["show", "-"], &text);
    let talk: Vec<&str> = output.lines().skip_while(|line| *line != "[stdout ends]").skip(1).collect();
    insta::assert_snapshot!(talk.join("\n"), @r#"
    warning[invalid-utf8]: a byte here is not UTF-8; it was read as an unknown character
     --> standard input:5:8
      |
    5 | user: J�rg
      |        ^
    note[lines-unused]: line 5 was not used: `user: J�rg` (-:5:1)
    [stderr ends]
    exit 0
    "#);
}

#[test]
fn a_folder_without_a_machine() {
    let (code, talk) = refused(&["show", "crates/cli/src/json"], b"");
    assert_eq!(code, 3, "{talk}");
    assert!(talk.contains("file-unused") && talk.contains("Worth pasting"), "{talk}");
}

#[test]
fn a_format_and_a_command_that_do_not_exist() {
    let (code, talk) = refused(&["show", "dgx-a100", "--as", "nvidia-smi-tpo"], b"");
    assert_eq!(code, 2);
    assert!(talk.contains("nvidia-smi-topo"), "{talk}");
    let (code, talk) = refused(&["shwo", "dgx-a100"], b"");
    assert_eq!(code, 2);
    assert!(talk.contains("show"), "{talk}");
}

#[test]
fn a_script_gets_its_document_even_then() {
    let output = weft_reading(&["show", "-", "--format", "json"], b"two\nlines");
    assert!(
        output.contains("\"schema\": \"weft/show/1\"") && output.contains("\"code\": \"no-device\""),
        "{output}"
    );
    assert!(output.ends_with("exit 3\n"), "{output}");
}

#[test]
fn a_collective_without_its_option() {
    insta::assert_snapshot!(weft(&["simulate", "dgx-h100", "all-reduce"]), @r"
    weft: failed to simulate a machine
    error[no-machine]: `all-reduce` is a collective and not a machine
      = help: `--collective all-reduce` says what a machine is to do
    [stderr ends]
    exit 3
    ");
}

#[test]
fn a_machine_in_one_line_without_quotes() {
    insta::assert_snapshot!(weft(&["show", "2", "rtx-3090", "@", "pcie4x8"]), @r#"
    weft: failed to show a machine
    error[one-liner-syntax]: a machine in one line is one argument, but this one came in 4
      = help: put it into quotes: '2 rtx-3090 @ pcie4x8'
    [stderr ends]
    exit 3
    "#);
}
