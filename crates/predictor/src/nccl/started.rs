//! How many channels NCCL really starts: twice those of the search, fewer while each would get too little.

use weft_base::Bytes;

use super::choice::{Algorithm, Choice, Protocol};
use super::tuning::Tuning;
use crate::PredictError;
use crate::settings::Library;

impl Tuning<'_> {
    /// The channels of the communicator: those of its rings twice, more where few fast ones go to the network; as
    /// many as the user says.
    pub(super) fn all_channels(&self) -> Result<u16, PredictError> {
        let rule = |name| self.constants.only("rules", name);
        let ring = &self.graphs.ring;
        let mut channels = f64::from(ring.count) * 2.0;
        if self.library == Library::Nccl
            && self.system.capability >= 90
            && self.nodes > 1
            && ring.intra > rule("four-per-search-above-intra-gbps")?
            && channels < rule("four-per-search-below-channels")?
        {
            channels *= 2.0;
        }
        let most = f64::from(self.settings.max_channels.unwrap_or(u16::MAX));
        let least = f64::from(self.settings.min_channels.unwrap_or(1));
        Ok(whole(channels.min(rule("max-channels")?).min(most).max(least)))
    }

    /// Channels that NCCL starts for a message.
    pub fn channels_used(&self, choice: &Choice, bytes: Bytes) -> Result<u16, PredictError> {
        let rule = |name: &str| self.constants.only("rules", name);
        match choice.algorithm {
            Algorithm::Nvls | Algorithm::NvlsTree => {
                let name = match (self.system.capability >= 100, self.nodes > 1) {
                    (false, _) => "nvls-channels-sm90",
                    (true, false) => "nvls-channels-sm100-one-node",
                    (true, true) => "nvls-channels-sm100",
                };
                let most = self.settings.max_channels.unwrap_or(u16::MAX);
                return Ok(whole(rule(name)?).min(most));
            }
            Algorithm::Direct => return Ok(choice.channels),
            Algorithm::Symmetric => return super::symmetric::processors(self, choice, bytes),
            Algorithm::Ring
            | Algorithm::Tree
            | Algorithm::CollnetDirect
            | Algorithm::CollnetChain
            | Algorithm::Pat => {}
        }
        let name = choice.protocol.name().to_lowercase();
        let mut per_channel =
            rule(&format!("max-threads-{name}"))? * rule(&format!("thread-threshold-{name}-bytes"))?;
        if choice.algorithm == Algorithm::Ring && choice.protocol == Protocol::Ll {
            per_channel *= f64::from(self.ranks);
        }
        let mut channels = self.all_channels()?;
        while channels > 1 && bytes.as_f64() < f64::from(channels) * per_channel {
            channels -= 1;
        }
        Ok(channels)
    }
}

/// Channels as a whole number; there are never more than 64.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1 to 1024")]
fn whole(channels: f64) -> u16 {
    channels.clamp(1.0, 1024.0) as u16
}
