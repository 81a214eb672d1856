//! InfiniBand whose tables were balanced over a network larger than the job.

use super::{Behaviour, Header, Meeting, NetworkModel, Settings};
use crate::machine::Choice;

/// InfiniBand whose tables were balanced over a network larger than the job.
pub(super) struct InfinibandMinhop;

impl NetworkModel for InfinibandMinhop {
    fn name(&self) -> &'static str {
        "infiniband-minhop"
    }

    fn title(&self) -> &'static str {
        "InfiniBand with static routes by destination that nobody laid out for these hosts (OpenSM's minhop, updn)"
    }

    fn behaviour(&self, settings: &Settings) -> Behaviour {
        Behaviour {
            choice: Choice::ByTable { seed: settings.seed },
            carriage: settings.carriage(Header::Infiniband, settings.recovery),
            meeting: Meeting::Shared,
        }
    }
}
