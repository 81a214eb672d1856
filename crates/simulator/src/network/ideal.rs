//! Links without headers, latency of hosts or losses, shared fairly over all ways.

use super::{Behaviour, Meeting, NetworkModel, Settings};
use crate::machine::{Carriage, Choice};

/// Links without headers, latency of hosts or losses, shared fairly over all ways.
pub(super) struct Ideal;

impl NetworkModel for Ideal {
    fn name(&self) -> &'static str {
        "ideal"
    }

    fn title(&self) -> &'static str {
        "all ways at once, nothing but data, fair shares: what no network exceeds"
    }

    fn behaviour(&self, _settings: &Settings) -> Behaviour {
        Behaviour { choice: Choice::Adaptive, carriage: Carriage::BARE, meeting: Meeting::Shared }
    }
}
