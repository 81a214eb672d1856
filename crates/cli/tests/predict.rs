//! `weft predict` as a whole.

mod common;

use common::{refused, stdout, weft, weft_reading};

#[test]
fn the_example_of_the_design_is_explained() {
    let args =
        ["predict", "2 rtx-3090 @ pcie4x8 + nvlink-bridge", "--collective", "all-gather", "--size", "256MiB"];
    insta::assert_snapshot!(weft(&[&args[..], &["--explain"]].concat()), @r#"
    all-gather over 2 GPUs: 2 x NVIDIA GeForce RTX 3090, 1 socket

         size      time         90 % within       algbw       busbw  NCCL's choice  channels  bound by
      256 MiB  3.379 ms  3.06 ms to 3.73 ms  79.45 GB/s  39.73 GB/s  Ring Simple           4  4 x NVLink 3 of the GA102 bridge from GPU0 to GPU1

    Bound: busbw at most 56.25 GB/s, by 4 x NVLink 3 of the GA102 bridge of each GPU
      each GPU sends over 4 x NVLink 3 of the GA102 bridge = 56.25 GB/s in one direction
          from NVIDIA Ampere GA102 GPU architecture: whitepaper (NVLink paragraph) (datasheet)
      all-gather over 2 ranks: per byte of message each GPU sends 1/2 = 0.5000 bytes
          from nccl-tests: doc/PERFORMANCE.md (datasheet)
      so algbw <= 112.5 GB/s, busbw <= 56.25 GB/s

    Limit of all links together, whatever the algorithm: busbw at most 72 GB/s
      the parts of rank 1 leave over 1 edge of 15.75 GB/s + 1 edge of 56.25 GB/s = 72 GB/s, one for each of 1 of 2 ranks; busbw = 72 GB/s x 1 / 1

    How the largest size comes about
      narrowest on the ring: 4 x NVLink 3 of the GA102 bridge from GPU0 to GPU1, for which NCCL 2.30 counts 48.0 GB/s
          from NCCL: src/graph/topo.h, search.cc and tuning.cc (datasheet)
      the channel search fits 2 channels of 20 GB/s = 40.0 GB/s (NVL)
          from NCCL: src/graph/topo.h, search.cc and tuning.cc (datasheet)
      Ring with Simple (a flag with every chunk): busbw 40.0 GB/s
          from NCCL: src/graph/topo.h, search.cc and tuning.cc (datasheet)
      256 MiB takes 3.355 ms on the wire, 8.4 us to start, 3.4 us of steps and 11.33 us to fill their pipeline: busbw 39.7 GB/s
          from the model; see docs/models/nccl.md

    Sources
      NVIDIA Ampere GA102 GPU architecture: whitepaper (NVLink paragraph)  V2, 2021                      https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf
      NCCL: src/graph/topo.h, search.cc and tuning.cc                      v2.30.7, commit 5067397c2676  github.com/NVIDIA/nccl: src/graph
      nccl-tests: doc/PERFORMANCE.md                                                                     github.com/NVIDIA/nccl-tests: doc/PERFORMANCE.md

    Not in the input, assumed
      CPU model  xeon-ice-lake  the input does not name the CPU
    [stdout ends]
    warning[bridged-pair-uncertain]: bridged PCIe pairs were measured at 39 % to 69 % of the NVLink line rate; this figure is near the upper end
    [stderr ends]
    exit 0
    "#);
}

#[test]
fn every_size_from_8_bytes_to_8_gigabytes_has_a_row() {
    let text = stdout(&["predict", "dgx-a100"]);
    for size in ["8 B ", "1 KiB ", "64 MiB ", "8 GiB "] {
        assert!(text.contains(&format!(" {size}")), "{size}: {text}");
    }
    assert_eq!(
        text.lines()
            .skip_while(|line| !line.contains("algbw"))
            .skip(1)
            .take_while(|line| !line.is_empty())
            .count(),
        31
    );
}

#[test]
fn gpus_are_chosen_by_count_number_and_name() {
    let rows = |gpus: &str| stdout(&["predict", "dgx-a100", "--size", "1GiB", "--gpus", gpus]);
    assert!(rows("0-3").starts_with("all-reduce over 4 GPUs of"));
    assert_eq!(rows("GPU0,GPU1,2,3"), rows("0-3"));
    // Behind NVSwitches any four are as good as the first.
    let ranked = rows("4");
    assert!(
        ranked.starts_with("Which 4 of 8 GPUs: 70 subsets of 1 kind") && ranked.ends_with(&rows("0-3")),
        "{ranked}"
    );
    assert_eq!(rows("8"), stdout(&["predict", "dgx-a100", "--size", "1GiB"]));
    insta::assert_snapshot!(weft(&["predict", "dgx-a100", "--gpus", "0,9"]), @r#"
    weft: failed to choose the GPUs `0,9`
    error[no-such-gpu]: there is no GPU `9`
      = help: the machine has 8 GPUs, 0 to 7
    [stderr ends]
    exit 2
    "#);
    for wrong in ["9", "0,0", "3-1", "GPU8", ""] {
        let (code, talk) = refused(&["predict", "dgx-a100", "--gpus", wrong], b"");
        assert_eq!(code, 2, "{wrong}: {talk}");
    }
    let (code, talk) = refused(&["predict", "dgx-a100", "--gpus", "0,"], b"");
    assert_eq!(code, 2, "{talk}");
}

#[test]
fn subsets_are_ranked_by_what_they_reach_and_leave() {
    let text = stdout(&["predict", "dgx-1", "--gpus", "4", "--size", "256MiB"]);
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert!(lines[0].starts_with("Which 4 of 8 GPUs: 70 subsets of"), "{text}");
    assert!(lines[2].starts_with("  0,1,2,3      2") && lines[2].contains("on 4,5,6,7"), "{text}");
    assert!(text.contains("CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1,2,3"), "{text}");
    assert!(text.contains("GPU 0,1 next to NIC0 (PIX)"), "{text}");
}

/// The second of a bridged pair whose first is in use is what a job of one GPU should get (k8s-device-plugin#1193).
#[test]
fn one_gpu_goes_to_a_broken_pair() {
    let machine = "4 a100-pcie-40gb @ pcie4x16 + 2 nvlink-bridge";
    let text = stdout(&["predict", machine, "--gpus", "1", "--busy", "2"]);
    assert!(text.starts_with("Which 1 of 3 GPUs") && text.contains("CUDA_VISIBLE_DEVICES=3"), "{text}");
    let (code, talk) = refused(&["predict", machine, "--gpus", "4", "--busy", "2"], b"");
    assert!(code == 1 && talk.contains("there are not 4 GPUs that nobody uses"), "{code} {talk}");
}

#[test]
fn a_size_needs_its_unit() {
    let (code, talk) = refused(&["predict", "dgx-a100", "--size", "256"], b"");
    assert_eq!(code, 2);
    assert!(talk.contains("has no unit") && talk.contains("256 MiB"), "{talk}");
}

#[test]
fn a_collective_may_be_spelled_as_in_nccl_tests() {
    let text = stdout(&["predict", "dgx-a100", "--collective", "all_gather", "--size", "1GiB"]);
    assert!(text.starts_with("all-gather over 8 GPUs"));
    let (code, talk) = refused(&["predict", "dgx-a100", "--collective", "allredux"], b"");
    assert_eq!(code, 2);
    assert!(talk.contains("did you mean `all-reduce`"), "{talk}");
}

#[test]
fn an_algorithm_that_cannot_run_is_named() {
    // NVSwitches of the second generation do not reduce, so that there is no NVLS: algorithm-unusable.
    insta::assert_snapshot!(weft(&["predict", "hgx-a100-4", "--size", "1GiB", "--algorithm", "nvls"]), @r#"
    all-reduce over 4 GPUs: 4 x NVIDIA A100 SXM4 40GB, 2 NICs, 1 socket

       size      time           90 % within       algbw       busbw  NCCL's choice  channels  bound by
      1 GiB  6.808 ms  6.165 ms to 7.517 ms  157.7 GB/s  236.6 GB/s  Ring Simple          24  4 x NVLink 3 from GPU0 to GPU1

    Bound: busbw at most 300 GB/s, by 12 x NVLink 3 of each GPU
      each GPU sends over 12 x NVLink 3 = 300 GB/s in one direction
          from NVIDIA A100 Tensor Core GPU Architecture (datasheet)
      all-reduce over 4 ranks: per byte of message each GPU sends 2 x 3/4 = 1.5000 bytes
          from nccl-tests: doc/PERFORMANCE.md (datasheet)
      so algbw <= 200 GB/s, busbw <= 300 GB/s

    Limit of all links together, whatever the algorithm: busbw at most 331.5 GB/s
      4 ranks need 2 x 3 messages between them to add and share each byte, over edges that carry 1326 GB/s; busbw = 1326 GB/s x 3 / (4 x 3)

    `--explain` shows the derivation and every source
    [stdout ends]
    warning[algorithm-unusable]: NVLS cannot run all-reduce on these GPUs; NCCL's own choice is shown
    [stderr ends]
    exit 0
    "#);
}

#[test]
fn what_is_not_modelled_is_refused_without_a_number() {
    // no-prediction: GPUs on which neither library runs.
    let (code, talk) = refused(&["predict", "8 gaudi2"], b"");
    assert_eq!(code, 1);
    assert!(talk.contains("error[no-prediction]") && talk.contains("neither NVIDIA's nor AMD's"), "{talk}");
}

#[test]
fn several_hosts_are_priced_by_their_nics() {
    const SEVERAL: [&str; 4] = ["predict", "4 x dgx-h100 @ rail-optimized(leaf 64x400G)", "--size", "1GiB"];
    let text = stdout(&[&SEVERAL[..], &["--collective", "all-gather", "--explain"]].concat());
    assert!(text.starts_with("all-gather over 32 GPUs on 4 nodes: "), "{text}");
    assert!(
        text.contains("8 channels of 48 GB/s = 384.0 GB/s (NVL), and of 48 GB/s to the network (PIX)"),
        "{text}"
    );
}

#[test]
fn accesses_that_are_refused_slow_the_pair_down() {
    let time = |access: &str| {
        let text = format!(
            "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n\n \tGPU0\tGPU1\n GPU0\tX\t{access}\n GPU1\t{access}\tX\n"
        );
        let args = ["predict", "-", "--gpu", "a40", "--size", "1GiB", "--format", "json"];
        let output = weft_reading(&args, text.as_bytes());
        let row = output.lines().find(|line| line.contains("time_s")).unwrap().to_owned();
        row.trim().trim_start_matches("\"time_s\": ").trim_end_matches(',').parse::<f64>().unwrap()
    };
    assert!(time("CNS") > 1.2 * time("OK"), "{} {}", time("CNS"), time("OK"));
}

#[test]
fn a_gpu_of_unknown_model_is_priced_and_said_to_be_unknown() {
    let output = weft(&["predict", "examples/topo/asymmetric.txt", "--size", "1GiB"]);
    assert!(output.contains("warning[gpu-model-unknown]") && output.ends_with("exit 0\n"), "{output}");
}

#[test]
fn too_few_gpus_say_whose_choice_that_was() {
    let chosen = weft(&["predict", "dgx-a100", "--gpus", "0-0"]);
    assert!(chosen.contains("needs at least 2 GPUs, not 1"), "{chosen}");
    assert!(chosen.contains("the machine has 8; choose at least two with `--gpus`"), "{chosen}");
    let alone = weft(&["predict", "1 t4"]);
    assert!(
        !alone.contains("--gpus") && alone.contains("`weft show`") && alone.ends_with("exit 1\n"),
        "{alone}"
    );
}

#[test]
fn names_of_algorithms_and_formats_are_read_in_any_case() {
    let args = |algorithm, format| {
        stdout(&["predict", "dgx-a100", "--size", "1MiB", "--algorithm", algorithm, "--format", format])
    };
    assert_eq!(args("Ring", "JSON"), args("ring", "json"));
}

#[test]
fn a_log_alone_is_no_machine() {
    let output = weft(&["predict", "examples/formats/nccl-tests/all-reduce-8xh100.txt"]);
    assert!(output.contains("error[no-machine]") && output.ends_with("exit 3\n"), "{output}");
}

#[test]
fn variables_act_and_the_last_word_is_an_options() {
    let settings = b"NCCL_ALGO=Tree\nNCCL_PROTO=LL\nNCCL_DEBUG=WARN\n";
    let args = ["predict", "dgx-a100", "-", "--size", "1GiB"];
    let printed = weft_reading(&args, settings);
    assert!(printed.contains(" Tree LL ") && printed.contains("note[settings-taken]"), "{printed}");
    assert!(printed.contains("taken from the input: NCCL_ALGO=Tree, NCCL_PROTO=LL; "), "{printed}");
    let other = [&args[..], &["--env", "NCCL_ALGO=^tree", "--env", "NCCL_DEBUG=INFO"]].concat();
    let printed = weft_reading(&other, settings);
    assert!(printed.contains(" Ring LL ") && printed.contains("note[setting-without-effect]"), "{printed}");
}

#[test]
fn a_value_that_a_variable_cannot_have_says_what_it_can() {
    insta::assert_snapshot!(weft(&["predict", "dgx-a100", "--env", "NCCL_P2P_LEVEL=NVX"]), @r#"
    weft: failed to take `--env NCCL_P2P_LEVEL=NVX`
    error[no-such-setting]: NCCL_P2P_LEVEL cannot be `NVX`: expected LOC, NVL, PIX, PXB, PHB or SYS, or a number from 0 to 5
    [stderr ends]
    exit 2
    "#);
    for wrong in [["--env", "NCCL_ALGO"], ["--env", "=Ring"], ["--nccl", "two"], ["--algorithm", "star"]] {
        let (exit, said) = refused(&[&["predict", "dgx-a100"][..], &wrong].concat(), b"");
        assert!(exit == 2 && said.contains(wrong[0]), "{said}");
    }
}

#[test]
fn a_table_for_the_tuner_is_written() {
    let text = stdout(&["predict", "dgx-a100", "--gpus", "0-3", "--export", "nccl-tuner"]);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines[0].starts_with("allreduce,0,") && lines[0].ends_with(",-1,1,4,-1,-1"), "{text}");
    assert!(text.contains("NCCL_TUNER_CONFIG_FILE"), "{text}");
}
