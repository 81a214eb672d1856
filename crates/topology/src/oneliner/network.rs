//! The network of a one-liner: `rail-optimized(leaf 64x400G, oversubscription 2:1)`.

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, LinkKind, Network, NetworkDesign, NicGroup};

use super::assemble::{impossible, unknown};
use super::token::{Cursor, Token};
use super::{SYNTAX, place_of};

/// Ports of a network switch where a one-liner names none: NVIDIA QM9700 and SN5600 class.
const USUAL_RADIX: u16 = 64;

/// How hosts are joined, as written.
#[derive(Debug, Clone)]
pub(super) struct NetworkAt {
    name: Token,
    options: Vec<(Token, Vec<Token>)>,
}

/// The design that a word names.
pub(super) fn design(word: &str) -> Option<NetworkDesign> {
    match word {
        "rail-optimized" => Some(NetworkDesign::RailOptimized),
        "fat-tree" => Some(NetworkDesign::FatTree),
        "single" => Some(NetworkDesign::Single),
        _ => None,
    }
}

/// Reads a network: its name and the options in brackets, words up to each comma.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<NetworkAt, Diagnostic> {
    let name = cursor.name("a network, such as `rail-optimized`")?;
    let mut options = Vec::new();
    if cursor.take("(") {
        loop {
            let option = cursor.name("`leaf`, `oversubscription` or `switch`")?;
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

/// What the words mean. A rate of the leaf's ports settles what the NICs run.
pub(super) fn network(
    text: &str,
    at: &NetworkAt,
    nics: &mut [NicGroup],
    catalogue: &Catalogue,
) -> Result<Network, Diagnostic> {
    let design = design(&at.name.text).unwrap_or(NetworkDesign::FatTree);
    if nics.is_empty() {
        let message = "a network joins NICs, but the servers have none";
        return Err(impossible(text, &at.name, message).hint("add them: `... + 8 cx7 @ rail-optimized`"));
    }
    let mut network = Network { design, switch: None, radix: USUAL_RADIX, oversubscription: 1 };
    for (option, words) in &at.options {
        let [word] = words.as_slice() else { return Err(wrong(text, option, words, "one value")) };
        match option.text.as_str() {
            "leaf" => {
                let (radix, gigabits) =
                    ports(&word.text).ok_or_else(|| wrong(text, option, words, "ports, as in `64x400G`"))?;
                network.radix = radix;
                if let Some(gigabits) = gigabits {
                    run_at(text, word, gigabits, &mut nics[0], catalogue)?;
                }
            }
            "oversubscription" => {
                let share = word.text.strip_suffix(":1").and_then(|share| share.parse().ok());
                let share = share.filter(|share: &u16| (1..=64).contains(share));
                network.oversubscription =
                    share.ok_or_else(|| wrong(text, option, words, "a ratio, as in `2:1`"))?;
            }
            "switch" => {
                let switch = catalogue.switch(&word.text).map_err(|missing| {
                    let near: Vec<&str> = missing.near.iter().map(String::as_str).collect();
                    unknown(text, word, "switch", &near)
                })?;
                network.switch = Some(switch.name.clone());
                network.radix = switch.ports.value;
            }
            _ => {
                let message = format!("`{}` is no option of a network", option.text);
                return Err(Diagnostic::error(SYNTAX, message)
                    .hint("use `leaf PORTS`, `oversubscription N:1` or `switch NAME`")
                    .at(place_of(text, option)));
            }
        }
    }
    Ok(network)
}

fn wrong(text: &str, option: &Token, words: &[Token], expected: &str) -> Diagnostic {
    let found = words.first().unwrap_or(option);
    let named: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let named = if named.is_empty() { "nothing".to_owned() } else { format!("`{}`", named.join(" ")) };
    Diagnostic::error(SYNTAX, format!("expected {expected} after `{}`, found {named}", option.text))
        .hint("for example `rail-optimized(leaf 64x400G, oversubscription 1:1)`")
        .at(place_of(text, found))
}

/// `64x400G` to (64, 400); `64` alone says nothing about the rate.
fn ports(word: &str) -> Option<(u16, Option<u64>)> {
    let (ports, rate) = word.split_once('x').map_or((word, None), |(ports, rate)| (ports, Some(rate)));
    let ports = ports.parse().ok().filter(|ports| (2..=1024).contains(ports))?;
    let Some(rate) = rate else { return Some((ports, None)) };
    let digits = rate.strip_suffix("Gb/s").or(rate.strip_suffix('G'))?;
    Some((ports, Some(digits.parse().ok().filter(|gigabits| (1..100_000).contains(gigabits))?)))
}

/// Makes the first group of NICs run the leaf ports' rate, if they can.
fn run_at(
    text: &str,
    word: &Token,
    gigabits: u64,
    group: &mut NicGroup,
    catalogue: &Catalogue,
) -> Result<(), Diagnostic> {
    // Ports are named by what users get; encodings and the vendors' rounding leave a few per cent.
    let fits = |link: &LinkKind| (gigabits * 9 / 10..=gigabits * 11 / 10).contains(&gigabits_of(link));
    let Some(nic) = group.model.as_deref().and_then(|name| catalogue.nic(name).ok()) else { return Ok(()) };
    let now = group.link.as_deref().or(nic.links.first().map(String::as_str));
    if now.and_then(|name| catalogue.link(name).ok()).is_some_and(fits) {
        return Ok(());
    }
    let slower = nic.links.iter().filter_map(|name| catalogue.link(name).ok()).find(|link| fits(link));
    let Some(link) = slower else {
        let runs: Vec<String> =
            nic.links.iter().filter_map(|name| catalogue.link(name).ok()).map(rate).collect();
        let runs = runs.into_iter().fold(Vec::new(), |mut seen: Vec<String>, rate| {
            if !seen.contains(&rate) {
                seen.push(rate);
            }
            seen
        });
        let message = format!("leaf ports of {gigabits}G, but {} does not run that", nic.title);
        return Err(impossible(text, word, message).hint(format!("it runs {}", runs.join(", "))));
    };
    group.link = Some(link.name.clone());
    Ok(())
}

fn rate(link: &LinkKind) -> String {
    format!("{}G", gigabits_of(link))
}

fn gigabits_of(link: &LinkKind) -> u64 {
    (link.rate(1).get() * 8).div_ceil(1_000_000_000)
}
