//! Made-up names for real ones: the same for the same, everywhere, and of the same shape, so that readers read as
//! before. Which one it becomes hangs on a secret; without it the way back is closed.

mod addresses;
mod secret;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::addresses::Scope;
pub use self::addresses::learn as learn_guids;
use self::secret::Secret;
use super::names::Names;

/// What a made-up host is called, with a number behind.
const HOST: &str = "node-";
/// What a made-up user is called, with a number behind.
const USER: &str = "user-";
/// What every domain becomes: names below it exist nowhere.
const DOMAIN: &str = "cluster.invalid";

/// Replaces names in text.
#[derive(Debug)]
pub struct Anonymiser {
    secret: Secret,
    /// Lower-case words and what they become, by their first letter and the longest first.
    words: BTreeMap<u8, Vec<(String, String)>>,
    /// GUIDs that stand somewhere in a form that only GUIDs have.
    guids: BTreeSet<u64>,
    /// Different addresses that were replaced.
    addresses: BTreeSet<String>,
}

impl Anonymiser {
    /// Makes up the same names whenever it is given the same text.
    pub fn seeded(seed: &str, names: Names) -> Self {
        Self::new(Secret::of(seed), names)
    }

    /// Makes up names that no one can guess.
    pub fn random(names: Names) -> Self {
        Self::new(Secret::random(), names)
    }

    fn new(secret: Secret, names: Names) -> Self {
        // A made-up name must be no one's.
        let mut taken: BTreeSet<String> =
            names.hosts.iter().chain(&names.users).map(|name| name.to_ascii_lowercase()).collect();
        let mut all: Vec<(String, String)> = Vec::new();
        for (prefix, group) in [(HOST, names.hosts), (USER, names.users)] {
            for name in group {
                let made_up = numbered(&secret, prefix, &name, &mut taken);
                all.push((name.to_ascii_lowercase(), made_up));
            }
        }
        all.extend(names.domains.into_iter().map(|name| (name.to_ascii_lowercase(), DOMAIN.to_owned())));
        for serial in names.serials {
            let made_up = secret.shaped(&serial);
            all.push((serial.to_ascii_lowercase(), made_up));
        }
        let mut words: BTreeMap<u8, Vec<(String, String)>> = BTreeMap::new();
        for (name, made_up) in all {
            words.entry(name.as_bytes().first().copied().unwrap_or(0)).or_default().push((name, made_up));
        }
        for list in words.values_mut() {
            list.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
            list.dedup_by(|a, b| a.0 == b.0);
        }
        Self { secret, words, guids: names.guids, addresses: BTreeSet::new() }
    }

    /// How many different names and addresses there were.
    pub fn count(&self) -> usize {
        self.words.values().map(Vec::len).sum::<usize>() + self.addresses.len()
    }

    /// `text` with every name and address replaced.
    pub fn text(&mut self, text: &str) -> String {
        let named = self.named(text);
        self.addressed(&named)
    }

    /// Names of hosts, users and serial numbers, as whole words.
    fn named(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut copied = 0;
        while at < bytes.len() {
            let begins = at == 0 || !is_word(bytes[at - 1]);
            let found = begins.then(|| self.word_at(&bytes[at..])).flatten();
            if let Some((length, made_up)) = found {
                out.push_str(&text[copied..at]);
                out.push_str(made_up);
                at += length;
                copied = at;
            } else {
                at += 1;
            }
        }
        out.push_str(&text[copied..]);
        out
    }

    fn word_at(&self, rest: &[u8]) -> Option<(usize, &str)> {
        let list = self.words.get(&rest.first()?.to_ascii_lowercase())?;
        let matches = |name: &str| {
            rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()))
                && rest.get(name.len()).is_none_or(|next| !is_word(*next))
        };
        list.iter().find(|(name, _)| matches(name)).map(|(name, made_up)| (name.len(), made_up.as_str()))
    }

    /// GUIDs, UUIDs and addresses.
    fn addressed(&mut self, text: &str) -> String {
        addresses::learn(text, &mut self.guids);
        let mut scope = Scope { secret: &self.secret, guids: &mut self.guids };
        let mut out = String::with_capacity(text.len());
        for [before, token, behind] in addresses::pieces(text) {
            out.push_str(before);
            match addresses::replaced(token, &mut scope) {
                Some(made_up) => {
                    self.addresses.insert(token.to_owned());
                    out.push_str(&made_up);
                }
                None => out.push_str(token),
            }
            out.push_str(behind);
        }
        out
    }
}

/// A number behind `prefix` that no other name has.
fn numbered(secret: &Secret, prefix: &str, name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut number = secret.number("name", name) % 10_000;
    loop {
        let made_up = format!("{prefix}{number}");
        if taken.insert(made_up.clone()) {
            return made_up;
        }
        number += 1;
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
