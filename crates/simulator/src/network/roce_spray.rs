//! RoCE whose packets go over all equal ways in turn. Packets arrive out of order, so only what was lost can be sent again.

use super::{Behaviour, Header, Meeting, NetworkModel, Recovery, Settings};
use crate::machine::Choice;

/// RoCE whose packets go over all equal ways in turn.
pub(super) struct RoceSpray;

impl NetworkModel for RoceSpray {
    fn name(&self) -> &'static str {
        "roce-spray"
    }

    fn title(&self) -> &'static str {
        "RoCE with packet spraying: equal parts over all equal ways, whatever these carry"
    }

    fn behaviour(&self, settings: &Settings) -> Behaviour {
        Behaviour {
            choice: Choice::Spray,
            carriage: settings.carriage(Header::RoceV2, Recovery::SelectiveRepeat),
            meeting: Meeting::Shared,
        }
    }
}
