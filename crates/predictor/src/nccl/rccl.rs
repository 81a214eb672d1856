//! What RCCL prices otherwise than NCCL: shares of the channels' rate by architecture, instead of caps.

use super::choice::{Algorithm, Protocol};
use super::search::Channels;
use super::tuning::Tuning;
use crate::PredictError;

impl Tuning<'_> {
    /// Bus bandwidth of RCCL's model.
    pub(super) fn rccl_busbw(
        &self,
        algorithm: Algorithm,
        protocol: Protocol,
        graph: &Channels,
    ) -> Result<f64, PredictError> {
        let by_two = if self.nodes <= 2 { graph.intra } else { graph.inter };
        let beyond = if self.nodes <= 2 { "two-nodes" } else { "more-nodes" };
        let row = format!("{}-{beyond}{}", algorithm.row(), self.system.suffix);
        let share = self.constants.value("bandwidth-ratio", &row, protocol.column())?;
        Ok(f64::from(graph.count) * by_two * share)
    }
}
