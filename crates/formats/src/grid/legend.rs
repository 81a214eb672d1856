//! What stands around the rows: the legend of the words, the legend of the NICs, the command.

use crate::grid::Command;
use crate::words::{label, tokens};

/// Words that the legends explain.
const EXPLAINED: [&str; 15] =
    ["X", "SYS", "SOC", "NODE", "PHB", "PXB", "PIX", "NV#", "OK", "CNS", "GNS", "TNS", "NS", "DR", "U"];

/// Words that occur in the explanations, of any driver: what a wrapped legend line is made of.
const VOCABULARY: [&str; 44] = [
    "#",
    "a",
    "across",
    "and",
    "any",
    "as",
    "at",
    "between",
    "bonded",
    "bridge",
    "bridges",
    "by",
    "chipset",
    "connection",
    "cpu",
    "disabled",
    "e.g",
    "gpu",
    "host",
    "internal",
    "interconnect",
    "link",
    "links",
    "most",
    "multiple",
    "node",
    "nodes",
    "not",
    "numa",
    "nvlinks",
    "of",
    "pcie",
    "qpi",
    "qpi/upi",
    "regkey",
    "set",
    "single",
    "smp",
    "socket-level",
    "supported",
    "switch",
    "switches",
    "the",
    "topology",
];
const VOCABULARY_MORE: [&str; 10] =
    ["traversing", "typically", "unknown", "upi", "well", "within", "without", "status", "ok", "crossing"];

/// Whether `text` is `Legend:` or `NIC Legend:`.
pub(super) fn is_heading(text: &str) -> bool {
    let mut last = tokens(text).into_iter().rev().map(|token| token.text);
    matches!(last.next(), Some("Legend:" | "Legend")) && text.len() < 64
}

/// Whether `text` explains one of the words: `SYS  = Connection ...`.
pub(super) fn is_entry(text: &str) -> bool {
    let Some((before, after)) = text.split_once('=') else { return false };
    let word = tokens(before).last().map(|token| token.text);
    word.is_some_and(|word| EXPLAINED.contains(&word)) && (after.is_empty() || after.starts_with([' ', '\t']))
}

/// Whether `text` is the wrapped rest of an explanation: every word is one that explanations use.
pub(super) fn is_wrapped(text: &str) -> bool {
    let words = || text.split(|c: char| c.is_whitespace()).filter(|word| !word.is_empty());
    let known = |word: &str| {
        let plain = word.trim_matches(['(', ')', ',', '.', ':']).to_lowercase();
        plain.is_empty() || VOCABULARY.contains(&plain.as_str()) || VOCABULARY_MORE.contains(&plain.as_str())
    };
    words().next().is_some() && words().all(known)
}

/// `NIC0: mlx5_2` of the NIC legend.
pub(super) fn nic_name(text: &str) -> Option<(&str, &str)> {
    let all = tokens(text);
    let pair = all.iter().position(|token| token.text.starts_with("NIC"))?;
    let (name, rest) = (all[pair].text, &all[pair + 1..]);
    let (name, rest) = match (name.strip_suffix(':'), rest) {
        (Some(name), rest) => (name, rest),
        (None, [colon, rest @ ..]) if colon.text == ":" => (name, rest),
        (None, _) => return None,
    };
    let [device] = rest else { return None };
    let counted = name.strip_prefix("NIC").is_some_and(|digits| digits.parse::<u32>().is_ok());
    (counted && pair <= 4 && label(device.text).is_some()).then_some((name, device.text))
}

/// The `nvidia-smi topo` command in `text`, typed at a prompt.
pub(super) fn command(text: &str) -> Option<Command> {
    let (_, after) = text.split_once("nvidia-smi")?;
    let mut words = after.split_whitespace();
    let topo = words.next().map(|word| word.trim_start_matches(".exe"));
    if topo != Some("topo") {
        return None;
    }
    let letter = |word: &str| word.chars().next().filter(|c| "rwnap".contains(*c));
    match words.next()? {
        "-m" | "--matrix" | "-mp" => Some(Command::Matrix),
        "-p2p" | "--p2p_status" | "-p2pstatus" => Some(Command::Peers(words.next().and_then(letter))),
        _ => None,
    }
}

/// Whether `text` only rules a table: `|---|:-:|`, `+-----+`.
pub(super) fn is_rule(text: &str) -> bool {
    let ruled =
        |c: char| matches!(c, '-' | '|' | '+' | ':' | '=' | '─' | '┼' | '│' | '├' | '┤') || c.is_whitespace();
    text.chars().all(ruled) && text.chars().filter(|c| matches!(c, '-' | '=' | '─')).count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_legend_lines_are_told_from_prose() {
        for line in [
            "  NUMA nodes (e.g., QPI/UPI)",
            "the CPU)",
            "PCIe Host Bridge)",
            "Host Bridges within a NUMA node",
        ] {
            assert!(is_wrapped(line), "{line}");
        }
        for line in ["", "The GPUs are slow", "any ideas?", "mlx5_0"] {
            assert!(!is_wrapped(line), "{line}");
        }
    }

    #[test]
    fn legends_are_recognised_behind_noise() {
        assert!(is_entry("[0]   SYS  = Connection"));
        assert!(is_entry("X   = Self"));
        assert!(!is_entry("export X=1"));
        assert!(is_heading("NIC Legend:") && is_heading("[0] Legend:"));
        assert_eq!(nic_name("  NIC10: mlx5_bond_0"), Some(("NIC10", "mlx5_bond_0")));
        assert_eq!(nic_name("  NIC2: roceP2p1s0f0"), Some(("NIC2", "roceP2p1s0f0")));
        assert_eq!(nic_name("NIC: mlx5_0"), None);
    }

    #[test]
    fn the_command_tells_the_format() {
        assert_eq!(command("root@h:~# nvidia-smi topo -m"), Some(Command::Matrix));
        assert_eq!(command("$ nvidia-smi topo -p2p r"), Some(Command::Peers(Some('r'))));
        assert_eq!(command("$ nvidia-smi -L"), None);
    }
}
