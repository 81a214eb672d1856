//! What several readers of PCI functions share: addresses, the words of classes and vendors, the registers, and
//! which bridge stands above which function.

mod address;
mod arrange;
mod config;
mod ethernet;
mod words;

pub use address::PciAddress;
pub use arrange::{arrange, settle_links};
pub use config::read_config;
pub(crate) use ethernet::{Onboard, onboard};
pub(crate) use words::{adapter_of, class_of, class_of_name, vendor_of};
