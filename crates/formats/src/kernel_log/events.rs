//! Which messages of the kernel matter, and what is in them.

/// Words of which each such line holds at least one.
pub(super) const MARKS: &[&str] = &[
    "NVRM: ",
    "SXid",
    "nvidia-nvswitch",
    "nvidia-peermem",
    "nvidia_peermem",
    "nv_peer_mem",
    "AER: ",
    "PCIe Bus Error",
    "error status/mask",
    "mlx5_core ",
    "mlx4_",
    "bnxt_en ",
    "ice ",
    "pcieport ",
    "DMAR: ",
    "DMAR-IR: ",
    "iommu: ",
    "IOMMU",
    "AMD-Vi: ",
    "Link is Up",
    "Link is Down",
    "link is not ready",
    "link becomes ready",
    "Link up",
    "Link down",
    "amdgpu ",
    "mce: ",
    "EDAC ",
    "Hardware Error",
    "ACS ",
];

/// One message.
pub(super) struct Event<'l> {
    /// What it is of: `xid`, `sxid`, `aer`, `link-up`, `link-down`, `iommu`, `peermem`, `ras`, `memory`, `driver`, `pcie`.
    pub what: &'static str,
    /// Who says so: `NVRM`, `mlx5_core`.
    pub source: &'l str,
    /// An address or an interface.
    pub device: Option<&'l str>,
    /// The number of an Xid or SXid.
    pub code: Option<u64>,
    /// The whole message.
    pub message: &'l str,
}

/// Whether a line can hold an event: a quick look before the slow one.
pub(super) fn may_be(text: &str) -> bool {
    MARKS.iter().any(|mark| text.contains(mark))
}

/// The event that `message` tells of; `headed` where a kernel's time stands before it, so that less is proof.
pub(super) fn event(message: &str, headed: bool) -> Option<Event<'_>> {
    let source = message.split([' ', ':']).next().unwrap_or_default();
    let found = |what, device| Some(Event { what, source, device, code: None, message: message.trim_end() });
    if let Some(rest) = message.strip_prefix("NVRM: Xid ").or_else(|| between(message, "NVRM: ", "Xid ")) {
        return Some(Event { code: code(rest), ..found("xid", bracketed(rest))? });
    }
    if message.contains("SXid (") {
        let rest = &message[message.find("SXid (")? + 5..];
        return Some(Event { code: code(rest), ..found("sxid", bracketed(rest))? });
    }
    let device = address(message);
    if message.starts_with("NVRM: ") || message.starts_with("nvidia-nvswitch") {
        return found("driver", device);
    }
    let says = |name: &str| {
        message
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(':') || (headed && rest.starts_with(' ')))
    };
    if ["nvidia-peermem", "nvidia_peermem", "nv_peer_mem"].iter().any(|name| says(name)) {
        return found("peermem", device);
    }
    let is_aer = ["AER: ", "PCIe Bus Error", "error status/mask"].iter().any(|mark| message.contains(mark));
    if is_aer && (headed || device.is_some()) {
        return found("aer", device);
    }
    if ["DMAR: ", "DMAR-IR: ", "AMD-Vi: ", "iommu: "].iter().any(|name| message.starts_with(name)) {
        return found("iommu", device);
    }
    if let Some(what) = link(message).filter(|_| headed || device.is_some()) {
        return found(what, interface(message).or(device));
    }
    if ["mlx5_core ", "mlx4_", "bnxt_en ", "ice "].iter().any(|name| message.starts_with(name)) {
        return found("driver", device.filter(|_| true)).filter(|event| event.device.is_some());
    }
    if message.starts_with("pcieport ") || (headed && message.starts_with("pci 0")) {
        return found("pcie", device).filter(|event| event.device.is_some());
    }
    if message.starts_with("amdgpu ") && device.is_some() {
        let is_ras =
            ["RAS", "ras ", "ECC", "uncorrectable", "correctable"].iter().any(|word| message.contains(word));
        return found(if is_ras { "ras" } else { "driver" }, device);
    }
    let is_memory = ["mce: ", "EDAC ", "{1}[Hardware Error]"].iter().any(|name| message.starts_with(name));
    (headed && (is_memory || message.contains("[Hardware Error]"))).then(|| found("memory", device)).flatten()
}

fn between<'l>(message: &'l str, first: &str, then: &str) -> Option<&'l str> {
    let rest = message.strip_prefix(first)?;
    let at = rest.find(then)?;
    (at < 40).then(|| &rest[at + then.len()..])
}

/// `link-up` or `link-down`.
fn link(message: &str) -> Option<&'static str> {
    let up = ["Link is Up", "Link up", "link becomes ready"].iter().any(|words| message.contains(words));
    let down = ["Link is Down", "Link down", "link is not ready"].iter().any(|words| message.contains(words));
    if down { Some("link-down") } else { up.then_some("link-up") }
}

/// `0000:3b:00` of `(PCI:0000:3b:00): 79, …`.
fn bracketed(rest: &str) -> Option<&str> {
    let inner = rest.strip_prefix('(')?.split_once(')')?.0;
    Some(inner.strip_prefix("PCI:").unwrap_or(inner))
}

/// The number behind `(…): `.
fn code(rest: &str) -> Option<u64> {
    let rest = rest.split_once("):").map_or(rest, |(_, rest)| rest).trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// The first PCI address with a domain.
fn address(message: &str) -> Option<&str> {
    let mut words = message.split([' ', ',', '(', ')', '[', ']', '=']);
    words.find_map(|word| {
        let word = word.trim_end_matches(':');
        (word.len() >= 12 && crate::block::is_pci_address(word)).then_some(word)
    })
}

/// The interface of `mlx5_core 0000:1a:00.0 eth2: Link up` or of `IPv6: ADDRCONF(NETDEV_UP): eth2: link is not ready`.
fn interface(message: &str) -> Option<&str> {
    let at = ["Link is", "Link up", "Link down", "link is", "link becomes", "NIC Link is"]
        .iter()
        .filter_map(|words| message.find(words))
        .min()?;
    let before = message[..at].trim_end().strip_suffix(':')?;
    let name = before.rsplit([' ', ':']).next().unwrap_or_default();
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@'));
    (plain && name.len() < 20 && name.contains(|c: char| c.is_ascii_alphabetic())).then_some(name)
}
