//! The configuration registers of a PCI function, as `/sys/bus/pci/devices/*/config` and `lspci -xxxx` hold them.

use weft_base::{Bytes, TransferRate};

use crate::evidence::{BusRange, Device, PcieState, Region, VirtualFunctions};

/// Flags of access control in order of their bits, as `lspci` calls them.
const ACS: [&str; 7] =
    ["SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"];

/// Bits of the device status register.
const DEVICE_ERRORS: &[(u32, &str)] = &[(0, "CorrErr"), (1, "NonFatalErr"), (2, "FatalErr"), (3, "UnsupReq")];

/// Bits of the register of uncorrectable errors.
const UNCORRECTABLE: &[(u32, &str)] = &[
    (4, "DLP"),
    (5, "SDES"),
    (12, "TLP"),
    (13, "FCP"),
    (14, "CmpltTO"),
    (15, "CmpltAbrt"),
    (16, "UnxCmplt"),
    (17, "RxOF"),
    (18, "MalfTLP"),
    (19, "ECRC"),
    (20, "UnsupReq"),
    (21, "ACSViol"),
];

/// Bits of the register of correctable errors.
const CORRECTABLE: &[(u32, &str)] =
    &[(0, "RxErr"), (6, "BadTLP"), (7, "BadDLLP"), (8, "Rollover"), (12, "Timeout"), (13, "AdvNonFatalErr")];

/// Puts into `device` what `bytes`, its registers from offset 0, say and it does not know yet. Without the rights
/// of an administrator only the first 64 bytes can be read, which hold numbers and buses but no capability.
pub fn read_config(bytes: &[u8], device: &mut Device) {
    let registers = Registers(bytes);
    let Some(vendor) = registers.half(0).filter(|vendor| *vendor != 0xffff) else { return };
    device.vendor = device.vendor.or(Some(vendor));
    device.device = device.device.or(registers.half(2));
    device.class = device.class.or(registers.half(0x0a));
    let is_bridge = registers.byte(0x0e).is_some_and(|kind| kind & 0x7f == 1);
    if is_bridge {
        let buses = registers.byte(0x19).zip(registers.byte(0x1a));
        let range = buses.map(|(secondary, subordinate)| BusRange { secondary, subordinate });
        device.details.buses = device.details.buses.or(range.filter(|range| range.secondary > 0));
    } else {
        device.subsystem_vendor = device.subsystem_vendor.or(registers.half(0x2c));
        device.subsystem = device.subsystem.or(registers.half(0x2e));
    }
    registers.capabilities(device);
    registers.extended(device);
}

struct Registers<'a>(&'a [u8]);

impl Registers<'_> {
    fn byte(&self, offset: usize) -> Option<u8> {
        self.0.get(offset).copied()
    }

    fn half(&self, offset: usize) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte(offset)?, self.byte(offset + 1)?]))
    }

    fn word(&self, offset: usize) -> Option<u32> {
        Some(u32::from(self.half(offset)?) | u32::from(self.half(offset + 2)?) << 16)
    }

    fn capabilities(&self, device: &mut Device) {
        // Bit 4 of the status register says that there is a list.
        if self.half(0x06).is_none_or(|status| status & 0x10 == 0) {
            return;
        }
        let mut next = self.byte(0x34);
        // A list holds at most so many entries of four bytes.
        for _ in 0..48 {
            let Some(at) = next.map(|at| usize::from(at & 0xfc)).filter(|at| *at >= 0x40) else { return };
            if self.byte(at) == Some(0x10) {
                self.express(at, device);
            }
            next = self.byte(at + 1);
        }
    }

    fn express(&self, at: usize, device: &mut Device) {
        let kind = self.half(at + 2).and_then(|flags| port_kind(flags >> 4 & 0xf));
        let details = &mut device.details;
        details.port_kind = details.port_kind.take().or(kind.map(str::to_owned));
        if let Some(control) = self.half(at + 8) {
            details.max_payload = details.max_payload.or(size_of(control >> 5 & 7));
            details.max_read_request = details.max_read_request.or(size_of(control >> 12 & 7));
            details.relaxed_ordering = details.relaxed_ordering.or(Some(control & 0x10 != 0));
        }
        self.errors(at + 0x0a, "DevSta", DEVICE_ERRORS, device);
        let capability = self.word(at + 0x0c).map(state);
        let running = self.half(at + 0x12).map(|status| state(u32::from(status)));
        if device.link_capability == PcieState::default() {
            device.link_capability = capability.unwrap_or_default();
        }
        if device.link == PcieState::default() {
            device.link = running.unwrap_or_default();
        }
    }

    fn extended(&self, device: &mut Device) {
        let mut at = 0x100;
        for _ in 0..512 {
            let Some(head) = self.word(at).filter(|head| *head != 0 && *head != u32::MAX) else { return };
            match head & 0xffff {
                0x0001 => {
                    self.errors(at + 4, "UESta", UNCORRECTABLE, device);
                    self.errors(at + 0x10, "CESta", CORRECTABLE, device);
                }
                0x000d => device.acs = device.acs.take().or(self.half(at + 6).map(acs)),
                0x000f => {
                    device.details.ats = self.half(at + 6).map(|control| control & 0x8000 != 0);
                }
                0x0010 => {
                    let (total, enabled) = (self.half(at + 0x0e), self.half(at + 0x10));
                    let both = total.zip(enabled).map(|(total, enabled)| VirtualFunctions { enabled, total });
                    device.details.virtual_functions = device.details.virtual_functions.or(both);
                }
                0x0015 => self.resizable(at, device),
                _ => {}
            }
            at = usize::try_from(head >> 20).unwrap_or(0) & !3;
            if at < 0x100 {
                return;
            }
        }
    }

    /// Pairs of a register of possible sizes and one of control; the first says how many there are.
    fn resizable(&self, at: usize, device: &mut Device) {
        let count = self.word(at + 8).map_or(0, |control| control >> 5 & 7).min(6);
        for index in 0..usize::try_from(count).unwrap_or(0) {
            let pair = at + 4 + index * 8;
            let (Some(sizes), Some(control)) = (self.word(pair), self.word(pair + 4)) else { return };
            let number = u8::try_from(control & 7).ok();
            // Bit 4 is 1 MiB, each further one twice as much.
            let largest = (sizes >> 4).checked_ilog2().and_then(mebibytes);
            let size = mebibytes(control >> 8 & 0x3f);
            match device.details.regions.iter_mut().find(|region| region.number == number) {
                Some(region) => region.largest = region.largest.or(largest),
                None => device.details.regions.push(Region { number, size, largest }),
            }
        }
    }

    fn errors(&self, at: usize, register: &str, bits: &[(u32, &str)], device: &mut Device) {
        let Some(value) = self.word(at).or(self.half(at).map(u32::from)) else { return };
        let set = bits.iter().filter(|(bit, _)| value >> bit & 1 == 1);
        for name in set.map(|(_, name)| format!("{register} {name}")) {
            if !device.details.errors.contains(&name) {
                device.details.errors.push(name);
            }
        }
    }
}

/// 2^`exponent` MiB.
fn mebibytes(exponent: u32) -> Option<Bytes> {
    1u64.checked_shl(exponent).and_then(|count| count.checked_mul(1 << 20)).map(Bytes::new)
}

/// Payloads and read requests begin at 128 bytes and double.
fn size_of(code: u16) -> Option<Bytes> {
    (code <= 5).then(|| Bytes::new(128 << code))
}

/// Speed and width as link registers hold them; zero is no link.
fn state(register: u32) -> PcieState {
    let text = match register & 0xf {
        1 => "2.5 GT/s",
        2 => "5 GT/s",
        3 => "8 GT/s",
        4 => "16 GT/s",
        5 => "32 GT/s",
        6 => "64 GT/s",
        _ => "",
    };
    let speed: Option<TransferRate> = text.parse().ok();
    let lanes = u16::try_from(register >> 4 & 0x3f).ok().filter(|lanes| *lanes > 0);
    PcieState { speed, lanes }
}

fn port_kind(code: u16) -> Option<&'static str> {
    match code {
        0 => Some("Endpoint"),
        1 => Some("Legacy Endpoint"),
        4 => Some("Root Port"),
        5 => Some("Upstream Port"),
        6 => Some("Downstream Port"),
        7 => Some("PCI-Express to PCI/PCI-X Bridge"),
        8 => Some("PCI/PCI-X to PCI-Express Bridge"),
        9 => Some("Root Complex Integrated Endpoint"),
        10 => Some("Root Complex Event Collector"),
        _ => None,
    }
}

/// As `lspci` prints it.
fn acs(control: u16) -> String {
    let flag =
        |(bit, name): (usize, &&str)| format!("{name}{}", if control >> bit & 1 == 1 { '+' } else { '-' });
    ACS.iter().enumerate().map(flag).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A downstream port with access control, behind which bus 0x42 to 0x45 lie.
    fn port() -> Vec<u8> {
        let mut bytes = vec![0; 0x200];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &[0xb5, 0x10, 0x81, 0x97]);
        put(0x06, &[0x10, 0]);
        put(0x0a, &[0x04, 0x06]);
        put(0x0e, &[0x81]);
        put(0x18, &[0x41, 0x42, 0x45]);
        put(0x34, &[0x40]);
        // The Express capability at 0x40: type 6; control: payload 1 (256 bytes), relaxed, requests 2 (512 bytes).
        put(0x40, &[0x10, 0x00, 0x62, 0x00]);
        put(0x48, &[0x30, 0x20, 0x01, 0x00]);
        // Able to run 16 GT/s x16 (4, 16 << 4 = 0x104), runs 8 GT/s x8 (3, 8 << 4 = 0x083).
        put(0x4c, &[0x04, 0x01, 0, 0]);
        put(0x52, &[0x83, 0x00]);
        // Access control at 0x100, next 0x120: bits 0, 2, 3, 4 = 0x1d.
        put(0x100, &[0x0d, 0x00, 0x01, 0x12]);
        put(0x106, &[0x1d, 0x00]);
        // Errors at 0x120, last: bit 21 uncorrectable, bit 6 correctable.
        put(0x120, &[0x01, 0x00, 0x02, 0x00]);
        put(0x124, &[0, 0, 0x20, 0]);
        put(0x130, &[0x40, 0, 0, 0]);
        bytes
    }

    #[test]
    fn registers_are_read() {
        let mut device = Device::default();
        read_config(&port(), &mut device);
        assert_eq!((device.vendor, device.device, device.class), (Some(0x10b5), Some(0x9781), Some(0x0604)));
        assert_eq!(device.details.buses, Some(BusRange { secondary: 0x42, subordinate: 0x45 }));
        assert_eq!(device.details.port_kind.as_deref(), Some("Downstream Port"));
        assert_eq!(device.details.max_payload, Some(Bytes::new(256)));
        assert_eq!(device.details.max_read_request, Some(Bytes::new(512)));
        assert_eq!(device.link_capability, PcieState { speed: "16 GT/s".parse().ok(), lanes: Some(16) });
        assert_eq!(device.link, PcieState { speed: "8 GT/s".parse().ok(), lanes: Some(8) });
        let flags = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-";
        assert_eq!(device.acs.as_deref(), Some(flags));
        assert_eq!(device.details.errors, ["DevSta CorrErr", "UESta ACSViol", "CESta BadTLP"]);
    }

    #[test]
    fn short_and_circular_registers_are_survived() {
        for length in 0..0x200 {
            read_config(&port()[..length], &mut Device::default());
        }
        let mut circle = port();
        circle[0x41] = 0x40;
        circle[0x102] = 0x01;
        circle[0x103] = 0x10;
        read_config(&circle, &mut Device::default());
        read_config(&[0xff; 4096], &mut Device::default());
    }
}
