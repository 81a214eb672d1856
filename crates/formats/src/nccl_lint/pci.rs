use roxmltree::Node;

use super::{Lint, codes};
use crate::nccl_topology::{class_of, integer, speed};

/// Link speeds that NCCL knows: it compares the beginning of the text.
const SPEEDS: [&str; 10] = [
    "2.5 GT/s",
    "5 GT/s",
    "8 GT/s",
    "16 GT/s",
    "32 GT/s",
    "5.0 GT/s PCIe",
    "8.0 GT/s PCIe",
    "16.0 GT/s PCIe",
    "32.0 GT/s PCIe",
    "64.0 GT/s PCIe",
];

pub(super) fn check(lint: &mut Lint<'_>) {
    let functions = lint.all("pci");
    lint.distinct(&functions, "busid", "PCI function");
    for node in functions {
        address(lint, node);
        class(lint, node);
        link(lint, node);
        uplink(lint, node);
    }
    for node in lint.all("").into_iter().filter(|node| node.attribute("keep") == Some("1")) {
        let message = "keep=\"1\" makes NCCL keep this although no rank of the job uses it";
        lint.note(codes::NCCL_DOUBTFUL, (node, "keep"), message, "remove it; NCCL sets it itself");
    }
}

fn address(lint: &mut Lint<'_>, node: Node<'_, '_>) {
    let Some(busid) = node.attribute("busid") else {
        lint.refused(
            (node, ""),
            "NCCL refuses the file: a <pci> has no busid",
            "write busid=\"0000:1b:00.0\"",
        );
        return;
    };
    let bytes = busid.as_bytes();
    let is_plain = bytes.len() == 12
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b':',
            10 => *byte == b'.',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
        });
    if !is_plain {
        let message = format!("busid=\"{busid}\" is not spelt as NCCL looks for it: it compares the text");
        let hint =
            "write four digits of the domain, then bus, device and function, in lower case: 0000:1b:00.0";
        lint.warn(codes::NCCL_DOUBTFUL, (node, "busid"), message, hint);
    }
}

fn class(lint: &mut Lint<'_>, node: Node<'_, '_>) {
    let Some(class) = node.attribute("class") else {
        let message = "NCCL refuses the file unless this function exists: it has no class";
        lint.refused(
            (node, ""),
            message,
            "0x030200 for a GPU, 0x020700 for an InfiniBand adapter, 0x060400 for a bridge",
        );
        return;
    };
    if !class.starts_with("0x") {
        let message = format!("NCCL does not know class=\"{class}\" and takes a bridge");
        lint.warn(codes::NCCL_ASSUMES, (node, "class"), message, "write it with 0x: 0x030200");
    }
    let has = |name: &'static str| node.children().any(|child| child.has_tag_name(name));
    let base = class_of(class).map(|class| class >> 8);
    let is_gpu = base == Some(0x03) || base == Some(0x12);
    if has("gpu") && base.is_some() && !is_gpu {
        let message = format!("class=\"{class}\" is no GPU's, but a <gpu> stands in it");
        lint.warn(codes::NCCL_CONTRADICTION, (node, "class"), message, "a GPU has 0x030200 or 0x030000");
    }
    if has("nic") && is_gpu {
        let message = format!("class=\"{class}\" is a GPU's, but a <nic> stands in it");
        lint.warn(codes::NCCL_CONTRADICTION, (node, "class"), message, "a NIC has 0x020700 or 0x020000");
    }
}

fn link(lint: &mut Lint<'_>, node: Node<'_, '_>) {
    if let Some(text) =
        node.attribute("link_speed").filter(|text| !SPEEDS.iter().any(|known| text.starts_with(known)))
    {
        let message = if text.is_empty() {
            "link_speed is empty: NCCL takes 8 GT/s".to_owned()
        } else {
            format!("NCCL does not know link_speed=\"{text}\" and takes 8 GT/s")
        };
        let right = speed(text).and_then(|speed| {
            let tenths = speed.bits_per_second() / 100_000_000;
            SPEEDS.iter().find(|known| {
                known.ends_with("PCIe") && known.starts_with(&format!("{}.{} ", tenths / 10, tenths % 10))
            })
        });
        let hint = right.map_or_else(
            || "write it as the kernel does: 16.0 GT/s PCIe, 32.0 GT/s PCIe".to_owned(),
            |right| format!("write link_speed=\"{right}\""),
        );
        lint.warn(codes::NCCL_ASSUMES, (node, "link_speed"), message, &hint);
    }
    if let Some(text) = node.attribute("link_width") {
        match integer(text).unwrap_or(0) {
            0 => {
                let message = format!("link_width=\"{text}\": NCCL takes 16 lanes");
                lint.warn(
                    codes::NCCL_ASSUMES,
                    (node, "link_width"),
                    message,
                    "write the lanes, if they are fewer",
                );
            }
            1 | 2 | 4 | 8 | 12 | 16 | 32 => {}
            _ => {
                let message = format!("link_width=\"{text}\" is no width that PCIe has");
                lint.warn(codes::NCCL_DOUBTFUL, (node, "link_width"), message, "1, 2, 4, 8 or 16");
            }
        }
    }
}

/// Transfers of a link in one direction, in tenths of GT/s, all lanes together; what is not known does not count.
fn transfers(node: Node<'_, '_>) -> Option<u64> {
    let lanes = node.attribute("link_width").and_then(integer).filter(|lanes| *lanes > 0)?;
    let lane = speed(node.attribute("link_speed")?)?.bits_per_second() / 100_000_000;
    Some(lane * u64::try_from(lanes).ok()?)
}

/// A bridge whose way up is slower than one device below it.
fn uplink(lint: &mut Lint<'_>, node: Node<'_, '_>) {
    let below = node.descendants().skip(1).filter(|below| below.has_tag_name("pci"));
    let devices = below.filter(|below| !below.children().any(|child| child.has_tag_name("pci")));
    let (Some(own), Some(most)) = (transfers(node), devices.filter_map(transfers).max()) else { return };
    // Only where the way narrows here, not again for each bridge above.
    let next = node.children().filter(|child| child.has_tag_name("pci")).filter_map(transfers).max();
    if own < most && next.is_none_or(|next| next > own) {
        let times = |value: u64| format!("{}.{} GT/s in all", value / 10, value % 10);
        let message =
            format!("the way up from this bridge carries {}, one device below {}", times(own), times(most));
        let hint =
            "check the slot with `lspci -vv`, or correct link_speed and link_width: NCCL believes them";
        lint.warn(codes::NCCL_DOUBTFUL, (node, "link_speed"), message, hint);
    }
}
