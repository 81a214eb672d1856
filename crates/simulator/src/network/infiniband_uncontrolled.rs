//! InfiniBand without congestion control: credits run out link by link.

use super::{Behaviour, Header, Meeting, NetworkModel, Settings};
use crate::machine::Choice;

/// InfiniBand without congestion control: credits run out link by link.
pub(super) struct InfinibandUncontrolled;

impl NetworkModel for InfinibandUncontrolled {
    fn name(&self) -> &'static str {
        "infiniband-uncontrolled"
    }

    fn title(&self) -> &'static str {
        "InfiniBand without congestion control: where credits run out, others behind wait too"
    }

    fn behaviour(&self, settings: &Settings) -> Behaviour {
        Behaviour {
            choice: Choice::ByDestination,
            carriage: settings.carriage(Header::Infiniband, settings.recovery),
            meeting: Meeting::Paused,
        }
    }
}
