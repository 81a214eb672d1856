use serde::Serialize;
use weft_formats::Tie;

/// A NIC's port and the switch port that it is cabled to.
#[derive(Debug, Serialize)]
pub struct TieJson {
    nic: Option<String>,
    adapter: String,
    port: u32,
    switch: String,
    switch_guid: String,
    switch_port: u16,
    rate_bytes_per_s: Option<u64>,
    file: String,
    line: u32,
}

impl TieJson {
    /// `labels` are the names of the machine's NICs in the input.
    pub fn new(tie: &Tie, labels: &[String]) -> Self {
        Self {
            nic: tie.nic.and_then(|nic| labels.get(nic).cloned()),
            adapter: tie.port.adapter.clone(),
            port: tie.port.port,
            switch: tie.switch.clone(),
            switch_guid: tie.switch_guid.to_string(),
            switch_port: tie.switch_port,
            rate_bytes_per_s: tie.rate.map(weft_base::Rate::get),
            file: tie.port.place.file.clone(),
            line: tie.port.place.line,
        }
    }
}
