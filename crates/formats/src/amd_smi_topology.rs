//! `amd-smi topology`: how AMD GPUs are linked, as tables or JSON.

use std::ops::Range;

use serde::Deserialize;
use weft_base::Diagnostic;
use weft_catalogue::Catalogue;

use crate::codes;
use crate::document;
use crate::evidence::{Evidence, WeightMatrix};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::ranges;
use crate::rocm_smi_topology::{claims, read};
use crate::weight_tables::{Square, Tool};

/// The reader.
#[derive(Debug)]
pub struct AmdSmiTopology;

impl Format for AmdSmiTopology {
    fn name(&self) -> &'static str {
        Tool::AmdSmi.format()
    }

    fn title(&self) -> &'static str {
        "links between AMD GPUs, by amd-smi"
    }

    fn command(&self) -> Option<&'static str> {
        Some("amd-smi topology")
    }

    fn marks(&self) -> &'static [&'static str] {
        &[" TABLE:", "\"link_type\"", "\"num_hops\""]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut found = claims(text, Tool::AmdSmi);
        found.extend(documents(text.lines).into_iter().map(Claim::yes));
        found
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        if let Some(run) = documents(&part.lines).into_iter().next() {
            return read_document(part, run);
        }
        read(part, Tool::AmdSmi)
    }
}

/// JSON documents that hold links between GPUs.
fn documents(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let holds = |run: &Range<usize>| {
        lines[run.clone()]
            .iter()
            .any(|line| line.text.contains("\"link_type\"") || line.text.contains("\"num_hops\""))
    };
    document::json(lines).into_iter().filter(holds).collect()
}

#[derive(Deserialize)]
struct GpuRow {
    gpu: Option<u32>,
    bdf: String,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    bdf: String,
    weight: Option<serde_json::Value>,
    num_hops: Option<serde_json::Value>,
    #[serde(rename = "link_type")]
    kind: Option<String>,
    #[serde(rename = "link_status")]
    status: Option<String>,
    bandwidth: Option<serde_json::Value>,
}

fn read_document(part: &Part<'_>, run: Range<usize>) -> Read {
    let lines: Vec<usize> = run.clone().collect();
    let unused = ranges::unused(&part.lines, &lines);
    let place = part.start_at(run.start);
    let text: String = part.lines[run].iter().flat_map(|line| [&line.text, "\n"]).collect();
    // Newer versions put the list into an object.
    let rows = serde_json::from_str::<serde_json::Value>(&text).and_then(|value| {
        let inner = ["topology", "gpu_data"].into_iter().find_map(|name| value.get(name).cloned());
        let list = inner.unwrap_or(value);
        serde_json::from_value::<Vec<GpuRow>>(list)
    });
    match rows {
        Ok(rows) => {
            let evidence = vec![Located { value: Evidence::Weights(Box::new(matrix(&rows))), place }];
            Read { evidence, diagnostics: Vec::new(), unused }
        }
        Err(error) => {
            let message = format!("this JSON is not what `amd-smi topology --json` prints: {error}");
            let hint = "paste all of it, from the first bracket to the last";
            let finding = Diagnostic::error(codes::DOCUMENT_DAMAGED, message).hint(hint).at(place);
            Read { evidence: Vec::new(), diagnostics: vec![finding], unused }
        }
    }
}

/// A number, or one in quotes.
fn number(value: &serde_json::Value) -> Option<u32> {
    match value {
        serde_json::Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
        serde_json::Value::String(text) => text.parse().ok(),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => None,
    }
}

fn matrix(rows: &[GpuRow]) -> WeightMatrix {
    let mut order: Vec<&GpuRow> = rows.iter().collect();
    order.sort_by_key(|row| row.gpu);
    let mut square = Square::new(order.iter().map(|row| row.bdf.clone()).collect());
    for (index, row) in order.iter().enumerate() {
        for link in &row.links {
            let Some(other) = order.iter().position(|other| other.bdf == link.bdf) else { continue };
            if other == index {
                continue;
            }
            if let Some(weight) = link.weight.as_ref().and_then(number) {
                square.weight(index, other, weight);
            }
            if let Some(hops) = link.num_hops.as_ref().and_then(number) {
                square.hops(index, other, hops);
            }
            if let Some(kind) = link.kind.as_deref().filter(|kind| matches!(*kind, "XGMI" | "PCIE")) {
                square.link(index, other, kind.to_owned());
            }
            match link.status.as_deref() {
                Some("ENABLED") => square.access(index, other, true),
                Some("DISABLED") => square.access(index, other, false),
                Some(_) | None => {}
            }
            if let Some(rate) = link.bandwidth.as_ref().and_then(serde_json::Value::as_str) {
                square.rate_text(index, other, rate);
            }
        }
    }
    WeightMatrix { format: Tool::AmdSmi.format(), ..square.matrix }
}
