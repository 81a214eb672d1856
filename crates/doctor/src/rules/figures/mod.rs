//! How figures are read and tests are run.

mod above_wire;
mod choice;
mod distance;
mod nameplate;
mod nodes;
mod nvls;
mod reading;
mod slow_gpu;
mod test_setup;
mod unexplained;
mod units;
mod version;
mod wires;

pub use above_wire::AboveWire;
pub use choice::Choice;
pub use distance::Distance;
pub use nameplate::Nameplate;
pub use nodes::SeveralNodes;
pub use nvls::Nvls;
pub use reading::Reading;
pub use slow_gpu::SlowGpu;
pub use test_setup::TestSetup;
pub use unexplained::{UNEXPLAINED, Unexplained};
pub use units::Units;
pub use version::KnownVersions;
