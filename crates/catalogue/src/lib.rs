//! Facts about interconnects and the devices they join, each with its source and grade.
//!
//! The facts live as TOML in `catalogue/<kind>/<name>.toml`; adding one is adding a file. Rates are per
//! direction, always; a marketing sum of both directions may only appear in a `note` that says so.

mod catalogue;
mod device;
mod engine;
mod fact;
mod failure;
mod framework;
mod id;
mod library;
mod link;
mod machine;
mod model;
mod optics;
mod price;

pub use catalogue::{Catalogue, NotFound};
pub use device::{
    Attachment, Bridge, Compute, Cpu, Form, Gpu, Nic, Partition, PeerToPeer, Switch, SwitchKind,
};
pub use engine::{Engine, EngineOn};
pub use fact::{Fact, Grade, Source};
pub use failure::{Event, Failure, Restart};
pub use framework::{AttentionKernel, Framework};
pub use id::{CpuId, NotAnId, PciId};
pub use library::{Library, Table};
pub use link::{ChannelLoss, ChannelPart, ChannelUnit, LinkFamily, LinkKind, Retimer};
pub use machine::{
    Branch, BridgeUse, ChannelUse, Fabric, GpuGroup, Host, Machine, MeshLink, Network, NetworkDesign,
    NicGroup,
};
pub use model::{Attention, Experts, FeedForward, Latent, Model};
pub use optics::{Cable, CableKind, Transceiver};
pub use price::{Price, PricedBy, Server};
