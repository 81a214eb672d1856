//! Documents inside a text: where a JSON value begins and ends among the lines of a paste.

mod json;

pub(crate) use json::json;
