//! Hosts that each name the switches above them, made into declarations.

use std::collections::{BTreeMap, BTreeSet};

use super::build::{At, Builder, Declared, Named};

/// A host, the switches above it from the nearest on, and its block.
#[derive(Debug)]
pub(crate) struct Placed {
    pub host: Named,
    /// What kind of place, in the words of the text (`zone`, `tier-0`), and which one.
    pub path: Vec<(String, Named)>,
    pub block: Option<Named>,
}

/// Declares the switches and blocks that `hosts` name, in the order in which they are named. A name that stands
/// for two kinds of places is written with its kind.
pub(crate) fn declare(hosts: Vec<Placed>, builder: &mut Builder<'_, '_>) {
    let mut kinds: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (kind, name) in hosts.iter().flat_map(|host| &host.path) {
        kinds.entry(&name.name).or_default().insert(kind);
    }
    let doubled: BTreeSet<String> =
        kinds.into_iter().filter(|(_, kinds)| kinds.len() > 1).map(|(name, _)| name.to_owned()).collect();
    let mut all = Places::default();
    for Placed { host, path, block } in hosts {
        if let Some(block) = block {
            let block = all.place(block, true);
            all.declared[block].hosts.push(host.clone());
        }
        let mut below: Option<usize> = None;
        for (kind, mut name) in path {
            if doubled.contains(&name.name) {
                name.name = format!("{kind}:{}", name.name);
            }
            let place = all.place(name, false);
            match below {
                None => all.declared[place].hosts.push(host.clone()),
                Some(below) => all.join(place, below),
            }
            below = Some(place);
        }
    }
    for declared in all.declared {
        builder.declare(declared);
    }
}

#[derive(Default)]
struct Places {
    declared: Vec<Declared>,
    index: BTreeMap<(bool, String), usize>,
    joined: BTreeSet<(usize, usize)>,
}

impl Places {
    fn place(&mut self, name: Named, is_block: bool) -> usize {
        let next = self.declared.len();
        let place = *self.index.entry((is_block, name.name.clone())).or_insert(next);
        if place == next {
            self.declared.push(Declared::new(name, is_block));
        }
        place
    }

    fn join(&mut self, above: usize, below: usize) {
        if above != below && self.joined.insert((above, below)) {
            let Named { name, at } = &self.declared[below].name;
            let child: Named = Named { name: name.clone(), at: At { ..*at } };
            self.declared[above].children.push(child);
        }
    }
}
