//! Which way steps go when the hardware is changed, where people agree on it: layouts are given, so that no better one
//! hides what a link costs.

use weft_catalogue::{Catalogue, Machine};
use weft_predictor::train::{Pricer, Site};
use weft_topology::oneliner;
use weft_workload::{Layout, Precision, Sharding};

fn machine(line: &str) -> Machine {
    oneliner::parse(line, Catalogue::embedded()).expect("a machine")
}

/// The same with sockets in place of InfiniBand, at the same 200 Gb/s.
fn by_tcp(machine: &Machine) -> Machine {
    let mut machine = machine.clone();
    machine.nics.iter_mut().for_each(|group| group.link = Some("tcp-200g".to_owned()));
    machine
}

fn seconds(machine: &Machine, layout: &Layout) -> f64 {
    let catalogue = Catalogue::embedded();
    let site = Site::new(machine, catalogue).expect("a site");
    let model = catalogue.model("llama-2-13b").expect("a model");
    let framework = catalogue.framework("megatron-core").expect("a program");
    let pricer = Pricer::new(&site, site.gpus, model, Precision::Half, framework).expect("prices");
    pricer.step(layout).expect("a time").seconds
}

/// Weights, gradients and optimizer over all GPUs.
fn zero3(gpus: u32) -> Layout {
    Layout { sharding: Sharding::Weights, ..Layout::new(gpus, gpus, 4096) }
}

/// ZeRO-3 sends the weights twice and the gradients once in every step: DeepSpeed#2928 sets 90 TFLOPS of IDEFICS-80B with
/// ZeRO-3 at 340 Gb/s a node beside 150 TFLOPS of BLOOM in three dimensions at 140 Gb/s, and in DeepSpeed#5770 a step
/// goes from 2.46 to 8.68 s on a slow network.
#[test]
fn zero_3_needs_the_network() {
    let full = machine("16 x dgx-a100 @ fat-tree(leaf 16x200G)");
    let narrow = machine("16 x dgx-a100 @ fat-tree(leaf 16x200G, oversubscription 7:1)");
    let layout = zero3(128);
    let times = [&full, &by_tcp(&full), &narrow, &by_tcp(&narrow)].map(|machine| seconds(machine, &layout));
    let [infiniband, sockets, shared, worst] = times;
    assert!(infiniband * 1.02 < sockets && infiniband * 1.02 < shared, "{times:?}");
    assert!(worst >= sockets && worst >= shared, "{times:?}");
    // With the weights shared within each host (HSDP) only gradients leave it, and the network matters less.
    let hybrid = Layout { shard_gpus: Some(8), ..layout };
    let (fast, slow) = (seconds(&full, &hybrid), seconds(&by_tcp(&narrow), &hybrid));
    assert!(slow / fast < worst / infiniband, "{fast} {slow}, {times:?}");
}

/// bigscience#15 and TensorRT-LLM#563: tensor parallelism belongs on NVLink; of PCIe a switch between the GPUs loses less
/// than the ports of their CPUs.
#[test]
fn tensor_parallelism_wants_nvlink() {
    let layout = Layout { tensor: 4, sequence_parallel: true, ..Layout::new(8, 64, 4096) };
    let times = ["8 a100-sxm4-80gb @ nvswitch2(6)", "8 a100-sxm4-80gb @ pcie-switch(2)", "8 a100-sxm4-80gb"]
        .map(|line| seconds(&machine(line), &layout));
    assert!(times[0] * 1.05 < times[1] && times[1] < times[2], "{times:?}");
}

/// nccl#412 and nccl#452: NICs add up where NVLink carries what they bring; where it does not, they do no harm.
#[test]
fn another_nic_never_makes_a_step_slower() {
    let servers = [("8 a100-sxm4-80gb @ nvswitch2(6)", true), ("8 a100-pcie-80gb @ pcie-switch(2)", false)];
    for (server, gains) in servers {
        let with = |nics: u32| {
            let line = format!("4 x {server} + {nics} cx6 @ rail-optimized(leaf 40x200G)");
            seconds(&machine(&line), &zero3(32))
        };
        let times = [1, 2, 4, 8].map(with);
        assert!(times.is_sorted_by(|fewer, more| *more <= fewer * 1.0005), "{server}: {times:?}");
        assert!(!gains || times[3] * 1.1 < times[0], "{server}: {times:?}");
    }
}
