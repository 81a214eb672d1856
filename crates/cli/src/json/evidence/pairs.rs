use serde::Serialize;
use weft_base::Place;
use weft_formats::{Measure, PairTable};

/// One matrix or list of pairs.
#[derive(Debug, Serialize)]
pub struct PairTableJson {
    format: &'static str,
    title: String,
    test: Option<String>,
    both_directions: bool,
    direct: Option<bool>,
    rows: Vec<String>,
    columns: Vec<String>,
    values: Vec<ValueJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum_bytes_per_s: Option<u64>,
    devices: Vec<DeviceJson>,
    file: String,
    line: u32,
}

#[derive(Debug, Serialize)]
struct ValueJson {
    row: String,
    column: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<bool>,
    line: u32,
}

#[derive(Debug, Serialize)]
struct DeviceJson {
    number: u32,
    model: String,
    bus: Option<String>,
    host: Option<String>,
}

impl PairTableJson {
    pub fn new(table: &PairTable, place: &Place) -> Self {
        let value = |cell: &weft_formats::PairCell| {
            let mut value = ValueJson {
                row: table.rows.get(cell.row).cloned().unwrap_or_default(),
                column: table.columns.get(cell.column).cloned().unwrap_or_default(),
                bytes_per_s: None,
                seconds: None,
                access: None,
                line: cell.line,
            };
            match cell.measure {
                Measure::Rate(rate) => value.bytes_per_s = Some(rate.get()),
                Measure::Span(span) => value.seconds = Some(span.as_seconds()),
                Measure::Access(access) => value.access = Some(access),
            }
            value
        };
        let device = |device: &weft_formats::PairDevice| DeviceJson {
            number: device.number,
            model: device.model.clone(),
            bus: device.bus.clone(),
            host: device.host.clone(),
        };
        Self {
            format: table.format,
            title: table.title.clone(),
            test: table.test.clone(),
            both_directions: table.both_directions,
            direct: table.is_direct,
            rows: table.rows.clone(),
            columns: table.columns.clone(),
            values: table.cells.iter().map(value).collect(),
            bytes: table.bytes.map(weft_base::Bytes::get),
            sum_bytes_per_s: table.sum.map(weft_base::Rate::get),
            devices: table.devices.iter().map(device).collect(),
            file: place.file.clone(),
            line: table.line,
        }
    }
}
