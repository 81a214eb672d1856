//! `dcgmi`: the results of its tests (`diag`, as a table or as JSON) and of its watches (`health`).

mod json;
mod table;

pub(crate) use json::DcgmiDiagJson;
pub(crate) use table::{DCGMI_DIAG, DCGMI_HEALTH};
