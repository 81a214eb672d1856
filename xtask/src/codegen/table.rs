//! Tables in Markdown.

/// A table under its heads; a head that ends in `:` is set to the right.
pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let names: Vec<&str> = heads.iter().map(|head| head.trim_end_matches(':')).collect();
    let rules: Vec<&str> =
        heads.iter().map(|head| if head.ends_with(':') { "---:" } else { "---" }).collect();
    let mut text = format!("| {} |\n|{}|\n", names.join(" | "), rules.join("|"));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        text.extend(["| ", &cells.join(" | "), " |\n"]);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn rows_are_separated_and_bars_escaped() {
        let text = super::table(&["a", "b:"], &[vec!["x|y".to_owned(), "1".to_owned()]]);
        assert_eq!(text, "| a | b |\n|---|---:|\n| x\\|y | 1 |\n");
    }
}
