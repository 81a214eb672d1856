//! What things cost and what stands around GPUs. Prices are dated: they say what somebody asked or assumed then.

use serde::Deserialize;
use weft_base::{Bytes, Energy, Money, Power};

use crate::Fact;

/// What a price is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PricedBy {
    /// One of it.
    Piece,
    /// A kilowatt-hour.
    KilowattHour,
}

/// A published price. Its name is that of the entry that it prices; any of them can be overridden by the user.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The file's name: that of a system, GPU, switch, cable or transceiver, or `electricity`.
    pub name: String,
    /// What is priced, in words.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What one price buys.
    pub per: PricedBy,
    /// Year and month of the price: `2024-08`.
    pub date: String,
    /// The price.
    pub amount: Fact<Money>,
    /// The least that was seen.
    #[serde(default)]
    pub low: Option<Fact<Money>>,
    /// The most that was seen.
    #[serde(default)]
    pub high: Option<Fact<Money>>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

/// What a system has besides GPUs, NICs and their links.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// The file's name: that of the system.
    pub name: String,
    /// In words.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The most that one host draws.
    #[serde(default)]
    pub most_power: Option<Fact<Power>>,
    /// What one host drew on average while training.
    #[serde(default)]
    pub training_power: Option<Fact<Power>>,
    /// Memory of the CPUs of one host.
    #[serde(default)]
    pub memory: Option<Fact<Bytes>>,
    /// Local storage of one host for data and checkpoints.
    #[serde(default)]
    pub storage: Option<Fact<Bytes>>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

impl Price {
    /// The price of so much energy, for a price by the kilowatt-hour; nothing for others.
    pub fn of_energy(&self, energy: Energy) -> Option<Money> {
        match self.per {
            PricedBy::Piece => None,
            PricedBy::KilowattHour => Some(self.amount.value.scaled(energy.as_kilowatt_hours())),
        }
    }
}
