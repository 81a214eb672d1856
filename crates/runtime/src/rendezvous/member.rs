//! What ranks tell of themselves.

use std::net::{IpAddr, SocketAddr};

use weft_collective::Rank;

use crate::wire::{Put, Reader};

/// An address at which a rank listens, and what is known of the interface that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The interface: `eth0`.
    pub interface: String,
    /// Where to connect to.
    pub address: SocketAddr,
    /// How many bits of the address name the network.
    pub prefix_bits: u8,
    /// The speed of the interface in Mbit/s, where the system knows it.
    pub speed_mbit_per_s: Option<u32>,
}

impl Endpoint {
    /// Whether an address lies in this one's subnet.
    pub fn covers(&self, other: IpAddr) -> bool {
        let bits = u32::from(self.prefix_bits);
        match (self.address.ip(), other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = u32::from(own) ^ u32::from(other);
                differing.leading_zeros() >= bits.min(32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = u128::from(own) ^ u128::from(other);
                differing.leading_zeros() >= bits.min(128)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// A rank as the others know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub rank: Rank,
    /// The version of Weftwork that it runs.
    pub version: String,
    /// The name of its host.
    pub host: String,
    /// Its process on that host.
    pub process: u32,
    /// Two ranks with the same one reach each other over the loopback interface: the boot of the kernel and the network
    /// namespace.
    pub network: String,
    /// Where it listens.
    pub endpoints: Vec<Endpoint>,
    /// What its caller gave, for all to read.
    pub text: String,
}

impl Member {
    /// How a message names it: `host n1, process 4711`.
    pub fn label(&self) -> String {
        format!("host {}, process {}", self.host, self.process)
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.put_u32(self.rank.get());
        out.put_text(&self.version);
        out.put_text(&self.host);
        out.put_u32(self.process);
        out.put_text(&self.network);
        out.put_text(&self.text);
        out.put_u32(u32::try_from(self.endpoints.len()).unwrap_or(0));
        for endpoint in &self.endpoints {
            out.put_text(&endpoint.interface);
            out.put_text(&endpoint.address.to_string());
            out.push(endpoint.prefix_bits);
            out.put_u32(endpoint.speed_mbit_per_s.unwrap_or(0));
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Option<Self> {
        let rank = from.rank()?;
        let (version, host, process) = (from.text()?, from.text()?, from.u32()?);
        let (network, text) = (from.text()?, from.text()?);
        let mut endpoints = Vec::new();
        for _ in 0..from.u32()? {
            endpoints.push(Endpoint {
                interface: from.text()?,
                address: from.text()?.parse().ok()?,
                prefix_bits: from.u8()?,
                speed_mbit_per_s: Some(from.u32()?).filter(|speed| *speed > 0),
            });
        }
        Some(Self { rank, version, host, process, network, endpoints, text })
    }
}

/// A number by which a meeting is known from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MeetingId(pub u64);

/// All ranks, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// Of this meeting and no other; what connects later shows it.
    pub id: MeetingId,
    /// One per rank, in order.
    pub members: Vec<Member>,
}

impl Roster {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.put_u64(self.id.0);
        out.put_u32(u32::try_from(self.members.len()).unwrap_or(0));
        for member in &self.members {
            member.put(out);
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Option<Self> {
        let id = MeetingId(from.u64()?);
        let members = (0..from.u32()?).map(|_| Member::read(from)).collect::<Option<Vec<_>>>()?;
        Some(Self { id, members })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roster_arrives_as_it_was_sent() {
        let endpoint = Endpoint {
            interface: "eth0".into(),
            address: "[fd00::1]:77".parse().unwrap(),
            prefix_bits: 64,
            speed_mbit_per_s: Some(25_000),
        };
        let member = Member {
            rank: Rank::new(1),
            version: "0.1".into(),
            host: "n1".into(),
            process: 9,
            network: "n".into(),
            endpoints: vec![endpoint],
            text: "t".into(),
        };
        let roster = Roster {
            id: MeetingId(5),
            members: vec![member.clone(), Member { endpoints: vec![], ..member }],
        };
        let mut bytes = Vec::new();
        roster.put(&mut bytes);
        assert_eq!(Roster::read(&mut Reader(&bytes)), Some(roster));
        assert_eq!(Roster::read(&mut Reader(&bytes[..bytes.len() - 1])), None);
    }

    #[test]
    fn subnets_cover_what_has_their_prefix() {
        let of = |address: &str, prefix_bits| Endpoint {
            interface: String::new(),
            address: address.parse().unwrap(),
            prefix_bits,
            speed_mbit_per_s: None,
        };
        let covers = |own: &str, bits, other: &str| of(own, bits).covers(other.parse().unwrap());
        assert!(covers("10.1.2.3:1", 24, "10.1.2.250"));
        assert!(!covers("10.1.2.3:1", 24, "10.1.3.3"));
        assert!(covers("10.1.2.3:1", 0, "11.0.0.1") && covers("10.1.2.3:1", 32, "10.1.2.3"));
        assert!(covers("[fd00::1]:1", 64, "fd00::2") && !covers("[fd00::1]:1", 64, "fd00:0:0:1::2"));
        assert!(!covers("10.1.2.3:1", 0, "::1"));
    }
}
