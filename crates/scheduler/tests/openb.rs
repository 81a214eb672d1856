//! The study of FGD against what its authors published (Weng et al., ATC'23, results of their repository
//! hkust-adsl/kubernetes-scheduler-simulator, default trace at 100 % asked for, means of ten seeds).

#![expect(clippy::disallowed_methods, reason = "tests read the shared traces")]

use std::path::Path;

use weft_scheduler::study::{PERCENTS, Study, mean};
use weft_scheduler::{Placing, Typical, openb};

/// Placing, published mean and standard deviation.
const PUBLISHED: [(&str, f64, f64); 6] = [
    ("random", 13.70, 0.31),
    ("dot-product", 9.38, 0.18),
    ("gpu-clustering", 8.35, 0.58),
    ("gpu-packing", 8.22, 0.50),
    ("best-fit", 7.14, 0.14),
    ("fgd", 4.77, 0.10),
];

fn text(name: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/openb");
    std::fs::read_to_string(folder.join(name)).ok()
}

#[test]
fn the_default_trace_comes_out_as_published_and_ours_is_better() {
    let Some(nodes) = text("openb_node_list_gpu_node.csv") else {
        println!("skipped: ../shared/traces is absent");
        return;
    };
    let fleet = openb::fleet("nodes", &nodes).unwrap();
    assert_eq!((fleet.nodes.len(), fleet.gpu_milli()), (1213, 6_212_000));
    let pods = openb::pods("pods", &text("openb_pod_list_default.csv").unwrap(), &fleet).unwrap();
    let typical = Typical::of(&pods);
    let runs = |name: &str| {
        let policy = Placing::named(name).unwrap();
        Study { fleet: &fleet, pods: &pods, typical: &typical, policy }.runs(42..52)
    };
    let at = |percent: u32| PERCENTS.iter().position(|known| *known == percent).unwrap();
    for (name, published, deviation) in PUBLISHED {
        let own = mean(&runs(name), at(100));
        let error = ((deviation * deviation + own.deviation_percent * own.deviation_percent) / 10.0).sqrt();
        println!("{name}: {:.2} (published {published})", own.mean_percent);
        let far = (own.mean_percent - published).abs();
        assert!(far <= 0.4_f64.max(3.0 * error), "{name}: {:.2}, published {published}", own.mean_percent);
    }
    let (fgd, ours) = (runs("fgd"), runs("headroom"));
    println!("headroom: {:.2}", mean(&ours, at(100)).mean_percent);
    assert!(mean(&ours, at(100)).mean_percent <= 4.0);
    for percent in [80, 90, 95] {
        let [ours, fgd] = [&ours, &fgd].map(|runs| mean(runs, at(percent)).mean_percent);
        assert!(ours <= fgd + 0.1, "at {percent} %: {ours} against {fgd}");
    }
    let dropped =
        |runs: &[weft_scheduler::study::Run]| runs.iter().map(|run| run.dropped_large_count).sum::<u32>();
    assert!(dropped(&ours) <= dropped(&fgd), "{} {}", dropped(&ours), dropped(&fgd));
}
