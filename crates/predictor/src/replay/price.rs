//! What nodes take on a machine.

use weft_collective::Collective;
use weft_workload::Precision;

use crate::train::{GroupPrice, Network, Site};

/// Seconds of communication alone, and what of shared links it takes then.
#[derive(Debug, Clone, PartialEq)]
pub struct Priced {
    /// Seconds while nothing else is sent.
    pub alone_s: f64,
    /// Of what the ports of each of its servers to the network carry, what it takes; 0 within one server.
    pub ports_share: f64,
    /// The servers, by number.
    pub servers: Vec<u32>,
}

/// Who says what nodes take.
pub trait Prices {
    /// A collective among `ranks`, or a message from the first of two to the second. `bytes` are counted as nccl-tests
    /// does. Reads as "… cannot be priced: {error}".
    fn communication(&self, collective: Collective, ranks: &[u32], bytes: f64) -> Result<Priced, String>;

    /// A computation that was not measured, of so many operations and bytes; `None` if the GPU's rates are not known.
    fn computation_s(&self, operations_count: f64, bytes: f64) -> Option<f64>;

    /// Ranks that there are GPUs for.
    fn gpus(&self) -> u32;
}

/// Those of a site.
pub(super) struct SitePrices<'s> {
    site: &'s Site<'s>,
    network: Network<'s>,
}

impl<'s> SitePrices<'s> {
    pub fn new(site: &'s Site<'s>) -> Self {
        Self { site, network: Network::new(site, site.domain_gpus) }
    }
}

impl Prices for SitePrices<'_> {
    fn communication(&self, collective: Collective, ranks: &[u32], bytes: f64) -> Result<Priced, String> {
        // What a group takes does not depend on the order, except who sends to whom.
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        let price = self.network.group(collective, &sorted, bytes).map_err(|error| error.to_string())?;
        let none = || "its ranks are on different rails, which no switch joins".to_owned();
        let GroupPrice { alone_s, ports_share, domains } = price.ok_or_else(none)?;
        Ok(Priced { alone_s, ports_share, servers: domains })
    }

    fn computation_s(&self, operations_count: f64, bytes: f64) -> Option<f64> {
        let peak = self.site.peak_flops(Precision::Half)?;
        Some((operations_count / peak).max(bytes / self.site.memory_bytes_per_s()))
    }

    fn gpus(&self) -> u32 {
        self.site.gpus
    }
}
