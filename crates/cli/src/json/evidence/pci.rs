use serde::Serialize;
use weft_base::Bytes;
use weft_formats::{PciDetails, Region};

use super::host::{LinkJson, link};

/// What registers and the operating system say of a PCI function beyond its place and link.
#[derive(Debug, Serialize)]
pub struct DetailsJson {
    driver: Option<String>,
    slot: Option<String>,
    iommu_group: Option<u32>,
    port_kind: Option<String>,
    secondary_bus: Option<u8>,
    subordinate_bus: Option<u8>,
    link_below: LinkJson,
    link_below_capability: LinkJson,
    link_rate_bytes_per_s: Option<u64>,
    max_payload_bytes: Option<u64>,
    max_read_request_bytes: Option<u64>,
    relaxed_ordering: Option<bool>,
    ats: Option<bool>,
    errors: Vec<String>,
    regions: Vec<RegionJson>,
    virtual_functions_enabled: Option<u16>,
    virtual_functions_total: Option<u16>,
    physical_function: Option<String>,
}

#[derive(Debug, Serialize)]
struct RegionJson {
    number: Option<u8>,
    size_bytes: Option<u64>,
    largest_bytes: Option<u64>,
}

impl DetailsJson {
    pub fn new(details: &PciDetails) -> Self {
        Self {
            driver: details.driver.clone(),
            slot: details.slot.clone(),
            iommu_group: details.iommu_group,
            port_kind: details.port_kind.clone(),
            secondary_bus: details.buses.map(|buses| buses.secondary),
            subordinate_bus: details.buses.map(|buses| buses.subordinate),
            link_below: link(details.link_below),
            link_below_capability: link(details.link_below_capability),
            link_rate_bytes_per_s: details.link_rate.map(weft_base::Rate::get),
            max_payload_bytes: details.max_payload.map(Bytes::get),
            max_read_request_bytes: details.max_read_request.map(Bytes::get),
            relaxed_ordering: details.relaxed_ordering,
            ats: details.ats,
            errors: details.errors.clone(),
            regions: details.regions.iter().map(region).collect(),
            virtual_functions_enabled: details.virtual_functions.map(|functions| functions.enabled),
            virtual_functions_total: details.virtual_functions.map(|functions| functions.total),
            physical_function: details.physical_function.clone(),
        }
    }
}

fn region(region: &Region) -> RegionJson {
    RegionJson {
        number: region.number,
        size_bytes: region.size.map(Bytes::get),
        largest_bytes: region.largest.map(Bytes::get),
    }
}
