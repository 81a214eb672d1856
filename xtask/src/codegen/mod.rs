//! Reference pages that are written from the program itself.

mod algorithms;
mod catalogue;
mod causes;
mod diagnostics;
mod formats;
mod json;
mod machine_file;
mod pictures;
mod supply;
mod table;

use anyhow::{Context, Result};
use weft_catalogue::Catalogue;

use crate::house::{House, Text};

/// A generated page.
pub struct Page {
    /// From the root.
    pub path: &'static str,
    /// Its whole text.
    pub text: String,
}

/// Said at the top of each generated page.
const HEAD: &str = "<!-- Written by `cargo xtask codegen`; do not edit. -->\n\n";

/// All generated pages, the same on every machine.
pub fn pages(house: &House) -> Result<Vec<Page>> {
    let texts: Vec<_> = house.sources().collect();
    let machine = texts.iter().find(|text| text.path == machine_file::SOURCE);
    let machine = machine.with_context(|| format!("{} does not exist", machine_file::SOURCE))?;
    let is_schema = |text: &&Text| text.path.starts_with(json::FOLDER) && text.has_extension("json");
    let schemas: Vec<&Text> = house.texts.iter().filter(is_schema).collect();
    let rules: Vec<&Text> =
        texts.iter().copied().filter(|text| text.path.starts_with(causes::RULES)).collect();
    let is_case = |text: &&Text| text.path.starts_with(causes::CASES) && text.path.ends_with("/case.toml");
    let cases: Vec<&Text> = house.texts.iter().filter(is_case).collect();
    let mut pages = vec![
        Page { path: "docs/reference/causes.md", text: causes::page(&rules, &cases)? },
        Page { path: "docs/reference/diagnostics.md", text: diagnostics::page(&texts)? },
        Page { path: "docs/reference/machine-file.md", text: machine_file::page(machine)? },
        Page { path: "docs/reference/formats.md", text: formats::page(weft_formats::FORMATS) },
        Page { path: "docs/reference/algorithms.md", text: algorithms::page(weft_collective::ALGORITHMS) },
        Page { path: "docs/reference/json.md", text: json::page(&schemas)? },
        Page { path: "docs/reference/catalogue.md", text: catalogue::page(Catalogue::embedded())? },
    ];
    pages.extend(pictures::pages(Catalogue::embedded())?);
    Ok(pages)
}
