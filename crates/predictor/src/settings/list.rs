//! Lists of names that allow or exclude, for all collectives or for one: `ring;allreduce:^tree`.

use weft_collective::Collective;

/// Which of several may be chosen, by collective. The default allows all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed<T> {
    /// For collectives that have no list of their own.
    all: Option<Words<T>>,
    of: Vec<(Collective, Words<T>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Words<T> {
    named: Vec<T>,
    excludes: bool,
}

impl<T> Default for Allowed<T> {
    fn default() -> Self {
        Self { all: None, of: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Allowed<T> {
    /// Nothing but `one`.
    pub fn only(one: T) -> Self {
        Self { all: Some(Words { named: vec![one], excludes: false }), of: Vec::new() }
    }

    /// Reads a variable; `meaning` gives what a word names, nothing where it names nothing.
    pub(crate) fn read(text: &str, meaning: impl Fn(&str) -> Vec<T>) -> Option<Self> {
        let mut allowed = Self::default();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once(':') {
                None => allowed.all = Some(words(part, &meaning)?),
                Some((function, list)) => {
                    let words = words(list, &meaning)?;
                    allowed.of.push((collective(function.trim())?, words));
                }
            }
        }
        Some(allowed)
    }

    /// Whether `one` may be chosen for `collective`.
    pub fn allows(&self, collective: Collective, one: T) -> bool {
        self.words(collective).is_none_or(|words| words.named.contains(&one) != words.excludes)
    }

    /// Whether `one` is asked for by name, not merely allowed.
    pub fn names(&self, collective: Collective, one: T) -> bool {
        self.words(collective).is_some_and(|words| !words.excludes && words.named.contains(&one))
    }

    /// What is asked for by name, in the order of the list.
    pub fn named(&self, collective: Collective) -> &[T] {
        self.words(collective).filter(|words| !words.excludes).map_or(&[], |words| &words.named)
    }

    fn words(&self, collective: Collective) -> Option<&Words<T>> {
        let own = self.of.iter().rev().find(|(of, _)| *of == collective).map(|(_, words)| words);
        own.or(self.all.as_ref())
    }
}

fn words<T>(list: &str, meaning: impl Fn(&str) -> Vec<T>) -> Option<Words<T>> {
    let list = list.trim();
    let (excludes, list) = list.strip_prefix('^').map_or((false, list), |rest| (true, rest));
    let mut named = Vec::new();
    for word in list.split(',').map(str::trim) {
        let meant = meaning(word);
        if meant.is_empty() {
            return None;
        }
        named.extend(meant);
    }
    Some(Words { named, excludes })
}

/// The collective of NCCL's name for its function: `allreduce`.
fn collective(name: &str) -> Option<Collective> {
    let plain = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
    let known = [
        Collective::Broadcast,
        Collective::Reduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::AllReduce,
    ];
    known.into_iter().find(|known| plain(known.name()) == plain(name))
}
