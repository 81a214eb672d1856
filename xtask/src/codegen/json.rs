//! The page of JSON outputs: every field with its type and meaning, from the schemas.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};
use serde_json::Value;

use super::table::table;
use crate::house::Text;

/// Where the schemas lie.
pub const FOLDER: &str = "schemas/";

const INTRODUCTION: &str = "\
# JSON

`--format json` prints one document on stdout. Its first field, `schema`, names the command and the version of the \
form: within a version fields are never removed or given another meaning; new ones may come. Times are seconds, sizes \
bytes, rates bytes per second in one direction, and the name of a field says which. What is not known is `null`, never \
a made-up number. The schemas are in the repository's folder `schemas`, and a test holds what the commands print \
against them.

A field of a field is written `a.b`, an entry of a list `a[]`.
";

/// The whole page.
pub fn page(schemas: &[&Text]) -> Result<String> {
    let mut page = format!("{}{INTRODUCTION}", super::HEAD);
    for schema in schemas {
        let document: Value =
            serde_json::from_str(&schema.text).with_context(|| format!("failed to parse {}", schema.path))?;
        let mut rows = Vec::new();
        fields(&document, &document, "", 0, &mut rows);
        let table = table(&["field", "type", "meaning"], &rows);
        let title = document["title"].as_str().unwrap_or(&schema.path);
        let about = document["description"].as_str().unwrap_or_default();
        write!(page, "\n## {title}\n\n{about} Schema: `{}`.\n\n{table}", schema.path)?;
    }
    Ok(page)
}

/// Deeper than any schema here; a reference to itself would never end.
const DEPTH_MAX: usize = 12;

/// Adds a row for each field below `schema`.
fn fields(document: &Value, schema: &Value, prefix: &str, depth: usize, rows: &mut Vec<Vec<String>>) {
    if depth > DEPTH_MAX {
        return;
    }
    for inner in alternatives(document, schema) {
        let properties = inner["properties"].as_object();
        // Sorted here, since a dependency's features decide whether serde_json keeps the order of the file.
        let sorted: BTreeMap<&String, &Value> = properties.into_iter().flatten().collect();
        for (name, property) in sorted {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            rows.push(vec![format!("`{path}`"), kind(document, property), meaning(document, property)]);
            fields(document, property, &path, depth + 1, rows);
        }
        if !inner["items"].is_null() {
            fields(document, &inner["items"], &format!("{prefix}[]"), depth + 1, rows);
        }
    }
}

/// The schema itself without references, or each of what it may be.
fn alternatives<'a>(document: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let schema = resolve(document, schema);
    let choices = ["anyOf", "oneOf"].iter().find_map(|key| schema[*key].as_array());
    choices.map_or_else(|| vec![schema], |choices| choices.iter().map(|one| resolve(document, one)).collect())
}

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    target.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema)
}

fn meaning(document: &Value, property: &Value) -> String {
    let own = property["description"].as_str();
    own.or_else(|| resolve(document, property)["description"].as_str()).unwrap_or_default().to_owned()
}

/// A type in words: `integer`, `list of object`, `"a" or "b"`.
fn kind(document: &Value, property: &Value) -> String {
    let mut words: Vec<String> = Vec::new();
    for inner in alternatives(document, property) {
        if let Some(constant) = inner.get("const") {
            words.push(format!("`{constant}`"));
        } else if let Some(choices) = inner["enum"].as_array() {
            words.extend(choices.iter().map(|choice| format!("`{choice}`")));
        } else if !inner["items"].is_null() {
            words.push(format!("list of {}", kind(document, &inner["items"])));
        } else if let Some(types) = inner["type"].as_array() {
            words.extend(types.iter().filter_map(Value::as_str).map(str::to_owned));
        } else {
            words.push(inner["type"].as_str().unwrap_or("any").to_owned());
        }
    }
    words.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_fields_references_and_choices_are_listed() {
        let schema = r##"{"title": "weft x", "description": "About x.", "properties": {
            "schema": {"const": "weft/x/1"},
            "rows": {"description": "Rows.", "type": "array", "items": {"$ref": "#/$defs/row"}},
            "bound": {"anyOf": [{"$ref": "#/$defs/row"}, {"type": "null"}]}},
            "$defs": {"row": {"type": "object", "properties": {
                "kind": {"enum": ["a", "b"], "description": "Which."}, "low_s": {"type": ["number", "null"]}}}}}"##;
        let text = page(&[&Text::new("schemas/x.json", schema)]).unwrap();
        for row in [
            "| `schema` | `\"weft/x/1\"` |  |",
            "| `rows` | list of object | Rows. |",
            "| `rows[].kind` | `\"a\"` or `\"b\"` | Which. |",
            "| `rows[].low_s` | number or null |  |",
            "| `bound` | object or null |  |",
            "| `bound.kind` | `\"a\"` or `\"b\"` | Which. |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
    }
}
