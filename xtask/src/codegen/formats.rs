//! The page of formats that are read.

use std::fmt::Write;

use weft_formats::Format;

const INTRODUCTION: &str = "\
# Formats

What is read, without being asked what it is: a text is split into parts, each part is read by the one reader that \
claims it, and lines that nobody claims are named. `--as NAME` forces a format. Small inputs of each are in \
`examples/formats/NAME`.

| name for `--as` | what it is | command |
|---|---|---|
";

/// One row per format, in the order of the list.
pub fn page(formats: &[&dyn Format]) -> String {
    let mut page = format!("{}{INTRODUCTION}", super::HEAD);
    for format in formats {
        let command = format.command().map_or_else(String::new, |command| format!("`{command}`"));
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| `{}` | {} | {command} |", format.name(), format.title());
    }
    page
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_format_has_a_row() {
        let page = super::page(weft_formats::FORMATS);
        assert!(
            page.contains("| `nvidia-smi-topo` | matrix of PCIe and NVLink classes | `nvidia-smi topo -m` |")
        );
        assert_eq!(page.matches("\n| `").count(), weft_formats::FORMATS.len());
    }
}
