//! Which host each piece of evidence is of: by the name in the text, else by the folder, where folders stand for
//! hosts. Only what describes one host is asked; logs and benchmarks are of all.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::Evidence;
use crate::format::Located;
use crate::matrix::EndKind;

/// The host of each piece of `evidence`; `None` for what is of all, or of the only one.
pub(super) fn owners(evidence: &[Located<Evidence>]) -> Vec<Option<String>> {
    let folders = folders(evidence);
    let mut names: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (located, folder) in evidence.iter().zip(&folders) {
        let name = named(&located.value);
        names.entry(folder.unwrap_or_default()).or_default().extend(name);
    }
    let owner = |(located, folder): (&Located<Evidence>, Option<&str>)| {
        kind(&located.value)?;
        if let Some(name) = named(&located.value) {
            return Some(name);
        }
        let folder = folder?;
        // What else is in a folder of one named host is of that host.
        match names.get(folder).map(|names| (names.len(), names.first())) {
            Some((1, Some(only))) => Some(only.clone()),
            Some((0, _)) | None => Some(folder.to_owned()),
            Some(_) => None,
        }
    };
    evidence.iter().zip(folders.iter().copied()).map(owner).collect()
}

/// The host of which most is known: a matrix, else the most devices, else the most outputs; the first of equals.
pub(super) fn richest(evidence: &[Located<Evidence>], owners: &[Option<String>]) -> Option<String> {
    let mut found: Vec<(&String, (usize, usize, usize))> = Vec::new();
    for (located, owner) in evidence.iter().zip(owners) {
        let Some(owner) = owner else { continue };
        let (matrix, devices) = worth(&located.value);
        match found.iter_mut().find(|(known, _)| *known == owner) {
            Some((_, sum)) => *sum = (sum.0.max(matrix), sum.1.max(devices), sum.2 + 1),
            None => found.push((owner, (matrix, devices, 1))),
        }
    }
    let most = found.iter().map(|(_, worth)| *worth).max()?;
    found.into_iter().find(|(_, worth)| *worth == most).map(|(owner, _)| owner.clone())
}

/// GPUs of a matrix, and other devices.
fn worth(evidence: &Evidence) -> (usize, usize) {
    if let Evidence::Topology(matrix) = evidence {
        (matrix.of_kind(EndKind::Gpu).count(), 0)
    } else if let Evidence::Host(host) = evidence {
        (0, host.devices.len())
    } else if let Evidence::Weights(weights) = evidence {
        (0, weights.gpus.len())
    } else {
        (0, 0)
    }
}

/// What kind of output it is, if it is of one host.
fn kind(evidence: &Evidence) -> Option<&'static str> {
    if let Evidence::Host(host) = evidence {
        return Some(host.format);
    }
    if let Evidence::Report(report) = evidence {
        return Some(report.format);
    }
    let is = |found: bool, kind| found.then_some(kind);
    is(matches!(evidence, Evidence::Topology(_)), "matrix")
        .or(is(matches!(evidence, Evidence::Peers(_)), "peers"))
        .or(is(matches!(evidence, Evidence::Weights(_)), "weights"))
}

/// The host that the text names, without its domain. A number alone is a rank's.
fn named(evidence: &Evidence) -> Option<String> {
    let name = if let Evidence::Host(host) = evidence {
        host.name.as_deref()?
    } else if let Evidence::Report(report) = evidence {
        report.host.as_deref()?
    } else {
        return None;
    };
    let is_numeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_numeric(name) {
        // An address is a name, too.
        return name.contains('.').then(|| name.to_owned());
    }
    Some(name.split('.').next().unwrap_or(name).to_ascii_lowercase())
}

/// For each piece the folder that it is in, below that which all have in common; `None` where folders are no hosts:
/// two that stand for hosts hold outputs of one kind.
fn folders(evidence: &[Located<Evidence>]) -> Vec<Option<&str>> {
    let paths: Vec<Vec<&str>> =
        evidence.iter().map(|located| located.place.file.split('/').collect()).collect();
    let depth = common(&paths);
    let found: Vec<Option<&str>> =
        paths.iter().map(|path| path.get(depth).copied().filter(|_| path.len() > depth + 1)).collect();
    let mut holders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (located, folder) in evidence.iter().zip(&found) {
        if let Some((kind, folder)) = kind(&located.value).zip(*folder) {
            holders.entry(kind).or_default().insert(folder);
        }
    }
    let are_hosts = holders.values().any(|folders| folders.len() > 1);
    found.into_iter().map(|folder| folder.filter(|_| are_hosts)).collect()
}

/// How many folders all paths begin with.
fn common(paths: &[Vec<&str>]) -> usize {
    let Some(first) = paths.first() else { return 0 };
    let same = |at: usize| paths.iter().all(|path| at + 1 < path.len() && path[at] == first[at]);
    (0..first.len()).take_while(|at| same(*at)).count()
}
