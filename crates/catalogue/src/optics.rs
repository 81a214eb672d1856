//! What joins two ports: cables, and the modules that optical fibre needs at both ends.

use serde::Deserialize;
use weft_base::{Length, Power};

use crate::Fact;

/// How a cable carries its signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CableKind {
    /// Copper without electronics (DAC).
    PassiveCopper,
    /// Copper with a retimer in each end (AEC).
    ActiveCopper,
    /// Fibre with its modules fixed to both ends (AOC).
    ActiveOptical,
    /// Fibre alone, between two transceivers.
    Fibre,
}

impl CableKind {
    /// The word used in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::PassiveCopper => "passive copper (DAC)",
            Self::ActiveCopper => "active copper (AEC)",
            Self::ActiveOptical => "active optical (AOC)",
            Self::Fibre => "fibre",
        }
    }
}

/// A kind of cable.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cable {
    /// The file's name: `ndr-dac`.
    pub name: String,
    /// In words.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// How it carries its signal.
    pub kind: CableKind,
    /// Link kinds that it carries.
    pub links: Vec<String>,
    /// The longest that is sold.
    pub longest: Fact<Length>,
    /// Power of one end.
    pub end_power: Fact<Power>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

/// An optical module.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transceiver {
    /// The file's name: `mms4x00-ns`.
    pub name: String,
    /// As the vendor writes it.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Link kinds that a port of it runs.
    pub links: Vec<String>,
    /// Links that end in one module: 2 for twin-port modules.
    pub ports: Fact<u16>,
    /// Whether it goes into a switch's cage (true) or a NIC's (false).
    pub in_switch: bool,
    /// The longest fibre.
    pub longest: Fact<Length>,
    /// Power, at most, with all ports in use.
    pub power: Fact<Power>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}
