//! In which order the addresses of a peer are tried.

use std::cmp::Reverse;

use crate::rendezvous::{Endpoint, Member};

/// An address of a peer, and why it is worth trying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub endpoint: Endpoint,
    /// The own address to connect from, where the user wants a certain one.
    pub from: Option<Endpoint>,
    pub why: String,
}

/// Loopback first between ranks of one network namespace, and never between others; then addresses in a subnet of this
/// rank's, faster interfaces first; then the rest. IPv4 before IPv6 where all else is equal.
pub(super) fn candidates(me: &Member, peer: &Member, forced: bool) -> Vec<Candidate> {
    let near = me.network == peer.network;
    let mut ranked = Vec::new();
    for endpoint in &peer.endpoints {
        let loopback = endpoint.address.ip().is_loopback();
        let own = me
            .endpoints
            .iter()
            .filter(|own| own.covers(endpoint.address.ip()) && own.address.ip().is_loopback() == loopback)
            .max_by_key(|own| own.speed_mbit_per_s);
        if loopback && (!near || own.is_none()) {
            continue;
        }
        let same_family =
            || me.endpoints.iter().find(|own| own.address.is_ipv4() == endpoint.address.is_ipv4());
        let from = if forced { own.or_else(same_family) } else { None };
        if forced && from.is_none() {
            continue;
        }
        let speeds = [endpoint.speed_mbit_per_s, own.and_then(|own| own.speed_mbit_per_s)];
        let speed = speeds.into_iter().flatten().min();
        let why = match (loopback, own) {
            (true, _) => "on the same host".to_owned(),
            (false, Some(own)) => format!("in the subnet of {}", own.interface),
            (false, None) => "in no subnet of this host".to_owned(),
        };
        let order = (!loopback, own.is_none(), Reverse(speed), endpoint.address.is_ipv6());
        ranked.push((order, Candidate { endpoint: endpoint.clone(), from: from.cloned(), why }));
    }
    ranked.sort_by_key(|(order, _)| *order);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_collective::Rank;

    fn member(network: &str, endpoints: &[(&str, &str, u8, u32)]) -> Member {
        let endpoints = endpoints.iter().map(|(interface, address, prefix_bits, speed)| Endpoint {
            interface: (*interface).to_owned(),
            address: format!("{address}:9").parse().unwrap(),
            prefix_bits: *prefix_bits,
            speed_mbit_per_s: Some(*speed).filter(|speed| *speed > 0),
        });
        Member {
            rank: Rank::new(0),
            version: String::new(),
            host: String::new(),
            process: 1,
            network: network.to_owned(),
            endpoints: endpoints.collect(),
            text: String::new(),
        }
    }

    fn order(me: &Member, peer: &Member, forced: bool) -> Vec<String> {
        candidates(me, peer, forced).iter().map(|one| one.endpoint.address.ip().to_string()).collect()
    }

    #[test]
    fn the_same_subnet_comes_first_and_faster_ones_before_slower() {
        let me = member(
            "a",
            &[("eth0", "10.0.0.1", 24, 1000), ("eth1", "10.1.0.1", 24, 100_000), ("lo", "127.0.0.1", 8, 0)],
        );
        let peer = member(
            "b",
            &[
                ("docker0", "172.17.0.1", 16, 0),
                ("eth0", "10.0.0.2", 24, 1000),
                ("eth1", "10.1.0.2", 24, 25_000),
                ("lo", "127.0.0.1", 8, 0),
            ],
        );
        assert_eq!(order(&me, &peer, false), ["10.1.0.2", "10.0.0.2", "172.17.0.1"]);
        let why: Vec<String> = candidates(&me, &peer, false).into_iter().map(|one| one.why).collect();
        assert_eq!(why, ["in the subnet of eth1", "in the subnet of eth0", "in no subnet of this host"]);
        let near = Member { network: "a".into(), ..peer };
        assert_eq!(order(&me, &near, false)[0], "127.0.0.1");
    }

    #[test]
    fn a_forced_interface_is_the_one_to_connect_from() {
        let me = member("a", &[("eth1", "10.1.0.1", 24, 0)]);
        let peer = member(
            "b",
            &[("eth0", "10.0.0.2", 24, 0), ("eth1", "10.1.0.2", 24, 0), ("eth2", "fd00::2", 64, 0)]
                .map(|(i, a, p, s)| (i, if a.contains("::") { "[fd00::2]" } else { a }, p, s)),
        );
        let found = candidates(&me, &peer, true);
        let from = found.iter().map(|one| one.from.as_ref().unwrap().interface.as_str());
        assert_eq!(from.collect::<Vec<_>>(), ["eth1", "eth1"]);
        assert_eq!(order(&me, &peer, true), ["10.1.0.2", "10.0.0.2"]);
    }
}
