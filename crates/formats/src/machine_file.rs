//! Our own description of a machine, in TOML, of the same form as the files of `catalogue/systems`.
//! The first line may name the version of the form: `schema = "weft/machine/1"`.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};
use weft_base::{Diagnostic, nearest};
use weft_catalogue::{Catalogue, Machine, NotFound};
use weft_topology::oneliner::UNKNOWN_NAME;

use crate::codes;
use crate::evidence::Evidence;
use crate::format::{Claim, Fit, Format, Located, Part, Read, Text};

/// The version of the form that this program reads.
pub const SCHEMA: &str = "weft/machine/1";

/// Tables that no other TOML file begins with.
const MARKS: [&str; 4] = ["[[gpus]]", "[[pcie]]", "[[nics]]", "[fabric]"];

/// The reader.
#[derive(Debug)]
pub struct MachineFile;

impl Format for MachineFile {
    fn name(&self) -> &'static str {
        "machine-file"
    }

    fn title(&self) -> &'static str {
        "a machine in TOML, as in catalogue/systems"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["=", "["]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut written = text
            .lines
            .iter()
            .map(|line| line.text.trim())
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let Some(first) = written.clone().next() else { return Vec::new() };
        let marked = |line: &str| {
            MARKS.contains(&line)
                || line.starts_with("gpus =")
                || (line.starts_with("schema") && line.contains(SCHEMA))
        };
        let fit = if !begins_toml(first) {
            return Vec::new();
        } else if written.any(marked) || marked(first) {
            Fit::Yes
        } else {
            Fit::Maybe
        };
        vec![Claim { fit, ..Claim::yes(0..text.lines.len()) }]
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        let text = part.text();
        match parse(&text, catalogue) {
            Ok(machine) => {
                let evidence = Evidence::Machine(Box::new(machine));
                Read { evidence: vec![Located { value: evidence, place: part.start() }], ..Read::default() }
            }
            Err(faults) => {
                let diagnostics = faults
                    .into_iter()
                    .map(|fault| fault.finding.at(part.place_in_text(&fault.span)))
                    .collect();
                Read { diagnostics, ..Read::default() }
            }
        }
    }
}

/// `[table]`, `[[table]]` or `key = `, and nothing that prints such things by chance.
fn begins_toml(line: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if let Some(inner) =
        line.strip_prefix('[').and_then(|line| line.split('#').next()?.trim_end().strip_suffix(']'))
    {
        let inner = inner.trim_matches(['[', ']']);
        return inner.starts_with(|c: char| c.is_ascii_alphabetic()) && inner.chars().all(plain);
    }
    line.split_once('=').is_some_and(|(key, value)| {
        let key = key.trim();
        let value = value.trim_start();
        let valued = value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '"' | '\'' | '[' | '{'));
        !key.is_empty() && key.chars().all(plain) && (valued || value == "true" || value == "false")
    })
}

struct Fault {
    finding: Diagnostic,
    span: Range<usize>,
}

fn parse(text: &str, catalogue: &Catalogue) -> Result<Machine, Vec<Fault>> {
    let mut table = DeTable::parse(text).map_err(|error| vec![toml_fault(&error)])?;
    check_schema(&mut table).map_err(|fault| vec![fault])?;
    let mut unknown = Vec::new();
    check_names(table.get_ref(), catalogue, &mut unknown);
    let machine =
        Machine::deserialize(Deserializer::from(table)).map_err(|error| vec![toml_fault(&error)])?;
    if !unknown.is_empty() {
        return Err(unknown);
    }
    // Devices that do not exist or do not fit show only when the graph is built; one host is enough.
    let mut one = machine.clone();
    one.host.count = 1;
    match weft_topology::build(&one, catalogue) {
        Ok(_) => Ok(machine),
        Err(error) => {
            let finding = Diagnostic::error(codes::MACHINE_FILE, error.to_string());
            Err(vec![Fault { finding, span: 0..0 }])
        }
    }
}

fn check_schema(table: &mut Spanned<DeTable<'_>>) -> Result<(), Fault> {
    let Some(schema) = table.get_mut().remove("schema") else { return Ok(()) };
    if schema.get_ref().as_str() == Some(SCHEMA) {
        return Ok(());
    }
    let finding = Diagnostic::error(codes::MACHINE_FILE, "this version of the form is not known")
        .hint(format!("this program reads `schema = \"{SCHEMA}\"`; the line may also be left out"));
    Err(Fault { finding, span: schema.span() })
}

/// Reports every name that the catalogue lacks, each at its place.
fn check_names(table: &DeTable<'_>, catalogue: &Catalogue, faults: &mut Vec<Fault>) {
    type Check = fn(&Catalogue, &str) -> Result<(), NotFound>;
    let gpu: Check = |catalogue, name| catalogue.gpu(name).map(|_| ());
    let nic: Check = |catalogue, name| catalogue.nic(name).map(|_| ());
    let cpu: Check = |catalogue, name| catalogue.cpu(name).map(|_| ());
    let link: Check = |catalogue, name| catalogue.link(name).map(|_| ());
    let switch: Check =
        |catalogue, name| if name == "any" { Ok(()) } else { catalogue.switch(name).map(|_| ()) };
    let named: [(&str, &str, Check); 10] = [
        ("gpus", "model", gpu),
        ("nics", "model", nic),
        ("nics", "link", link),
        ("host", "cpu", cpu),
        ("pcie", "switch", switch),
        ("pcie", "link", link),
        ("pcie", "device_link", link),
        ("fabric", "switch", switch),
        ("fabric", "link", link),
        ("network", "switch", switch),
    ];
    for (section, key, check) in named {
        let Some(value) = table.get(section) else { continue };
        for entry in entries(value.get_ref()) {
            let Some(name) = entry.get(key) else { continue };
            let Some(text) = name.get_ref().as_str() else { continue };
            if let Err(error) = check(catalogue, text) {
                let mut finding = Diagnostic::error(UNKNOWN_NAME, error.to_string());
                finding.hint = Some(error.hint());
                faults.push(Fault { finding, span: name.span() });
            }
        }
    }
}

/// The tables of a section, be it one or a list.
fn entries<'a, 'i>(value: &'a DeValue<'i>) -> Vec<&'a DeTable<'i>> {
    if let Some(table) = value.as_table() {
        return vec![table];
    }
    let list = value.as_array().into_iter().flat_map(|list| list.iter());
    list.filter_map(|entry| entry.get_ref().as_table()).collect()
}

fn toml_fault(error: &toml::de::Error) -> Fault {
    let message = error.message().trim().replace('\n', ", ");
    let mut finding = Diagnostic::error(codes::MACHINE_FILE, message.clone());
    if let Some(hint) = nearest_key(&message) {
        finding = finding.hint(hint);
    }
    Fault { finding, span: error.span().unwrap_or(0..0) }
}

/// "did you mean `gpus`?" from "unknown field `gpu`, expected one of `name`, `gpus`".
fn nearest_key(message: &str) -> Option<String> {
    let mut quoted = message.strip_prefix("unknown field")?.split('`').skip(1).step_by(2);
    let given = quoted.next()?;
    let known: Vec<&str> = quoted.collect();
    let near = nearest(given, known.iter().copied(), 2);
    let named: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    (!named.is_empty()).then(|| format!("did you mean {}?", named.join(" or ")))
}
