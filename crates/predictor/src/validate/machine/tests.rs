use weft_catalogue::Catalogue;

use super::super::{Measurement, read_rows};
use super::{describe, of};

/// A row with these columns: gpu, num_gpus, num_nodes, intra_link, inter_link.
fn row(columns: &str) -> Measurement {
    let header = "system,gpu,num_gpus,num_nodes,intra_link,inter_link,collective,busbw_GBps,source";
    let text = format!("{header}\nmade up,{columns},all_reduce,1,nowhere\n");
    read_rows("x.csv", &text).0.rows.remove(0)
}

fn machine(columns: &str) -> String {
    let machine = of(&row(columns), Catalogue::embedded()).unwrap();
    weft_topology::build(&machine, Catalogue::embedded()).unwrap();
    describe(&machine)
}

#[test]
fn one_server() {
    for (columns, machine_is) in [
        ("A100 SXM,8,1,NVLink3/NVSwitch,", "8 a100-sxm4-80gb @ nvswitch2(6)"),
        ("H200 SXM,5,1,NVLink4/NVSwitch3,", "5 h200-sxm5-141gb @ nvswitch3(4)"),
        ("GB200,4,1,NVLink5,", "4 gb200 @ nvswitch4(18)"),
        ("P100-SXM2-16GB,4,1,NVLink1,", "4 p100-sxm2-16gb @ mesh"),
        ("V100-SXM2-16GB,4,1,NVLink2 (NV2 mesh),", "4 v100-sxm2-16gb @ mesh"),
        ("MI300X,8,1,xGMI,", "8 mi300x @ mesh"),
        ("MI300X,2,1,xGMI,", "2 mi300x @ mesh"),
        ("H100 NVL,2,1,NVLink bridge (NV12),", "2 h100-nvl-94gb @ nvlink-bridge"),
        ("RTX 5090,4,1,PCIe5 x8,", "4 rtx-5090 @ pcie"),
        ("RTX 5090,8,1,PCIe5,", "8 rtx-5090 @ pcie"),
        ("RTX 4090,6,1,PCIe4 P2P,", "6 rtx-4090 @ pcie"),
        ("H100 PCIe,2,1,NVLink4 bridge,", "2 h100-pcie-80gb @ nvlink-bridge"),
        ("H100,2,1,NVLink bridge,", "2 h100-pcie-80gb @ nvlink-bridge"),
        ("A100 (NV12 pairs),3,1,NVLink3 pair + PCIe4 within NUMA node,", "3 a100-pcie-80gb @ nvlink-bridge"),
        ("A100,4,1,PCIe Gen4,", "4 a100-pcie-80gb @ pcie"),
        (",,1,PCIe4,", "8 a100-pcie-80gb @ pcie"),
        (",8,1,PCIe Gen6,", "8 b300-sxm @ pcie"),
        ("H100 class (not stated),8,1,NVLink4,", "8 h100-sxm5-80gb @ nvswitch3(4)"),
    ] {
        assert_eq!(machine(columns), machine_is, "{columns}");
    }
}

#[test]
fn several_servers() {
    for (columns, machine_is) in [
        (
            "H100 SXM,8192,1024,NVLink4,8x400Gb NDR IB",
            "1024 x 8 h100-sxm5-80gb @ nvswitch3(4) + 8 connectx-7-ndr (infiniband-ndr)",
        ),
        (
            "B200 SXM,32,4,NVLink5/NVSwitch,8x400G EFA v4",
            "4 x 8 b200-sxm @ nvswitch4(2) + 8 aws-efa-v4 (efa-400g)",
        ),
        (
            "H100 80GB HBM3,16,2,NVLink4,8x200G GPUDirect-TCPXO",
            "2 x 8 h100-sxm5-80gb @ nvswitch3(4) + 8 google-gvnic (tcp-200g)",
        ),
        (
            "H100 80GB HBM3,32,4,NVLink4,3.2 Tb/s IB",
            "4 x 8 h100-sxm5-80gb @ nvswitch3(4) + 8 connectx-7-ndr (infiniband-ndr)",
        ),
        ("H100,16,2,NVLink4,3200 Gb/s EFA", "2 x 8 h100-sxm5-80gb @ nvswitch3(4) + 32 aws-efa-v2 (efa-100g)"),
        ("H20,16,2,NVLink4,8x400G IB", "2 x 8 h20 @ nvswitch3(4) + 8 connectx-7-ndr (infiniband-ndr)"),
        ("H20,16,2,NVLink4,8x400G RoCE", "2 x 8 h20 @ nvswitch3(4) + 8 connectx-7-ndr (roce-400g)"),
        (
            "GB200,1440,360,NVLink5 NVL72,Quantum-X800 400G/GPU IB",
            "360 x 4 gb200 @ nvswitch4(18) + 4 connectx-7-ndr (infiniband-ndr)",
        ),
        ("GB200,72,18,NVLink5 NVL72,", "18 x 4 gb200 @ nvswitch4(18)"),
        // What is counted as a host may be a rack.
        (
            "GB200,1440,20,NVLink5 NVL72,400G/GPU IB",
            "360 x 4 gb200 @ nvswitch4(18) + 4 connectx-7-ndr (infiniband-ndr)",
        ),
        (
            "H100 80GB HBM3,16,2,NVLink4,TCPXO-like: 8x200G per node",
            "2 x 8 h100-sxm5-80gb @ nvswitch3(4) + 8 google-gvnic (tcp-200g)",
        ),
        (
            "MI300X,16,2,xGMI / Infinity Fabric,8x400G RoCE",
            "2 x 8 mi300x @ mesh + 8 connectx-7-ndr (roce-400g)",
        ),
        (
            "B300,16,2,NVLink5,8x800G XDR IB",
            "2 x 8 b300-sxm @ nvswitch4(2) + 8 connectx-8-xdr (infiniband-xdr)",
        ),
        ("GB200,32,,NVLink5 SHARP,NVLink domain", "8 x 4 gb200 @ nvswitch4(18)"),
        ("P100-SXM2,8,8,,EDR IB (100G)", "8 x 1 p100-sxm2-16gb @ pcie + 1 connectx-4-edr (infiniband-edr)"),
        (
            "V100-SXM2-32GB,64,16,NVLink2,4x100G Omni-Path (not fully used)",
            "16 x 4 v100-sxm2-32gb @ mesh + 4 omni-path-hfi-100 (omni-path-100)",
        ),
        (",,multi,,100GbE TCP sockets", "4 x 8 v100-sxm2-32gb @ mesh + 1 connectx-4-edr (tcp-100g)"),
        (
            ",32,multi,,2x200Gb IB/RoCE",
            "4 x 8 a100-sxm4-80gb @ nvswitch2(6) + 2 connectx-6-hdr (infiniband-hdr)",
        ),
        (
            "A100,16,2,NVLink3,4x200G IB",
            "2 x 8 a100-sxm4-80gb @ nvswitch2(6) + 4 connectx-6-hdr (infiniband-hdr)",
        ),
        ("RTX 3090,32,4,PCIe4,1x 100G RoCE", "4 x 8 rtx-3090 @ pcie + 1 intel-e810 (roce-100g)"),
    ] {
        assert_eq!(machine(columns), machine_is, "{columns}");
    }
}

#[test]
fn nics_stand_where_the_class_has_its_own() {
    let catalogue = Catalogue::embedded();
    let nics = |columns: &str| -> Vec<usize> {
        let machine = of(&row(columns), catalogue).unwrap();
        machine.pcie.iter().map(|branch| branch.nics.len()).collect()
    };
    // Four switches of two GPUs each: one of four NICs behind each, two of eight.
    assert_eq!(nics("A100,16,2,NVLink3,4x200G HDR IB"), [1, 1, 1, 1]);
    assert_eq!(nics("A100,16,2,NVLink3,8x200G HDR IB"), [2, 2, 2, 2]);
    // Two NICs for four switches: one for each socket.
    assert_eq!(nics("A100,16,2,NVLink3,2x200G HDR IB"), [1, 0, 1, 0]);
}

#[test]
fn what_cannot_be_told_is_named() {
    let error = |columns: &str| of(&row(columns), Catalogue::embedded()).unwrap_err();
    assert!(error("Voodoo 2,8,1,SLI,").contains("Voodoo 2"));
    assert_eq!(error(",8,1,,"), "gpu is empty, and neither intra_link nor inter_link tells its generation");
    assert_eq!(error("H100,4,8,NVLink4,8x400G IB"), "num_gpus: 4 GPUs on 8 hosts");
    assert!(error("H100,16,2,NVLink4,8x300G IB").contains("300 Gb/s"));
    assert_eq!(error("H100,16,0,NVLink4,8x400G IB"), "num_nodes is 0");
}
