//! What people say of GPUs and links, held against the catalogue.

use weft_base::{Rate, simplify};
use weft_catalogue::{Catalogue, Form, Gpu};

/// What is to be said of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Whether the claim holds; nothing where that cannot be known.
    pub holds: Option<bool>,
    /// Why, in whole sentences.
    pub why: String,
}

/// Judges a claim; `None` where it is of nothing that the catalogue knows.
pub fn claim(text: &str, catalogue: &Catalogue) -> Option<Reply> {
    if let Some(reply) = extrapolation(text) {
        return Some(reply);
    }
    let gpu = named(text, catalogue)?;
    let says_link =
        ["nvlink", "bridge", "nvswitch", "xgmi"].into_iter().any(|word| text.to_lowercase().contains(word));
    match (rate(text), says_link) {
        (Some(told), _) => Some(of_rate(gpu, told, catalogue)),
        (None, true) => Some(of_link(gpu, catalogue)),
        (None, false) => None,
    }
}

/// The GPU with the longest name in the text, by any of its spellings.
fn named<'c>(text: &str, catalogue: &'c Catalogue) -> Option<&'c Gpu> {
    let words: Vec<&str> =
        text.split(|c: char| !(c.is_alphanumeric() || c == '-')).filter(|w| !w.is_empty()).collect();
    let runs = (1..=4).rev().flat_map(|length| words.windows(length));
    runs.map(|run| run.join(" "))
        .filter(|name| simplify(name).len() >= 2)
        .find_map(|name| catalogue.gpu(&name).ok())
}

/// The first rate in the text: `600 GB/s`.
fn rate(text: &str) -> Option<Rate> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.windows(2).map(|pair| pair.join(" "));
    let clean = |text: &str| text.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    pairs.chain(words.iter().map(|word| (*word).to_owned())).find_map(|text| clean(&text).parse().ok())
}

/// A GPU's links to others: how many of what, and their rate in one direction.
fn fabric(gpu: &Gpu, catalogue: &Catalogue) -> Option<(String, Rate)> {
    let attachment = gpu.fabric.as_ref()?;
    let link = catalogue.link(&attachment.link).ok()?;
    let count = attachment.count.value;
    Some((link.family.bundle(&link.title, count.into()), link.rate(count)))
}

fn pcie(gpu: &Gpu, catalogue: &Catalogue) -> Option<(String, Rate)> {
    let attachment = gpu.pcie.as_ref()?;
    let link = catalogue.link(&attachment.link).ok()?;
    Some((link.family.bundle(&link.title, attachment.count.value.into()), link.rate(attachment.count.value)))
}

fn of_link(gpu: &Gpu, catalogue: &Catalogue) -> Reply {
    if let Some((bundle, rate)) = fabric(gpu, catalogue) {
        let bridge = gpu.bridges.iter().find(|bridge| bridge.carries_data && gpu.form == Form::Card);
        let how = bridge.map_or_else(String::new, |bridge| {
            format!(", by a bridge that joins {} cards and no more", bridge.cards)
        });
        let why = format!("{} has {bundle}: {rate} in one direction{how}.", gpu.title);
        return Reply { holds: Some(true), why };
    }
    let way = pcie(gpu, catalogue).map_or_else(String::new, |(bundle, rate)| {
        format!(" Its only way to others is {bundle}, {rate} in one direction.")
    });
    Reply { holds: Some(false), why: format!("{} has no NVLink.{way}{}", gpu.title, good_for(gpu)) }
}

/// What a card without links is good for, from its memory and power.
fn good_for(gpu: &Gpu) -> String {
    let power = gpu.board_power.as_ref().map_or_else(String::new, |power| format!(" at {}", power.value));
    let memory = gpu.memory.value.get() / 1_000_000_000;
    format!(
        " It is good for inference of models that fit one card ({memory} GB{power}), many copies side by side, and not for \
         tensor parallelism, whose exchange each layer waits for."
    )
}

fn of_rate(gpu: &Gpu, told: Rate, catalogue: &Catalogue) -> Reply {
    let near = |a: Rate, b: Rate| a.get().abs_diff(b.get()) * 50 <= b.get();
    let Some((bundle, one)) = fabric(gpu, catalogue) else {
        return of_link(gpu, catalogue);
    };
    if near(told, one) {
        return Reply {
            holds: Some(true),
            why: format!("{} has {bundle}: {one} in one direction.", gpu.title),
        };
    }
    let both = one * 2;
    if near(told, both) {
        let why = format!("{told} adds both directions of {bundle}; a copy one way gets {one} at most.");
        return Reply { holds: Some(true), why };
    }
    let of = |other: &&Gpu| {
        other.name != gpu.name
            && fabric(other, catalogue).is_some_and(|(_, rate)| near(told, rate) || near(told, rate * 2))
    };
    let whose =
        catalogue.gpus.iter().find(of).map_or_else(String::new, |other| {
            format!(" {told} is a figure of {} and the like.", other.title)
        });
    let why = format!(
        "{} has {bundle}: {one} in one direction, {both} in both together, not {told}.{whose}",
        gpu.title
    );
    Reply { holds: Some(false), why }
}

/// A ratio of matrix products says nothing of traffic between GPUs.
fn extrapolation(text: &str) -> Option<Reply> {
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let of_products =
        has(&["gemm", "matmul", "matrix product"]) || lower.contains('%') && has(&["tflops", "flops"]);
    let of_traffic =
        has(&["tensor parallel", " tp", "expert parallel", " ep", "all-to-all", "all-reduce", "training"]);
    (of_products && of_traffic).then(|| Reply {
        holds: None,
        why: "A ratio of matrix products on one GPU leaves the interconnect out, so it says nothing of tensor or expert \
              parallelism, which wait for it in each layer. Fire-Flyer's 83 % is such a ratio: its PCIe A100 have 25 Gb/s \
              of network a GPU against 200 of a DGX A100. Predict the exchange with `weft predict` instead."
            .to_owned(),
    })
}
