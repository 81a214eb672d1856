//! The network of a one-liner: `rail-optimized(leaf 64x400G, oversubscription 2:1)`.

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, LinkKind, Machine, Network, NetworkDesign, NicGroup, Switch};

use super::assemble::{impossible, unknown};
use super::token::{Cursor, Token};
use super::{SYNTAX, place_of};
use crate::network::{check, gigabits};

/// Ports of a network switch where a one-liner names none: NVIDIA QM9700 and SN5600 class.
const USUAL_RADIX: u16 = 64;
/// The most of whatever an option counts.
const MOST: u16 = 1024;
/// The most planes: no NIC has more ports.
const MOST_PLANES: u16 = 16;

/// What designs are called; `dragonfly-plus` is how machine files spell it.
pub(super) const DESIGNS: [(&str, NetworkDesign); 7] = [
    ("rail-optimized", NetworkDesign::RailOptimized),
    ("rail-only", NetworkDesign::RailOnly),
    ("fat-tree", NetworkDesign::FatTree),
    ("dragonfly+", NetworkDesign::DragonflyPlus),
    ("dragonfly-plus", NetworkDesign::DragonflyPlus),
    ("torus", NetworkDesign::Torus),
    ("single", NetworkDesign::Single),
];

/// What options are called.
const OPTIONS: &str = "`leaf PORTS`, `oversubscription N:1`, `spine-oversubscription N:1`, `planes N`, `switch NAME`; \
    for `fat-tree` and `dragonfly+` also `leaves N`, `spines N`, for three tiers `cores N`, for `dragonfly+` `groups N`; for `torus` its sizes \
    (`4x4x4`) and `links N`";

/// How hosts are joined, as written.
#[derive(Debug, Clone)]
pub(super) struct NetworkAt {
    name: Token,
    options: Vec<(Token, Vec<Token>)>,
}

/// The design that a word names.
pub(super) fn design(word: &str) -> Option<NetworkDesign> {
    DESIGNS.iter().find(|(name, _)| *name == word).map(|(_, design)| *design)
}

/// Reads a network: its name and the options in brackets, words up to each comma.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<NetworkAt, Diagnostic> {
    let name = cursor.name("a network, such as `rail-optimized`")?;
    let mut options = Vec::new();
    if cursor.take("(") {
        loop {
            let option = cursor.name("`leaf`, `oversubscription`, `planes` or `switch`")?;
            let mut words = Vec::new();
            while cursor.peek().is_some_and(|token| token.text != "," && token.text != ")") {
                words.push(cursor.name("a value")?);
            }
            options.push((option, words));
            if !cursor.take(",") {
                cursor.expect(")")?;
                break;
            }
        }
    }
    Ok(NetworkAt { name, options })
}

/// What the words mean, checked against the hosts of `machine`. A rate of the leaf's ports settles what the NICs
/// run.
pub(super) fn network(
    text: &str,
    at: &NetworkAt,
    machine: &mut Machine,
    catalogue: &Catalogue,
) -> Result<Network, Diagnostic> {
    let design = design(&at.name.text).unwrap_or(NetworkDesign::FatTree);
    if machine.nics.is_empty() {
        let message = "a network joins NICs, but the servers have none";
        return Err(impossible(text, &at.name, message).hint("add them: `... + 8 cx7 @ rail-optimized`"));
    }
    let mut reading = Reading {
        text,
        catalogue,
        network: Network::new(design, USUAL_RADIX),
        leaf: None,
        switch: None,
        sizes: None,
    };
    for (option, words) in &at.options {
        reading.option(option, words, &mut machine.nics[0])?;
    }
    let (network, sizes, rate) = (reading.finish()?, reading.sizes, reading.leaf.and_then(|(_, rate)| rate));
    if network.planes > 1 && rate.is_some() {
        pin(&mut machine.nics[0], catalogue);
    }
    check(machine, &network, catalogue).map_err(|unfit| {
        let named = at.options.iter().map(|(option, _)| option).find(|option| option.text == unfit.option);
        let sizes = sizes.filter(|_| unfit.option == "sizes");
        let finding = impossible(text, named.or(sizes).unwrap_or(&at.name), unfit.reason);
        match unfit.hint {
            Some(hint) => finding.hint(hint),
            None => finding,
        }
    })?;
    Ok(network)
}

/// Options as they are read, those that depend on each other with their words.
struct Reading<'a> {
    text: &'a str,
    catalogue: &'a Catalogue,
    network: Network,
    leaf: Option<(&'a Token, Option<u64>)>,
    switch: Option<&'a Switch>,
    sizes: Option<&'a Token>,
}

impl<'a> Reading<'a> {
    fn option(
        &mut self,
        option: &'a Token,
        words: &'a [Token],
        nics: &mut NicGroup,
    ) -> Result<(), Diagnostic> {
        let sizes = sizes(&option.text).filter(|_| self.network.design == NetworkDesign::Torus);
        if let (Some(sizes), []) = (sizes, words) {
            (self.network.sizes, self.sizes) = (sizes, Some(option));
            return Ok(());
        }
        let [word] = words else { return Err(self.wrong_word(option, words)) };
        let wrong = |expected: &str| wrong(self.text, option, words, expected);
        match option.text.as_str() {
            "leaf" => {
                let (radix, gigabits) = ports(&word.text).ok_or_else(|| wrong("ports, as in `64x400G`"))?;
                self.network.radix = radix;
                self.leaf = Some((word, gigabits));
                if let Some(gigabits) = gigabits {
                    run_at(self.text, word, gigabits, nics, self.catalogue)?;
                }
            }
            "oversubscription" => {
                self.network.oversubscription =
                    share(&word.text).ok_or_else(|| wrong("a ratio, as in `2:1`"))?;
            }
            "spine-oversubscription" => {
                self.network.spine_oversubscription =
                    share(&word.text).ok_or_else(|| wrong("a ratio, as in `2:1`"))?;
            }
            "planes" => {
                self.network.planes = number(&word.text, MOST_PLANES)
                    .ok_or_else(|| wrong(&format!("a number from 1 to {MOST_PLANES}")))?;
            }
            "groups" | "leaves" | "spines" | "cores" | "links" => {
                let number =
                    number(&word.text, MOST).ok_or_else(|| wrong(&format!("a number from 1 to {MOST}")))?;
                let network = &mut self.network;
                let place = match option.text.as_str() {
                    "groups" => &mut network.groups,
                    "leaves" => &mut network.leaves,
                    "spines" => &mut network.spines,
                    "cores" => &mut network.cores,
                    _ => &mut network.links,
                };
                *place = Some(number);
            }
            "switch" => {
                let switch = self.catalogue.switch(&word.text).map_err(|missing| {
                    let near: Vec<&str> = missing.near.iter().map(String::as_str).collect();
                    unknown(self.text, word, "switch", &near)
                })?;
                self.network.switch = Some(switch.name.clone());
                self.switch = Some(switch);
            }
            _ => return Err(self.no_option(option)),
        }
        Ok(())
    }

    /// Ports and rates together: `leaf` says how the ports of a `switch` are split.
    fn finish(&mut self) -> Result<Network, Diagnostic> {
        if let Some(switch) = self.switch {
            let ports = switch.ports.value;
            let Some((word, rate)) = self.leaf else {
                self.network.radix = ports;
                return Ok(self.network.clone());
            };
            let own = self.catalogue.link(&switch.link).map_or(0, gigabits);
            let (wanted, has) = match rate {
                Some(rate) => (u64::from(self.network.radix) * rate, u64::from(ports) * own * 21 / 20),
                None => (self.network.radix.into(), ports.into()),
            };
            if wanted > has {
                let message = format!("`{}` is more than the ports of {}", word.text, switch.title);
                return Err(
                    impossible(self.text, word, message).hint(format!("it has {ports} ports of {own}G"))
                );
            }
        }
        Ok(self.network.clone())
    }

    /// An option without its one value: perhaps it is none at all.
    fn wrong_word(&self, option: &Token, words: &[Token]) -> Diagnostic {
        let known = [
            "leaf",
            "oversubscription",
            "spine-oversubscription",
            "planes",
            "groups",
            "leaves",
            "spines",
            "cores",
            "links",
            "switch",
        ];
        if known.contains(&option.text.as_str()) {
            wrong(self.text, option, words, "one value")
        } else {
            self.no_option(option)
        }
    }

    fn no_option(&self, option: &Token) -> Diagnostic {
        let message = format!("`{}` is no option of a network", option.text);
        Diagnostic::error(SYNTAX, message).hint(format!("use {OPTIONS}")).at(place_of(self.text, option))
    }
}

fn wrong(text: &str, option: &Token, words: &[Token], expected: &str) -> Diagnostic {
    let found = words.first().unwrap_or(option);
    let named: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let named = if named.is_empty() { "nothing".to_owned() } else { format!("`{}`", named.join(" ")) };
    Diagnostic::error(SYNTAX, format!("expected {expected} after `{}`, found {named}", option.text))
        .hint("for example `rail-optimized(leaf 64x400G, oversubscription 1:1)`")
        .at(place_of(text, found))
}

/// `4x4x4` to its numbers.
fn sizes(word: &str) -> Option<Vec<u16>> {
    let sizes: Option<Vec<u16>> = word.split('x').map(|size| number(size, MOST)).collect();
    sizes.filter(|sizes| sizes.len() > 1)
}

fn number(word: &str, most: u16) -> Option<u16> {
    word.parse().ok().filter(|number| (1..=most).contains(number))
}

/// `2:1` to 2.
fn share(word: &str) -> Option<u16> {
    number(word.strip_suffix(":1")?, 64)
}

/// `64x400G` to (64, 400); `64` alone says nothing about the rate.
fn ports(word: &str) -> Option<(u16, Option<u64>)> {
    let (ports, rate) = word.split_once('x').map_or((word, None), |(ports, rate)| (ports, Some(rate)));
    let ports = ports.parse().ok().filter(|ports| (2..=MOST).contains(ports))?;
    let Some(rate) = rate else { return Some((ports, None)) };
    let digits = rate.strip_suffix("Gb/s").or(rate.strip_suffix('G'))?;
    Some((ports, Some(digits.parse().ok().filter(|gigabits| (1..100_000).contains(gigabits))?)))
}

/// Says what the NICs run where that was asked for and is their fastest anyway: in several planes the usual is less.
fn pin(group: &mut NicGroup, catalogue: &Catalogue) {
    if let Some(nic) = group.model.as_deref().and_then(|name| catalogue.nic(name).ok()) {
        group.link = group.link.take().or_else(|| nic.links.first().cloned());
    }
}

/// Makes the first group of NICs run the leaf ports' rate, if they can.
fn run_at(
    text: &str,
    word: &Token,
    rate: u64,
    group: &mut NicGroup,
    catalogue: &Catalogue,
) -> Result<(), Diagnostic> {
    // Ports are named by what users get; encodings and the vendors' rounding leave a few per cent.
    let fits = |link: &LinkKind| (rate * 9 / 10..=rate * 11 / 10).contains(&gigabits(link));
    let Some(nic) = group.model.as_deref().and_then(|name| catalogue.nic(name).ok()) else { return Ok(()) };
    let now = group.link.as_deref().or(nic.links.first().map(String::as_str));
    if now.and_then(|name| catalogue.link(name).ok()).is_some_and(fits) {
        return Ok(());
    }
    let slower = nic.links.iter().filter_map(|name| catalogue.link(name).ok()).find(|link| fits(link));
    let Some(link) = slower else {
        let links = nic.links.iter().filter_map(|name| catalogue.link(name).ok());
        let runs = links.map(|link| format!("{}G", gigabits(link)));
        let runs = runs.fold(Vec::new(), |mut seen: Vec<String>, rate| {
            if !seen.contains(&rate) {
                seen.push(rate);
            }
            seen
        });
        let message = format!("leaf ports of {rate}G, but {} does not run that", nic.title);
        return Err(impossible(text, word, message).hint(format!("it runs {}", runs.join(", "))));
    };
    group.link = Some(link.name.clone());
    Ok(())
}
