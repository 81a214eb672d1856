//! How fast layouts are priced: `cargo run --release -p weft-predictor --example layouts [GPUS] [BATCH]`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark")]
#![expect(clippy::cast_precision_loss, reason = "a count of layouts")]

use std::time::Instant;

use weft_catalogue::Catalogue;
use weft_predictor::train::{Pricer, Search, Site};
use weft_topology::oneliner;
use weft_workload::{Precision, Space};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let gpus: u32 = arguments.next().map_or(Ok(4096), |text| text.parse())?;
    let batch: u32 = arguments.next().map_or(Ok(4096), |text| text.parse())?;
    let catalogue = Catalogue::embedded();
    let line = format!("{} x dgx-a100 @ rail-optimized(leaf 40x200G)", gpus / 8);
    let machine = oneliner::parse(&line, catalogue).map_err(|error| error.message)?;
    let site = Site::new(&machine, catalogue)?;
    let (model, framework) = (catalogue.model("gpt-3-175b")?, catalogue.framework("megatron-2021")?);
    let space = Space::new(model, framework, gpus, (batch, 2048), site.domain_gpus);
    for (what, prune) in [("cold, all priced", false), ("warm, all priced", false), ("warm, pruned", true)] {
        let pricer = Pricer::new(&site, gpus, model, Precision::Half, framework)?;
        let begin = Instant::now();
        let found = Search { keep: 10, prune }.run(&pricer, &space, |_| {})?;
        let seconds = begin.elapsed().as_secs_f64();
        let (all, fitting, priced) = (found.layout_count, found.fitting_count, found.priced_count);
        let rate = fitting as f64 / seconds;
        println!(
            "{what}: {all} layouts, {fitting} fit, {priced} priced, {seconds:.2} s, {rate:.0} fitting layouts/s"
        );
        for best in found.best.iter().take(3) {
            println!("  {:.3} s {:?}", best.time.seconds, best.layout);
        }
    }
    Ok(())
}
