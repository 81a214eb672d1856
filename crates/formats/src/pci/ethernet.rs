//! Network adapters that boards have for administration, and others too slow to carry collectives beside real ones.

use crate::evidence::Device;

/// What kind of network adapter a board usually has for such a purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Onboard {
    /// At most 2.5 Gb/s, or wireless: no NIC of a fabric.
    Management,
    /// 10 Gb/s: a NIC where there is no faster one.
    Ten,
    /// A guest's way to its host: a NIC where there is no real one.
    Virtual,
}

/// Words in names of adapters of 2.5 Gb/s at most. The names of most have `Gigabit`, which is looked for besides.
const MANAGEMENT: [&str; 16] = [
    "I217",
    "I218",
    "I219",
    "I210",
    "I211",
    "I350",
    "I354",
    "I225",
    "I226",
    "2.5G",
    "RTL8125",
    "Fast Ethernet",
    "Wi-Fi",
    "Wireless",
    "802.11",
    "WLAN",
];

/// Words in names of adapters of 10 Gb/s.
const TEN: [&str; 9] = ["X520", "X540", "X550", "X552", "X722", "82599", "10GBASE-T", "BCM57416", "AQC1"];

/// Vendor and devices of adapters of 2.5 Gb/s at most, for lists of numbers alone.
const MANAGEMENT_IDS: [(u16, &[u16]); 3] = [
    (
        0x8086,
        &[
            0x10c9, 0x10d3, 0x150e, 0x1521, 0x1522, 0x1533, 0x1536, 0x1537, 0x1538, 0x1539, 0x157b, 0x157c,
            0x15f2, 0x15f3, 0x125b, 0x125c,
        ],
    ),
    (0x14e4, &[0x1639, 0x1656, 0x1657, 0x165f]),
    (0x10ec, &[0x8125, 0x8161, 0x8168]),
];

/// Vendor and devices of adapters of 10 Gb/s.
const TEN_IDS: [(u16, &[u16]); 2] =
    [(0x8086, &[0x10fb, 0x1528, 0x1563, 0x15ad, 0x37d2]), (0x14e4, &[0x168e, 0x16d8])];

/// What the name of an adapter, else its numbers, say of it; `None` where they say nothing such.
pub(crate) fn onboard(device: &Device) -> Option<Onboard> {
    if let Some(name) = &device.name {
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if has(&["Virtio network"]) {
            return Some(Onboard::Virtual);
        }
        if has(&TEN) || is_of_gigabits(name, Some("10")) {
            return Some(Onboard::Ten);
        }
        if has(&MANAGEMENT) || is_of_gigabits(name, None) {
            return Some(Onboard::Management);
        }
    }
    let id = (device.vendor?, device.device?);
    let holds =
        |list: &[(u16, &[u16])]| list.iter().any(|(vendor, of)| *vendor == id.0 && of.contains(&id.1));
    if matches!(id, (0x1af4, 0x1000 | 0x1041)) {
        return Some(Onboard::Virtual);
    }
    if holds(&MANAGEMENT_IDS) {
        return Some(Onboard::Management);
    }
    holds(&TEN_IDS).then_some(Onboard::Ten)
}

/// Whether the name has `Gigabit` with that number before it, or none: `10-Gigabit`, `10 Gigabit`, `Gigabit`.
fn is_of_gigabits(name: &str, number: Option<&str>) -> bool {
    name.match_indices("Gigabit").any(|(at, _)| {
        let before = name[..at].trim_end_matches(['-', ' ']);
        let own = before.rsplit(|letter: char| !letter.is_ascii_digit()).next().filter(|own| !own.is_empty());
        // In `BCM5720 Gigabit` the number is the chip's.
        let own = own.filter(|own| own.len() <= 3);
        own == number
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Option<Onboard> {
        onboard(&Device { name: Some(name.to_owned()), ..Device::default() })
    }

    #[test]
    fn adapters_are_told_by_their_names() {
        for name in [
            "Intel Corporation I350 Gigabit Network Connection",
            "Intel Corporation 82574L Gigabit Network Connection",
            "Intel Corporation Ethernet Connection (2) I219-LM",
            "Intel Corporation Ethernet Controller I226-V",
            "Broadcom Inc. and subsidiaries NetXtreme BCM5720 Gigabit Ethernet PCIe",
            "Realtek Semiconductor Co., Ltd. RTL8111/8168/8411 PCI Express Gigabit Ethernet Controller",
            "Realtek Semiconductor Co., Ltd. RTL8125 2.5GbE Controller",
            "Intel Corporation Wi-Fi 6 AX200",
        ] {
            assert_eq!(named(name), Some(Onboard::Management), "{name}");
        }
        for name in [
            "Intel Corporation Ethernet Controller X550",
            "Intel Corporation 82599ES 10-Gigabit SFI/SFP+ Network Connection",
            "Broadcom Inc. and subsidiaries NetXtreme II BCM57810 10 Gigabit Ethernet",
            "Broadcom Inc. and subsidiaries BCM57416 NetXtreme-E Dual-Media 10G RDMA Ethernet Controller",
            "Intel Corporation Ethernet Connection X722 for 10GBASE-T",
        ] {
            assert_eq!(named(name), Some(Onboard::Ten), "{name}");
        }
        for name in [
            "Mellanox Technologies MT28908 Family [ConnectX-6]",
            "Broadcom Inc. and subsidiaries BCM57508 NetXtreme-E 10Gb/25Gb/40Gb/50Gb/100Gb/200Gb Ethernet",
            "Cavium QLogic 25 Gigabit Ethernet",
        ] {
            assert_eq!(named(name), None, "{name}");
        }
        assert_eq!(named("Red Hat, Inc. Virtio network device"), Some(Onboard::Virtual));
        let numbers = Device { vendor: Some(0x8086), device: Some(0x1521), ..Device::default() };
        assert_eq!(onboard(&numbers), Some(Onboard::Management));
    }
}
