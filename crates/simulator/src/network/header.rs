//! Bytes on a link that are no data: rules of the protocols.

use weft_base::Bytes;

/// What is sent around the data of each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// InfiniBand Architecture Specification, volume 1: local route 8, base transport 12, invariant CRC 4, variant
    /// CRC 2.
    Infiniband,
    /// RoCEv2, IBTA annex A17 over IEEE 802.3 and IPv4: preamble 8, Ethernet 14, IPv4 20, UDP 8, base transport 12,
    /// invariant CRC 4, frame check 4, gap between packets 12.
    RoceV2,
    /// RFC 9293 and 7323 over IEEE 802.3 and IPv4: preamble 8, Ethernet 14, IPv4 20, TCP 20, timestamps 12, frame
    /// check 4, gap between packets 12.
    Tcp,
}

impl Header {
    /// Its bytes.
    pub const fn bytes(self) -> Bytes {
        Bytes::new(match self {
            Self::Infiniband => 8 + 12 + 4 + 2,
            Self::RoceV2 => 8 + 14 + 20 + 8 + 12 + 4 + 4 + 12,
            Self::Tcp => 8 + 14 + 20 + 20 + 12 + 4 + 12,
        })
    }

    /// The data of a packet where `mtu` bounds it. The MTU of RDMA counts data only; that of TCP counts what
    /// Ethernet carries, its own and IP's headers included.
    pub const fn data(self, mtu: Bytes) -> Bytes {
        match self {
            Self::Infiniband | Self::RoceV2 => mtu,
            Self::Tcp => Bytes::new(mtu.get().saturating_sub(20 + 20 + 12)),
        }
    }

    /// Bytes on a link for each byte of data, in packets of full size.
    pub fn ratio(self, mtu: Bytes) -> f64 {
        let data = self.data(mtu).as_f64().max(1.0);
        (data + self.bytes().as_f64()) / data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_what_the_standards_add_up_to() {
        let sizes = [Header::Infiniband, Header::RoceV2, Header::Tcp].map(|header| header.bytes().get());
        assert_eq!(sizes, [26, 82, 90]);
        // 4096 of 4178 bytes are data.
        assert!((Header::RoceV2.ratio(Bytes::new(4096)) - 4178.0 / 4096.0).abs() < 1e-12);
        // 9000 bytes of IP have 8948 of data, and 9038 on the wire.
        assert!((Header::Tcp.ratio(Bytes::new(9000)) - 9038.0 / 8948.0).abs() < 1e-12);
    }
}
