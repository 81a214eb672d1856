//! This machine, read: PCI functions, NUMA nodes, GPUs, adapters and network devices. Gives the evidence that a paste
//! of lspci, nvidia-smi and ibstat would give, so that all else works on it. Files come through [`Files`] and
//! NVIDIA's library through [`Nvml`], so that a captured machine is a test.

mod codes;
mod cpu;
mod disk;
mod drivers;
mod files;
mod kfd;
mod network;
mod nvidia;
mod nvml;
mod pci;
mod rdma;
mod rebar;
mod survey;

pub use codes::CODES;
pub use disk::Disk;
pub use files::{Captured, Files};
pub use nvml::{NoNvml, Nvml, NvmlGpu, NvmlLink, NvmlRemote, NvmlSurvey, SystemNvml};
pub use survey::{SOURCE, survey};
