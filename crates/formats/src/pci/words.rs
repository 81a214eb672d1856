//! The words of `pci.ids` that stand for numbers: classes in full, vendors as far as they make parts of a fabric.

/// Classes and subclasses as `lspci` names them.
const CLASSES: &[(u16, &str)] = &[
    (0x0000, "Non-VGA unclassified device"),
    (0x0001, "VGA compatible unclassified device"),
    (0x0005, "Image coprocessor"),
    (0x0100, "SCSI storage controller"),
    (0x0101, "IDE interface"),
    (0x0102, "Floppy disk controller"),
    (0x0103, "IPI bus controller"),
    (0x0104, "RAID bus controller"),
    (0x0105, "ATA controller"),
    (0x0106, "SATA controller"),
    (0x0107, "Serial Attached SCSI controller"),
    (0x0108, "Non-Volatile memory controller"),
    (0x0109, "Universal Flash Storage controller"),
    (0x0180, "Mass storage controller"),
    (0x0200, "Ethernet controller"),
    (0x0201, "Token ring network controller"),
    (0x0202, "FDDI network controller"),
    (0x0203, "ATM network controller"),
    (0x0204, "ISDN controller"),
    (0x0206, "PICMG controller"),
    (0x0207, "Infiniband controller"),
    (0x0207, "InfiniBand controller"),
    (0x0208, "Fabric controller"),
    (0x0280, "Network controller"),
    (0x0300, "VGA compatible controller"),
    (0x0301, "XGA compatible controller"),
    (0x0302, "3D controller"),
    (0x0380, "Display controller"),
    (0x0400, "Multimedia video controller"),
    (0x0401, "Multimedia audio controller"),
    (0x0403, "Audio device"),
    (0x0480, "Multimedia controller"),
    (0x0500, "RAM memory"),
    (0x0501, "FLASH memory"),
    (0x0502, "CXL"),
    (0x0580, "Memory controller"),
    (0x0600, "Host bridge"),
    (0x0601, "ISA bridge"),
    (0x0604, "PCI bridge"),
    (0x0607, "CardBus bridge"),
    (0x0609, "Semi-transparent PCI-to-PCI bridge"),
    (0x060a, "InfiniBand to PCI host bridge"),
    (0x0680, "Bridge"),
    (0x0700, "Serial controller"),
    (0x0701, "Parallel controller"),
    (0x0703, "Modem"),
    (0x0780, "Communication controller"),
    (0x0800, "PIC"),
    (0x0801, "DMA controller"),
    (0x0802, "Timer"),
    (0x0803, "RTC"),
    (0x0804, "PCI Hot-plug controller"),
    (0x0805, "SD Host controller"),
    (0x0806, "IOMMU"),
    (0x0880, "System peripheral"),
    (0x0899, "Timing Card"),
    (0x0900, "Keyboard controller"),
    (0x0980, "Input device controller"),
    (0x0b40, "Co-processor"),
    (0x0c00, "FireWire (IEEE 1394)"),
    (0x0c03, "USB controller"),
    (0x0c04, "Fibre Channel"),
    (0x0c05, "SMBus"),
    (0x0c06, "InfiniBand"),
    (0x0c07, "IPMI Interface"),
    (0x0c80, "Serial bus controller"),
    (0x0d00, "IRDA controller"),
    (0x0d11, "Bluetooth"),
    (0x0d80, "Wireless controller"),
    (0x0e00, "I2O"),
    (0x1000, "Network and computing encryption device"),
    (0x1080, "Encryption controller"),
    (0x1100, "DPIO module"),
    (0x1101, "Performance counters"),
    (0x1120, "Signal processing management"),
    (0x1180, "Signal processing controller"),
    (0x1200, "Processing accelerators"),
    (0x1201, "SNIA Smart Data Accelerator Interface (SDXI) controller"),
    (0x1300, "Non-Essential Instrumentation"),
    (0x4000, "Coprocessor"),
    (0xff00, "Unassigned class"),
];

/// How vendors' names begin.
const VENDORS: &[(u16, &str)] = &[
    (0x10de, "NVIDIA"),
    (0x10de, "nVidia"),
    (0x15b3, "Mellanox"),
    (0x1002, "Advanced Micro Devices, Inc. [AMD/ATI]"),
    (0x1002, "Advanced Micro Devices [AMD] nee ATI"),
    (0x1002, "ATI Technologies"),
    (0x1022, "Advanced Micro Devices, Inc. [AMD]"),
    (0x8086, "Intel Corporation"),
    (0x10b5, "PLX Technology"),
    (0x1000, "Broadcom / LSI"),
    (0x14e4, "Broadcom"),
    (0x11f8, "PMC-Sierra"),
    (0x11f8, "Microsemi"),
    (0x1d0f, "Amazon"),
    (0x1414, "Microsoft"),
    (0x1ae0, "Google"),
    (0x1b36, "Red Hat, Inc. QXL"),
    (0x1af4, "Red Hat, Inc."),
    (0x1013, "Cirrus Logic"),
    (0x15ad, "VMware"),
    (0x80ee, "InnoTek"),
    (0x1a03, "ASPEED"),
    (0x102b, "Matrox"),
    (0x144d, "Samsung"),
    (0x17db, "Cray"),
    (0x1590, "Hewlett Packard Enterprise"),
    (0x1014, "IBM"),
    (0x1da3, "Habana"),
    (0x1dd8, "Pensando"),
    (0x1dd8, "AMD Pensando"),
    (0x12d8, "Pericom"),
    (0x1b21, "ASMedia"),
    (0x1d6a, "Aquantia"),
    (0x10ec, "Realtek"),
];

/// Device numbers of Mellanox adapters by the ends of their names, as `pci.ids` has them.
const ADAPTERS: &[(u16, &str)] = &[
    (0x1003, "[ConnectX-3]"),
    (0x1007, "[ConnectX-3 Pro]"),
    (0x1013, "[ConnectX-4]"),
    (0x1015, "[ConnectX-4 Lx]"),
    (0x1017, "[ConnectX-5]"),
    (0x1019, "[ConnectX-5 Ex]"),
    (0x101b, "[ConnectX-6]"),
    (0x101d, "[ConnectX-6 Dx]"),
    (0x101f, "[ConnectX-6 Lx]"),
    (0x1021, "[ConnectX-7]"),
    (0x1023, "[ConnectX-8]"),
    (0xa2d6, "BlueField-2 integrated ConnectX-6 Dx network controller"),
    (0xa2dc, "BlueField-3 integrated ConnectX-7 network controller"),
];

/// The number of a Mellanox adapter of that name, where the list was made without numbers.
pub(crate) fn adapter_of(vendor: Option<u16>, name: &str) -> Option<u16> {
    let found = ADAPTERS.iter().find(|(_, end)| name.ends_with(end));
    found.filter(|_| vendor == Some(0x15b3)).map(|(device, _)| *device)
}

/// The class of that name.
pub(crate) fn class_of(name: &str) -> Option<u16> {
    CLASSES.iter().find(|(_, known)| *known == name).map(|(class, _)| *class)
}

/// The vendor of a device whose name begins with the vendor's.
pub(crate) fn vendor_of(name: &str) -> Option<u16> {
    VENDORS.iter().find(|(_, known)| name.starts_with(known)).map(|(vendor, _)| *vendor)
}

/// The class of a device of which only vendor and name are known, as in `lspci -tv`; only where the vendor's
/// naming leaves no doubt.
pub(crate) fn class_of_name(vendor: u16, name: &str) -> Option<u16> {
    let has = |word: &str| name.contains(word);
    match vendor {
        0x10de if has("Audio") => Some(0x0403),
        0x10de if has("USB") => Some(0x0c03),
        0x10de if has("NVSwitch") => Some(0x0680),
        // Marketing names stand in brackets: `GH100 [H100 SXM5 80GB]`.
        0x10de if has(" [") => Some(0x0302),
        0x1002 if has("[Instinct") || has("[AMD Instinct") => Some(0x1200),
        0x1002 if has("Audio") => Some(0x0403),
        0x1002 if has("[Radeon") => Some(0x0300),
        0x15b3 if has("ConnectX") || has("BlueField") => Some(0x0280),
        0x1d0f if has("Elastic Fabric Adapter") || has("Elastic Network Adapter") => Some(0x0200),
        0x144d if has("NVMe") => Some(0x0108),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_list_are_numbers() {
        assert_eq!(class_of("3D controller"), Some(0x0302));
        assert_eq!(class_of("3D controllers"), None);
        assert_eq!(
            adapter_of(Some(0x15b3), "Mellanox Technologies MT28908 Family [ConnectX-6]"),
            Some(0x101b)
        );
        assert_eq!(adapter_of(Some(0x15b3), "MT28908 Family [ConnectX-6 Virtual Function]"), None);
        assert_eq!(vendor_of("Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran"), Some(0x1002));
        assert_eq!(vendor_of("Broadcom / LSI PEX880xx"), Some(0x1000));
        assert_eq!(vendor_of("Broadcom Inc. and subsidiaries BCM57416"), Some(0x14e4));
        assert_eq!(
            class_of_name(0x10de, "NVIDIA Corporation GA102 High Definition Audio Controller"),
            Some(0x0403)
        );
        assert_eq!(class_of_name(0x10de, "NVIDIA Corporation GH100 [H100 SXM5 80GB]"), Some(0x0302));
    }
}
