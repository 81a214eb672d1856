//! XML documents among the lines of a paste, whole or damaged.

mod find;
mod repair;
mod tags;
#[cfg(test)]
mod tests;

use std::ops::Range;

use roxmltree::{Document, Node, ParsingOptions};
use weft_base::{Diagnostic, Place, Severity};

use crate::codes;
use crate::format::{Line, Part};

pub(crate) use find::xml;

/// Deeper nesting is no machine: PCIe trees have less than ten levels.
const DEPTH_MAX: usize = 200;
/// More nodes than any machine has; bounds what a small file of tiny elements may cost.
const NODES_MAX: u32 = 4_000_000;
/// Faults named one by one; more would bury the rest.
const FAULTS_MAX: usize = 20;

/// A document that could be read, perhaps after repairs, with the way back to the lines it came from.
pub(crate) struct XmlTree<'t> {
    /// The tree; ranges of its nodes are for [`XmlTree::place`].
    pub document: &'t Document<'t>,
    places: &'t Places<'t>,
}

impl XmlTree<'_> {
    /// The outermost element.
    pub fn root(&self) -> Node<'_, '_> {
        self.document.root_element()
    }

    /// The place of a range of a node or an attribute.
    pub fn place(&self, range: &Range<usize>) -> Place {
        self.places.place(range)
    }

    /// The place of `node`'s tag: its `<` and name.
    pub fn tag(&self, node: Node<'_, '_>) -> Place {
        let start = node.range().start;
        self.place(&(start..start + 1 + node.tag_name().name().len()))
    }

    /// The line where `node` begins, from 1.
    pub fn line(&self, node: Node<'_, '_>) -> u32 {
        self.places.line(node.range().start)
    }

    /// The place of the attribute `name` of `node`, else of its tag.
    pub fn attribute(&self, node: Node<'_, '_>, name: &str) -> Place {
        match node.attribute_node(name) {
            Some(attribute) => self.place(&attribute.range()),
            None => self.tag(node),
        }
    }
}

/// Gives the document in `part`, whose outermost element is one of `roots`, to `read`. What is broken is diagnosed and mended as far as that is clear: open
/// elements are closed where the text is cut, stray tags are left out. `None` if nothing could be saved. Entities
/// of a document's own are not read.
pub(crate) fn read_xml<T>(
    part: &Part<'_>,
    roots: &[&str],
    read: impl FnOnce(&XmlTree<'_>) -> T,
) -> (Option<T>, Vec<Diagnostic>) {
    let text = tags::without_frame(&part.text(), roots);
    let mut places = Places::new(part);
    let options = || ParsingOptions { allow_dtd: false, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let first = match Document::parse_with_options(&text, options()) {
        Ok(document) => return whole(&document, &places, Vec::new(), read),
        Err(error) => error,
    };
    let mended = repair::repair(&text);
    let mut findings: Vec<Diagnostic> = mended
        .faults
        .iter()
        .take(FAULTS_MAX)
        .map(|fault| {
            let finding = Diagnostic::warning(codes::XML_DAMAGED, fault.message.clone());
            finding.hint(fault.hint).at(places.place(&fault.span))
        })
        .collect();
    places.inserted = mended.inserted;
    if let Ok(document) = Document::parse_with_options(&mended.text, options()) {
        if findings.is_empty() {
            findings.push(Diagnostic { severity: Severity::Warning, ..broken(&first, part) });
        }
        return whole(&document, &places, findings, read);
    }
    findings.push(broken(&first, part));
    (None, findings)
}

fn whole<T>(
    document: &Document<'_>,
    places: &Places<'_>,
    mut findings: Vec<Diagnostic>,
    read: impl FnOnce(&XmlTree<'_>) -> T,
) -> (Option<T>, Vec<Diagnostic>) {
    let tree = XmlTree { document, places };
    if let Some(deep) = too_deep(document) {
        let message = format!("the elements are nested more than {DEPTH_MAX} deep");
        let finding = Diagnostic::error(codes::XML_DAMAGED, message);
        findings.push(finding.hint("this is no description of a machine").at(tree.tag(deep)));
        return (None, findings);
    }
    (Some(read(&tree)), findings)
}

fn broken(error: &roxmltree::Error, part: &Part<'_>) -> Diagnostic {
    let message = format!("the XML cannot be read: {error}");
    let position = error.pos();
    let line = part.lines.get(position.row.saturating_sub(1) as usize);
    let place = line.map_or_else(
        || part.start(),
        |line| {
            let before = position.col.saturating_sub(1) as usize;
            let offset = line.text.char_indices().nth(before).map_or(line.text.len(), |(offset, _)| offset);
            part.place(line, offset, 0)
        },
    );
    Diagnostic::error(codes::XML_DAMAGED, message).hint("give the file as the tool wrote it").at(place)
}

/// The first element that is nested too deep.
fn too_deep<'a>(document: &'a Document<'a>) -> Option<Node<'a, 'a>> {
    let mut depths: Vec<usize> = Vec::new();
    for node in document.descendants() {
        // Nodes are numbered in the order of the text, so that a parent's depth is known before its children's.
        let depth = node.parent().and_then(|parent| depths.get(parent.id().get_usize())).map_or(0, |d| d + 1);
        if depth > DEPTH_MAX {
            return Some(node);
        }
        depths.push(depth);
    }
    None
}

/// Where each byte of the text that was parsed stands in the source.
struct Places<'p> {
    file: &'p str,
    lines: &'p [Line<'p>],
    /// Where each line begins in the text of the part.
    starts: Vec<usize>,
    /// What repairs put in: where in the mended text, and how many bytes.
    inserted: Vec<repair::Inserted>,
}

impl<'p> Places<'p> {
    fn new(part: &'p Part<'_>) -> Self {
        let mut start = 0;
        let starts = part.lines.iter().map(|line| {
            let here = start;
            start += line.text.len() + 1;
            here
        });
        Self { file: part.file, lines: &part.lines, starts: starts.collect(), inserted: Vec::new() }
    }

    fn original(&self, offset: usize) -> usize {
        // Totals grow with the place, so that the last insertion before it tells all.
        let after = self.inserted.partition_point(|inserted| inserted.at < offset);
        let before = after.checked_sub(1).and_then(|index| self.inserted.get(index));
        before.map_or(offset, |inserted| offset.saturating_sub(inserted.total).max(inserted.origin))
    }

    fn found(&self, offset: usize) -> Option<(&Line<'_>, usize)> {
        let index = self.starts.partition_point(|start| *start <= offset).checked_sub(1)?;
        Some((self.lines.get(index)?, offset - self.starts[index]))
    }

    fn line(&self, offset: usize) -> u32 {
        self.found(self.original(offset)).map_or(0, |(line, _)| line.number)
    }

    fn place(&self, range: &Range<usize>) -> Place {
        let (start, end) = (self.original(range.start), self.original(range.end));
        let Some((line, offset)) = self.found(start) else { return Place::new(self.file, 1, 1, 0) };
        let offset = offset.min(line.text.len());
        let inside = offset..(offset + end.saturating_sub(start)).min(line.text.len());
        let length = line.text.get(inside).map_or(0, |text| text.chars().count());
        Place::new(self.file, line.number, line.column(offset), u32::try_from(length).unwrap_or(0))
    }
}
