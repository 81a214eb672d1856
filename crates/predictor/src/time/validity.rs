//! Where the model of time stands on measurements, and where it does not.

use weft_base::{Code, Diagnostic};

use crate::nccl::nics::Net;
use crate::nccl::tuning::Tuning;
use crate::settings::Library;

/// Beyond what was compared with measurements.
pub const OUTSIDE: Code = Code {
    name: "outside-measured-range",
    explanation: "Times were compared with published measurements of NCCL on one server of Pascal to Blackwell GPUs, and on \
        up to 512 nodes over InfiniBand, EFA, Slingshot and sockets (docs/models/accuracy.md). This machine is beyond \
        that, so that the interval is a guess by what it resembles. `weft calibrate` fits it to your own runs.",
};

/// Nodes of the largest run that was compared.
const NODES_COMPARED: u32 = 512;

/// What of this prediction rests on no measurement of its kind.
pub(crate) fn notes(tuning: &Tuning<'_>) -> Vec<Diagnostic> {
    let mut reasons = Vec::new();
    if tuning.library == Library::Rccl {
        reasons.push("no time of RCCL was compared with measurements".to_owned());
    }
    if tuning.nodes > NODES_COMPARED {
        reasons.push(format!("{} nodes are more than the {NODES_COMPARED} that were compared", tuning.nodes));
    }
    let network = tuning.system.nics.first().and_then(|nic| match nic.net {
        Net::Roce => Some("RoCE"),
        Net::OmniPath => Some("Omni-Path"),
        Net::InfiniBand | Net::Tcp | Net::Efa | Net::Slingshot => None,
    });
    if let Some(network) = network {
        reasons.push(format!("hops over {network} are taken to be as over InfiniBand"));
    }
    reasons.into_iter().map(|reason| Diagnostic::note(OUTSIDE, reason)).collect()
}
