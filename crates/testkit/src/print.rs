//! Prints topology matrices as the driver does, and as pastes mangle them.

use weft_topology::ReportedClass;

/// A matrix to print: every row and column of the same devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// `GPU0`, `NIC0`, `mlx5_0`; GPUs first.
    pub labels: Vec<String>,
    /// Class from each to each; the diagonal is ignored.
    pub classes: Vec<Vec<ReportedClass>>,
    /// CPU and NUMA affinity of each; empty for NICs.
    pub affinity: Vec<(String, String)>,
}

/// A shape in which matrices are pasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// As the driver prints to a pipe.
    Tabs,
    /// As the driver prints to a terminal: escapes round the header, carriage returns.
    Terminal,
    /// Columns of eight.
    Blanks,
    /// Two blanks between cells.
    Narrow,
    /// Padded to the width of a terminal.
    Padded,
    /// The header lost its leading blanks.
    NoIndent,
    /// Labels of the header without separators.
    GluedHeader,
    /// Inside a code fence, indented.
    Fenced,
    /// Each line behind the name of a host.
    Prefixed,
    /// Each line behind a time.
    Stamped,
    /// Quoted in a mail.
    Quoted,
    /// A Markdown table.
    Markdown,
    /// A table as forges paste it, without outer bars.
    Bars,
}

/// All dialects.
pub const DIALECTS: [Dialect; 13] = [
    Dialect::Tabs,
    Dialect::Terminal,
    Dialect::Blanks,
    Dialect::Narrow,
    Dialect::Padded,
    Dialect::NoIndent,
    Dialect::GluedHeader,
    Dialect::Fenced,
    Dialect::Prefixed,
    Dialect::Stamped,
    Dialect::Quoted,
    Dialect::Markdown,
    Dialect::Bars,
];

/// Prints `table` in `dialect`.
pub fn print(table: &Table, dialect: Dialect) -> String {
    let titles = ["CPU Affinity", "NUMA Affinity"];
    let mut header = vec![String::new()];
    header.extend(table.labels.iter().cloned());
    header.extend(titles.map(str::to_owned));
    let mut lines = vec![header];
    for (row, label) in table.labels.iter().enumerate() {
        let cell = |column: usize| {
            if row == column { "X".to_owned() } else { table.classes[row][column].to_string() }
        };
        let mut cells = vec![label.clone()];
        cells.extend((0..table.labels.len()).map(cell));
        let (cpus, numa) = &table.affinity[row];
        cells.extend([cpus.clone(), numa.clone()]);
        lines.push(cells);
    }
    lay_out(&lines, dialect)
}

fn lay_out(lines: &[Vec<String>], dialect: Dialect) -> String {
    let tabs = |cells: &[String]| cells.join("\t");
    let columns = |cells: &[String]| columns(cells, 8);
    match dialect {
        Dialect::Tabs => each(lines, tabs),
        Dialect::Terminal => {
            let text = each(lines, tabs);
            let (header, rest) = text.split_once('\n').unwrap_or((&text, ""));
            format!("\t\u{1b}[4m{}\u{1b}[0m\n{rest}", header.trim_start()).replace('\n', "\r\n")
        }
        Dialect::Blanks => each(lines, columns),
        Dialect::Narrow => each(lines, |cells| self::columns(cells, 2)),
        Dialect::Padded => each(lines, |cells| format!("{:<240}", columns(cells))),
        Dialect::NoIndent => each(lines, |cells| columns(cells).trim_start().to_owned()),
        Dialect::GluedHeader => {
            let first = lines.first().map_or_else(String::new, |cells| cells.concat());
            format!("{first}\n{}", each(lines.get(1..).unwrap_or_default(), tabs))
        }
        Dialect::Fenced => {
            format!("Here it is:\n```\n{}```\n", each(lines, |cells| format!("    {}", columns(cells))))
        }
        Dialect::Prefixed => each(lines, |cells| format!("node-17: {}", columns(cells))),
        Dialect::Stamped => each(lines, |cells| format!("[2024-05-06 07:08:09] {}", columns(cells))),
        Dialect::Quoted => each(lines, |cells| format!("> {}", columns(cells))),
        Dialect::Markdown => {
            let rule = "|---".repeat(lines.first().map_or(0, Vec::len)) + "|";
            let bars = |cells: &[String]| format!("| {} |", cells.join(" | "));
            ruled(lines, bars, &rule)
        }
        Dialect::Bars => {
            let rule = vec!["--"; lines.first().map_or(0, Vec::len)].join(" | ");
            ruled(lines, |cells: &[String]| cells.join(" | "), &rule)
        }
    }
}

fn each(lines: &[Vec<String>], line: impl Fn(&[String]) -> String) -> String {
    lines.iter().map(|cells| line(cells) + "\n").collect()
}

fn ruled(lines: &[Vec<String>], line: impl Fn(&[String]) -> String, rule: &str) -> String {
    let (first, rest) = lines.split_at(lines.len().min(1));
    format!("{}{rule}\n{}", each(first, &line), each(rest, &line))
}

/// Cells in columns of at least `width`, with a blank between any two.
fn columns(cells: &[String], width: usize) -> String {
    let mut text = String::new();
    for cell in cells {
        // The driver centres the X a little.
        let cell = if cell == "X" { " X" } else { cell };
        text.push_str(cell);
        let filled = cell.chars().count();
        text.push_str(&" ".repeat(width.saturating_sub(filled).max(2)));
    }
    text.trim_end().to_owned()
}
