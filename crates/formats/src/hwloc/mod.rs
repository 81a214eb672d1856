//! What hwloc knows of a host: its XML files of all versions, and what `lstopo` prints on a terminal.

mod host;
mod links;
mod object;
mod text;
mod xml;

pub use text::LstopoText;
pub use xml::HwlocXml;

#[cfg(test)]
mod tests;
