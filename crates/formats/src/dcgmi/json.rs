//! `dcgmi diag -j`.

use serde_json::Value as Json;
use weft_catalogue::Catalogue;

use crate::block::field_name;
use crate::document;
use crate::evidence::{Evidence, Record, Report, Value};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct DcgmiDiagJson;

const MARKS: &[&str] = &["\"DCGM GPU Diagnostic\"", "\"DCGM Diagnostic\""];

impl Format for DcgmiDiagJson {
    fn name(&self) -> &'static str {
        "dcgmi-diag-json"
    }

    fn title(&self) -> &'static str {
        "results of DCGM's tests as JSON: dcgmi diag -j"
    }

    fn command(&self) -> Option<&'static str> {
        Some("dcgmi diag -r 2 -j")
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let ours = |run: &std::ops::Range<usize>| {
            // The mark stands in the first lines.
            let head = text.lines.get(run.clone()).into_iter().flatten().take(8);
            head.into_iter().any(|line| MARKS.iter().any(|mark| line.text.contains(mark)))
        };
        document::json(text.lines).into_iter().filter(ours).map(Claim::yes).collect()
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let nothing = || Read { unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        let Ok(root) = serde_json::from_str::<Json>(&part.text()) else { return nothing() };
        let line = part.start().line;
        let categories =
            MARKS.iter().find_map(|mark| root.get(mark.trim_matches('"'))?.get("test_categories"));
        let mut records = Vec::new();
        for category in categories.and_then(Json::as_array).into_iter().flatten() {
            let name = text(category, "category");
            for test in category.get("tests").and_then(Json::as_array).into_iter().flatten() {
                records.extend(results(test, &name, line));
            }
        }
        if records.is_empty() {
            return nothing();
        }
        let report = Report { format: self.name(), host: None, records };
        let evidence = Evidence::Report(Box::new(report));
        Read { evidence: vec![Located { value: evidence, place: part.start() }], ..Read::default() }
    }
}

/// One record for each result of a test.
fn results(test: &Json, category: &str, line: u32) -> Vec<Record> {
    let name = text(test, "name");
    let result = |result: &Json| {
        let mut record = Record::new("test", name.as_str(), line);
        record.push("category", Value::Text(category.to_owned()), line);
        for (key, value) in result.as_object().into_iter().flatten() {
            let field = match key.as_str() {
                "status" => "result".to_owned(),
                "gpu_ids" | "gpu_id" => "gpus".to_owned(),
                "warnings" => "warning".to_owned(),
                other => field_name(other),
            };
            record.push(field, Value::Text(words(value)), line);
        }
        record
    };
    test.get("results").and_then(Json::as_array).into_iter().flatten().map(result).collect()
}

fn text(json: &Json, key: &str) -> String {
    json.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// A text as it is, all else as JSON.
fn words(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    #[test]
    fn each_result_is_a_record() {
        let text = "{\n \"DCGM GPU Diagnostic\" : {\n  \"test_categories\" : [\n   { \"category\" : \"Hardware\", \"tests\" : [\n\
                    { \"name\" : \"GPU Memory\", \"results\" : [ { \"gpu_ids\" : \"0\", \"status\" : \"Fail\", \"warnings\" : \"hot\" } ] } ] } ] } }\n";
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        let test = &report.records[0];
        assert_eq!(
            (test.subject.as_str(), test.text("result"), test.text("gpus")),
            ("GPU Memory", Some("Fail"), Some("0"))
        );
        assert_eq!((test.text("category"), test.text("warning")), (Some("Hardware"), Some("hot")));
    }
}
