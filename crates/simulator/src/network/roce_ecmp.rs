//! RoCE with PFC and DCQCN on switches that choose by hash.

use super::{Behaviour, Header, Meeting, NetworkModel, Settings};
use crate::machine::Choice;

/// RoCE with PFC and DCQCN on switches that choose by hash.
pub(super) struct RoceEcmp;

impl NetworkModel for RoceEcmp {
    fn name(&self) -> &'static str {
        "roce-ecmp"
    }

    fn title(&self) -> &'static str {
        "RoCE with PFC and DCQCN: ways by hash, so that some links get several flows and others none"
    }

    fn behaviour(&self, settings: &Settings) -> Behaviour {
        Behaviour {
            choice: Choice::Hash { seed: settings.seed },
            carriage: settings.carriage(Header::RoceV2, settings.recovery),
            meeting: Meeting::Shared,
        }
    }
}
