//! What a tool says of things: one record per thing, one field per statement. For all that needs no shape of
//! its own; whoever asks knows the names of the fields.

use weft_base::Rate;

/// The output of one command or one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The name of the format: `ibstat`.
    pub format: &'static str,
    /// The host it is of, where the text says so.
    pub host: Option<String>,
    /// One record per thing.
    pub records: Vec<Record>,
}

/// What is said of one thing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// What it is: `gpu`, `mig`, `nvlink`, `adapter`, `port`, `event`, `setting`, `module`, `service`,
    /// `counter`, `test`, `cpu`, `numa-node`, `neighbour`.
    pub kind: &'static str,
    /// Which one, as the tool calls it: `GPU 0`, `mlx5_0 port 1`, `0000:3b:00.0`.
    pub subject: String,
    /// What is said, in the order of the text.
    pub fields: Vec<Field>,
    /// Line where the record begins, from 1.
    pub line: u32,
}

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// What it is about, as the tool prints it, in lower case with `-` between words: `link-layer`, `ecc-mode-current`.
    pub name: String,
    /// What is said.
    pub value: Value,
    /// Line, from 1.
    pub line: u32,
}

/// A statement's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// As printed.
    Text(String),
    /// A whole number.
    Count(u64),
    /// Bytes per second of one direction.
    Rate(Rate),
    /// Yes or no, on or off, enabled or disabled.
    Flag(bool),
}

impl Record {
    /// A record without fields.
    pub fn new(kind: &'static str, subject: impl Into<String>, line: u32) -> Self {
        Self { kind, subject: subject.into(), fields: Vec::new(), line }
    }

    /// Adds a statement.
    pub fn push(&mut self, name: impl Into<String>, value: Value, line: u32) {
        self.fields.push(Field { name: name.into(), value, line });
    }

    /// The first statement of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.field(name).map(|field| &field.value)
    }

    /// The first statement of that name, with its line.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The first statement of that name, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::Text(text) => Some(text),
            Value::Count(_) | Value::Rate(_) | Value::Flag(_) => None,
        }
    }

    /// The first statement of that name, if it is a number.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::Count(count) => Some(*count),
            Value::Text(_) | Value::Rate(_) | Value::Flag(_) => None,
        }
    }
}
