//! InfiniBand as usual: one way for each destination, credits, congestion control.

use super::{Behaviour, Header, Meeting, NetworkModel, Settings};
use crate::machine::Choice;

/// InfiniBand as usual: one way for each destination, credits, congestion control.
pub(super) struct Infiniband;

impl NetworkModel for Infiniband {
    fn name(&self) -> &'static str {
        "infiniband"
    }

    fn title(&self) -> &'static str {
        "InfiniBand: static routes by destination, credits instead of losses, congestion control"
    }

    fn behaviour(&self, settings: &Settings) -> Behaviour {
        Behaviour {
            choice: Choice::ByDestination,
            carriage: settings.carriage(Header::Infiniband, settings.recovery),
            meeting: Meeting::Shared,
        }
    }
}
