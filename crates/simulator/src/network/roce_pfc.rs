//! RoCE with PFC and no DCQCN: pauses spread from switch to switch.

use super::{Behaviour, Header, Meeting, NetworkModel, Settings};
use crate::machine::Choice;

/// RoCE with PFC and no DCQCN: pauses spread from switch to switch.
pub(super) struct RocePfc;

impl NetworkModel for RocePfc {
    fn name(&self) -> &'static str {
        "roce-pfc"
    }

    fn title(&self) -> &'static str {
        "RoCE with PFC but no DCQCN: a full port pauses the links that lead to it, and all on them"
    }

    fn behaviour(&self, settings: &Settings) -> Behaviour {
        Behaviour {
            choice: Choice::Hash { seed: settings.seed },
            carriage: settings.carriage(Header::RoceV2, settings.recovery),
            meeting: Meeting::Paused,
        }
    }
}
