//! Collectives as a program calls them: which plan, which buffers, what if a rank dies.

mod calibrate;
mod choice;
mod cost;
#[cfg(target_os = "linux")]
mod join;
#[cfg(target_os = "linux")]
mod opening;
mod prepared;
mod shrink;

use weft_collective::{Call, Collective, Counts, Rank, Terrain};

pub use choice::{Choice, Speeds};
#[cfg(target_os = "linux")]
pub use join::Joining;
use prepared::{Prepared, Wanted};

use crate::number::Number;
use crate::{Buffer, Element, Fault, Memory, Port, Progress, Reduction, Transport, divide};

/// One rank's membership in a group of ranks that call collectives together: all of them the same ones, in the same
/// order, with the same counts.
///
/// After a fault every further call gives that fault again: who of the others was how far is not known any more. Those
/// who are left can go on as a smaller group: [`Communicator::shrink`].
#[derive(Debug)]
pub struct Communicator<T> {
    rank: Rank,
    terrain: Terrain,
    transport: T,
    choice: Choice,
    prepared: Vec<Prepared>,
    /// The one that was played last.
    last: usize,
    scratch: Vec<Vec<u8>>,
    waits_for: Vec<Port>,
    broken: Option<Fault>,
}

impl<T: Transport> Communicator<T> {
    /// This rank's membership, over a transport to all the others.
    pub fn new(rank: Rank, terrain: Terrain, transport: T, choice: Choice) -> Self {
        let (prepared, scratch, waits_for) = (Vec::new(), Vec::new(), Vec::new());
        Self { rank, terrain, transport, choice, prepared, last: 0, scratch, waits_for, broken: None }
    }

    /// Which rank this is.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.terrain.ranks()
    }

    /// The transport, to ask it what it has found.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// How algorithms are chosen.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Which algorithm is taken for a call, and why.
    pub fn explain(&self, call: &Call) -> String {
        self.choice.explain(call, &self.terrain)
    }

    /// Memory for so many numbers, from which the other ranks of this host read what a call brings without a copy;
    /// where they cannot, ordinary memory. It may be used in any call, all or part of it, by this rank alone, and lives
    /// as long as it is needed.
    ///
    /// ```no_run
    /// # use weft_runtime::{Communicator, Fault, Reduction, Transport};
    /// # fn train<T: Transport>(group: &mut Communicator<T>) -> Result<(), Fault> {
    /// let mut gradient = group.buffer::<f32>(1_000_000)?;
    /// gradient[7] = 0.5;
    /// group.all_reduce(&mut gradient, Reduction::Average)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn buffer<N: Number>(&self, count: usize) -> Result<Buffer<N>, Fault> {
        self.transport.buffer(count.saturating_mul(size_of::<N>())).map(Buffer::of)
    }

    /// Every rank ends with the combination of what all bring.
    pub fn all_reduce<N: Number>(&mut self, data: &mut [N], reduction: Reduction) -> Result<(), Fault> {
        let counts = Counts::Even(data.len() as u64);
        let wanted = Wanted::new(Collective::AllReduce, counts, N::ELEMENT).reduced(reduction);
        self.run(&wanted.in_place(), &[], bytemuck::cast_slice_mut(data))
    }

    /// Every rank ends with what all bring, in the order of ranks. All bring as much.
    pub fn all_gather<N: Number>(&mut self, own: &[N], all: &mut [N]) -> Result<(), Fault> {
        let wanted = Wanted::new(Collective::AllGather, Counts::Even(own.len() as u64), N::ELEMENT);
        self.run(&wanted, bytemuck::cast_slice(own), bytemuck::cast_slice_mut(all))
    }

    /// Rank i ends with part i of the combination of what all bring; all parts are as long as `own`.
    pub fn reduce_scatter<N: Number>(
        &mut self,
        all: &[N],
        own: &mut [N],
        reduction: Reduction,
    ) -> Result<(), Fault> {
        let counts = Counts::Even(own.len() as u64);
        let wanted = Wanted::new(Collective::ReduceScatter, counts, N::ELEMENT).reduced(reduction);
        self.run(&wanted, bytemuck::cast_slice(all), bytemuck::cast_slice_mut(own))
    }

    /// Every rank ends with what the root brings.
    pub fn broadcast<N: Number>(&mut self, data: &mut [N], root: Rank) -> Result<(), Fault> {
        let wanted = Wanted::new(Collective::Broadcast, Counts::Even(data.len() as u64), N::ELEMENT);
        self.run(&wanted.rooted(root).in_place(), &[], bytemuck::cast_slice_mut(data))
    }

    /// The root ends with the combination of what all bring; the data of the others may be overwritten.
    pub fn reduce<N: Number>(
        &mut self,
        data: &mut [N],
        reduction: Reduction,
        root: Rank,
    ) -> Result<(), Fault> {
        let wanted = Wanted::new(Collective::Reduce, Counts::Even(data.len() as u64), N::ELEMENT);
        let wanted = wanted.reduced(reduction).rooted(root).in_place();
        self.run(&wanted, &[], bytemuck::cast_slice_mut(data))
    }

    /// Part j of what rank i brings ends as part i at rank j. All parts are equally long.
    pub fn all_to_all<N: Number>(&mut self, from: &[N], into: &mut [N]) -> Result<(), Fault> {
        let counts = Counts::Even(from.len() as u64 / u64::from(self.ranks().max(1)));
        let wanted = Wanted::new(Collective::AllToAll, counts, N::ELEMENT);
        self.run(&wanted, bytemuck::cast_slice(from), bytemuck::cast_slice_mut(into))
    }

    /// Nobody goes on before everyone has come.
    pub fn barrier(&mut self) -> Result<(), Fault> {
        let wanted = Wanted::new(Collective::Barrier, Counts::Even(0), Element::U8);
        self.run(&wanted, &[], &mut [])
    }

    /// Any call, over buffers as bytes: those of [`crate::Script::input_bytes`] and [`crate::Script::output_bytes`].
    pub fn call(
        &mut self,
        call: &Call,
        (element, reduction): (Element, Reduction),
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Fault> {
        self.run(&Wanted::of(call, element, reduction), input, output)
    }

    /// The bytes that the two buffers of a call must have on this rank: input, output.
    pub fn lengths(
        &mut self,
        call: &Call,
        (element, reduction): (Element, Reduction),
    ) -> Result<(usize, usize), Fault> {
        let at = self.prepare(&Wanted::of(call, element, reduction))?;
        let script = &self.prepared[at].script;
        Ok((script.input_bytes(), script.output_bytes()))
    }

    /// The algorithm of the last call.
    pub fn algorithm(&self) -> &str {
        self.prepared.get(self.last).map_or("", |last| &last.algorithm)
    }

    /// From now on algorithms are chosen so; all ranks must be told the same at the same point.
    pub fn choose(&mut self, choice: Choice) {
        self.choice = choice;
        self.prepared.clear();
    }

    fn run(&mut self, wanted: &Wanted, input: &[u8], output: &mut [u8]) -> Result<(), Fault> {
        if let Some(fault) = &self.broken {
            return Err(fault.clone());
        }
        let at = self.prepare(wanted)?;
        let prepared = &self.prepared[at];
        prepared.check(input.len(), output.len())?;
        let played = self.play(at, input, output);
        if let Err(fault) = &played {
            self.transport.abandon(fault);
            self.broken = Some(fault.clone());
        }
        played
    }

    /// The plan for a call, made when it is first asked for.
    fn prepare(&mut self, wanted: &Wanted) -> Result<usize, Fault> {
        if self.prepared.get(self.last).is_some_and(|last| last.wanted == *wanted) {
            return Ok(self.last);
        }
        let known = self.prepared.iter().position(|known| known.wanted == *wanted);
        if known.is_none() {
            self.prepared.push(Prepared::new(wanted, self.rank, &self.terrain, &self.choice)?);
        }
        self.last = known.unwrap_or(self.prepared.len() - 1);
        for (number, bytes) in self.prepared[self.last].script.scratch_bytes().iter().enumerate() {
            if self.scratch.len() <= number {
                self.scratch.push(Vec::new());
            }
            if self.scratch[number].len() < *bytes {
                self.scratch[number].resize(*bytes, 0);
            }
        }
        Ok(self.last)
    }

    fn play(&mut self, at: usize, input: &[u8], output: &mut [u8]) -> Result<(), Fault> {
        let Self { transport, prepared, scratch, waits_for, .. } = self;
        let Prepared { script, player, wanted, announced, text, .. } = &mut prepared[at];
        transport.begin(crate::Announced { signature_bits: *announced, text })?;
        player.begin(script);
        let combined = (wanted.element, wanted.reduction);
        let mut rounds = 0;
        loop {
            let mut memory = Memory { input, output, scratch };
            match player.advance(script, combined, &mut memory, transport)? {
                Progress::Over => break,
                Progress::Moved => rounds = 0,
                Progress::Still => {
                    rounds += 1;
                    waits_for.clear();
                    waits_for.extend(player.waits_for(script));
                    transport.wait(rounds, waits_for)?;
                }
            }
        }
        if let Some(sums) = prepared[at].averaged(self.rank) {
            divide(combined.0, self.terrain.ranks(), &mut output[sums]);
        }
        Ok(())
    }
}
