//! Lists of functions, with or without their registers.

use std::collections::BTreeMap;

use weft_base::Diagnostic;

use super::at;
use super::attributes::{Attributes, is_known_key};
use super::header::{Header, header};
use crate::codes;
use crate::evidence::{Host, NumaNode};
use crate::format::{Line, Part};
use crate::pci::{PciAddress, read_config};

/// One run of the command on one host.
#[derive(Debug, Default)]
pub(super) struct List {
    /// What stands before each of its lines.
    prefix: String,
    functions: Vec<Lines>,
}

/// The lines of one function.
#[derive(Debug)]
struct Lines {
    address: PciAddress,
    first: usize,
    /// Indented lines below it.
    attributes: Vec<usize>,
    /// Lines of registers in hexadecimal.
    dump: Vec<usize>,
}

impl List {
    /// Indices of all its lines, ascending.
    pub fn lines(&self) -> Vec<usize> {
        let of = |function: &Lines| {
            let mut all = [&[function.first], &function.attributes[..], &function.dump[..]].concat();
            all.sort_unstable();
            all
        };
        self.functions.iter().flat_map(of).collect()
    }
}

/// The lists among `lines`. Those of several hosts, told apart by what stands before each line, may be mixed.
pub(super) fn scan(lines: &[Line<'_>]) -> Vec<List> {
    let mut scanner = Scanner::default();
    for (index, line) in lines.iter().enumerate() {
        scanner.take(index, &line.text);
    }
    scanner.lists
}

#[derive(Default)]
struct Scanner {
    lists: Vec<List>,
    /// The list that lines with this prefix belong to, and whether other lines came in between.
    open: BTreeMap<String, (usize, bool)>,
}

impl Scanner {
    fn take(&mut self, index: usize, text: &str) {
        if let Some(found) = header(text) {
            self.start(index, &found);
            return;
        }
        if self.open.is_empty() || text.trim_start().is_empty() {
            return;
        }
        // A prefix of the line sorts before it, and nothing that is no prefix comes in between.
        let nearest = self.open.range(..=text.to_owned()).next_back().map(|(prefix, _)| prefix.clone());
        for prefix in nearest.into_iter().chain([String::new()]) {
            if self.belongs(index, text, &prefix) {
                return;
            }
        }
    }

    /// Takes the line into the function that is open behind `prefix`, if it is one of its lines.
    fn belongs(&mut self, index: usize, text: &str, prefix: &str) -> bool {
        let Some((list, interrupted)) = self.open.get_mut(prefix) else { return false };
        let function = self.lists.get_mut(*list).and_then(|list| list.functions.last_mut());
        let Some((function, body)) = function.zip(text.strip_prefix(prefix)) else {
            *interrupted = true;
            return false;
        };
        if bytes_of(body).is_some() {
            function.dump.push(index);
        } else if body.starts_with(char::is_whitespace) && !*interrupted || is_known_key(body.trim_start()) {
            *interrupted = false;
            function.attributes.push(index);
        } else {
            *interrupted = true;
            return false;
        }
        true
    }

    fn start(&mut self, index: usize, found: &Header<'_>) {
        let lines = Lines { address: found.address, first: index, attributes: Vec::new(), dump: Vec::new() };
        if let Some((list, interrupted)) = self.open.get_mut(found.prefix) {
            let last = self.lists[*list].functions.last().map(|function| function.address);
            // A second run begins again from the lowest address.
            if last.is_some_and(|last| found.address > last || !*interrupted && found.address != last) {
                *interrupted = false;
                self.lists[*list].functions.push(lines);
                return;
            }
        }
        self.open.insert(found.prefix.to_owned(), (self.lists.len(), false));
        self.lists.push(List { prefix: found.prefix.to_owned(), functions: vec![lines] });
    }
}

/// `10: de 10 30 23 …`: an offset and up to 16 bytes.
fn bytes_of(text: &str) -> Option<(usize, Vec<u8>)> {
    let (offset, bytes) = text.trim().split_once(": ")?;
    let plain = (2..=3).contains(&offset.len()) && offset.ends_with('0');
    let offset = plain.then(|| usize::from_str_radix(offset, 16).ok()).flatten()?;
    let byte = |word: &str| if word.len() == 2 { u8::from_str_radix(word, 16).ok() } else { None };
    let bytes: Option<Vec<u8>> = bytes.split_whitespace().map(byte).collect();
    bytes.filter(|bytes| (1..=16).contains(&bytes.len())).map(|bytes| (offset, bytes))
}

/// The functions of a list.
pub(super) fn read(list: &List, part: &Part<'_>, diagnostics: &mut Vec<Diagnostic>) -> Host {
    let word = list.prefix.trim().trim_end_matches([':', '>', ']', '|', ')']).trim_start_matches(['[', '(']);
    let is_name =
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let mut host = Host { format: "lspci", name: is_name.then(|| word.to_owned()), ..Host::default() };
    let mut hidden: Vec<usize> = Vec::new();
    for lines in &list.functions {
        let Some(line) = part.lines.get(lines.first) else { continue };
        let Some(found) = header(&line.text) else { continue };
        let mut device = found.device(line.number);
        let mut attributes = Attributes::new(part, &mut device, diagnostics);
        for index in &lines.attributes {
            attributes.take(*index, list.prefix.len());
        }
        let node = attributes.node();
        if attributes.denied() {
            hidden.push(lines.first);
        }
        read_config(&dump(lines, part, &list.prefix), &mut device);
        device.numa = node.map(|number| node_index(&mut host, number));
        host.devices.push(device);
    }
    if let Some(first) = hidden.first() {
        let message = format!(
            "the registers of {} of {} functions were hidden, so that links and access control are unknown",
            hidden.len(),
            host.devices.len()
        );
        let finding = Diagnostic::warning(codes::REGISTERS_HIDDEN, message)
            .hint("run it again as root: `sudo lspci -vvv`");
        diagnostics.push(at(finding, part, *first, list.prefix.len(), ""));
    }
    host
}

/// The registers that stand below a function in hexadecimal.
fn dump(lines: &Lines, part: &Part<'_>, prefix: &str) -> Vec<u8> {
    // Configuration space has 4096 bytes.
    let mut registers = Vec::new();
    for index in &lines.dump {
        let text = part.lines.get(*index).and_then(|line| line.text.strip_prefix(prefix));
        let Some((offset, bytes)) = text.and_then(bytes_of) else { continue };
        let end = offset + bytes.len();
        if registers.len() < end {
            registers.resize(end, 0);
        }
        registers[offset..end].copy_from_slice(&bytes);
    }
    registers
}

fn node_index(host: &mut Host, number: u32) -> usize {
    let found = host.numa.iter().position(|node| node.number == Some(number));
    found.unwrap_or_else(|| {
        host.numa.push(NumaNode { number: Some(number), ..NumaNode::default() });
        host.numa.len() - 1
    })
}
