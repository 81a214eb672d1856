//! Subnets as ibnetdiscover and ibsim write them.

use std::collections::BTreeSet;

use weft_formats::{Evidence, Reading};
use weft_testkit::noted::Noted;
use weft_topology::{Subnet, SubnetNodeKind};

/// What differs from the notes of a subnet.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    if !file.is_of(&["ibnetdiscover", "ibsim"]) {
        return None;
    }
    let subnets: Vec<&Subnet> = reading
        .evidence
        .iter()
        .filter_map(|evidence| {
            let Evidence::Subnet(subnet) = &evidence.value else { return None };
            Some(&**subnet)
        })
        .collect();
    let [subnet] = subnets[..] else {
        return Some(vec![format!("{} subnets: {:?}", subnets.len(), reading.diagnostics)]);
    };
    Some(differences(file, subnet))
}

/// What the notes say that is not so.
fn differences(file: &Noted, subnet: &Subnet) -> Vec<String> {
    let listed = |kind| subnet.of_kind(kind).filter(|(_, node)| node.line != 0).count();
    let ends = || subnet.links.iter().flat_map(|link| [link.a, link.b]).filter(|end| end.line != 0);
    let speeds: BTreeSet<String> =
        ends().filter_map(|end| end.signalling).map(|runs| runs.to_string()).collect();
    let mut found = Vec::new();
    let mut compare = |key: &str, is: usize| {
        let wanted = file.count(key).filter(|wanted| *wanted != is);
        found.extend(wanted.map(|wanted| format!("{key}: {is}, wanted {wanted}")));
    };
    compare("switches", listed(SubnetNodeKind::Switch));
    compare("cas", listed(SubnetNodeKind::Adapter));
    compare("link_lines", ends().count());
    if let Some(wanted) = file.words("speeds") {
        let wanted: BTreeSet<String> = wanted.into_iter().collect();
        if wanted != speeds {
            found.push(format!("speeds: {speeds:?}, wanted {wanted:?}"));
        }
    }
    found
}
