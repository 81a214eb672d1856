//! What is an address, by its form, and what it becomes.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::secret::Secret;

/// What stands before a GUID without a blank.
const BEFORE: [&str; 9] = ["S-", "H-", "R-", "SW-", "GPU-", "MIG-", "GPU-GI-", "0x", "0X"];
/// Smaller numbers are counters and masks, not GUIDs.
const GUID_MIN: u64 = 1 << 32;
/// The shortest address: `fd::1`.
const LENGTH_MIN: usize = 5;
/// No name is so long that its parts need a deeper look.
const DEPTH_MAX: u8 = 24;

/// What addresses become, and which GUIDs are known.
#[derive(Debug)]
pub struct Scope<'a> {
    /// What the made-up ones hang on.
    pub secret: &'a Secret,
    /// GUIDs that stood somewhere in a form of their own: their digits alone are GUIDs too, however they look.
    pub guids: &'a mut BTreeSet<u64>,
}

/// What `token` becomes; `None` where it is no address. A GUID in it is known from then on.
pub fn replaced(token: &str, scope: &mut Scope) -> Option<String> {
    part(token, scope, 0)
}

/// Adds the GUIDs of `text` to those that are known.
pub fn learn(text: &str, guids: &mut BTreeSet<u64>) {
    // `ibnetdiscover` puts a port's GUID behind the port, without leading zeros: `[1](2c90300a1b2c4)`.
    for rest in text.split("](").skip(1) {
        if let Some((digits, _)) = rest.split_once(')')
            && let Some(bits) = value(digits)
        {
            guids.insert(bits);
        }
    }
    // What they become does not matter here.
    let secret = Secret::of("");
    let mut scope = Scope { secret: &secret, guids };
    for [_, token, _] in pieces(text) {
        replaced(token, &mut scope);
    }
}

/// `text` cut up: what is part of no token, a token, and what ends a sentence behind it.
pub fn pieces(text: &str) -> impl Iterator<Item = [&str; 3]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (before, behind) = rest.split_at(rest.find(is_token).unwrap_or(rest.len()));
        let (token, next) = behind.split_at(behind.find(|c| !is_token(c)).unwrap_or(behind.len()));
        rest = next;
        let body = token.trim_end_matches(['.', '-']);
        let body = if body.ends_with("::") { body } else { body.trim_end_matches(':') };
        Some([before, body, &token[body.len()..]])
    })
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ':' | '.' | '-' | '_')
}

fn part(token: &str, scope: &mut Scope, depth: u8) -> Option<String> {
    if token.len() < LENGTH_MIN || depth > DEPTH_MAX {
        return None;
    }
    if let Some(made_up) = whole(token, scope) {
        return Some(made_up);
    }
    for before in BEFORE {
        if let Some(rest) = token.strip_prefix(before) {
            // Digits behind such a letter need no letter among them: `S-1544316758654403`.
            let digits = number(rest, scope);
            let made_up = if before.eq_ignore_ascii_case("0x") {
                digits
            } else {
                digits.or_else(|| whole(rest, scope))
            };
            if let Some(made_up) = made_up {
                return Some(format!("{before}{made_up}"));
            }
        }
    }
    // `10.0.0.1:29500`, `10.0.0.1-10.0.0.9`: what stands between signs, one sign after the other.
    let split = token.find([':', '-', '_'])?;
    let (left, right) = (&token[..split], &token[split + 1..]);
    let (new_left, new_right) = (part(left, scope, depth + 1), part(right, scope, depth + 1));
    (new_left.is_some() || new_right.is_some()).then(|| {
        let sign = &token[split..=split];
        format!("{}{sign}{}", new_left.as_deref().unwrap_or(left), new_right.as_deref().unwrap_or(right))
    })
}

fn whole(token: &str, scope: &mut Scope) -> Option<String> {
    uuid(token, scope)
        .or_else(|| octets(token, scope))
        .or_else(|| groups(token, scope))
        .or_else(|| ipv4(token, scope))
        .or_else(|| ipv6(token, scope))
        .or_else(|| bare(token, scope))
}

/// Parts between `sign` that are all `length` hexadecimal digits.
fn hexadecimal(token: &str, sign: char, length: usize) -> Option<Vec<&str>> {
    let parts: Vec<&str> = token.split(sign).collect();
    let good = |part: &&str| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.iter().all(good).then_some(parts)
}

/// The GUID's made-up value. All forms of one GUID come through here.
fn guid(bits: u64, scope: &mut Scope) -> u64 {
    if bits < GUID_MIN || bits == u64::MAX {
        return bits;
    }
    scope.guids.insert(bits);
    let made_up = scope.secret.hexadecimal("guid", &format!("{bits:016x}"));
    u64::from_str_radix(&made_up, 16).unwrap_or(GUID_MIN)
}

fn uuid(token: &str, scope: &mut Scope) -> Option<String> {
    let parts: Vec<&str> = token.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let hex = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if lengths != [8, 4, 4, 4, 12] || !hex {
        return None;
    }
    // Zeros mean that there is none, which is worth knowing.
    let is_none = token.bytes().all(|byte| matches!(byte, b'0' | b'-'));
    Some(if is_none { token.to_owned() } else { scope.secret.hexadecimal("uuid", token) })
}

/// MAC addresses, GUIDs by octets (`b8-3f-…`), and the 20 octets of IP over InfiniBand.
fn octets(token: &str, scope: &mut Scope) -> Option<String> {
    let sign = if token.contains(':') { ':' } else { '-' };
    let parts = hexadecimal(token, sign, 2)?;
    let joined: String = parts.concat();
    let spread = |digits: &str| {
        let pairs: Vec<&str> =
            (0..digits.len() / 2).filter_map(|at| digits.get(at * 2..at * 2 + 2)).collect();
        pairs.join(&sign.to_string())
    };
    match parts.len() {
        6 => {
            let bits = u64::from_str_radix(&joined, 16).ok()?;
            if bits == 0 || bits == 0xffff_ffff_ffff {
                return Some(token.to_owned());
            }
            // Locally administered, so that it is no one's.
            Some(spread(&format!("02{}", &scope.secret.hexadecimal("mac", &format!("1{joined}"))[3..])))
        }
        8 => Some(spread(&format!("{:016x}", guid(u64::from_str_radix(&joined, 16).ok()?, scope)))),
        20 => {
            let (front, last) = joined.split_at(24);
            Some(spread(&format!("{front}{:016x}", guid(u64::from_str_radix(last, 16).ok()?, scope))))
        }
        _ => None,
    }
}

/// `506b:4b03:00a1:b2c3`.
fn groups(token: &str, scope: &mut Scope) -> Option<String> {
    let parts = hexadecimal(token, ':', 4).filter(|parts| parts.len() == 4)?;
    let made_up = format!("{:016x}", guid(u64::from_str_radix(&parts.concat(), 16).ok()?, scope));
    let quarters: Vec<&str> = (0..4).filter_map(|at| made_up.get(at * 4..at * 4 + 4)).collect();
    Some(quarters.join(":"))
}

/// The value of digits that may be a GUID.
fn value(digits: &str) -> Option<u64> {
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bits = (hex && digits.len() <= 16).then(|| u64::from_str_radix(digits, 16).ok()).flatten();
    bits.filter(|bits| (GUID_MIN..u64::MAX).contains(bits))
}

/// Digits behind `0x`: a GUID if there are many, or if it is known.
fn number(digits: &str, scope: &mut Scope) -> Option<String> {
    let bits = value(digits)?;
    (digits.len() >= 11 || scope.guids.contains(&bits)).then(|| made_up_digits(digits, bits, scope))
}

/// Digits alone, as in `(506b4b0300a1b2c3)`: a GUID if it is known, if they cannot be a decimal number, or if there
/// are 16 with a zero in front.
fn bare(token: &str, scope: &mut Scope) -> Option<String> {
    let bits = value(token)?;
    let lettered = token.bytes().any(|byte| byte.is_ascii_alphabetic());
    let digits = token.bytes().any(|byte| byte.is_ascii_digit());
    // Counters have 16 digits too, but no zero in front.
    let padded = token.len() == 16 && token.starts_with('0');
    let looks_so = token.len() >= 12 && digits && (lettered || padded);
    (looks_so || scope.guids.contains(&bits)).then(|| made_up_digits(token, bits, scope))
}

fn made_up_digits(digits: &str, bits: u64, scope: &mut Scope) -> String {
    format!("{:0width$x}", guid(bits, scope), width = digits.len())
}

fn ipv4(token: &str, scope: &mut Scope) -> Option<String> {
    let address: Ipv4Addr = token.parse().ok()?;
    Some(made_up_ipv4(address, scope).to_string())
}

fn made_up_ipv4(address: Ipv4Addr, scope: &mut Scope) -> Ipv4Addr {
    let is_mask = address.octets()[0] == 255;
    if address.is_loopback() || address.is_unspecified() || address.is_multicast() || is_mask {
        return address;
    }
    let [.., a, b, c] = scope.secret.number("ipv4", &address.to_string()).to_be_bytes();
    Ipv4Addr::new(10, a, b, c.clamp(1, 254))
}

fn ipv6(token: &str, scope: &mut Scope) -> Option<String> {
    if token.matches(':').count() < 2 {
        return None;
    }
    let address: Ipv6Addr = token.parse().ok()?;
    if address.is_unspecified() || address.is_loopback() || address.is_multicast() {
        return Some(token.to_owned());
    }
    let segments = address.segments();
    let bits = address.to_bits();
    let made_up = if segments[..5] == [0; 5] && segments[5] == 0xffff {
        let last = Ipv4Addr::from_bits(u32::try_from(bits & 0xffff_ffff).unwrap_or(0));
        made_up_ipv4(last, scope).to_ipv6_mapped()
    } else {
        let (front, last) = (bits >> 64, u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(0));
        // Link-local prefixes say nothing; others are a site's.
        let prefix = if segments[0] & 0xffc0 == 0xfe80 {
            front
        } else {
            0xfd00 << 48 | u128::from(scope.secret.number("ipv6", &front.to_string()) >> 16)
        };
        // Short identifiers were given by hand, and say as much as long ones.
        let identifier = if last < GUID_MIN {
            scope.secret.number("ipv6", &bits.to_string()) | GUID_MIN
        } else {
            guid(last, scope)
        };
        Ipv6Addr::from_bits(prefix << 64 | u128::from(identifier))
    };
    let is_full = token.len() == 39;
    let full = || made_up.segments().map(|segment| format!("{segment:04x}")).join(":");
    Some(if is_full { full() } else { made_up.to_string() })
}
