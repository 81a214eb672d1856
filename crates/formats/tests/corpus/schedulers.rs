//! Topologies of schedulers and of what feeds them.

use weft_formats::{Evidence, Hierarchy, Reading};
use weft_testkit::noted::Noted;

/// What differs from the notes of a hierarchy.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    let format = file.format.to_lowercase();
    if !["slurm", "topograph", "netq"].iter().any(|word| format.contains(word)) {
        return None;
    }
    let found: Vec<&Hierarchy> = reading
        .evidence
        .iter()
        .filter_map(|located| {
            let Evidence::Hierarchy(hierarchy) = &located.value else { return None };
            Some(&**hierarchy)
        })
        .collect();
    let of_kind = |is_block: bool| {
        found.iter().flat_map(|one| &one.nodes).filter(|node| node.is_block == is_block).count()
    };
    let values = [("topologies", found.len()), ("switches", of_kind(false)), ("blocks", of_kind(true))];
    let mut misses: Vec<String> = values
        .iter()
        .filter_map(|(key, value)| Some((key, *value, file.expected.get(*key)?.as_integer()?)))
        .filter(|(_, value, wanted)| i64::try_from(*value) != Ok(*wanted))
        .map(|(key, value, wanted)| format!("{key}: found {value}, wanted {wanted}"))
        .collect();
    if found.is_empty() {
        misses.push("no hierarchy".to_owned());
    }
    Some(misses)
}
