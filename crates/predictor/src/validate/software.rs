//! What ran: the library with its version, and what was forced, as a published row words them.

use crate::Launch;
use crate::settings::{Library, Settings, Version};

/// Libraries that are neither NCCL nor RCCL, as rows call them, and how they are called in a reason.
const OTHERS: [(&str, &str); 9] = [
    ("mscclpp", "MSCCL++"),
    ("msccl++", "MSCCL++"),
    ("msccl", "MSCCL"),
    ("deepep", "DeepEP"),
    ("nvshmem", "NVSHMEM"),
    ("oneccl", "oneCCL"),
    ("gloo", "Gloo"),
    ("flashcomm", "FlashComm"),
    ("osu", "OSU benchmarks over MPI"),
];

/// The library behind a row, and its version where the row tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Software {
    /// Whether it is RCCL rather than NCCL.
    pub is_rccl: bool,
    /// `2.18.5`; `2` where only the first number is known.
    pub version: Option<String>,
    /// Who starts the kernels, where the row tells it.
    pub launch: Option<Launch>,
}

impl Software {
    /// Reads a row's `software` and `algo`; the error is the name of a library that is neither NCCL nor RCCL.
    pub fn read(software: &str, algorithm: &str) -> Result<Self, &'static str> {
        let (software, algorithm) = (software.to_lowercase(), algorithm.to_lowercase());
        let mut words = words(&software).chain(words(&algorithm));
        if let Some(name) = words.find_map(other) {
            return Err(name);
        }
        let is_rccl = software.contains("rccl");
        let library = if is_rccl { "rccl" } else { "nccl" };
        Ok(Self { is_rccl, version: version(&software, library), launch: launch(&software) })
    }

    /// The settings of a run with this library whose row says `algorithm`; with SHARP off where `without_sharp`.
    pub(super) fn settings(&self, algorithm: &str, without_sharp: bool) -> Result<Settings, String> {
        let mut settings = Settings {
            library: self.is_rccl.then_some(Library::Rccl),
            version: self.version.as_deref().map(first_version),
            without_nvls: without_sharp,
            ..Settings::default()
        };
        for (name, value) in variables(algorithm) {
            settings.read(&name, &value).map_err(|error| format!("algo: {error}"))?;
        }
        Ok(settings)
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '+')).filter(|word| !word.is_empty())
}

fn other(word: &str) -> Option<&'static str> {
    OTHERS.iter().find(|(known, _)| *known == word).map(|(_, name)| *name)
}

/// A script runs under a framework; nccl-tests say with `-g` how many GPUs a thread has, with `-t` how many threads.
fn launch(text: &str) -> Option<Launch> {
    let words: Vec<&str> = text.split([' ', ',', ';']).collect();
    let is_script = |word: &&str| word.rsplit_once('.').is_some_and(|(_, ending)| ending == "py");
    if words.iter().any(|word| is_script(word) || *word == "torch") {
        return Some(Launch::Framework);
    }
    let option = |name: &str| -> Option<u16> {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1)?.parse().ok()
    };
    match (option("-g"), option("-t")) {
        (Some(2..), _) => Some(Launch::OneProcess),
        (Some(_), _) | (None, Some(_)) => Some(Launch::ProcessPerGpu),
        (None, None) => None,
    }
}

/// The number behind the library's name: `2.18.5` of `nccl 2.18.5, cuda 12.5`; none of `nccl-tests -n 50`.
fn version(text: &str, library: &str) -> Option<String> {
    text.match_indices(library).find_map(|(at, _)| {
        let rest = text[at + library.len()..].trim_start_matches([' ', '-', '_', ':', '=', 'v']);
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let number = rest[..end].trim_end_matches('.');
        (!number.is_empty()).then(|| number.to_owned())
    })
}

/// The version; the first of its kind where only that is said.
fn first_version(text: &str) -> Version {
    let major = text.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(2);
    text.parse().unwrap_or(Version { major, minor: 0, patch: 0 })
}

/// What a row's `algo` says was set: variables as written (`NCCL_NVLS_ENABLE=0`), and `NCCL_ALGO` where an
/// algorithm is named first. `NVLS` alone says that it was allowed: whole tables carry the word, down to sizes
/// where NCCL takes a ring all the same.
pub(super) fn variables(algorithm: &str) -> Vec<(String, String)> {
    let mut set: Vec<(String, String)> = algorithm
        .split([' ', ',', ';', '(', ')'])
        .filter_map(|word| word.split_once('='))
        .filter(|(name, value)| name.starts_with("NCCL_") && !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let first = algorithm.split([' ', '(', ',']).next().unwrap_or_default().to_lowercase();
    let forced = ["ring", "tree", "nvlstree", "collnetdirect", "collnetchain", "pat"];
    if forced.contains(&first.as_str()) && set.iter().all(|(name, _)| name != "NCCL_ALGO") {
        set.push(("NCCL_ALGO".to_owned(), first));
    }
    set
}

#[cfg(test)]
mod tests {
    use super::{Launch, Software, variables};

    fn version(software: &str) -> Option<String> {
        Software::read(software, "").unwrap().version
    }

    #[test]
    fn versions_stand_behind_the_library() {
        assert_eq!(version("NCCL 2.18.5, CUDA 12.5").as_deref(), Some("2.18.5"));
        assert_eq!(version("torch 2.9.1+cu130, nccl 2.27.7, all_reduce_bench.py").as_deref(), Some("2.27.7"));
        assert_eq!(version("nccl-tests; NCCL 2.26.2 for GB200").as_deref(), Some("2.26.2"));
        assert_eq!(version("NCCL 2 (2018)").as_deref(), Some("2"));
        assert_eq!(version("nccl-tests -g 8 -z 1"), None);
        assert_eq!(version(""), None);
        let rccl = Software::read("rccl-tests, RCCL 2.22.3, ROCm 6.4", "").unwrap();
        assert_eq!((rccl.is_rccl, rccl.version.as_deref()), (true, Some("2.22.3")));
    }

    #[test]
    fn who_starts_the_kernels() {
        let launch = |software| Software::read(software, "").unwrap().launch;
        assert_eq!(launch("nccl-tests -g 8 -z 1, nccl 2.27.7"), Some(Launch::OneProcess));
        assert_eq!(launch("nccl-tests -t 8"), Some(Launch::ProcessPerGpu));
        assert_eq!(launch("mpirun -np 16 nccl-tests -g 1"), Some(Launch::ProcessPerGpu));
        assert_eq!(launch("torch 2.9.1+cu130, nccl 2.27.7, all_reduce_bench.py"), Some(Launch::Framework));
        assert_eq!(launch("nccl-tests all_reduce_perf -n 50"), None);
    }

    #[test]
    fn other_libraries_are_named() {
        assert_eq!(Software::read("MSCCL++ tests", "mscclpp-test kernel 1"), Err("MSCCL++"));
        assert_eq!(Software::read("", "mscclpp-test kernel 1"), Err("MSCCL++"));
        assert_eq!(Software::read("DeepEP v2", ""), Err("DeepEP"));
    }

    #[test]
    fn what_was_forced_becomes_variables() {
        let set = |text| variables(text).into_iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>();
        assert_eq!(set("Ring (NCCL_NVLS_ENABLE=0)"), ["NCCL_NVLS_ENABLE=0", "NCCL_ALGO=ring"]);
        assert_eq!(set("NVLSTree"), ["NCCL_ALGO=nvlstree"]);
        assert_eq!(set("NCCL_ALGO=Tree NCCL_PROTO=LL"), ["NCCL_ALGO=Tree", "NCCL_PROTO=LL"]);
        let unforced =
            ["", "auto (NVLS)", "NVLS", "NVLS likely", "1000x 4MB back to back", "auto (ofi tuner)"];
        assert!(unforced.into_iter().all(|text| set(text).is_empty()));
    }
}
