//! Collectives of chips that a torus of their own links joins: closed forms of rings over all axes at once.

use weft_catalogue::LinkKind;
use weft_collective::Collective;

/// A torus with the same links along each axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Torus {
    /// Axes, with a link to both neighbours on each.
    axes: f64,
    /// Bytes/s of one link in one direction that a stream reaches.
    link: f64,
    /// Seconds of a hop.
    hop_s: f64,
}

impl Torus {
    /// Of `links` links on each chip, of whose rate a stream reaches `share`.
    pub(super) fn new(link: &LinkKind, links: u16, share: f64) -> Self {
        let rate = link.rate(1).as_gigabytes() * 1e9 * share;
        Self {
            axes: f64::from(links) / 2.0,
            link: rate,
            hop_s: link.latency.as_ref().map_or(0.0, |latency| latency.value.as_seconds()),
        }
    }

    /// Seconds of a collective of so many chips; `bytes` are the whole buffer.
    pub(super) fn seconds(self, collective: Collective, chips: u32, bytes: f64) -> f64 {
        let chips = f64::from(chips);
        let side = libm::pow(chips, 1.0 / self.axes);
        let (all_links, part) = (2.0 * self.axes * self.link, (chips - 1.0) / chips);
        // Along a ring a message has a quarter of the way on average, both ways half.
        let hops = self.axes * side / 2.0 * self.hop_s;
        match collective {
            Collective::AllReduce => 2.0 * (bytes * part / all_links + hops),
            // All send to all: each axis carries a quarter of its length of hops.
            Collective::AllToAll => bytes * side / (8.0 * self.link) + hops,
            Collective::SendRecv => bytes / self.link + self.hop_s,
            Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Broadcast
            | Collective::Reduce => bytes * part / all_links + hops,
            Collective::Barrier => 2.0 * hops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Torus;
    use weft_catalogue::Catalogue;
    use weft_collective::Collective;

    #[test]
    fn a_cube_of_v5p_gathers_over_six_links() {
        let link = Catalogue::embedded().link("tpu-ici-v5p").unwrap();
        let torus = Torus::new(link, 6, 1.0);
        // 64 chips, 6 GB: 63/64 of it over 600 GB/s.
        let seconds = torus.seconds(Collective::AllGather, 64, 6e9);
        assert!((seconds - 9.84e-3).abs() < 0.05e-3, "{seconds}");
        // An exchange crosses the middle: 4 chips a side, 8 links' worth.
        let exchange = torus.seconds(Collective::AllToAll, 64, 6e9);
        assert!((exchange - 30e-3).abs() < 0.1e-3, "{exchange}");
    }
}
