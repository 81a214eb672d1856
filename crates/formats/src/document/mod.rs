//! Documents inside a text: where a JSON value or an XML element begins and ends among the lines of a paste.

mod json;
mod xml;

#[allow(unused_imports)]
pub(crate) use json::json;
#[allow(unused_imports)]
pub(crate) use xml::{XmlTree, read_xml, xml};
