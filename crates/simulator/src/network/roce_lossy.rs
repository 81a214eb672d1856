//! RoCE with neither PFC nor DCQCN: nobody slows down.

use super::{Behaviour, Header, Meeting, NetworkModel, Settings};
use crate::machine::Choice;

/// RoCE with neither PFC nor DCQCN: nobody slows down.
pub(super) struct RoceLossy;

impl NetworkModel for RoceLossy {
    fn name(&self) -> &'static str {
        "roce-lossy"
    }

    fn title(&self) -> &'static str {
        "RoCE with neither PFC nor DCQCN: senders go on at full rate, and what does not fit is lost"
    }

    fn behaviour(&self, settings: &Settings) -> Behaviour {
        Behaviour {
            choice: Choice::Hash { seed: settings.seed },
            carriage: settings.carriage(Header::RoceV2, settings.recovery),
            meeting: Meeting::Flooded(settings.flood()),
        }
    }
}
