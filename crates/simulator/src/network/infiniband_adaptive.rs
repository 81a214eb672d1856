//! InfiniBand whose switches choose the emptiest of equal ways.

use super::{Behaviour, Header, Meeting, NetworkModel, Settings};
use crate::machine::Choice;

/// InfiniBand whose switches choose the emptiest of equal ways.
pub(super) struct InfinibandAdaptive;

impl NetworkModel for InfinibandAdaptive {
    fn name(&self) -> &'static str {
        "infiniband-adaptive"
    }

    fn title(&self) -> &'static str {
        "InfiniBand with adaptive routing: switches choose the emptiest of equal ways"
    }

    fn behaviour(&self, settings: &Settings) -> Behaviour {
        Behaviour {
            choice: Choice::Adaptive,
            carriage: settings.carriage(Header::Infiniband, settings.recovery),
            meeting: Meeting::Shared,
        }
    }
}
