//! `weft show` as a whole: what a reader sees.

#![expect(clippy::disallowed_methods, reason = "tests read files to compare with")]

mod common;

use common::{stdout, weft, weft_reading};

#[test]
fn a_bridged_pair_has_one_link_and_says_what_was_assumed() {
    insta::assert_snapshot!(weft(&["show", "examples/topo/2x3090-nvlink.txt", "--gpu", "rtx-3090"]), @r#"
    2 x NVIDIA GeForce RTX 3090, 1 NUMA node

    Devices
      GPU0, GPU1  NVIDIA GeForce RTX 3090   PCIe 4.0 x16, 4 x NVLink 3 of the GA102 bridge
      CPU0        AMD Ryzen 5000 (assumed)

    Links, as in the input
            GPU0  GPU1
      GPU0  -     NV4
      GPU1  NV4   -

      NV4  4 x NVLink 3 of the GA102 bridge  56.25 GB/s per direction

    Widest and narrowest, per direction
      GPU to GPU  all pairs  56.25 GB/s  GPU0 to GPU1
        GPU0 -[4 x NVLink 3 of the GA102 bridge]- GPU1

    Together
      NVLink  GPU0, GPU1  direct links

    Not in the input, assumed
      CPU model              ryzen-5000        the matrix does not name it; Desktop with two RTX 3090 and a bridge has this one
      GPU0, GPU1 PCIe place  a root port each  the matrix shows NVLink where it would show PCIe, and no NIC tells more
    [stdout ends]
    exit 0
    "#);
}

#[test]
fn an_asymmetric_pair_keeps_both_cells_and_warns() {
    insta::assert_snapshot!(weft(&["show", "examples/topo/asymmetric.txt"]), @r#"
    4 unknown GPUs, 2 NUMA nodes

    Devices
      GPU0-GPU3   model unknown                                               PCIe 4.0 x16
      CPU0, CPU1  Intel Xeon Scalable, third generation (Ice Lake) (assumed)
      SW0, SW1    PCIe switch

    Links, as in the input
            GPU0  GPU1  GPU2  GPU3
      GPU0  -     PIX   SYS   SYS
      GPU1  PIX   -     SYS   SYS
      GPU2  SYS   SYS   -     PIX
      GPU3  SYS   NODE  PIX   -

      PIX   one PCIe switch                31.51 GB/s per direction  narrowest: PCIe 4.0 x16
      NODE  host bridges of one NUMA node  rate unknown
      SYS   across sockets or NUMA nodes   31.51 GB/s per direction  narrowest: PCIe 4.0 x16

    Widest and narrowest, per direction
      GPU to GPU  all pairs  31.51 GB/s  GPU0 to GPU1 and 5 more
        GPU0 -[PCIe 4.0 x16]- SW0 -[PCIe 4.0 x16]- GPU1

    Together
      PCIe switch SW0  GPU0, GPU1
      PCIe switch SW1  GPU2, GPU3
      NUMA node CPU0   GPU0, GPU1
      NUMA node CPU1   GPU2, GPU3

    Not in the input, assumed
      CPU model      xeon-ice-lake  the input does not name the CPU
      GPU PCIe port  pcie4 x16      the input does not name the GPU model
    [stdout ends]
    warning[pair-asymmetric]: GPU3 to GPU1 is NODE, but GPU1 to GPU3 is SYS
     --> examples/topo/asymmetric.txt:5:17
      |
    5 | GPU3    SYS     NODE    PIX      X      32-63   1
      |                 ^^^^
      |
      = help: both are kept; where one answer is needed, SYS (line 3) is used
    [stderr ends]
    exit 0
    "#);
}

#[test]
fn standard_input_is_read_like_a_file() {
    let text = std::fs::read(common::root().join("examples/topo/dgx-a100.txt")).unwrap();
    insta::assert_snapshot!(weft_reading(&["show", "-"], &text), @r#"
    8 x NVIDIA A100 SXM4 80GB (assumed), 10 NICs, 6 NUMA nodes

    Devices
      GPU0-GPU7  NVIDIA A100 SXM4 80GB (assumed)                 PCIe 4.0 x16, 12 x NVLink 3
      NIC0-NIC9  NVIDIA (Mellanox) ConnectX-6 VPI HDR (assumed)  PCIe 4.0 x16, 1 x InfiniBand HDR 4x; mlx5_0-mlx5_9
      CPU0-CPU5  AMD EPYC 7002 (Rome) (assumed)
      NVS0-NVS5  NVSwitch, second generation
      SW0-SW7    PCIe switch

    Links, as in the input
            GPU0  GPU1  GPU2  GPU3  GPU4  GPU5  GPU6  GPU7  NIC0  NIC1  NIC2  NIC3  NIC4  NIC5  NIC6  NIC7  NIC8  NIC9
      GPU0  -     NV12  NV12  NV12  NV12  NV12  NV12  NV12  PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS
      GPU1  NV12  -     NV12  NV12  NV12  NV12  NV12  NV12  PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS
      GPU2  NV12  NV12  -     NV12  NV12  NV12  NV12  NV12  SYS   SYS   PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS
      GPU3  NV12  NV12  NV12  -     NV12  NV12  NV12  NV12  SYS   SYS   PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS
      GPU4  NV12  NV12  NV12  NV12  -     NV12  NV12  NV12  SYS   SYS   SYS   SYS   PXB   PXB   SYS   SYS   SYS   SYS
      GPU5  NV12  NV12  NV12  NV12  NV12  -     NV12  NV12  SYS   SYS   SYS   SYS   PXB   PXB   SYS   SYS   SYS   SYS
      GPU6  NV12  NV12  NV12  NV12  NV12  NV12  -     NV12  SYS   SYS   SYS   SYS   SYS   SYS   PXB   PXB   SYS   SYS
      GPU7  NV12  NV12  NV12  NV12  NV12  NV12  NV12  -     SYS   SYS   SYS   SYS   SYS   SYS   PXB   PXB   SYS   SYS
      NIC0  PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS   -     PIX   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS
      NIC1  PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS   PIX   -     SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS
      NIC2  SYS   SYS   PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS   -     PIX   SYS   SYS   SYS   SYS   SYS   SYS
      NIC3  SYS   SYS   PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS   PIX   -     SYS   SYS   SYS   SYS   SYS   SYS
      NIC4  SYS   SYS   SYS   SYS   PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS   -     PIX   SYS   SYS   SYS   SYS
      NIC5  SYS   SYS   SYS   SYS   PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS   PIX   -     SYS   SYS   SYS   SYS
      NIC6  SYS   SYS   SYS   SYS   SYS   SYS   PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS   -     PIX   SYS   SYS
      NIC7  SYS   SYS   SYS   SYS   SYS   SYS   PXB   PXB   SYS   SYS   SYS   SYS   SYS   SYS   PIX   -     SYS   SYS
      NIC8  SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   -     SYS
      NIC9  SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   SYS   -

      NV12  12 x NVLink 3                 300 GB/s per direction
      PIX   one PCIe switch               31.51 GB/s per direction  narrowest: PCIe 4.0 x16
      PXB   several PCIe switches         31.51 GB/s per direction  narrowest: PCIe 4.0 x16
      SYS   across sockets or NUMA nodes  31.51 GB/s per direction  narrowest: PCIe 4.0 x16

    Widest and narrowest, per direction
      GPU to GPU  all pairs  300 GB/s  GPU0 to GPU1 and 27 more
        GPU0 -[12 x NVLink 3]- NVS0-NVS5 -[12 x NVLink 3]- GPU1
      GPU to NIC  all pairs  31.51 GB/s  GPU0 to NIC0 and 79 more
        GPU0 -[PCIe 4.0 x16]- SW0 -[PCIe 4.0 x16]- SW1 -[PCIe 4.0 x16]- NIC0

    Together
      NVLink            GPU0-GPU7                                                                                       through NVS0-NVS5
      PCIe switch SW0   GPU0, GPU1, NIC0, NIC1
      PCIe switch SW2   GPU2, GPU3, NIC2, NIC3
      PCIe switch SW4   GPU4, GPU5, NIC4, NIC5
      PCIe switch SW6   GPU6, GPU7, NIC6, NIC7
      NUMA node CPU0    GPU2, GPU3, NIC2, NIC3
      NUMA node CPU1    GPU0, GPU1, NIC0, NIC1
      NUMA node CPU2    GPU6, GPU7, NIC6, NIC7
      NUMA node CPU3    GPU4, GPU5, NIC4, NIC5
      NUMA node CPU4    NIC8
      NUMA node CPU5    NIC9
      nearest NIC, PXB  GPU0, GPU1: NIC0, NIC1; GPU2, GPU3: NIC2, NIC3; GPU4, GPU5: NIC4, NIC5; GPU6, GPU7: NIC6, NIC7

    Not in the input, assumed
      GPU model  a100-sxm4-80gb  NV12 among 8 GPUs fits it; so do a100-sxm4-40gb; say which with --gpu
      CPU model  epyc-rome       the matrix does not name it; NVIDIA DGX A100 (640 GB) has this one
      NIC model  connectx-6-hdr  the matrix does not name it; NVIDIA DGX A100 (640 GB) has this one; say which with --nic
    [stdout ends]
    exit 0
    "#);
}

#[test]
fn accesses_are_shown_beside_the_classes() {
    insta::assert_snapshot!(weft(&["show", "examples/topo/p2p-after-topo.txt"]), @r#"
    4 unknown GPUs, 2 NUMA nodes

    Devices
      GPU0-GPU3   model unknown                                               PCIe 4.0 x16
      CPU0, CPU1  Intel Xeon Scalable, third generation (Ice Lake) (assumed)

    Links, as in the input
            GPU0  GPU1  GPU2  GPU3
      GPU0  -     NODE  SYS   SYS
      GPU1  NODE  -     SYS   SYS
      GPU2  SYS   SYS   -     NODE
      GPU3  SYS   SYS   NODE  -

      NODE  host bridges of one NUMA node  31.51 GB/s per direction  narrowest: PCIe 4.0 x16
      SYS   across sockets or NUMA nodes   31.51 GB/s per direction  narrowest: PCIe 4.0 x16

    Widest and narrowest, per direction
      GPU to GPU  all pairs  31.51 GB/s  GPU0 to GPU1 and 5 more
        GPU0 -[PCIe 4.0 x16]- RC0 -[root complex]- CPU0 -[root complex]- RC1 -[PCIe 4.0 x16]- GPU1
        narrow at PCIe 4.0 x16 from GPU0 to RC0

    Together
      NUMA node CPU0  GPU0, GPU1
      NUMA node CPU1  GPU2, GPU3

    Access to each other's memory (reads)
            GPU0  GPU1  GPU2  GPU3
      GPU0  -     OK    CNS   CNS
      GPU1  OK    -     CNS   CNS
      GPU2  CNS   CNS   -     OK
      GPU3  CNS   CNS   OK    -

    Not in the input, assumed
      CPU model      xeon-ice-lake  the input does not name the CPU
      GPU PCIe port  pcie4 x16      the input does not name the GPU model
    [stdout ends]
    exit 0
    "#);
}

#[test]
fn accesses_alone_make_a_machine_of_unknown_distances() {
    let text = " \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tCNS\tX\n";
    insta::assert_snapshot!(weft_reading(&["show", "-"], text.as_bytes()), @r#"
    2 unknown GPUs

    Devices
      GPU0, GPU1  model unknown                                               PCIe 4.0 x16
      CPU0        Intel Xeon Scalable, third generation (Ice Lake) (assumed)

    Access to each other's memory
            GPU0  GPU1
      GPU0  -     OK
      GPU1  CNS   -

    Not in the input, assumed
      GPU PCIe place  a root port each  only who may access whom is in the input, not how close devices are
      CPU model       xeon-ice-lake     the input does not name the CPU
      GPU PCIe port   pcie4 x16         the input does not name the GPU model
    [stdout ends]
    exit 0
    "#);
}

#[test]
fn a_cluster_is_one_host_and_the_tiers_that_join_all() {
    insta::assert_snapshot!(weft(&["show", "64 x hgx-a100-4 @ rail-optimized(leaf 64x200G)"]), @r#"
    64 × NVIDIA HGX A100 4-GPU
    256 x NVIDIA A100 SXM4 40GB, 128 NICs, 64 hosts

    Cluster
      hosts           64                4 GPUs and 2 NICs each
      GPU fabric      within each host
      leaf switches   4                 32 ports down and 32 up, InfiniBand HDR 4x at 25 GB/s per direction
      spine switches  2                 64 ports down, InfiniBand HDR 4x at 25 GB/s per direction

    Devices of one host
      GPU0-GPU3   NVIDIA A100 SXM4 40GB                 PCIe 4.0 x16, 12 x NVLink 3
      NIC0, NIC1  NVIDIA (Mellanox) ConnectX-6 VPI HDR  PCIe 4.0 x16, 1 x InfiniBand HDR 4x
      CPU0        AMD EPYC 7002 (Rome)

    Links, as nvidia-smi would print them
            GPU0  GPU1  GPU2  GPU3  NIC0  NIC1
      GPU0  -     NV4   NV4   NV4   PHB   NODE
      GPU1  NV4   -     NV4   NV4   NODE  NODE
      GPU2  NV4   NV4   -     NV4   NODE  PHB
      GPU3  NV4   NV4   NV4   -     NODE  NODE
      NIC0  PHB   NODE  NODE  NODE  -     NODE
      NIC1  NODE  NODE  PHB   NODE  NODE  -

      NV4   4 x NVLink 3                   100 GB/s per direction
      PHB   a CPU's host bridge            31.51 GB/s per direction  narrowest: PCIe 4.0 x16
      NODE  host bridges of one NUMA node  31.51 GB/s per direction  narrowest: PCIe 4.0 x16

    Widest and narrowest, per direction
      GPU to GPU  all pairs  100 GB/s  GPU0 to GPU1 and 5 more
        GPU0 -[4 x NVLink 3]- GPU1
      GPU to NIC  all pairs  31.51 GB/s  GPU0 to NIC0 and 7 more
        GPU0 -[PCIe 4.0 x16]- RC0 -[PCIe 4.0 x16]- NIC0

    Together
      NVLink             GPU0-GPU3               direct links
      nearest NIC, PHB   GPU0: NIC0; GPU2: NIC1
      nearest NIC, NODE  GPU1, GPU3: NIC0, NIC1
    [stdout ends]
    exit 0
    "#);
}

#[test]
fn a_rack_is_one_fabric_of_many_hosts() {
    let text = stdout(&["show", "gb200-nvl72"]);
    assert!(text.contains("1 domain of 72 GPUs"), "{text}");
    assert!(text.contains("4 GPUs and 6 NICs each"), "{text}");
}

#[test]
fn a_cluster_of_any_size_prints_as_much_as_a_small_one() {
    let lines = |hosts: &str| stdout(&["show", &format!("{hosts} x dgx-h100")]).lines().count();
    assert_eq!(lines("2"), lines("2000"));
}

#[test]
fn a_long_channel_needs_a_retimer() {
    let machine = "\
name = \"riser\"
title = \"Server with a long way to its card\"

[[gpus]]
model = \"h100-pcie-80gb\"
count = 2

[[pcie]]
gpus = [0]
channel = [{ part = \"trace-mid-loss\", amount = \"12\" }, { part = \"cem-connector\", amount = \"1\" }]

[[pcie]]
gpus = [1]
channel = [{ part = \"trace-mid-loss\", amount = \"40\" }, { part = \"cem-connector\", amount = \"1\" }]
";
    let output = weft_reading(&["show", "-"], machine.as_bytes());
    let section: Vec<&str> =
        output.lines().skip_while(|line| !line.starts_with("Signal loss")).take(3).collect();
    insta::assert_snapshot!(section.join("\n"), @r#"
    Signal loss from the root port to the device
      branch 0 (GPU0)  PCIe 5.0  loses 16.02 dB of 36 dB  holds without a retimer  12 x Board trace, mid-loss laminate: 14.52 dB, 1 x PCIe card slot: 1.5 dB
      branch 1 (GPU1)  PCIe 5.0  loses 49.9 dB of 36 dB   a retimer is needed      40 x Board trace, mid-loss laminate: 48.4 dB, 1 x PCIe card slot: 1.5 dB
    "#);
}

#[test]
fn many_nics_share_columns() {
    let text = stdout(&["show", "8 h100-sxm5-80gb @ nvswitch3(4) + 30 cx7 @ pcie5x16"]);
    assert!(text.contains("NIC0-NIC29"), "{text}");
    assert!(text.contains("share a column"), "{text}");
}

#[test]
fn several_sources_are_one_machine() {
    let text = stdout(&["show", "examples/topo/dgx-a100.txt", "examples/topo/p2p-after-topo.txt"]);
    assert!(text.starts_with("8 x NVIDIA A100"), "{text}");
    assert!(text.contains("Access to each other's memory"), "{text}");
}

#[test]
fn a_folder_is_all_its_files() {
    let output = weft(&["show", "examples/topo", "--gpu", "a100-sxm4-80gb"]);
    assert!(output.contains("matrix-surplus"), "{output}");
}

#[test]
fn pictures_come_in_two_formats_and_a_tree() {
    let svg = stdout(&["show", "dgx-a100", "--format", "svg"]);
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let dot = stdout(&["show", "dgx-a100", "--format", "dot"]);
    assert!(dot.contains("graph") && dot.contains("GPU7"));
    let tree = stdout(&["show", "dgx-a100", "--format", "tree"]);
    assert!(tree.contains("GPU7") && tree.contains("per direction"));
}

#[test]
fn the_catalogue_can_be_listed() {
    let all = stdout(&["show", "--list"]);
    for name in ["dgx-a100", "rtx-3090", "epyc-rome", "nvlink3", "nvidia-smi-topo"] {
        assert!(all.contains(name), "{name}");
    }
    let gpus = stdout(&["show", "--list", "gpus"]);
    assert!(gpus.contains("rtx-3090") && !gpus.contains("dgx-a100"));
}

#[test]
fn bridges_for_frames_say_that_data_does_not_use_them() {
    let text = stdout(&["show", "2 gtx-1080 @ pcie3x8 + sli-hb"]);
    let row = "  SLI HB bridge  GPU0, GPU1  3.25 GB/s per direction, rendered frames only: programs' data goes over PCIe";
    assert!(text.lines().any(|line| line == row), "{text}");
    // XDMA has no bridge; what was asked for is not dropped in silence.
    let text = stdout(&["show", "2 r9-290x + crossfire"]);
    assert!(text.contains("  rendered frames  GPU0, GPU1  over PCIe: XDMA"), "{text}");
}
