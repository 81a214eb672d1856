//! One line of `ibnetdiscover` or of a net file: what it states. Cheap for lines of other tools.

use weft_base::Guid;
use weft_topology::{Generation, Signalling, SubnetNodeKind};

/// What a line states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// Nothing.
    Blank,
    /// `# …`; whether it begins another output.
    Comment { begins: bool },
    /// `vendid=`, `devid=`, `sysimgguid=`, `switchguid=` and their like, for the next header.
    Identity(Identity),
    /// `Chassis 1`, `Non-Chassis Nodes`: where a switch is in its rack.
    Section,
    /// `Switch 41 "S-…" # "…"`.
    Header(Header<'a>),
    /// `[1] "S-…"[2] # …`.
    Port(Plugged<'a>),
    /// `module "…"`, of net files alone.
    Module(&'a str),
    /// A line of something else.
    Other,
}

/// What a line says of the next header's node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    Vendor(u32),
    Device(u32),
    System(Guid),
    Node(Guid),
}

/// A node's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    pub kind: SubnetNodeKind,
    pub ports: u16,
    pub id: Id<'a>,
    pub remark: Remark<'a>,
    /// Whether only net files have such a line.
    pub is_net_file: bool,
}

/// A port with what is at the far end of its cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plugged<'a> {
    pub port: u16,
    pub guid: Option<Guid>,
    pub far: Id<'a>,
    pub far_port: u16,
    pub far_guid: Option<Guid>,
    pub remark: Remark<'a>,
    pub signalling: Option<Signalling>,
}

/// What names a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Id<'a> {
    /// `S-0002c9…`.
    Guid(SubnetNodeKind, Guid),
    /// Any other text, in net files.
    Name(&'a str),
}

/// What stands behind `#`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Remark<'a> {
    /// The description in quotes.
    pub name: &'a str,
    /// `lid 4 lmc 1` before the description: of the port itself.
    pub lid: Option<u16>,
    pub lmc: u8,
    /// `lid 4` after the description: of what is described.
    pub named_lid: Option<u16>,
    pub named_lmc: u8,
    /// `4xHDR`.
    pub signalling: Option<Signalling>,
}

/// What `text` states.
pub(crate) fn record(text: &str) -> Record<'_> {
    let text = bare(text);
    match text.as_bytes().first() {
        None => Record::Blank,
        Some(b'[') => port(text).map_or(Record::Other, Record::Port),
        Some(b'#') => Record::Comment { begins: text.contains("opology file: generated") },
        Some(b'v' | b'd' | b's' | b'c' | b'h' | b'r') => {
            identity(text).map_or(Record::Other, Record::Identity)
        }
        Some(b'S' | b'C' | b'H' | b'R') => {
            header(text).map_or_else(|| section(text).unwrap_or(Record::Other), Record::Header)
        }
        Some(b'N') => section(text).unwrap_or(Record::Other),
        Some(b'm') => module(text).map_or(Record::Other, Record::Module),
        Some(_) => Record::Other,
    }
}

/// Whether `text` is a port, and if so whether its far end is a name as only net files have: enough to find where
/// outputs stand, at a fraction of what reading them costs.
pub(crate) fn glance(text: &str) -> Option<bool> {
    let (_, rest) = bracketed(bare(text))?;
    let (_, rest) = guid(external(rest));
    let (id, _) = quoted(rest.trim_start())?;
    Some(matches!(Id::of(id), Id::Name(_)))
}

/// Without what mails and job logs put before lines: blanks, `> `, `node-17: `, `[1,0]<stdout>:`.
fn bare(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = text.strip_prefix('>') {
        text = rest.trim_start();
    }
    let begins = |text: &str| {
        let starts =
            ["[", "#", "vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid=", "Switch"];
        starts.iter().any(|start| text.starts_with(start))
            || text.starts_with("Ca\t")
            || text.starts_with("Ca ")
    };
    // `[1,0]<stdout>:` begins like a port.
    let is_rank =
        text.find(|c: char| !c.is_ascii_digit() && c != '[').is_some_and(|at| text[at..].starts_with(','));
    if begins(text) && !is_rank {
        return text;
    }
    let end = text.bytes().take(48).position(|byte| byte == b':');
    let Some((prefix, rest)) = end.and_then(|end| Some((text.get(..end)?, text.get(end + 1..)?))) else {
        return text;
    };
    let rest = rest.trim_start();
    if prefix.contains('"') || prefix.contains(' ') || !begins(rest) { text } else { rest }
}

fn section(text: &str) -> Option<Record<'_>> {
    let chassis = || {
        let number = text.strip_prefix("Chassis ")?;
        number.starts_with(|c: char| c.is_ascii_digit()).then_some(())
    };
    (text == "Non-Chassis Nodes" || chassis().is_some()).then_some(Record::Section)
}

fn module(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("module")?.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    quoted(rest).map(|(name, _)| name)
}

fn identity(text: &str) -> Option<Identity> {
    let (key, value) = text.split_once('=')?;
    // `switchguid=0x8f1(8f1)`, and where the switch is in its chassis behind `#`.
    let value = value.trim_start();
    let end = value.find(|c: char| c != 'x' && c != 'X' && !c.is_ascii_hexdigit()).unwrap_or(value.len());
    let value = &value[..end];
    let number = || {
        let digits = value.strip_prefix("0x").or(value.strip_prefix("0X")).unwrap_or(value);
        u32::from_str_radix(digits, 16).ok()
    };
    match key {
        "vendid" => number().map(Identity::Vendor),
        "devid" => number().map(Identity::Device),
        "sysimgguid" => value.parse().ok().map(Identity::System),
        "switchguid" | "switchguids" | "caguid" | "hcaguid" | "hcaguids" | "rtguid" => {
            value.parse().ok().map(Identity::Node)
        }
        _ => None,
    }
}

fn header(text: &str) -> Option<Header<'_>> {
    const WORDS: [(&str, SubnetNodeKind, bool); 5] = [
        ("Switch", SubnetNodeKind::Switch, false),
        ("Ca", SubnetNodeKind::Adapter, false),
        ("Hca", SubnetNodeKind::Adapter, true),
        ("Rt", SubnetNodeKind::Router, false),
        ("Router", SubnetNodeKind::Router, true),
    ];
    let end = text.find(|c: char| c.is_whitespace())?;
    let (word, rest) = text.split_at(end);
    let (_, kind, is_net_file) = WORDS.into_iter().find(|(known, ..)| *known == word)?;
    let (ports, rest) = number(rest.trim_start())?;
    if !rest.starts_with(|c: char| c.is_whitespace()) {
        return None;
    }
    let (id, rest) = quoted(rest.trim_start())?;
    let id = Id::of(id);
    let remark = rest.find('#').map_or_else(Remark::default, |at| remark(&rest[at + 1..]));
    Some(Header { kind, ports, id, remark, is_net_file: is_net_file || matches!(id, Id::Name(_)) })
}

fn port(text: &str) -> Option<Plugged<'_>> {
    let (port, rest) = bracketed(text)?;
    let (guid, rest) = guid(external(rest));
    let (id, rest) = quoted(rest.trim_start())?;
    let (far_port, rest) = bracketed(rest.trim_start()).unwrap_or((1, rest));
    let (far_guid, rest) = self::guid(external(rest));
    let (options, remark) = match rest.find('#') {
        Some(at) => (&rest[..at], remark(&rest[at + 1..])),
        None => (rest, Remark::default()),
    };
    if port == 0 || far_port == 0 {
        return None;
    }
    let signalling = remark.signalling.or_else(|| of_bits(options));
    Some(Plugged { port, guid, far: Id::of(id), far_port, far_guid, remark, signalling })
}

impl<'a> Id<'a> {
    fn of(text: &'a str) -> Self {
        let guid = || {
            let (letter, digits) = text.split_once('-')?;
            let kind = match letter {
                "S" => SubnetNodeKind::Switch,
                "H" => SubnetNodeKind::Adapter,
                "R" => SubnetNodeKind::Router,
                _ => return None,
            };
            // Shorter ones are met where leading zeros were lost; a name as `S-1` is none.
            let is_guid = digits.len() >= 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_guid.then(|| digits.parse().ok()).flatten().map(|guid| Self::Guid(kind, guid))
        };
        guid().unwrap_or(Self::Name(text))
    }
}

/// `"text"` at the start, and what follows; other tools put single or curly quotes in their place.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let open = text.chars().next().filter(|c| matches!(c, '"' | '\u{201c}' | '\u{201d}'))?;
    let inner = &text[open.len_utf8()..];
    let end = inner.find(['"', '\u{201c}', '\u{201d}'])?;
    let close = inner[end..].chars().next()?;
    Some((&inner[..end], &inner[end + close.len_utf8()..]))
}

/// `[12]` at the start.
fn bracketed(text: &str) -> Option<(u16, &str)> {
    let (found, rest) = number(text.strip_prefix('[')?)?;
    Some((found, rest.strip_prefix(']')?))
}

/// Without `[ext 3]`, the number that is printed on a chassis.
fn external(text: &str) -> &str {
    let rest = || text.trim_start().strip_prefix("[ext ")?.split_once(']').map(|(_, rest)| rest);
    rest().unwrap_or(text)
}

/// `(8f1…)` at the start.
fn guid(text: &str) -> (Option<Guid>, &str) {
    let inner = || text.trim_start().strip_prefix('(')?.split_once(')');
    match inner() {
        Some((inner, rest)) => (inner.parse().ok(), rest),
        None => (None, text),
    }
}

fn number(text: &str) -> Option<(u16, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn remark(text: &str) -> Remark<'_> {
    let mut remark = Remark::default();
    let is_quote = |c: char| matches!(c, '"' | '\u{201c}' | '\u{201d}');
    let (before, after) = match (text.find(is_quote), text.rfind(is_quote)) {
        (Some(open), Some(close)) if open < close => {
            let (inner, after) = text.split_at(close);
            let name = inner[open..].trim_start_matches(is_quote);
            remark.name = name.trim_end();
            (&text[..open], after.trim_start_matches(is_quote))
        }
        // Without quotes the name ends where the known words begin.
        _ => {
            let ends = [" enhanced port ", " base port ", " lid "];
            let end = ends.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
            remark.name = text[..end].trim();
            ("", &text[end..])
        }
    };
    let mut words = before.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "lid" => remark.lid = words.next().and_then(|lid| lid.parse().ok()).filter(|lid| *lid != 0),
            "lmc" => remark.lmc = words.next().and_then(|lmc| lmc.parse().ok()).unwrap_or(0),
            _ => {}
        }
    }
    let mut words = after.split_whitespace().peekable();
    while let Some(word) = words.next() {
        match word {
            "lid" => {
                remark.named_lid = words.next().and_then(|lid| lid.parse().ok()).filter(|lid| *lid != 0);
            }
            "lmc" => remark.named_lmc = words.next().and_then(|lmc| lmc.parse().ok()).unwrap_or(0),
            _ if remark.signalling.is_none() && word.starts_with(|c: char| c.is_ascii_digit()) => {
                remark.signalling = signalling(word, words.peek().copied());
            }
            _ => {}
        }
    }
    if remark.signalling.is_none() {
        remark.signalling = of_bits(after);
    }
    remark
}

/// `4xHDR`, also with a blank: `4x HDR`.
fn signalling(word: &str, next: Option<&str>) -> Option<Signalling> {
    let split = || {
        let lanes = word.strip_suffix(['x', 'X'])?.parse().ok()?;
        Some(Signalling::new(lanes, Generation::of_word(next?)?))
    };
    word.parse().ok().or_else(split)
}

/// `s=4 w=2 e=4`: the best that the bits of PortInfo name.
fn of_bits(options: &str) -> Option<Signalling> {
    let bits = |key: &str| {
        let value = options.split_whitespace().find_map(|word| word.strip_prefix(key))?;
        value.parse::<u8>().ok()
    };
    let width = bits("w=")?;
    let lanes = [(8, 12), (4, 8), (2, 4), (16, 2), (1, 1)].into_iter().find(|(bit, _)| width & bit != 0)?.1;
    let best = |bits: u8, known: &[(u8, Generation)]| {
        known.iter().find(|(bit, _)| bits & bit != 0).map(|(_, generation)| *generation)
    };
    let extended = bits("e=").and_then(|bits| {
        let known = [
            (16, Generation::Xdr),
            (8, Generation::Ndr),
            (4, Generation::Hdr),
            (2, Generation::Edr),
            (1, Generation::Fdr),
        ];
        best(bits, &known)
    });
    let plain = || {
        let known = [(4, Generation::Qdr), (2, Generation::Ddr), (1, Generation::Sdr)];
        best(bits("s=")?, &known)
    };
    Some(Signalling::new(lanes, extended.or_else(plain)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_port(text: &str) -> Plugged<'_> {
        let Record::Port(port) = record(text) else { panic!("{text} is no port") };
        port
    }

    #[test]
    fn ports_of_switches_and_adapters_are_read() {
        let port =
            of_port("[22]\t\"H-0002c9020000a054\"[1](2c9020000a055)         # \"MT23108 Host\" lid 4 4xSDR");
        assert_eq!((port.port, port.far_port), (22, 1));
        assert_eq!(port.far, Id::Guid(SubnetNodeKind::Adapter, Guid::new(0x2_c902_0000_a054)));
        assert_eq!(port.far_guid, Some(Guid::new(0x2_c902_0000_a055)));
        assert_eq!((port.remark.name, port.remark.named_lid), ("MT23108 Host", Some(4)));
        assert_eq!(port.signalling, "4xSDR".parse().ok());
        let port = of_port(
            "[1](2c9a055) \t\"S-00000008f1d88891\"[6]\t\t# lid 16 lmc 1 \"leaf \"x\" 1\" lid 3 1x SDR",
        );
        assert_eq!((port.remark.lid, port.remark.lmc, port.remark.named_lid), (Some(16), 1, Some(3)));
        assert_eq!(port.remark.name, "leaf \"x\" 1");
        assert_eq!(port.signalling, "1xSDR".parse().ok());
    }

    #[test]
    fn chassis_ports_prefixes_and_bits_are_read() {
        let port =
            of_port("node-17: [5][ext 3]\t\"S-0002c90200000001\"[7][ext 9] # \"x\" lid 7 s=4 w=2 v=4 e=4");
        assert_eq!((port.port, port.far_port), (5, 7));
        assert_eq!(port.signalling, "4xHDR".parse().ok());
        assert_eq!(of_port("> [3]\t\"Switch2\"[4] w=8 s=7").signalling, "12xQDR".parse().ok());
        assert_eq!(of_port("[1,0]<stdout>:[3] \"Switch2\"").far_port, 1);
    }

    #[test]
    fn headers_and_identities_are_read() {
        let Record::Header(header) =
            record("Switch  41 \"S-0002c90200000001\"    # \"leaf 1\" enhanced port 0 lid 387 lmc 2")
        else {
            panic!("no header")
        };
        assert_eq!((header.ports, header.remark.name), (41, "leaf 1"));
        assert_eq!((header.remark.named_lid, header.remark.named_lmc), (Some(387), 2));
        assert!(!header.is_net_file);
        let guid = Identity::Node(Guid::new(0x8f1));
        assert_eq!(record("switchguid=0x8f1(8f1)\t# Spine 1"), Record::Identity(guid));
        assert_eq!(record("devid=0xd2f0"), Record::Identity(Identity::Device(0xd2f0)));
        assert_eq!(record("Chassis 1 (guid 0x8f1)"), Record::Section);
    }

    #[test]
    fn lines_of_other_tools_are_none() {
        for text in [
            "Switch to port 3",
            "Caution: 3 \"x\"",
            "[2024-01-01] \"x\"",
            "[1] x",
            "[0] \"x\"[1]",
            "devid=",
            "é",
        ] {
            assert_eq!(record(text), Record::Other, "{text}");
        }
    }
}
