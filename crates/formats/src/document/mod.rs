//! Documents inside a text: where a value in JSON, YAML or XML begins and ends among the lines of a paste, and what is in it.

mod json;
mod tree;
mod xml;
mod yaml;

use weft_base::Diagnostic;

use crate::codes;
use crate::format::{Part, Read};
use crate::hierarchy::At;
use crate::ranges;

pub(crate) use json::{json, json_with};
pub(crate) use tree::{Content, Fault, Node, documents};
pub(crate) use xml::{XmlTree, read_xml, xml};
pub(crate) use yaml::yaml;

/// What is wrong with a document of `part`; an error if nothing could be read of it.
pub(crate) fn syntax(part: &Part<'_>, fault: &Fault, what: &str, is_lost: bool) -> Diagnostic {
    let message = format!("{what} breaks off here: {}", fault.message);
    let finding = if is_lost {
        Diagnostic::error(codes::DOCUMENT_SYNTAX, message)
    } else {
        Diagnostic::warning(codes::DOCUMENT_SYNTAX, message).hint("what stands before it was read")
    };
    finding.at(At { index: fault.index, column: fault.column }.place(part, 1))
}

/// `read` with what is wrong with the document, findings in order; all lines are unused if nothing was read.
pub(crate) fn finished(mut read: Read, part: &Part<'_>, fault: Option<&Fault>, what: &str) -> Read {
    let is_lost = read.evidence.is_empty();
    read.diagnostics.extend(fault.map(|fault| syntax(part, fault, what, is_lost)));
    ranges::sort(&mut read.diagnostics);
    if is_lost {
        read.unused = ranges::unused(&part.lines, &[]);
    }
    read
}
