//! Pictures of the docs: what `weft show NAME --format svg` draws.

use anyhow::{Context, Result};
use weft_catalogue::Catalogue;
use weft_topology::draw::{self, Options};

use super::Page;

/// Systems that the docs show, and where.
const PICTURES: &[(&str, &str)] =
    &[("dgx-a100", "docs/images/dgx-a100.svg"), ("pcie4-8gpu-dual-root", "docs/images/pcie4-8gpu.svg")];

/// All pictures.
pub fn pages(catalogue: &Catalogue) -> Result<Vec<Page>> {
    PICTURES.iter().map(|(name, path)| Ok(Page { path, text: picture(catalogue, name)? })).collect()
}

fn picture(catalogue: &Catalogue, name: &str) -> Result<String> {
    let system = catalogue.system(name).context("failed to draw a system")?;
    let built = weft_topology::build(system, catalogue).with_context(|| format!("failed to build {name}"))?;
    let options = Options { title: &system.title, catalogue: Some(catalogue) };
    Ok(draw::svg(&built.topology, &options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_picture_is_an_svg_with_its_title() {
        for page in pages(Catalogue::embedded()).unwrap() {
            assert!(page.text.starts_with("<svg") && page.text.contains("CPU0"), "{}", page.path);
        }
        assert!(picture(Catalogue::embedded(), "dgx-a1000").is_err());
    }
}
