//! InfiniBand and RoCE, by the verbs library, which is opened when it is asked for. **Not run on hardware**: the library
//! has been called in form of a double only, and the transport been run over queue pairs in memory.
//!
//! What is here: which devices there are and what their ports can ([`Library`]), and a [`Transport`] over reliable
//! connected queue pairs ([`Verbs`] over a [`Fabric`]). What is not: a `Fabric` of real queue pairs. A rank that gives
//! up does not tell why; the others see only that its queue pairs are gone.

mod library;
mod link;
mod queue;
mod soft;

use std::time::{Duration, Instant};

use weft_collective::Rank;

use crate::{Announced, Fault, Port, Ports, Transport};

pub use library::{Device, Library, LinkLayer, PortState};
use link::Link;
pub use queue::{Completion, Fabric, Gone, QueuePair};
pub use soft::{SoftFabric, SoftQueue};

/// Rounds of waiting before others get the processor, and before this rank sleeps.
const SPINS: u32 = 200;
const YIELDS: u32 = 2000;
const SLEEP: Duration = Duration::from_micros(50);

/// Streams to other ranks over queue pairs, one for each peer and channel, opened when first used.
pub struct Verbs<F: Fabric> {
    rank: Rank,
    fabric: F,
    links: Vec<(Port, Link<F::Queue>)>,
    deadline: Duration,
    since: Option<Instant>,
    /// The number of the present call, what was announced, and both as one number that messages carry.
    number: u64,
    text: String,
    tag: u64,
    fault: Option<Fault>,
}

impl<F: Fabric> Verbs<F> {
    /// This rank's ends. A rank that does not move for the deadline is named.
    pub fn new(rank: Rank, fabric: F, deadline: Duration) -> Self {
        let (links, text) = (Vec::new(), String::new());
        Self { rank, fabric, links, deadline, since: None, number: 0, text, tag: 0, fault: None }
    }

    fn link(&mut self, port: Port) -> Result<&mut Link<F::Queue>, Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let found = self.links.iter().position(|(known, _)| *known == port);
        if found.is_none() {
            let queue = self.fabric.open(self.rank, port)?;
            self.links.push((port, Link::new(queue).map_err(|gone| dead(port.peer, &gone))?));
        }
        let at = found.unwrap_or(self.links.len() - 1);
        Ok(&mut self.links[at].1)
    }

    fn fail(&mut self, fault: Fault) -> Fault {
        self.fault.get_or_insert(fault).clone()
    }
}

fn dead(rank: Rank, gone: &Gone) -> Fault {
    Fault::Dead { rank, how: format!("its queue pair is gone, so that it has ended or given up: {}", gone.0) }
}

impl<F: Fabric> Ports for Verbs<F> {
    fn push(&mut self, port: Port, piece: &[u8], done: usize, _end: bool) -> Result<usize, Fault> {
        let tag = self.tag;
        let pushed = self.link(port)?.push(tag, piece, done);
        pushed.map_err(|gone| self.fail(dead(port.peer, &gone)))
    }

    fn pull(
        &mut self,
        port: Port,
        want: usize,
        unit: usize,
        _end: bool,
        mut take: impl FnMut(&[u8]),
    ) -> Result<usize, Fault> {
        let tag = self.tag;
        match self.link(port)?.pull(tag, (want, unit), &mut take) {
            Ok(Some(got)) => Ok(got),
            Ok(None) => {
                let (theirs, ours) = ("another call, or another number of it".to_owned(), self.text.clone());
                Err(self.fail(Fault::Differs { rank: port.peer, what: "call", theirs, ours }))
            }
            Err(gone) => Err(self.fail(dead(port.peer, &gone))),
        }
    }
}

impl<F: Fabric> Transport for Verbs<F> {
    fn begin(&mut self, call: Announced<'_>) -> Result<(), Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.number += 1;
        self.text.clear();
        self.text.push_str(call.text);
        // Calls that are alike differ by their number; the factor spreads it over all bits.
        self.tag = call.signature_bits.wrapping_add(self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "a transport has deadlines")]
    fn wait(&mut self, rounds: u32, on: &[Port]) -> Result<(), Fault> {
        if rounds < SPINS {
            self.since = None;
            std::hint::spin_loop();
            return Ok(());
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let waited = since.elapsed();
        if let (true, Some(port)) = (waited >= self.deadline, on.first()) {
            let how = format!("rank {} waits for it in call {} ({})", self.rank, self.number, self.text);
            return Err(self.fail(Fault::Silent { rank: port.peer, waited, how }));
        }
        if rounds < YIELDS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(SLEEP);
        }
        Ok(())
    }

    fn abandon(&mut self, fault: &Fault) {
        self.fail(fault.clone());
        self.links.clear();
    }
}
