//! RoCE on switches that choose the emptiest of equal ways packet by packet. Packets arrive out of order, so only what was lost can be sent again.

use super::{Behaviour, Header, Meeting, NetworkModel, Recovery, Settings};
use crate::machine::Choice;

/// RoCE on switches that choose the emptiest of equal ways packet by packet.
pub(super) struct RoceAdaptive;

impl NetworkModel for RoceAdaptive {
    fn name(&self) -> &'static str {
        "roce-adaptive"
    }

    fn title(&self) -> &'static str {
        "RoCE with adaptive routing: switches choose the emptiest of equal ways, receivers put in order"
    }

    fn behaviour(&self, settings: &Settings) -> Behaviour {
        Behaviour {
            choice: Choice::Adaptive,
            carriage: settings.carriage(Header::RoceV2, Recovery::SelectiveRepeat),
            meeting: Meeting::Shared,
        }
    }
}
