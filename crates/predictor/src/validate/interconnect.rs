//! What joins hosts, as published rows word it: `8x400Gb NDR IB`, `100GbE TCP sockets`, `3.2 Tb/s IB`.
//!
//! ```text
//! words  = { count | rate | family | generation | any other word }
//! count  = N "x" | N { word } ( "NIC" | "HCA" | "rail" | "port" | "adapter" | "card" ) [ "s" ]
//! rate   = N ( "G" | "Gb" | "GbE" | "Gbps" | "Gb/s" | "Tb/s" | "GB/s" ) [ ( "/" | "per" ) ( "GPU" | "node" ) ]
//! family = "IB" | "RoCE" | "RDMA" | "EFA" | "Omni-Path" | "Slingshot" | "TCP" | "TCPX" | "Ethernet"
//! ```
//! The order is free. Names of systems mean nothing here.

/// What carries data between hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    InfiniBand,
    Roce,
    Efa,
    OmniPath,
    Slingshot,
    /// Sockets of the kernel.
    Tcp,
    /// TCP whose payload goes straight into GPU memory: TCPX, TCPXO.
    DirectTcp,
}

/// Of what a rate is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Nic,
    Gpu,
    Host,
}

/// What the words say; `None` where they do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Words {
    pub family: Option<Family>,
    /// NICs of one host.
    pub count: Option<u16>,
    /// Gb/s, and of what.
    pub rate_gbit: Option<(u32, Of)>,
    /// A generation at half its lanes, which is a link kind of its own: `HDR100`, `NDR200`.
    pub half: bool,
    /// Switches reduce.
    pub sharp: bool,
}

/// Rates of InfiniBand's generations in Gb/s, four lanes as sold.
const GENERATIONS: [(&str, u32); 8] = [
    ("sdr", 10),
    ("ddr", 20),
    ("qdr", 40),
    ("fdr", 56),
    ("edr", 100),
    ("hdr", 200),
    ("ndr", 400),
    ("xdr", 800),
];

/// From here on a bare rate is that of a whole host: no NIC is that fast.
const HOST_RATE_GBIT: u32 = 1000;

/// Reads the words; `None` where they say that no network takes part.
pub(super) fn read(text: &str) -> Option<Words> {
    let plain = text.replace('×', "x");
    let tokens = tokens(&plain);
    let domain = tokens.iter().any(|token| token.eq_ignore_ascii_case("domain"));
    if tokens.is_empty() || domain {
        return None;
    }
    let lower: Vec<String> = tokens.iter().map(|token| token.to_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let from = |index: usize| &lower[index..];
    let places = || 0..lower.len();
    let named = lower.iter().find_map(|token| generation(token));
    let families = places().filter_map(|index| family(from(index)));
    // The first of those that say most.
    let family = families.min_by_key(|(rank, _)| *rank).map(|(_, family)| family);
    let rates = places().filter_map(|index| rate(&lower[..index], from(index), &tokens[index..]));
    Some(Words {
        family: family.or(named.map(|_| Family::InfiniBand)),
        count: places().find_map(|index| count(from(index))),
        rate_gbit: rates.into_iter().next().or(named.map(|rate| (rate, Of::Nic))),
        half: lower.iter().any(|token| matches!(*token, "hdr100" | "ndr200")),
        sharp: lower.contains(&"sharp"),
    })
}

/// Words with the digits behind them, numbers, and slashes; `8x400Gb/s` is `8`, `x`, `400`, `Gb`, `/`, `s`.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let (mut rest, mut tokens) = (text, Vec::new());
    while let Some(first) = rest.chars().next() {
        let end = |inside: fn(char) -> bool| rest.find(|c| !inside(c)).unwrap_or(rest.len());
        let multiplies = first == 'x' && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        let length = if first.is_ascii_digit() {
            end(|c| c.is_ascii_digit() || c == '.')
        } else if first.is_alphabetic() && !multiplies {
            end(char::is_alphanumeric)
        } else {
            first.len_utf8()
        };
        if first.is_alphanumeric() || first == '/' {
            tokens.push(rest[..length].trim_end_matches('.'));
        }
        rest = &rest[length..];
    }
    tokens
}

/// A family that the words name, after its rank: what is said outright, what says the kind, what says only the
/// principle, and what may be the name of a rate (`400GbE RoCE`).
fn family(rest: &[&str]) -> Option<(u8, Family)> {
    let second = rest.get(1).copied().unwrap_or_default();
    Some(match rest[0] {
        "tcpx" | "tcpxo" | "fastrak" => (0, Family::DirectTcp),
        "tcp" | "socket" | "sockets" | "ipoib" => (0, Family::Tcp),
        "ib" | "infiniband" | "quantum" => (1, Family::InfiniBand),
        "roce" | "rocev1" | "rocev2" => (1, Family::Roce),
        "omnipath" | "opa" => (1, Family::OmniPath),
        "omni" if second == "path" => (1, Family::OmniPath),
        "cxi" => (1, Family::Slingshot),
        word if word.starts_with("slingshot") => (1, Family::Slingshot),
        word if word.starts_with("efa") => (1, Family::Efa),
        "rdma" => (2, Family::InfiniBand),
        "gbe" | "ethernet" | "gvnic" => (3, Family::Tcp),
        _ => return None,
    })
}

/// Gb/s of a generation's name, with or without its rate behind: `ndr`, `ndr400`, `hdr100`.
fn generation(word: &str) -> Option<u32> {
    let digits = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
    let (_, usual) = GENERATIONS.into_iter().find(|(name, _)| *name == &word[..digits])?;
    word[digits..].parse().ok().or(Some(usual))
}

/// `8 x …` and `8 ib / roce hcas`: the number of NICs.
fn count(rest: &[&str]) -> Option<u16> {
    let number = rest[0].parse().ok().filter(|number| *number > 0)?;
    let second = rest.get(1).copied().unwrap_or_default();
    if second == "x" {
        return Some(number);
    }
    if unit(second).is_some() {
        return None;
    }
    let named = ["nic", "hca", "rail", "port", "adapter", "card"];
    let near = rest.iter().skip(1).take(4).take_while(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    near.into_iter().any(|word| named.contains(&word.trim_end_matches('s'))).then_some(number)
}

/// Gb/s of one of a unit.
fn unit(word: &str) -> Option<f64> {
    match word {
        "g" | "gb" | "gbe" | "gbps" | "gbit" => Some(1.0),
        "t" | "tb" | "tbps" | "tbit" => Some(1000.0),
        _ => None,
    }
}

/// `400 gb / s`, `3.2 tb / s`, `400 g / gpu`: Gb/s, and of what. `written` has the case, since `GB` is bytes.
fn rate(before: &[&str], rest: &[&str], written: &[&str]) -> Option<(u32, Of)> {
    let number: f64 = rest[0].parse().ok()?;
    let second = rest.get(1)?;
    let bits_per_unit = if matches!(written[1], "GB" | "TB" | "GBps") { 8.0 } else { 1.0 };
    let rate = whole(number * unit(second)? * bits_per_unit)?;
    let after = &rest[2..];
    let after = if after.starts_with(&["/", "s"]) { &after[2..] } else { after };
    let counted = before.last() == Some(&"x");
    let of = match after {
        // `8x200G per node`: it is the count that is of a node.
        _ if counted => Of::Nic,
        ["/" | "per", "gpu" | "gpus", ..] => Of::Gpu,
        ["/" | "per", "node" | "host" | "server", ..] => Of::Host,
        _ if rate >= HOST_RATE_GBIT => Of::Host,
        _ => Of::Nic,
    };
    Some((rate, of))
}

/// The nearest whole number of Gb/s.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked before, and a fraction is cut on purpose"
)]
fn whole(gbit: f64) -> Option<u32> {
    (0.5..1e7).contains(&gbit).then_some((gbit + 0.5) as u32)
}

impl Family {
    /// The catalogue's link kind of that rate.
    pub fn link(self, rate_gbit: u32, half: bool) -> Option<String> {
        let infiniband = match (rate_gbit, half) {
            (8 | 10, _) => "sdr",
            (16 | 20, _) => "ddr",
            (32 | 40, _) => "qdr",
            (54 | 56, _) => "fdr",
            (100, false) => "edr",
            (100, true) => "hdr100",
            (200, false) => "hdr",
            (200, true) => "ndr200",
            (400, _) => "ndr",
            (800, _) => "xdr",
            _ => "",
        };
        match self {
            Self::InfiniBand => (!infiniband.is_empty()).then(|| format!("infiniband-{infiniband}")),
            Self::Roce => Some(format!("roce-{rate_gbit}g")),
            Self::Efa => Some(format!("efa-{rate_gbit}g")),
            Self::OmniPath => Some(format!("omni-path-{rate_gbit}")),
            Self::Slingshot => Some(format!("slingshot-{rate_gbit}")),
            Self::Tcp | Self::DirectTcp => Some(format!("tcp-{rate_gbit}g")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, Of, read};

    fn said(text: &str) -> (Option<Family>, Option<u16>, Option<(u32, Of)>) {
        let words = read(text).unwrap();
        (words.family, words.count, words.rate_gbit)
    }

    #[test]
    fn counts_rates_and_families() {
        use Family::{DirectTcp, Efa, InfiniBand, OmniPath, Roce, Slingshot, Tcp};
        let nic = |rate| Some((rate, Of::Nic));
        for (text, family, count, rate) in [
            ("8x400Gb NDR IB", InfiniBand, Some(8), nic(400)),
            ("8x400G NDR IB + SHARP", InfiniBand, Some(8), nic(400)),
            ("4x200G HDR IB", InfiniBand, Some(4), nic(200)),
            ("4x HDR200", InfiniBand, Some(4), nic(200)),
            ("4x dual-port 200G IB", InfiniBand, Some(4), nic(200)),
            ("EDR IB (100G)", InfiniBand, None, nic(100)),
            ("EDR IB", InfiniBand, None, nic(100)),
            ("8x200Gb RDMA", InfiniBand, Some(8), nic(200)),
            ("200Gb IB/RoCE, 1 NIC", InfiniBand, Some(1), nic(200)),
            ("2x200Gb IB/RoCE", InfiniBand, Some(2), nic(200)),
            ("8x400GbE RoCE", Roce, Some(8), nic(400)),
            ("8 x 400 Gb/s RoCEv2 (RDMA)", Roce, Some(8), nic(400)),
            ("4x100G Omni-Path (not fully used)", OmniPath, Some(4), nic(100)),
            ("32x100G EFA", Efa, Some(32), nic(100)),
            ("8x200G per node, TCPXO-like", DirectTcp, Some(8), nic(200)),
            ("8x400G EFA v4", Efa, Some(8), nic(400)),
            ("EFAv4 8x400 Gbps", Efa, Some(8), nic(400)),
            ("4x200G Slingshot-11", Slingshot, Some(4), nic(200)),
            ("100GbE TCP sockets", Tcp, None, nic(100)),
            ("2x25GbE", Tcp, Some(2), nic(25)),
            ("8x200G GPUDirect-TCPXO", DirectTcp, Some(8), nic(200)),
            ("3.2 Tb/s IB", InfiniBand, None, Some((3200, Of::Host))),
            ("400 GB/s per node EFA", Efa, None, Some((3200, Of::Host))),
            ("1600 Gb/s RoCE per node", Roce, None, Some((1600, Of::Host))),
            ("Quantum-X800 400G/GPU IB", InfiniBand, None, Some((400, Of::Gpu))),
            ("400 Gb/s per GPU, IB", InfiniBand, None, Some((400, Of::Gpu))),
        ] {
            assert_eq!(said(text), (Some(family), count, rate), "{text}");
        }
    }

    #[test]
    fn what_is_not_said_is_left_open() {
        let text = "8 IB/RoCE HCAs (mlx5, rate not stated; 400G implied)";
        assert_eq!(said(text), (Some(Family::InfiniBand), Some(8), Some((400, Of::Nic))));
        assert_eq!(said("8 IB HCAs"), (Some(Family::InfiniBand), Some(8), None));
        assert_eq!(said("something else"), (None, None, None));
        assert!(read("NVLink domain").is_none() && read("").is_none());
        assert!(read("8x400G NDR IB + SHARP").unwrap().sharp && !read("8x400G NDR IB").unwrap().sharp);
    }

    #[test]
    fn half_a_generation_is_a_link_of_its_own() {
        let link = |text: &str| {
            let words = read(text).unwrap();
            words.family.unwrap().link(words.rate_gbit.unwrap().0, words.half)
        };
        assert_eq!(link("2x HDR100 IB").as_deref(), Some("infiniband-hdr100"));
        assert_eq!(link("2x100G EDR").as_deref(), Some("infiniband-edr"));
        assert_eq!(link("8x NDR200").as_deref(), Some("infiniband-ndr200"));
        assert_eq!(link("2x300G IB"), None);
    }
}
