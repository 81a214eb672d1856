//! Inference against what is published: speeds, and the answers of threads about which link and which layout.

mod common;

use weft_catalogue::Catalogue;
use weft_predictor::PeerAccess;
use weft_predictor::serve::{ServeTime, Server};
use weft_predictor::train::Site;
use weft_topology::oneliner;
use weft_workload::{ServeLayout, Serving, WeightFormat};

/// A question to the model.
#[derive(Clone, Copy)]
struct Ask {
    machine: &'static str,
    model: &'static str,
    engine: &'static str,
    weights: WeightFormat,
    layout: ServeLayout,
    batch: u32,
    prompt: u32,
    generate: u32,
    peers: bool,
}

const ASK: Ask = Ask {
    machine: "hgx-a100-8",
    model: "llama-2-7b",
    engine: "gpt-fast",
    weights: WeightFormat::Half,
    layout: ServeLayout::ONE,
    batch: 1,
    prompt: 8,
    generate: 200,
    peers: false,
};

fn tensor(tensor: u32) -> ServeLayout {
    ServeLayout { tensor, ..ServeLayout::ONE }
}

fn pipeline(pipeline: u32) -> ServeLayout {
    ServeLayout { pipeline, ..ServeLayout::ONE }
}

fn time(ask: Ask) -> ServeTime {
    let catalogue = Catalogue::embedded();
    let machine = match catalogue.system(ask.machine) {
        Ok(system) => system.clone(),
        Err(_) => oneliner::parse(ask.machine, catalogue).unwrap(),
    };
    let access = if ask.peers { PeerAccess::Everywhere } else { PeerAccess::AsUsual };
    let site = Site::serving(&machine, catalogue, access).unwrap();
    let engine = catalogue.engine(ask.engine).unwrap();
    let server = Server::new(&site, engine, ask.weights).unwrap();
    let serving = Serving {
        model: catalogue.model(ask.model).unwrap(),
        layout: ask.layout,
        weights: ask.weights,
        cache_bytes: 2.0,
        batch: ask.batch,
        prompt_tokens: ask.prompt,
        generated_tokens: ask.generate,
    };
    server.time(&serving).unwrap()
}

#[test]
fn explore() {
    let show = |name: &str, ask: Ask, measured: f64| {
        let t = time(ask);
        println!("{name}: {:.2} tok/s (measured {measured}) ratio {:.2}  {:?}", t.decode_tokens_per_s, t.decode_tokens_per_s / measured, t.decode);
    };
    for (n, m) in [(1, 104.9), (2, 168.84), (4, 254.02), (8, 328.43)] {
        show("7B", Ask { layout: tensor(n), ..ASK }, m);
    }
    for (n, m) in [(2, 21.32), (4, 38.01), (8, 62.50)] {
        show("70B", Ask { model: "llama-2-70b", layout: tensor(n), ..ASK }, m);
    }
    for (n, m) in [(1, 93.83), (2, 149.10), (4, 217.21), (8, 276.01)] {
        show("3.1-8B", Ask { model: "llama-3.1-8b", layout: tensor(n), ..ASK }, m);
    }
    for (n, m) in [(2, 16.03), (4, 37.45), (8, 58.78)] {
        show("3.1-70B", Ask { model: "llama-3.3-70b", layout: tensor(n), ..ASK }, m);
    }
    show("7B int4", Ask { weights: WeightFormat::Int4, ..ASK }, 196.8);
    show("70B int4", Ask { model: "llama-2-70b", weights: WeightFormat::Int4, ..ASK }, 25.25);
    for (n, m) in [(2, 96.67), (4, 155.35), (8, 227.82)] {
        show("mixtral", Ask { model: "mixtral-8x7b", layout: tensor(n), ..ASK }, m);
    }
    let l = Ask { engine: "llama-cpp", model: "llama-3-8b", prompt: 16, generate: 1024, ..ASK };
    for (gpu, q, f) in [("2 rtx-3090", 111.74, 46.51), ("2 rtx-4090", 127.74, 54.34), ("2 a100-pcie-80gb", 138.31, 54.56), ("2 h100-pcie-80gb", 144.49, 67.79), ("2 rtx-a6000", 102.22, 40.25), ("2 l40s", 113.6, 43.42), ("2 rtx-6000-ada", 130.99, 51.97), ("2 a40", 88.95, 33.95)] {
        show(gpu, Ask { machine: gpu, weights: WeightFormat::Q4, ..l }, q);
        show(gpu, Ask { machine: gpu, ..l }, f);
    }
    for (gpu, q) in [("2 rtx-3090", 16.29), ("2 rtx-4090", 19.06)] {
        show(gpu, Ask { machine: gpu, model: "llama-3-70b", weights: WeightFormat::Q4, layout: pipeline(2), ..l }, q);
    }
    for (gpu, q) in [("2 a100-pcie-80gb", 22.11), ("2 h100-pcie-80gb", 25.01), ("2 rtx-a6000", 14.58), ("2 l40s", 15.31)] {
        show(gpu, Ask { machine: gpu, model: "llama-3-70b", weights: WeightFormat::Q4, ..l }, q);
    }
    show("3090*2 8B", Ask { machine: "2 rtx-3090", weights: WeightFormat::Q4, layout: pipeline(2), ..l }, 108.07);
    show("4*h100 70B f16", Ask { machine: "4 h100-pcie-80gb", model: "llama-3-70b", layout: pipeline(4), ..l }, 9.63);
    show("4*a6000 70B f16", Ask { machine: "4 rtx-a6000", model: "llama-3-70b", layout: pipeline(4), ..l }, 4.74);
    show("sglang 8B h100", Ask { machine: "hgx-h100-8", model: "llama-3-8b", engine: "sglang", prompt: 128, generate: 8, ..ASK }, 141.63);
    show("vllm 8B h100", Ask { machine: "hgx-h100-8", model: "llama-3-8b", engine: "vllm", prompt: 32, generate: 128, ..ASK }, 1.0 / 0.00738);
    for (gpu, q, f) in [("2 rtx-3090", 3865.39, 4239.64), ("2 rtx-4090", 6898.71, 9056.26), ("2 a100-pcie-80gb", 5800.48, 7504.24), ("2 h100-pcie-80gb", 7760.16, 10342.63)] {
        let t = time(Ask { machine: gpu, prompt: 1024, ..l });
        println!("prefill {gpu} {:.0} measured {f} (q4 {q}) {:?}", 1024.0 / t.first_token_s, t.prefill);
    }
}
