//! The words of NVIDIA's matrices: cells, device labels, column titles, and where they stand on a line.

use weft_topology::ReportedClass;

use crate::matrix::EndKind;
use crate::nvidia_smi_p2p::Access;

/// What a cell says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// `X`: the device itself.
    Own,
    /// How close two devices are.
    Class(ReportedClass),
    /// What one device may do with the other.
    Access(Access),
}

/// A run of characters between blanks, tabs and table bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// The text.
    pub text: &'a str,
    /// Byte offset in the line.
    pub offset: usize,
    /// Where it begins on a screen with tabs of eight.
    pub visual: usize,
    /// How many separators (bars if there are any, else tabs) stand before it.
    pub field: usize,
}

impl Token<'_> {
    /// Length in characters, for places.
    pub fn length(&self) -> u32 {
        u32::try_from(self.text.chars().count()).unwrap_or(u32::MAX)
    }
}

/// What tables that were drawn with characters put between cells.
const BARS: [char; 3] = ['|', '│', '┃'];

/// The tokens of a line. Marks that Markdown puts around words are left out.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let barred = text.contains(BARS);
    let mut found = Vec::new();
    let (mut visual, mut field) = (0, 0);
    let mut start: Option<(usize, usize)> = None;
    for (offset, c) in text.char_indices() {
        let separates = c.is_whitespace() || BARS.contains(&c);
        match (separates, start) {
            (false, None) => start = Some((offset, visual)),
            (true, Some((from, at))) => {
                found.extend(token(text, from, offset, at, field));
                start = None;
            }
            (false, Some(_)) | (true, None) => {}
        }
        field += usize::from(if barred { BARS.contains(&c) } else { c == '\t' });
        visual = if c == '\t' { (visual / 8 + 1) * 8 } else { visual + 1 };
    }
    if let Some((from, at)) = start {
        found.extend(token(text, from, text.len(), at, field));
    }
    found
}

fn token(text: &str, from: usize, to: usize, visual: usize, field: usize) -> Option<Token<'_>> {
    let marks = ['*', '`'];
    let text = &text[from..to];
    let inner = text.trim_start_matches(marks);
    let skipped = text.len() - inner.len();
    let inner = inner.trim_end_matches(marks);
    (!inner.is_empty()).then_some(Token {
        text: inner,
        offset: from + skipped,
        visual: visual + skipped,
        field,
    })
}

/// The cells in `text`, which may hold several without a blank (`NODENODE`), with their offsets;
/// `None` if anything else is in it.
pub(crate) fn cells(text: &str) -> Option<Vec<(usize, Word)>> {
    let mut found = Vec::new();
    let mut offset = 0;
    while offset < text.len() {
        let (word, length) = leading_cell(text.get(offset..)?)?;
        found.push((offset, word));
        offset += length;
    }
    (!found.is_empty()).then_some(found)
}

/// The cells that `text` begins with, and where the rest begins: `SYS0-31` is SYS and an affinity.
/// Digits after `NV` cannot be told from those of an affinity, so such text has no leading cells.
pub(crate) fn leading_cells(text: &str) -> (Vec<(usize, Word)>, usize) {
    let mut found = Vec::new();
    let mut offset = 0;
    while let Some((word, length)) = text.get(offset..).and_then(leading_cell) {
        found.push((offset, word));
        offset += length;
    }
    let rest = &text[offset..];
    let last_is_counted = matches!(found.last(), Some((_, Word::Class(ReportedClass::Nv(_)))));
    let clear = rest.is_empty() || (is_affinity(rest) && !last_is_counted);
    if clear { (found, offset) } else { (Vec::new(), 0) }
}

fn leading_cell(text: &str) -> Option<(Word, usize)> {
    if let Some(rest) = text.strip_prefix("NV") {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length = 2 + digits;
        return text[..length].parse().ok().map(|class| (Word::Class(class), length));
    }
    let class = ["PIX", "PXB", "PHB", "NODE", "SYS", "SOC"].into_iter().find(|word| text.starts_with(word));
    if let Some(word) = class {
        return word.parse().ok().map(|class| (Word::Class(class), word.len()));
    }
    if let Some((access, word)) = Access::leading(text) {
        return Some((Word::Access(access), word.len()));
    }
    text.starts_with('X').then_some((Word::Own, 1))
}

/// Whether `text` is what an affinity column may hold: `0-31,64-95`, `7`, `N/A`.
pub(crate) fn is_affinity(text: &str) -> bool {
    text == "N/A"
        || (text.contains(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ',')))
}

/// What kind of device `text` labels, if it is one label and nothing else.
pub(crate) fn label(text: &str) -> Option<EndKind> {
    match labels(text)?.as_slice() {
        [(_, _, kind)] => Some(*kind),
        _ => None,
    }
}

/// The labels in `text`, which may be glued (`GPU0GPU1mlx5_0`), each with its offset.
pub(crate) fn labels(text: &str) -> Option<Vec<(usize, &str, EndKind)>> {
    let mut found = Vec::new();
    let mut offset = 0;
    while offset < text.len() {
        let Some((length, kind)) = leading_label(&text[offset..]) else { break };
        found.push((offset, &text[offset..offset + length], kind));
        offset += length;
    }
    if offset == text.len() && !found.is_empty() {
        return Some(found);
    }
    is_nic_name(text).then(|| vec![(0, text, EndKind::Nic)])
}

/// The length of the label that `text` begins with, for labels whose end can be seen.
pub(crate) fn leading_label(text: &str) -> Option<(usize, EndKind)> {
    let counted = |prefix: &str| {
        let rest = text.strip_prefix(prefix)?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        (digits > 0).then_some(prefix.len() + digits)
    };
    if let Some(length) = counted("GPU") {
        return Some((length, EndKind::Gpu));
    }
    let nics = ["NIC", "mlx4_", "mlx5_", "mlx4_bond_", "mlx5_bond_"];
    nics.into_iter().find_map(counted).map(|length| (length, EndKind::Nic))
}

/// Whether `text` looks like an RDMA or network device of Linux: `mlx5_bond_0`, `rocep13s0`, `bnxt_re0`; `roceP2p1s0f0` where
/// the PCI domain is not 0.
fn is_nic_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_lowercase());
    let ends = text.ends_with(|c: char| c.is_ascii_digit());
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, 'P' | '_' | '-' | '.');
    starts && ends && text.len() <= 32 && text.chars().all(inside)
}

/// What a column behind the devices tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TitleKind {
    Cpus,
    Numa,
    GpuNuma,
    /// A column that someone added; its cells are kept from being taken for something else.
    Other,
}

/// A title found in a header line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Title {
    pub kind: TitleKind,
    pub name: String,
}

/// Takes the titles of the driver out of a header line: their tokens become blanks in what is returned.
pub(crate) fn take_titles(text: &str) -> (String, Vec<(usize, Title)>) {
    let known = [
        (TitleKind::GpuNuma, "GPU NUMA ID"),
        (TitleKind::Cpus, "CPU Affinity"),
        (TitleKind::Numa, "NUMA Affinity"),
    ];
    let mut rest = text.to_owned();
    let mut found = Vec::new();
    for (kind, name) in known {
        if let Some((from, to)) = find_spaced(&rest, name) {
            rest.replace_range(from..to, &" ".repeat(to - from));
            found.push((from, Title { kind, name: name.to_owned() }));
        }
    }
    found.sort_by_key(|(offset, _)| *offset);
    (rest, found)
}

/// Where the words of `name` stand in `text` with any blanks between them.
fn find_spaced(text: &str, name: &str) -> Option<(usize, usize)> {
    let mut words = name.split(' ');
    let first = words.next()?;
    let rest: Vec<&str> = words.collect();
    text.match_indices(first).find_map(|(from, _)| {
        let mut end = from + first.len();
        for word in &rest {
            let blanks = text[end..].len() - text[end..].trim_start().len();
            if !text[end + blanks..].starts_with(word) {
                return None;
            }
            end += blanks + word.len();
        }
        Some((from, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ReportedClass::{Node, Nv, Pix, Sys};

    fn classes(text: &str) -> Option<Vec<Word>> {
        cells(text).map(|found| found.into_iter().map(|(_, word)| word).collect())
    }

    #[test]
    fn fused_cells_come_apart() {
        assert_eq!(classes("NODENODE"), Some(vec![Word::Class(Node); 2]));
        assert_eq!(classes("SYSSOC"), Some(vec![Word::Class(Sys); 2]));
        assert_eq!(classes("NV12NV8X"), Some(vec![Word::Class(Nv(12)), Word::Class(Nv(8)), Word::Own]));
        assert_eq!(classes("XPIX"), Some(vec![Word::Own, Word::Class(Pix)]));
        assert_eq!(classes("OKNS"), Some(vec![Word::Access(Access::Ok), Word::Access(Access::NotSupported)]));
        for other in ["NV", "NV300", "NODER", "", "PIXé", "0-31"] {
            assert_eq!(classes(other), None, "{other}");
        }
    }

    #[test]
    fn an_affinity_glued_to_a_cell_comes_off_where_that_is_clear() {
        assert_eq!(leading_cells("SYS0-31,64-95").1, 3);
        assert_eq!(leading_cells("NV120-31").1, 0);
    }

    #[test]
    fn glued_labels_come_apart() {
        let found = labels("GPU0GPU12mlx5_0mlx5_bond_1").unwrap();
        let names: Vec<&str> = found.into_iter().map(|(_, name, _)| name).collect();
        assert_eq!(names, ["GPU0", "GPU12", "mlx5_0", "mlx5_bond_1"]);
    }

    #[test]
    fn labels_of_all_makes_are_known() {
        for nic in ["NIC0", "mlx5_0", "mlx4_1", "rocep13s0", "ibp26s0", "bnxt_re0", "mlx5_bond_0", "rdmap0s6"]
        {
            assert_eq!(label(nic), Some(EndKind::Nic), "{nic}");
        }
        assert_eq!(label("GPU10"), Some(EndKind::Gpu));
        for other in ["GPU", "NUMA", "X", "0-31", "PIX", "N/A", "GPU0GPU1", "Affinity"] {
            assert_eq!(label(other), None, "{other}");
        }
    }

    #[test]
    fn titles_are_found_with_any_blanks_and_none() {
        let (rest, titles) = take_titles("\tGPU0CPU Affinity\tNUMA  AffinityGPU NUMA ID");
        assert_eq!(rest.trim(), "GPU0");
        let kinds: Vec<TitleKind> = titles.iter().map(|(_, title)| title.kind).collect();
        assert_eq!(kinds, [TitleKind::Cpus, TitleKind::Numa, TitleKind::GpuNuma]);
    }

    #[test]
    fn tokens_know_their_field_and_their_place_on_the_screen() {
        let found = tokens("| **GPU0** | X |");
        assert_eq!((found[0].text, found[0].offset, found[0].field), ("GPU0", 4, 1));
        assert_eq!((found[1].text, found[1].field), ("X", 2));
        let tabbed = tokens("GPU0\t X \t\tPIX");
        assert_eq!(tabbed[1], Token { text: "X", offset: 6, visual: 9, field: 1 });
        assert_eq!(tabbed[2], Token { text: "PIX", offset: 10, visual: 24, field: 3 });
    }
}
