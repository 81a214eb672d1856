//! Versions of NCCL and RCCL.

use std::fmt;
use std::str::FromStr;

/// A communication library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Library {
    /// NVIDIA's.
    Nccl,
    /// AMD's, which counts its versions as NCCL does.
    Rccl,
}

impl Library {
    /// As its makers write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nccl => "NCCL",
            Self::Rccl => "RCCL",
        }
    }

    /// What the names of its tables in the catalogue begin with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Nccl => "nccl-",
            Self::Rccl => "rccl-",
        }
    }
}

/// A version, `2.21` or `2.21.5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 2, since 2017.
    pub major: u16,
    /// What comes with new algorithms and constants.
    pub minor: u16,
    /// What follows it; 0 where it is not said.
    pub patch: u16,
}

/// The text is no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no version of NCCL: expected two or three numbers, such as 2.21 or 2.21.5")]
pub struct NotAVersion;

impl FromStr for Version {
    type Err = NotAVersion;

    /// Reads `2.21`, `2.21.5`, `v2.21.5-1` and what logs print, `2.18.3+cuda12.2`.
    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let text = text.trim().trim_start_matches(['v', 'V']);
        let end = text.find(['+', '-', ' ']).unwrap_or(text.len());
        let mut numbers = text[..end].split('.').map(str::parse::<u16>);
        let mut next = || numbers.next().transpose().map_err(|_| NotAVersion);
        let (major, minor, patch) = (next()?, next()?, next()?);
        if next()?.is_some() {
            return Err(NotAVersion);
        }
        let (Some(major), Some(minor)) = (major, minor) else { return Err(NotAVersion) };
        Ok(Self { major, minor, patch: patch.unwrap_or(0) })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch > 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_users_and_logs_write_them() {
        let version = |text: &str| text.parse::<Version>().map(|version| version.to_string());
        assert_eq!(version("2.21").unwrap(), "2.21");
        assert_eq!(version("v2.21.5-1").unwrap(), "2.21.5");
        assert_eq!(version("2.18.3+cuda12.2").unwrap(), "2.18.3");
        for text in ["", "2", "2.", "two", "2.21.5.1", "2.x", "-2.21"] {
            assert_eq!(version(text), Err(NotAVersion), "{text}");
        }
    }

    #[test]
    fn minor_versions_are_numbers_and_not_text() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        assert!(version("2.9") < version("2.18") && version("2.18") < version("2.18.3"));
    }
}
