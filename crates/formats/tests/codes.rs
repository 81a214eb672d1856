//! Every diagnostic code of this crate is emitted, at the right place, by an input as small as possible.

use weft_base::{Diagnostic, Severity};
use weft_catalogue::Catalogue;
use weft_formats::{CODES, Origin, Overrides, Source, join, read};

/// A code, an input, and what one of its findings looks like.
struct Case {
    code: &'static str,
    text: &'static str,
    /// `--gpu` and `--nic`.
    models: (Option<&'static str>, Option<&'static str>),
    forced: Option<&'static str>,
    wanted: &'static str,
}

const fn case(code: &'static str, text: &'static str, wanted: &'static str) -> Case {
    Case { code, text, models: (None, None), forced: None, wanted }
}

const CASES: &[Case] = &[
    case("empty-input", " \n\t\r\n", "t:1:1: error[empty-input]: the input is empty"),
    case("not-text", "\u{7f}ELF\0\u{1}\u{1}", "t:1:1: error[not-text]: the input is binary, not text"),
    case("not-text", "G\0P\0U\0", "t:1:1: error[not-text]: the input is UTF-16, not UTF-8"),
    case(
        "no-device",
        "\nwhy is my node slow?",
        "t:2:1: error[no-device]: no GPU and no NIC found in this text, which begins with `why is my node slow?`",
    ),
    case(
        "no-device",
        "$ nvidia-smi topo -m\nNo devices were found\n",
        "t:2:1: error[no-device]: no GPU found: nvidia-smi found no GPU on that machine",
    ),
    case(
        "no-device",
        "Legend:\n\n  X    = Self\n",
        "t:1:1: error[no-device]: no GPU found: this is the legend of a matrix without the matrix",
    ),
    case(
        "lines-unused",
        "my box:\n\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n\nany ideas?\nthanks\n",
        "t:6:1: note[lines-unused]: lines 6 to 7 were not used; they begin with `any ideas?`",
    ),
    Case {
        forced: Some("nvidia-smi-top"),
        ..case("unknown-format", "x", "error[unknown-format]: there is no format `nvidia-smi-top`")
    },
    case(
        "cell-unknown",
        "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPYX\tSYS\nGPU1\tPIX\t X \tSYS\nGPU2\tSYS\tSYS\t X \n",
        "t:2:10: warning[cell-unknown]: cannot read the cell `PYX`",
    ),
    case(
        "cell-missing",
        "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tSYS\nGPU1\tPIX\t X \tSYS\nGPU2\t\tSYS\t X \n",
        "t:4:5: warning[cell-missing]: the cell of row GPU2 and column GPU0 is missing",
    ),
    case(
        "row-cut",
        "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\t X \tPIX\nGPU1\tPIX\t X \tSYS\tSYS\n",
        "t:2:13: warning[row-cut]: row GPU0 ends before column GPU2 to GPU3",
    ),
    case(
        "cells-surplus",
        "\tGPU0\tGPU1\nGPU0\t X \tPIX\tSYS\nGPU1\tPIX\t X \tSYS\n",
        "t:2:14: warning[cells-surplus]: row GPU0 has 3 cells, but the header has 2 columns",
    ),
    case(
        "cells-fused",
        "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNODENODE\nGPU1\tNODE\t X \tNODE\nGPU2\tNODE\tNODE\t X \n",
        "t:2:10: warning[cells-fused]: `NODENODE` holds several cells; they were taken apart",
    ),
    case(
        "header-glued",
        "GPU0GPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n",
        "t:1:1: note[header-glued]: labels of the header stand without blanks between them; they were taken apart",
    ),
    case(
        "header-missing",
        "GPU0\t X \tSYS\nGPU1\tSYS\t X \n",
        "t:1:1: warning[header-missing]: the header line is missing; the columns were taken to be in the order \
         of the rows",
    ),
    case(
        "rows-missing",
        "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\t X \tPIX\tSYS\tSYS\n",
        "t:1:1: warning[rows-missing]: the header names GPU1 to GPU3 that have no row: the paste is cut",
    ),
    case(
        "nic-rows-missing",
        "\tGPU0\tNIC0\nGPU0\t X \tPIX\n",
        "t:1:1: note[nic-rows-missing]: there are no rows for NIC0: how NICs lie to each other is unknown",
    ),
    case(
        "columns-missing",
        "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \nGPU2\tSYS\tSYS\nGPU3\tSYS\tSYS\n",
        "t:1:1: warning[columns-missing]: the header has no column for GPU2, GPU3, though there are rows",
    ),
    case(
        "benchmark-row-cut",
        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n\
         8 2 float sum -1 10.0 0.00 0.00 0 10.0 0.00 0.00 0\n16 4 float sum -1 11.0 0.00\n",
        "t:3:1: warning[benchmark-row-cut]: this row ends early; what stands in it is used",
    ),
    case(
        "benchmark-rate-odd",
        "# size count type redop root time algbw busbw #wrong\n1000000 250000 float sum -1 10.0 50.00 50.00 0\n",
        "t:2:1: warning[benchmark-rate-odd]: algbw is 50.00 GB/s, but 976.56 KiB in 10 us are 100.00 GB/s",
    ),
    case(
        "bus-factor-odd",
        "# Collective test starting: all_reduce_perf\n#  Rank  0 Group  0 Pid 1 on a device  0 [0x01] X\n\
         #  Rank  1 Group  0 Pid 2 on a device  1 [0x02] X\n# size count type redop root time algbw busbw #wrong\n\
         1000000 250000 float sum -1 10.0 100.00 175.00 0\n",
        "t:5:1: warning[bus-factor-odd]: busbw is 1.750 times algbw, but of all-reduce over 2 ranks it is 1.000 times",
    ),
    case(
        "ranks-separate",
        "#  Rank  0 Group  0 Pid 1 on a device  0 [0x01] X\n#  Rank  0 Group  0 Pid 2 on a device  0 [0x01] X\n\
         # size count type redop root time algbw busbw #wrong\n8 2 float sum -1 10.0 0.00 0.00 0\n",
        "t:2:1: warning[ranks-separate]: rank 0 is listed 2 times: these are 2 jobs that ran side by side, not one job \
         of many ranks",
    ),
    case(
        "rank-alone",
        "#  Rank  0 Group  0 Pid 1 on a device  0 [0x01] X\n# size count type redop root time algbw busbw #wrong\n\
         8 2 float sum -1 10.0 0.00 0.00 0\n",
        "t:2:1: warning[rank-alone]: only one rank ran: busbw is 0 by its formula, and nothing was sent",
    ),
    case(
        "collective-inferred",
        "# size count type redop root time algbw busbw #wrong\n1000000 250000 float sum -1 10.0 100.00 187.50 0\n",
        "t:1:1: note[collective-inferred]: the table does not name its collective; by its columns and figures, over 16 \
         ranks it is all-reduce",
    ),
    case(
        "peer-access-refused",
        "Device=0 CANNOT Access Peer Device=1\nDevice=1 CANNOT Access Peer Device=0\nUnidirectional P2P=Enabled \
         Bandwidth Matrix (GB/s)\n D\\D 0 1\n 0 900.0 20.0\n 1 20.0 900.0\n",
        "t:3:1: warning[peer-access-refused]: no GPU can access another directly: `P2P=Enabled` measures copies through \
         the memory of the CPU",
    ),
    case(
        "peer-access-without-effect",
        "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n D\\D 0 1\n 0 900.0 20.0\n 1 20.0 900.0\n\
         Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n D\\D 0 1\n 0 900.0 20.1\n 1 20.0 900.0\n",
        "t:5:1: note[peer-access-without-effect]: the figures are those of `P2P=Disabled`: direct access is refused, or \
         gains nothing",
    ),
    case(
        "test-failed",
        "Running host_to_device_memcpy_ce.\nDevice 0: NVIDIA X (00000000:1b:00)\n[CUDA_ERROR_UNKNOWN] unknown error\n",
        "t:3:1: warning[test-failed]: the test host_to_device_memcpy_ce ended in an error: [CUDA_ERROR_UNKNOWN] unknown error",
    ),
    case(
        "test-waived",
        "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n 0\n0 55.2\nWaived:\nWaived:\n",
        "t:5:1: note[test-waived]: 2 tests were left out: this machine cannot run them",
    ),
    case(
        "unit-assumed",
        "n1,n2 49.36\nn1,n3 88.50\n",
        "t:1:1: note[unit-assumed]: no unit stands at the figures of these pairs; they were taken as GB/s",
    ),
    case("hosts-of-one", "8 x t4\n", "t:1:1: note[hosts-of-one]: `8 x` means 8 hosts, each with one t4"),
    case(
        "row-repeated",
        "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU0\t X \tPIX\nGPU1\tSYS\t X \n",
        "t:3:1: warning[row-repeated]: this row was there before; the first one counts",
    ),
    case(
        "pair-asymmetric",
        "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tSYS\t X \n",
        "t:3:6: warning[pair-asymmetric]: GPU1 to GPU0 is SYS, but GPU0 to GPU1 is PHB",
    ),
    case(
        "nvlink-count",
        "\tGPU0\tGPU1\nGPU0\t X \tNV120\nGPU1\tNV12\t X \n",
        "t:2:10: warning[nvlink-count]: no GPU has 120 NVLinks; the most is 18",
    ),
    Case {
        models: (Some("v100-sxm2-16gb"), None),
        ..case(
            "impossible-nvlink",
            "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n",
            "t:2:10: error[impossible-nvlink]: GPU0 to GPU1 is NV18, but NVIDIA Tesla V100 SXM2 16GB has only 6 NVLinks",
        )
    },
    Case {
        models: (Some("rtx-a6000"), None),
        ..case(
            "impossible-nvlink",
            "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tNV4\nGPU1\tNV4\t X \tNODE\nGPU2\tNV4\tNODE\t X \n",
            "t:2:10: error[impossible-nvlink]: GPU0 needs 8 NVLinks in all, but NVIDIA RTX A6000 has only 4 NVLinks",
        )
    },
    case(
        "nvlink-uneven",
        "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV18\tNV17\nGPU1\tNV18\t X \tNV18\nGPU2\tNV17\tNV18\t X \n",
        "t:2:15: warning[nvlink-uneven]: GPU0 to GPU2 is NV17, but other pairs are NV18 through the same switches",
    ),
    case(
        "machine-file",
        "[[gpus]]\nmodel = \"a100-sxm4-80gb\"\ncuont = 8\n",
        "t:3:1: error[machine-file]: unknown field `cuont`, expected `model` or `count`",
    ),
    case(
        "machine-file",
        "schema = \"weft/machine/9\"\ngpus = [{ count = 2 }]\n",
        "t:1:10: error[machine-file]: this version of the form is not known",
    ),
    case(
        "matrix-surplus",
        "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n\n\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n",
        "t:5:2: warning[matrix-surplus]: a second matrix, other than that of line 1, is not used",
    ),
    case(
        "matrix-inconsistent",
        "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tSYS\nGPU1\tPIX\t X \tPIX\nGPU2\tSYS\tPIX\t X \n",
        "t:2:14: warning[matrix-inconsistent]: GPU0 to GPU2 is SYS, but what else is said of them makes it PIX; so \
         it is with 2 cells in all",
    ),
    case(
        "distances-hidden",
        "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\tX\tSYS\tSYS\tSYS\nGPU1\tSYS\tX\tSYS\tSYS\nGPU2\tSYS\tSYS\tX\tSYS\n",
        "t:2:8: warning[distances-hidden]: all pairs are SYS: as in virtual machines, where the distances carry no \
         meaning",
    ),
    case(
        "numa-contradiction",
        "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tSYS\t0-7\t0\nGPU1\tSYS\t X \t0-7\t0\n",
        "t:2:10: warning[numa-contradiction]: GPU0 and GPU1 both list NUMA node 0, but by the classes they are SYS to each other",
    ),
    Case {
        models: (None, Some("connectx-7-ndr")),
        ..case(
            "override-unused",
            "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n",
            "warning[override-unused]: --nic changes nothing: the input has no NIC",
        )
    },
    case(
        "gdr-unproven",
        "h:1:2 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n",
        "t:1:1: note[gdr-unproven]: `GDR 1` at the end of this line does not prove that GPUDirect RDMA is used",
    ),
    case(
        "gdr-one-sided",
        "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n\
         NCCL INFO Channel 00/0 : 0[0] -> 8[0] [receive] via NET/IB/0\n",
        "t:2:1: warning[gdr-one-sided]: rank 0 to rank 8: the sending side uses GPUDirect RDMA, the receiving side \
         does not",
    ),
    case(
        "nvlink-down",
        "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n\nGPU 1: NVIDIA A40 (UUID: GPU-1)\n\t Link 0: 14.062 GB/s\n\
         \t Link 1: <inactive>\n\t Link 2: 14.062 GB/s\n\t Link 3: 14.062 GB/s\n",
        "t:5:1: warning[nvlink-down]: GPU1 has 3 of 4 links to other GPUs up, although the matrix shows NV4 (t:3:6)",
    ),
    case(
        "link-degraded",
        "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n\nindex, name, pcie.link.width.current, pcie.link.width.max\n\
         0, NVIDIA A40, 16, 16\n1, NVIDIA A40, 8, 16\n",
        "t:7:1: warning[link-degraded]: GPU1 runs on 8 PCIe lanes of 16",
    ),
    case(
        "link-speed-hidden",
        "NCCL INFO KV Convert to int : could not find value of '' in dictionary, falling back to 60\n",
        "t:1:1: warning[link-speed-hidden]: the speed of a PCIe link could not be read, so that NCCL assumes a default",
    ),
    case(
        "setting-unknown",
        "export NCCL_IB_GID_IDX=3\n",
        "t:1:8: warning[setting-unknown]: NCCL knows no variable NCCL_IB_GID_IDX",
    ),
    case(
        "setting-value",
        "NCCL_P2P_LEVEL=FOO\n",
        "t:1:1: warning[setting-value]: NCCL_P2P_LEVEL cannot be `FOO`",
    ),
    case(
        "settings-left-out",
        "NCCL_DEBUG=INFO\nHOME=/\nPWD=/\nTOKEN=x\nPATH=/bin\n",
        "t:2:1: note[settings-left-out]: 4 lines of an environment are not about communication and were left out, \
         unshown: they may hold secrets",
    ),
];

fn findings(case: &Case) -> Vec<Diagnostic> {
    let catalogue = Catalogue::embedded();
    let reading = read(&Source::file("t", case.text), catalogue, case.forced);
    let own = |name: Option<&str>| name.map(str::to_owned);
    let overrides = Overrides { gpu: own(case.models.0), nic: own(case.models.1), cpu: None };
    let (joined, more) = join(reading.evidence, &overrides, catalogue);
    // What is less than built shows once the machine is built.
    let built = joined.machine.as_ref().and_then(|machine| weft_topology::build(machine, catalogue).ok());
    let degraded = built.map(|built| joined.degraded(&built.topology)).unwrap_or_default();
    reading.diagnostics.into_iter().chain(more).chain(degraded).collect()
}

#[test]
fn each_code_is_emitted_at_its_place() {
    for case in CASES {
        let found = findings(case);
        let without_hint = |finding: &Diagnostic| Diagnostic { hint: None, ..finding.clone() }.to_string();
        let shown: Vec<String> = found.iter().map(without_hint).collect();
        assert!(
            shown.iter().any(|text| text == case.wanted),
            "{}\nwanted {}\nfound  {shown:#?}",
            case.code,
            case.wanted
        );
    }
}

/// That each code occurs in a test, here or beside its reader, is a rule of the house (`codes_are_tested`).
#[test]
fn each_code_has_an_explanation_of_one_to_four_sentences() {
    for code in CODES {
        let sentences = code.explanation.matches(". ").count() + 1;
        assert!((1..=4).contains(&sentences), "{} has {sentences} sentences", code.name);
        let kebab = code.name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        assert!(kebab && code.explanation.ends_with('.'), "{}", code.name);
    }
}

#[test]
fn a_machine_described_twice_is_taken_once() {
    // machine-surplus: several files can be joined, one text cannot hold two descriptions.
    let catalogue = Catalogue::embedded();
    let mut evidence = read(&Source::argument("2 rtx-3090"), catalogue, None).evidence;
    evidence.extend(read(&Source::argument("4 t4"), catalogue, None).evidence);
    evidence.extend(read(&Source::file("t", "\tGPU0\tGPU1\nGPU0\t X \tSYS\n"), catalogue, None).evidence);
    let (case, findings) = join(evidence, &Overrides::default(), catalogue);
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code.name).collect();
    assert_eq!(codes, ["machine-surplus", "machine-surplus"]);
    assert_eq!(case.machine.as_ref().unwrap().gpus[0].model.as_deref(), Some("rtx-3090"));
    assert!(case.matrix.is_some());
    // A matrix of two GPUs cannot be of a machine with eight: that it is set aside is no small matter.
    let matrix = || read(&Source::file("t", "\tGPU0\tGPU1\nGPU0\t X \tSYS\n"), catalogue, None).evidence;
    for (line, severity) in [("2 t4", Severity::Note), ("8 t4", Severity::Warning)] {
        let mut evidence = read(&Source::argument(line), catalogue, None).evidence;
        evidence.extend(matrix());
        let (_, findings) = join(evidence, &Overrides::default(), catalogue);
        assert_eq!(findings.iter().map(|one| one.severity).collect::<Vec<_>>(), [severity], "{line}");
    }
}

#[test]
fn a_matrix_of_a_thousand_devices_is_refused_for_its_size() {
    let labels: Vec<String> = (0..1000).map(|gpu| format!("GPU{gpu}")).collect();
    let row = |label: &String| format!("{label}\t{}\n", ["SYS"; 1000].join("\t"));
    let text = format!("\t{}\n{}", labels.join("\t"), labels.iter().map(row).collect::<String>());
    let found = read(&Source::file("t", text), Catalogue::embedded(), None).diagnostics.remove(0);
    let wanted =
        "t:1:2: error[no-device]: a header of 1000 GPUs is longer than any that is read: 256 devices";
    assert!(found.to_string().starts_with(wanted), "{found}");
}

#[test]
fn a_hint_names_gpus_with_so_many_links() {
    let catalogue = Catalogue::embedded();
    let text = "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n";
    let evidence = read(&Source::file("t", text), catalogue, None).evidence;
    let wrong = Overrides { gpu: Some("v100-sxm2-32gb".to_owned()), ..Overrides::default() };
    let hint = join(evidence, &wrong, catalogue).1.remove(0).hint.unwrap();
    assert!(hint.contains("b200-sxm") && hint.contains("h100-sxm5-80gb"), "{hint}");
}

#[test]
fn a_name_that_nothing_is_near_is_told_where_all_are_listed() {
    let matrix = read(&Source::argument("2 t4"), Catalogue::embedded(), None).evidence;
    let wrong = Overrides { gpu: Some("qqq".to_owned()), ..Overrides::default() };
    let (_, found) = join(matrix, &wrong, Catalogue::embedded());
    assert!(found[0].hint.as_ref().unwrap().contains("weft show --list"), "{found:?}");
}

#[test]
fn an_unknown_name_is_told_the_nearest() {
    let catalogue = Catalogue::embedded();
    let source = Source::file("m.toml", "gpus = [{ model = \"a100-smx4-80gb\", count = 8 }]\n");
    let found = read(&source, catalogue, None).diagnostics;
    assert_eq!(found.len(), 1, "{found:?}");
    let place = found[0].place.as_ref().unwrap();
    assert_eq!((place.line, place.column, found[0].severity), (1, 19, Severity::Error));
    assert!(found[0].hint.as_ref().unwrap().contains("`a100-sxm4-80gb`"), "{found:?}");

    let wrong = Overrides { gpu: Some("h100-smx".to_owned()), ..Overrides::default() };
    let matrix = read(&Source::file("t", "\tGPU0\tGPU1\nGPU0\t X \tNV18\n"), catalogue, None).evidence;
    let (case, found) = join(matrix, &wrong, catalogue);
    assert!(found[0].hint.as_ref().unwrap().contains("h100-sxm5-80gb"), "{found:?}");
    assert_eq!(case.gpu_labels, ["GPU0", "GPU1"]);
}

#[test]
fn a_one_liner_with_a_typo_points_into_its_line() {
    let source = Source::argument("  2 rtx-3090x @ pcie4x8");
    assert_eq!(source.origin, Origin::Argument);
    let found = read(&source, Catalogue::embedded(), None);
    assert!(found.failed());
    let place = found.diagnostics[0].place.as_ref().unwrap();
    assert_eq!((place.line, place.column), (1, 5), "{:?}", found.diagnostics);
    assert!(found.diagnostics[0].hint.as_ref().unwrap().contains("rtx-3090"), "{:?}", found.diagnostics);
}

#[test]
fn a_machine_file_gives_the_machine_that_the_catalogue_has() {
    let catalogue = Catalogue::embedded();
    let text = "# ours\nschema = \"weft/machine/1\"\ngpus = [{ model = \"rtx-3090\", count = 2 }]\n\n[host]\nsockets = 1\n";
    let found = read(&Source::file("m.toml", text), catalogue, None);
    assert_eq!(found.diagnostics, Vec::new());
    let (case, _) = join(found.evidence, &Overrides::default(), catalogue);
    let machine = case.machine.unwrap();
    assert_eq!((machine.gpus[0].count, machine.host.sockets), (2, 1));
}
