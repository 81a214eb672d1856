//! Numbers by which hardware names itself.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use thiserror::Error;

use crate::{Catalogue, Cpu, Gpu, Nic};

/// Vendor and device of a PCI function: `10de:2330`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PciId {
    /// The vendor's number: `0x10de`.
    pub vendor: u16,
    /// The device's number among the vendor's.
    pub device: u16,
}

/// Maker, family and model of a CPU, as its `cpuid` instruction gives them: `AuthenticAMD 25 17`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuId {
    /// `GenuineIntel`, `AuthenticAMD`.
    pub vendor: String,
    /// The family, extensions included.
    pub family: u32,
    /// The model, extensions included.
    pub model: u32,
}

/// The text is no such number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not an identifier: expected {0}")]
pub struct NotAnId(&'static str);

impl FromStr for PciId {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let error = NotAnId("four hexadecimal digits, a colon and four more, as in 10de:2330");
        let number = |text: &str| u16::from_str_radix(text, 16).map_err(|_| error);
        let (vendor, device) = text.split_once(':').ok_or(error)?;
        Ok(Self { vendor: number(vendor)?, device: number(device)? })
    }
}

impl fmt::Display for PciId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:04x}", self.vendor, self.device)
    }
}

impl FromStr for CpuId {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let error = NotAnId("maker, family and model, as in `AuthenticAMD 25 17`");
        let words: Vec<&str> = text.split_whitespace().collect();
        let [vendor, family, model] = words[..] else { return Err(error) };
        let number = |text: &str| text.parse().map_err(|_| error);
        Ok(Self { vendor: vendor.to_owned(), family: number(family)?, model: number(model)? })
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.vendor, self.family, self.model)
    }
}

macro_rules! from_text {
    ($($id:ty),*) => {
        $(impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        })*
    };
}

from_text!(PciId, CpuId);

impl Catalogue {
    /// GPUs that show themselves by that number, in the catalogue's order; a few share one.
    pub fn gpus_by_id(&self, id: PciId) -> impl Iterator<Item = &Gpu> {
        self.gpus.iter().filter(move |gpu| gpu.pci_ids.as_ref().is_some_and(|ids| ids.value.contains(&id)))
    }

    /// NICs that show themselves by that number, in the catalogue's order; those of one chip share it.
    pub fn nics_by_id(&self, id: PciId) -> impl Iterator<Item = &Nic> {
        self.nics.iter().filter(move |nic| nic.pci_ids.as_ref().is_some_and(|ids| ids.value.contains(&id)))
    }

    /// CPUs that show themselves by that number, in the catalogue's order.
    pub fn cpus_by_id(&self, id: &CpuId) -> impl Iterator<Item = &Cpu> {
        self.cpus.iter().filter(move |cpu| cpu.cpu_ids.as_ref().is_some_and(|ids| ids.value.contains(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_read_and_found() {
        let id: PciId = "10de:2330".parse().unwrap();
        let names: Vec<&str> = Catalogue::embedded().gpus_by_id(id).map(|gpu| gpu.name.as_str()).collect();
        assert_eq!((id.to_string().as_str(), names), ("10de:2330", vec!["h100-sxm5-80gb"]));
        let id: CpuId = "AuthenticAMD 23 49".parse().unwrap();
        let mut cpus = Catalogue::embedded().cpus_by_id(&id).map(|cpu| cpu.name.as_str());
        assert_eq!(cpus.next(), Some("epyc-rome"));
        assert!("10de".parse::<PciId>().is_err() && "AMD 1".parse::<CpuId>().is_err());
    }
}
