use serde::Serialize;
use weft_base::Place;
use weft_formats::{Field, Record, Report, Value};

/// The output of one command.
#[derive(Debug, Serialize)]
pub struct ReportJson {
    format: &'static str,
    host: Option<String>,
    file: String,
    line: u32,
    records: Vec<RecordJson>,
}

#[derive(Debug, Serialize)]
struct RecordJson {
    kind: &'static str,
    subject: String,
    line: u32,
    fields: Vec<FieldJson>,
}

#[derive(Debug, Serialize)]
struct FieldJson {
    name: String,
    value: ValueJson,
    line: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ValueJson {
    Text(String),
    Count(u64),
    BytesPerSecond(u64),
    Flag(bool),
}

impl ReportJson {
    pub fn new(report: &Report, place: &Place) -> Self {
        Self {
            format: report.format,
            host: report.host.clone(),
            file: place.file.clone(),
            line: place.line,
            records: report.records.iter().map(record).collect(),
        }
    }
}

fn record(record: &Record) -> RecordJson {
    RecordJson {
        kind: record.kind,
        subject: record.subject.clone(),
        line: record.line,
        fields: record.fields.iter().map(field).collect(),
    }
}

fn field(field: &Field) -> FieldJson {
    let value = match &field.value {
        Value::Text(text) => ValueJson::Text(text.clone()),
        Value::Count(count) => ValueJson::Count(*count),
        Value::Rate(rate) => ValueJson::BytesPerSecond(rate.get()),
        Value::Flag(flag) => ValueJson::Flag(*flag),
    };
    FieldJson { name: field.name.clone(), value, line: field.line }
}
