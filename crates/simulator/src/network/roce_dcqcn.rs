//! RoCE with DCQCN and no PFC: what senders have on the way before they slow down may be lost.

use super::{Behaviour, Header, Meeting, NetworkModel, Settings};
use crate::machine::Choice;

/// RoCE with DCQCN and no PFC: what senders have on the way before they slow down may be lost.
pub(super) struct RoceDcqcn;

impl NetworkModel for RoceDcqcn {
    fn name(&self) -> &'static str {
        "roce-dcqcn"
    }

    fn title(&self) -> &'static str {
        "RoCE with DCQCN but no PFC: until senders have slowed down, what the buffer cannot hold is lost"
    }

    fn behaviour(&self, settings: &Settings) -> Behaviour {
        Behaviour {
            choice: Choice::Hash { seed: settings.seed },
            carriage: settings.carriage(Header::RoceV2, settings.recovery),
            meeting: Meeting::Overshot(settings.overshoot()),
        }
    }
}
