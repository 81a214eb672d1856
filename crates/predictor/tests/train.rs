//! Steps of training against published times.

use weft_catalogue::Catalogue;
use weft_predictor::train::{Pricer, Search, Site, StepTime, Tables};
use weft_topology::oneliner;
use weft_workload::{Layout, Precision, Recompute, Sharding, Space};

fn time(machine: &str, model: &str, framework: &str, layout: &Layout) -> StepTime {
    let catalogue = Catalogue::embedded();
    let machine = oneliner::parse(machine, catalogue).expect("a machine");
    let site = Site::new(&machine, catalogue).expect("a site");
    let (model, framework) =
        (catalogue.model(model).expect("a model"), catalogue.framework(framework).expect("a framework"));
    let pricer = Pricer::new(&site, layout.gpus, model, Precision::Half, framework).expect("prices");
    pricer.step(layout).expect("a time")
}

/// Korthikanti et al. (arXiv 2205.05198, table 5) measured 18.13 s and 13.75 s; `docs/models/training-step.md` sets this
/// model's terms beside Calculon's, which predicts 17.45 s and 13.21 s.
#[test]
fn gpt3_on_64_a100() {
    let layout = Layout {
        tensor: 8,
        pipeline: 8,
        virtual_stages: 3,
        sharding: Sharding::None,
        recompute: Recompute::Full,
        ..Layout::new(64, 64, 2048)
    };
    let machine = "8 x dgx-a100 @ rail-optimized";
    let full = time(machine, "gpt-3-175b", "megatron-2021", &layout);
    let layout = Layout { recompute: Recompute::Selective, sequence_parallel: true, ..layout };
    let selective = time(machine, "gpt-3-175b", "megatron-2021", &layout);
    assert!((full.seconds / 18.13 - 1.0).abs() < 0.05, "{full:#?}");
    assert!((selective.seconds / 13.75 - 1.0).abs() < 0.05, "{selective:#?}");
}

/// Twenty spaces of other models, sizes and batches: giving layouts up early loses none of the best.
#[test]
fn pruning_loses_nothing() {
    let catalogue = Catalogue::embedded();
    let models = ["llama-3.1-8b", "gpt-3-13b", "mixtral-8x7b", "qwen2.5-14b", "gpt-3-6.7b"];
    let mut cases = 0;
    for (number, model) in models.iter().cycle().take(20).enumerate() {
        let hosts = [1_u32, 2, 3, 4][number % 4];
        let batch = 24 << (number % 3);
        let machine =
            oneliner::parse(&format!("{hosts} x dgx-a100 @ rail-optimized(leaf 40x200G)"), catalogue);
        let site = Site::new(&machine.expect("a machine"), catalogue).expect("a site");
        let (model, framework) =
            (catalogue.model(model).expect("a model"), catalogue.framework("nemo").expect("it"));
        let space = Space::new(model, framework, site.gpus, (batch, 4096), site.domain_of(site.gpus));
        let pricer = Pricer::new(&site, site.gpus, model, Precision::Half, framework).expect("prices");
        let all = Search { keep: 5, prune: false }.run(&pricer, &space, |_| {}).expect("all");
        let some = Search { keep: 5, prune: true }.run(&pricer, &space, |_| {}).expect("some");
        assert_eq!(all.best, some.best, "{} on {hosts}", model.name);
        assert!(some.priced_count <= all.priced_count);
        cases += u32::from(!all.best.is_empty());
    }
    assert!(cases >= 10, "only {cases} spaces had layouts that fit");
}

/// Two copies of a model of 335 million weights: what one step takes alone is given, what summing 1.34 GB adds is
/// predicted, much over PCIe and little over NVLink.
#[test]
fn copies_scale_by_what_they_sum() {
    let catalogue = Catalogue::embedded();
    let header = "gpu_config,num_gpus,precision,workload,throughput_samples_or_tokens_per_s";
    let ratio = |gpu: &str, one: f64| {
        let text = format!(
            "{header}\n{gpu},1,fp32,bert_large_squad,{one}\n2x {gpu},2,fp32,bert_large_squad,{}\n",
            1.8 * one
        );
        let tables = Tables::of(&[("train_lambda.csv".to_owned(), text)], catalogue);
        let report = tables.score(catalogue);
        assert_eq!((report.copies.rows, report.departing_copies.rows), (1, 1));
        assert!((report.copied[0].measured_ratio - 0.9).abs() < 1e-9);
        report.copied[0].predicted_ratio.expect("a prediction")
    };
    let (cards, nvlink) = (ratio("RTX 4090", 44.0), ratio("H100 80GB SXM5", 141.0));
    assert!((0.5..0.85).contains(&cards), "{cards}");
    assert!((0.95..1.0).contains(&nvlink), "{nvlink}");
}
