//! The part of JSON Schema that `schemas/` uses. A keyword that is not known here fails the test, so that no
//! schema can ask for something that nothing checks. (The `jsonschema` crate would cost five minutes of CI.)

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a wrong schema must stop the test")]

use std::fs;

use serde_json::Value;

use crate::common::root;

/// A document that holds to one of the repository's schemas.
#[allow(clippy::disallowed_methods, reason = "tests read the schemas from disk")]
pub fn checked(schema: &str, text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    let text = fs::read_to_string(root().join("schemas").join(schema)).unwrap();
    let errors = Schema::new(serde_json::from_str(&text).unwrap()).errors(&value);
    assert!(errors.is_empty(), "{schema}: {}", errors.join("\n"));
    value
}

/// A schema with its definitions.
pub struct Schema {
    root: Value,
}

impl Schema {
    pub fn new(root: Value) -> Self {
        Self { root }
    }

    /// What is wrong with `value`, each with where it stands.
    pub fn errors(&self, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.root, value, "", &mut errors);
        errors
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
            let holds = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "additionalProperties" => true,
                "$ref" => {
                    let pointer =
                        wanted.as_str().and_then(|text| text.strip_prefix('#')).expect("a local reference");
                    self.check(self.root.pointer(pointer).expect("the definition exists"), value, at, errors);
                    true
                }
                "anyOf" => wanted.as_array().unwrap().iter().any(|option| {
                    let mut own = Vec::new();
                    self.check(option, value, at, &mut own);
                    own.is_empty()
                }),
                "const" => value == wanted,
                "enum" => wanted.as_array().unwrap().contains(value),
                "type" => match wanted.as_array() {
                    Some(types) => types.iter().any(|wanted| is_a(value, wanted)),
                    None => is_a(value, wanted),
                },
                "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
                "minLength" => {
                    value.as_str().is_none_or(|text| text.len() as u64 >= wanted.as_u64().unwrap())
                }
                "minItems" => {
                    value.as_array().is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap())
                }
                "pattern" => value.as_str().is_none_or(|text| matches(wanted.as_str().unwrap(), text)),
                "required" => value.as_object().is_none_or(|object| {
                    wanted.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
                }),
                "properties" => {
                    self.properties(schema, wanted, value, at, errors);
                    true
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(wanted, item, &format!("{at}/{index}"), errors);
                    }
                    true
                }
                other => panic!("the keyword `{other}` is not checked"),
            };
            if !holds {
                errors.push(format!("{at}: {value} is not {keyword} {wanted}"));
            }
        }
    }

    fn properties(&self, schema: &Value, wanted: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        for (key, member) in value.as_object().into_iter().flatten() {
            let surplus = schema["additionalProperties"] == false;
            match wanted.get(key) {
                Some(schema) => self.check(schema, member, &format!("{at}/{key}"), errors),
                None => errors.extend(surplus.then(|| format!("{at}: {key} is surplus"))),
            }
        }
    }
}

fn is_a(value: &Value, wanted: &Value) -> bool {
    match wanted.as_str().expect("a type is a word") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("the type `{other}` is not checked"),
    }
}

/// The patterns in use, without a library for all others.
fn matches(pattern: &str, text: &str) -> bool {
    let is_code = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match pattern {
        "^[a-z0-9-]+$" => !text.is_empty() && text.chars().all(is_code),
        "^(NV[1-9][0-9]*|XGMI|PIX|PXB|PHB|NODE|SYS|OK|CNS|GNS|TNS|NS|DR|U)$" => {
            text.parse::<weft_topology::ReportedClass>().is_ok()
                || ["OK", "CNS", "GNS", "TNS", "NS", "DR", "U"].contains(&text)
        }
        "^D[0-9]{3}$" => text
            .strip_prefix('D')
            .is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())),
        "^0x[0-9a-f]{16}$" => text.strip_prefix("0x").is_some_and(|digits| {
            digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        }),
        other => panic!("the pattern `{other}` is not checked"),
    }
}
