//! What a user sets: the library's version, and the variables of it that act on its choice.

mod evidence;
mod hca;
mod list;
mod version;

use weft_topology::NcclPath;

pub use hca::HcaFilter;
pub use list::Allowed;
pub use version::{Library, NotAVersion, Version};

use crate::nccl::search::KINDS;
use crate::{Algorithm, Protocol};

/// The library and its settings. The default is the newest version with nothing set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which library; `None` for the one of the GPUs' maker.
    pub library: Option<Library>,
    /// Which version of it; `None` for the newest that is known.
    pub version: Option<Version>,
    /// `NCCL_ALGO`: which algorithms may be chosen.
    pub algorithms: Allowed<Algorithm>,
    /// `NCCL_PROTO`: which protocols may be chosen.
    pub protocols: Allowed<Protocol>,
    /// `NCCL_P2P_LEVEL` and `NCCL_P2P_DISABLE`: the worst path over which GPUs access each other.
    pub peer_level: Option<NcclPath>,
    /// `NCCL_NET_GDR_LEVEL`: the worst path over which a NIC accesses a GPU.
    pub gdr_level: Option<NcclPath>,
    /// `NCCL_CROSS_NIC`.
    pub cross_nic: CrossNic,
    /// `NCCL_IB_HCA`: which adapters are used.
    pub hca: Option<HcaFilter>,
    /// `NCCL_IB_DISABLE`: sockets in place of InfiniBand and RoCE.
    pub sockets_only: bool,
    /// `NCCL_PXN_DISABLE`: no NIC is reached through another GPU.
    pub without_pxn: bool,
    /// `NCCL_MIN_NCHANNELS` or `NCCL_MIN_CTAS`.
    pub min_channels: Option<u16>,
    /// `NCCL_MAX_NCHANNELS` or `NCCL_MAX_CTAS`.
    pub max_channels: Option<u16>,
    /// `NCCL_NVLS_ENABLE=0`: no reduction in NVSwitches.
    pub without_nvls: bool,
    /// `NCCL_COLLNET_ENABLE=1`: reduction in the network's switches, where a plugin offers it.
    pub collnet: bool,
    /// `NCCL_NET_OVERHEAD` in nanoseconds.
    pub net_overhead_ns: Option<u32>,
    /// Buffers registered as symmetric windows, for which NCCL 2.27 on has kernels of their own.
    pub symmetric: bool,
}

/// Whether a channel may leave one host and enter another by NICs of different numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CrossNic {
    /// `0`: never.
    Never,
    /// `1`: always.
    Always,
    /// `2`: only where that is faster.
    #[default]
    IfFaster,
}

/// A value that a variable cannot take. Reads as "failed to read: {error}".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} cannot be `{value}`: expected {wanted}")]
pub struct SettingError {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it can be.
    pub wanted: &'static str,
}

/// What a variable did to the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It acts on predictions.
    Yes,
    /// It is none that predictions depend on.
    NoEffect,
}

const PATHS: &str = "LOC, NVL, PIX, PXB, PHB or SYS, or a number from 0 to 5";
const WHOLE: &str = "a whole number";
const ALGORITHMS: &str = "names from Ring, Tree, CollnetDirect, CollnetChain, NVLS, NVLSTree, PAT; `^` before a list excludes, \
    `allreduce:` before it keeps it to one collective";
const PROTOCOLS: &str = "names from LL, LL128, Simple; `^` before a list excludes, `allreduce:` before it keeps it to one \
    collective";

impl Settings {
    /// The settings of a version.
    pub fn of_version(version: Version) -> Self {
        Self { version: Some(version), ..Self::default() }
    }

    /// Without those that only choose or price channels that were found.
    pub(crate) fn of_search(&self) -> Self {
        let Self { library, version, peer_level, gdr_level, cross_nic, sockets_only, without_pxn, .. } =
            *self;
        let hca = self.hca.clone();
        Self {
            library,
            version,
            peer_level,
            gdr_level,
            cross_nic,
            hca,
            sockets_only,
            without_pxn,
            ..Self::default()
        }
    }

    /// Only this algorithm, as `NCCL_ALGO` with its name.
    #[must_use]
    pub fn only(mut self, algorithm: Algorithm) -> Self {
        self.algorithms = Allowed::only(algorithm);
        self
    }

    /// Takes one variable as NCCL would. An empty value is as if it were not set.
    pub fn read(&mut self, name: &str, value: &str) -> Result<Taken, SettingError> {
        let value = value.trim().trim_matches('"');
        if value.is_empty() {
            return Ok(Taken::NoEffect);
        }
        let wrong = |wanted| SettingError { name: name.to_owned(), value: value.to_owned(), wanted };
        let number = || whole(value).ok_or_else(|| wrong(WHOLE));
        let count = || number().map(|number| u16::try_from(number).ok().filter(|count| *count > 0));
        match name {
            "NCCL_ALGO" => {
                self.algorithms = Allowed::read(value, algorithms).ok_or_else(|| wrong(ALGORITHMS))?;
            }
            "NCCL_PROTO" => {
                self.protocols = Allowed::read(value, protocols).ok_or_else(|| wrong(PROTOCOLS))?;
            }
            "NCCL_P2P_LEVEL" => self.peer_level = Some(level(value).ok_or_else(|| wrong(PATHS))?),
            "NCCL_P2P_DISABLE" if number()? != 0 => self.peer_level = Some(NcclPath::Loc),
            "NCCL_NET_GDR_LEVEL" | "NCCL_IB_GDR_LEVEL" => {
                self.gdr_level = Some(level(value).ok_or_else(|| wrong(PATHS))?);
            }
            "NCCL_CROSS_NIC" => {
                self.cross_nic = match number()? {
                    0 => CrossNic::Never,
                    1 => CrossNic::Always,
                    2 => CrossNic::IfFaster,
                    _ => return Err(wrong("0, 1 or 2")),
                };
            }
            "NCCL_IB_HCA" => self.hca = Some(HcaFilter::read(value)),
            "NCCL_IB_DISABLE" => self.sockets_only = number()? != 0,
            "NCCL_PXN_DISABLE" => self.without_pxn = number()? != 0,
            "NCCL_MIN_NCHANNELS" | "NCCL_MIN_CTAS" | "NCCL_MIN_NRINGS" => self.min_channels = count()?,
            "NCCL_MAX_NCHANNELS" | "NCCL_MAX_CTAS" | "NCCL_MAX_NRINGS" => self.max_channels = count()?,
            "NCCL_NVLS_ENABLE" => self.without_nvls = number()? == 0,
            "NCCL_COLLNET_ENABLE" => self.collnet = number()? != 0,
            "NCCL_NET_OVERHEAD" => self.net_overhead_ns = u32::try_from(number()?).ok(),
            _ => return Ok(Taken::NoEffect),
        }
        Ok(Taken::Yes)
    }
}

fn algorithms(word: &str) -> Vec<Algorithm> {
    // Before 2.14 there was one CollNet.
    if word.eq_ignore_ascii_case("collnet") {
        return vec![Algorithm::CollnetDirect, Algorithm::CollnetChain];
    }
    Algorithm::from_name(word).into_iter().collect()
}

fn protocols(word: &str) -> Vec<Protocol> {
    Protocol::from_name(word).into_iter().collect()
}

/// Decimal or hexadecimal, as `strtoll` reads it.
fn whole(value: &str) -> Option<i64> {
    match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

/// A path type by its name, or by the number that it had before there were names.
fn level(value: &str) -> Option<NcclPath> {
    if let Some(number) = whole(value) {
        return Some(match number {
            ..0 => return None,
            0 => NcclPath::Loc,
            1 => NcclPath::Pix,
            2 => NcclPath::Pxb,
            3 => NcclPath::Phb,
            4.. => NcclPath::Sys,
        });
    }
    KINDS.into_iter().chain([NcclPath::Dis]).find(|path| path.word().eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use weft_collective::Collective;

    use super::*;

    fn read(name: &str, value: &str) -> Settings {
        let mut settings = Settings::default();
        assert_eq!(settings.read(name, value), Ok(Taken::Yes), "{name}={value}");
        settings
    }

    #[test]
    fn variables_act_as_the_librarys_documentation_says() {
        assert_eq!(read("NCCL_P2P_LEVEL", "sys").peer_level, Some(NcclPath::Sys));
        // Numbers are of the time before NVL had a name: 1 is one switch.
        assert_eq!(read("NCCL_P2P_LEVEL", "1").peer_level, Some(NcclPath::Pix));
        assert_eq!(read("NCCL_P2P_DISABLE", "1").peer_level, Some(NcclPath::Loc));
        assert_eq!(read("NCCL_NET_GDR_LEVEL", "PHB").gdr_level, Some(NcclPath::Phb));
        assert_eq!(read("NCCL_CROSS_NIC", "0").cross_nic, CrossNic::Never);
        assert_eq!(read("NCCL_MAX_CTAS", "0x10").max_channels, Some(16));
        assert!(read("NCCL_NVLS_ENABLE", "0").without_nvls);
        assert!(!read("NCCL_NVLS_ENABLE", "2").without_nvls);
        assert!(read("NCCL_IB_DISABLE", "1").sockets_only);
    }

    #[test]
    fn algorithms_are_lists_that_may_exclude_and_differ_by_collective() {
        let (reduce, gather) = (Collective::AllReduce, Collective::AllGather);
        let ring_only = read("NCCL_ALGO", "Ring").algorithms;
        assert!(ring_only.allows(reduce, Algorithm::Ring) && !ring_only.allows(reduce, Algorithm::Tree));
        let no_tree = read("NCCL_ALGO", "^tree,nvls").algorithms;
        assert!(no_tree.allows(reduce, Algorithm::NvlsTree) && !no_tree.allows(reduce, Algorithm::Nvls));
        let mixed = read("NCCL_ALGO", "ring;allreduce:tree,nvlstree").algorithms;
        assert!(mixed.allows(gather, Algorithm::Ring) && !mixed.allows(gather, Algorithm::Pat));
        assert!(mixed.allows(reduce, Algorithm::NvlsTree) && !mixed.allows(reduce, Algorithm::Ring));
        let both = read("NCCL_ALGO", "collnet").algorithms;
        assert!(
            both.allows(reduce, Algorithm::CollnetChain) && both.allows(reduce, Algorithm::CollnetDirect)
        );
        let named = read("NCCL_PROTO", "LL128").protocols;
        assert!(named.names(reduce, Protocol::Ll128) && !named.allows(reduce, Protocol::Ll));
    }

    #[test]
    fn what_a_variable_cannot_be_says_what_it_can() {
        let mut settings = Settings::default();
        for (name, value, word) in [
            ("NCCL_ALGO", "rings", "NVLSTree"),
            ("NCCL_ALGO", "allreduced:ring", "allreduce"),
            ("NCCL_PROTO", "LL64", "LL128"),
            ("NCCL_P2P_LEVEL", "NVX", "PXB"),
            ("NCCL_CROSS_NIC", "7", "0, 1 or 2"),
            ("NCCL_MIN_NCHANNELS", "many", "whole number"),
        ] {
            let error = settings.read(name, value).unwrap_err();
            let text = error.to_string();
            assert!(
                text.starts_with(&format!("{name} cannot be `{value}`")) && text.contains(word),
                "{text}"
            );
        }
        assert_eq!(settings, Settings::default());
        assert_eq!(settings.read("NCCL_DEBUG", "INFO"), Ok(Taken::NoEffect));
        assert_eq!(settings.read("NCCL_ALGO", ""), Ok(Taken::NoEffect));
    }
}
