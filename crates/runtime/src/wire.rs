//! How ranks write numbers and texts to each other: little-endian, texts behind their length.

use std::time::Duration;

use weft_collective::Rank;

use crate::Fault;

/// In what ranks can differ. What comes over the network is one of these.
pub(crate) const VERSION: &str = "version";
pub(crate) const RANKS: &str = "number of ranks";
pub(crate) const NUMBER: &str = "rank";
pub(crate) const CALL: &str = "call";

/// Writes behind what is there.
pub(crate) trait Put {
    /// A number of 32 bits.
    fn put_u32(&mut self, value: u32);
    /// A number of 64 bits.
    fn put_u64(&mut self, value: u64);
    /// A text behind its length.
    fn put_text(&mut self, text: &str);
    /// A fault, so that the other side has the same one; what only concerns this machine becomes [`Fault::Abandoned`].
    fn put_fault(&mut self, fault: &Fault, teller: Rank);
}

impl Put for Vec<u8> {
    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_text(&mut self, text: &str) {
        self.put_u32(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self.extend_from_slice(text.as_bytes());
    }

    fn put_fault(&mut self, fault: &Fault, teller: Rank) {
        let (kind, rank, number, texts): (u8, Rank, u64, [&str; 3]) = match fault {
            Fault::Dead { rank, how } => (1, *rank, 0, [how, "", ""]),
            Fault::Silent { rank, waited, how } => {
                (2, *rank, u64::try_from(waited.as_millis()).unwrap_or(u64::MAX), [how, "", ""])
            }
            Fault::Differs { rank, what, theirs, ours } => (3, *rank, 0, [what, theirs, ours]),
            Fault::Unreachable { rank, how } => (4, *rank, 0, [how, "", ""]),
            Fault::Abandoned { rank, reason } => (5, *rank, 0, [reason, "", ""]),
            Fault::LeftOut { rank, how } => (6, *rank, 0, [how, "", ""]),
            Fault::Lacking { .. } => (5, teller, 0, [&fault.to_string(), "", ""]),
        };
        self.push(kind);
        self.put_u32(rank.get());
        self.put_u64(number);
        for text in texts {
            self.put_text(text);
        }
    }
}

/// Reads from the beginning; `None` where less is there than is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.bytes::<1>().map(|[byte]| byte)
    }
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }
    pub(crate) fn rank(&mut self) -> Option<Rank> {
        self.u32().map(Rank::new)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let length = self.u32()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    pub(crate) fn fault(&mut self) -> Option<Fault> {
        let (kind, rank, number) = (self.u8()?, self.rank()?, self.u64()?);
        let (first, second, third) = (self.text()?, self.text()?, self.text()?);
        match kind {
            1 => Some(Fault::Dead { rank, how: first }),
            2 => Some(Fault::Silent { rank, waited: Duration::from_millis(number), how: first }),
            3 => {
                let what = [VERSION, RANKS, NUMBER, CALL].into_iter().find(|what| *what == first);
                Some(Fault::Differs { rank, what: what.unwrap_or("settings"), theirs: second, ours: third })
            }
            4 => Some(Fault::Unreachable { rank, how: first }),
            5 => Some(Fault::Abandoned { rank, reason: first }),
            6 => Some(Fault::LeftOut { rank, how: first }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_arrive_as_they_were_sent() {
        let rank = Rank::new(7);
        let faults = [
            Fault::Dead { rank, how: "reset".into() },
            Fault::Silent { rank, waited: Duration::from_millis(5250), how: "é".into() },
            Fault::Differs { rank, what: CALL, theirs: "a".into(), ours: "b".into() },
            Fault::Unreachable { rank, how: String::new() },
            Fault::Abandoned { rank, reason: "r".into() },
            Fault::LeftOut { rank, how: "h".into() },
        ];
        for fault in faults {
            let mut bytes = Vec::new();
            bytes.put_fault(&fault, Rank::new(1));
            assert_eq!(Reader(&bytes).fault(), Some(fault));
            for cut in 0..bytes.len() {
                assert_eq!(Reader(&bytes[..cut]).fault(), None);
            }
        }
        let mut bytes = Vec::new();
        bytes.put_fault(&Fault::Lacking { what: "shared memory", how: "full".into() }, Rank::new(1));
        let told = Fault::Abandoned { rank: Rank::new(1), reason: "shared memory: full".into() };
        assert_eq!(Reader(&bytes).fault(), Some(told));
    }
}
