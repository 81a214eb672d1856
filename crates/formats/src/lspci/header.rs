//! The first line of a function: its address, class and name.

use crate::evidence::Device;
use crate::pci::{PciAddress, adapter_of, class_of, vendor_of};

/// The first line of a function.
#[derive(Debug)]
pub(super) struct Header<'a> {
    /// What stands before the address: blanks, `> `, `node-17: `.
    pub prefix: &'a str,
    /// Where the function is.
    pub address: PciAddress,
    /// From the class on.
    rest: &'a str,
}

/// A line as long as this begins with its address, if it has one.
const PREFIX_MAX: usize = 80;

/// `text` as a first line; cheap where it is none.
pub(super) fn header(text: &str) -> Option<Header<'_>> {
    let dot = point_of_address(text.as_bytes())?;
    let start = text.as_bytes().get(..dot)?;
    let start = start.iter().rposition(|byte| !byte.is_ascii_hexdigit() && *byte != b':');
    let start = start.map_or(0, |before| before + 1);
    let prefix = text.get(..start)?;
    let address = text.get(start..dot + 2)?.parse().ok()?;
    let rest = text.get(dot + 2..)?.trim_start();
    // In `01:00.0: message` of a kernel log no blank follows.
    let apart = text.as_bytes().get(dot + 2).is_some_and(u8::is_ascii_whitespace);
    let quiet = prefix.trim_end().is_empty()
        || prefix.len() < PREFIX_MAX && prefix.trim_end().ends_with([':', '>', ']', '|', ')']);
    (apart && quiet && is_class(rest)).then_some(Header { prefix, address, rest })
}

/// The index of the point in the first `00:00.0` of a line.
fn point_of_address(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..bytes.len().min(PREFIX_MAX + 20))?;
    let hex = |index: usize| head.get(index).is_some_and(u8::is_ascii_hexdigit);
    (5..head.len()).find(|at| {
        head[*at] == b'.'
            && head.get(at + 1).is_some_and(|byte| (b'0'..=b'7').contains(byte))
            && head[at - 3] == b':'
            && [1, 2, 4, 5].into_iter().all(|back| hex(at - back))
    })
}

/// Whether `rest` begins as `3D controller: `, `3D controller [0302]: `, `0302: 10de:2330` or `"3D controller"`.
fn is_class(rest: &str) -> bool {
    if let Some(quoted) = rest.strip_prefix('"') {
        return quoted.contains('"');
    }
    let Some((class, _)) = class_and_name(rest) else { return false };
    code(class).is_some() || class_of(class).is_some()
}

/// The text before the colon that ends the class, and what follows. `IPMI Interface [0c07]: HP Device`.
fn class_and_name(rest: &str) -> Option<(&str, &str)> {
    // Names may hold colons too, classes do not.
    let (class, name) = rest.split_once(':')?;
    Some((class, name.trim()))
}

/// `0302` alone, at the end in brackets, or after `Class`.
fn code(class: &str) -> Option<u16> {
    let class = class.trim();
    let digits = match class.strip_suffix(']') {
        Some(front) => front.rsplit_once('[')?.1,
        None => class.strip_prefix("Class ").unwrap_or(class),
    };
    number(digits)
}

/// Four hexadecimal digits.
fn number(digits: &str) -> Option<u16> {
    let plain = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

impl Header<'_> {
    /// The function, as far as its first line says.
    pub fn device(&self, line: u32) -> Device {
        let mut device = Device { address: self.address.to_string(), line, ..Device::default() };
        if self.rest.starts_with('"') {
            quoted(self.rest, &mut device);
            return device;
        }
        let Some((class, name)) = class_and_name(self.rest) else { return device };
        device.class = code(class).or_else(|| class_of(class));
        let name = without_notes(name);
        let (name, ids) = without_ids(name);
        let (vendor, number) = unnamed(name);
        device.vendor = ids.0.or_else(|| vendor_of(name)).or(vendor);
        device.device = ids.1.or(number).or_else(|| adapter_of(device.vendor, name));
        device.name = Some(name.to_owned()).filter(|name| !name.is_empty());
        device
    }
}

/// `"3D controller [0302]" "NVIDIA Corporation [10de]" "GH100 [2330]" -ra1 "…" "…"`, as `-mm` prints.
fn quoted(rest: &str, device: &mut Device) {
    let words: Vec<&str> = rest.split('"').skip(1).step_by(2).collect();
    let number = |index: usize| words.get(index).and_then(|word| code(word));
    device.class = number(0).or_else(|| words.first().and_then(|word| class_of(word)));
    device.vendor = number(1).or_else(|| words.get(1).and_then(|word| vendor_of(word)));
    device.device = number(2);
    device.subsystem_vendor = number(3);
    device.subsystem = number(4);
    let plain = |index: usize| {
        let word: &str = words.get(index).copied().unwrap_or("");
        match code(word) {
            Some(_) if word.ends_with(']') => {
                word.rsplit_once('[').map_or(word, |(name, _)| name.trim()).to_owned()
            }
            Some(_) => String::new(),
            None => word.to_owned(),
        }
    };
    let name = format!("{} {}", plain(1), plain(2)).trim().to_owned();
    device.name = Some(name).filter(|name| !name.is_empty());
}

/// Without `(rev a1)` and `(prog-if 00 [Normal decode])` behind it.
pub(super) fn without_notes(name: &str) -> &str {
    let mut name = name.trim();
    for note in ["(prog-if", "(rev "] {
        if name.ends_with([')', ']']) {
            name = name.rfind(note).map_or(name, |at| name[..at].trim_end());
        }
    }
    name
}

/// The name and its `[10de:2330]`; or `10de:2330` alone, as `-n` prints.
pub(super) fn without_ids(name: &str) -> (&str, (Option<u16>, Option<u16>)) {
    let (front, ids) = match name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
        Some((front, ids)) => (front.trim_end(), ids),
        None => ("", name),
    };
    match ids.split_once(':').map(|(vendor, device)| (number(vendor), number(device))) {
        Some((Some(vendor), Some(device))) => (front, (Some(vendor), Some(device))),
        Some(_) | None => (name, (None, None)),
    }
}

/// The numbers that stand for what the list of names lacks: `Red Hat, Inc. Device 000d`, `Device 1234:1111`.
fn unnamed(name: &str) -> (Option<u16>, Option<u16>) {
    let Some((front, digits)) = name.rsplit_once("Device ") else { return (None, None) };
    match digits.split_once(':') {
        Some((vendor, device)) if front.is_empty() => (number(vendor), number(device)),
        Some(_) => (None, None),
        None => (None, number(digits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(text: &str) -> Device {
        header(text).unwrap().device(1)
    }

    #[test]
    fn first_lines_of_all_shapes_are_read() {
        let plain = device("1b:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)");
        assert_eq!(plain.address, "0000:1b:00.0");
        assert_eq!((plain.class, plain.vendor, plain.device), (Some(0x0302), Some(0x10de), None));
        assert_eq!(plain.name.as_deref(), Some("NVIDIA Corporation GH100 [H100 SXM5 80GB]"));
        let both = device(
            "0001:01:00.0 PCI bridge [0604]: PLX Technology, Inc. Device [10b5:9781] (rev b0) (prog-if 00 [Normal decode])",
        );
        assert_eq!((both.class, both.vendor, both.device), (Some(0x0604), Some(0x10b5), Some(0x9781)));
        assert_eq!(both.name.as_deref(), Some("PLX Technology, Inc. Device"));
        let unnamed = device(
            "00:01.0 VGA compatible controller: Device 1234:1111 (rev 02) (prog-if 00 [VGA controller])",
        );
        assert_eq!(
            (unnamed.class, unnamed.vendor, unnamed.device),
            (Some(0x0300), Some(0x1234), Some(0x1111))
        );
        let old = device("41:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)");
        assert_eq!((old.vendor, old.device), (Some(0x10de), Some(0x2330)));
        let numbers = device("> 18:00.0 0302: 10de:2330 (rev a1)");
        assert_eq!(
            (numbers.class, numbers.vendor, numbers.device),
            (Some(0x0302), Some(0x10de), Some(0x2330))
        );
        assert_eq!(numbers.name, None);
        let machine = device(
            r#"41:00.0 "Infiniband controller [0207]" "Mellanox Technologies [15b3]" "MT2910 Family [ConnectX-7] [1021]" "Mellanox Technologies [15b3]" "Device [0023]""#,
        );
        assert_eq!(
            (machine.class, machine.vendor, machine.device),
            (Some(0x0207), Some(0x15b3), Some(0x1021))
        );
        assert_eq!(machine.name.as_deref(), Some("Mellanox Technologies MT2910 Family [ConnectX-7]"));
        assert_eq!((machine.subsystem_vendor, machine.subsystem), (Some(0x15b3), Some(0x0023)));
    }

    #[test]
    fn other_lines_with_an_address_are_none() {
        for text in [
            "pci 0000:01:00.0: PCI bridge to [bus 02]",
            "$ lspci -s 01:00.0 -vvv",
            "| 00000000:1B:00.0 Off |",
            "[  1.2] nvidia 0000:1b:00.0 enabling device: (0140 -> 0142)",
            "12:30.4 Uhr: nichts",
            "1b:00.0",
            "1b:00.0 é: 3D",
        ] {
            assert!(header(text).is_none(), "{text}");
        }
        assert_eq!(header("node-17: 1b:00.0 0302: 10de:2330").unwrap().prefix, "node-17: ");
    }
}
