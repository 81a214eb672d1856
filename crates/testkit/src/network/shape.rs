//! What holds traffic back, as lines for `tc -batch`.

use std::net::Ipv4Addr;

use weft_base::Rate;

use super::Unavailable;
use super::command::{batch, run};

/// What may go at once beyond the rate. More than the largest packet that the system hands over in one piece (64 KiB),
/// or those would be cut up; much more, and short messages would never be held back.
const BURST: &str = "128kb";
/// What may wait: a few milliseconds at 10 Gbit/s.
const LIMIT: &str = "4mb";
/// What a machine can do with ease is no limit.
const UNLIMITED: Rate = Rate::bytes_per_second(50_000_000_000);

/// Shapes a device anew.
pub(super) fn replace(namespace: &str, device: &str, lines: &[String]) -> Result<(), Unavailable> {
    // There may be nothing to remove, which is an error of its own.
    run("tc", Some(namespace), &["qdisc", "delete", "dev", device, "root"]).ok();
    batch("tc", Some(namespace), lines)
}

/// Everything that leaves a device.
pub(super) fn all(device: &str, rate: Rate) -> String {
    format!("qdisc add dev {device} root handle 1: tbf rate {} burst {BURST} limit {LIMIT}", bits(rate))
}

/// What leaves a device for these addresses, each at its own rate, and the rest at `rate`.
pub(super) fn by_destination(device: &str, rate: Option<Rate>, slow: &[(Ipv4Addr, Rate)]) -> Vec<String> {
    let most = bits(rate.unwrap_or(UNLIMITED));
    let class = |number: usize, parent: &str, rate: &str| {
        let bursts = format!("burst {BURST} cburst {BURST} quantum 65536");
        format!(
            "class add dev {device} parent {parent} classid 1:{number:x} htb rate {rate} ceil {rate} {bursts}"
        )
    };
    let mut lines = vec![format!("qdisc add dev {device} root handle 1: htb default 2")];
    lines.extend([class(1, "1:", &most), class(2, "1:1", &most)]);
    for (index, (address, rate)) in slow.iter().enumerate() {
        let number = index + 3;
        lines.push(class(number, "1:1", &bits(*rate)));
        let filter = format!("filter add dev {device} parent 1: protocol ip prio 1");
        lines.push(format!("{filter} u32 match ip dst {address}/32 flowid 1:{number:x}"));
    }
    lines
}

fn bits(rate: Rate) -> String {
    format!("{}bit", rate.get().saturating_mul(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_in_bits() {
        // 1.25 GB/s are 10 Gbit/s.
        let line = all("p3", Rate::bytes_per_second(1_250_000_000));
        assert_eq!(line, "qdisc add dev p3 root handle 1: tbf rate 10000000000bit burst 128kb limit 4mb");
    }

    #[test]
    fn each_slow_destination_has_a_class_and_a_filter() {
        let slow = [(Ipv4Addr::new(10, 0, 0, 9), Rate::bytes_per_second(125)); 2];
        let lines = by_destination("eth0", None, &slow).join("\n") + "\n";
        assert_eq!(lines.matches("class add").count(), 4);
        assert!(lines.contains("match ip dst 10.0.0.9/32 flowid 1:4\n"));
        assert!(lines.contains("classid 1:4 htb rate 1000bit"));
    }
}
