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
#[cfg(test)]
mod tests;
mod trial;

use weft_collective::{Call, Collective, Counts, Rank, Terrain, algorithm};

pub use choice::Choice;
pub use cost::Priced;
use cost::Pricing;
#[cfg(target_os = "linux")]
pub use join::Joining;
pub use prepared::Played;
use prepared::{Prepared, Wanted, hashed};
pub(crate) use trial::Trial;

use crate::model::Calibration;
use crate::number::Number;
use crate::{
    Buffer, Element, Fault, Memory, Player, Port, Progress, Reduction, Script, Transport, Tuning, divide,
};

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
    /// The host of each rank, as a number; each its own where nothing is said.
    hosts: Vec<u32>,
    /// Of each host.
    processors: u32,
    choice: Choice,
    /// Whether the next call finds which ways are the quicker ones here.
    tunes: bool,
    prepared: Vec<Prepared>,
    /// The one that was played last.
    last: usize,
    scratch: Vec<Buffer<u8>>,
    waits_for: Vec<Port>,
    broken: Option<Fault>,
}

impl<T: Transport> Communicator<T> {
    /// This rank's membership, over a transport to all the others.
    pub fn new(rank: Rank, terrain: Terrain, transport: T, choice: Choice) -> Self {
        let (prepared, scratch, waits_for) = (Vec::new(), Vec::new(), Vec::new());
        let (hosts, processors, broken) = (Vec::new(), u32::MAX, None);
        Self {
            rank,
            terrain,
            transport,
            hosts,
            processors,
            choice,
            tunes: false,
            prepared,
            last: 0,
            scratch,
            waits_for,
            broken,
        }
    }

    /// Says on which host each rank is, by a number, and how many processors a host has. All ranks must be told the
    /// same. Without it each rank is taken to have a processor of its own.
    pub fn place(&mut self, hosts: Vec<u32>, processors: u32) {
        (self.hosts, self.processors) = (hosts, processors);
    }

    /// The host of each rank, and the processors of a host.
    pub fn placement(&self) -> (&[u32], u32) {
        (&self.hosts, self.processors)
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

    /// What a call takes that is played so, alone and in a row of so many, if that is known: by what was measured.
    pub fn predict(
        &self,
        call: &Call,
        played: &Played,
        calls: u32,
        calibration: &Calibration,
    ) -> Option<Priced> {
        let entry = algorithm(&played.algorithm)?;
        let tuning = played.tuning.or_else(|| self.transport.tuning());
        self.pricing(calibration, played.registered).tuned(tuning).call(
            entry,
            call,
            &self.terrain,
            (calls, played.parts.max(1)),
        )
    }

    /// Which algorithm is taken for a call, and why; `registered` says that its data lies in buffers of
    /// [`Self::buffer`].
    pub fn explain(&self, call: &Call, registered: bool) -> String {
        self.choice.explain(call, &self.terrain, |calibration| self.pricing(calibration, registered))
    }

    /// Memory for so many numbers, from which the other ranks of this host read what a call brings without a copy;
    /// where they cannot, ordinary memory. It may be used in any call, all or part of it, by this rank alone, and lives
    /// as long as it is needed.
    ///
    /// For calls whose data lies in such memory other algorithms are the quickest. So if one rank gives a call nothing
    /// but such memory, all are to; where that is not so, and no algorithm was named, the call may end with
    /// [`Fault::Differs`].
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
        self.run(wanted.in_place(), &[], bytemuck::cast_slice_mut(data))
    }

    /// Every rank ends with what all bring, in the order of ranks. All bring as much.
    pub fn all_gather<N: Number>(&mut self, own: &[N], all: &mut [N]) -> Result<(), Fault> {
        let wanted = Wanted::new(Collective::AllGather, Counts::Even(own.len() as u64), N::ELEMENT);
        self.run(wanted, bytemuck::cast_slice(own), bytemuck::cast_slice_mut(all))
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
        self.run(wanted, bytemuck::cast_slice(all), bytemuck::cast_slice_mut(own))
    }

    /// Every rank ends with what the root brings.
    pub fn broadcast<N: Number>(&mut self, data: &mut [N], root: Rank) -> Result<(), Fault> {
        let wanted = Wanted::new(Collective::Broadcast, Counts::Even(data.len() as u64), N::ELEMENT);
        self.run(wanted.rooted(root).in_place(), &[], bytemuck::cast_slice_mut(data))
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
        self.run(wanted, &[], bytemuck::cast_slice_mut(data))
    }

    /// Part j of what rank i brings ends as part i at rank j. All parts are equally long.
    pub fn all_to_all<N: Number>(&mut self, from: &[N], into: &mut [N]) -> Result<(), Fault> {
        let counts = Counts::Even(from.len() as u64 / u64::from(self.ranks().max(1)));
        let wanted = Wanted::new(Collective::AllToAll, counts, N::ELEMENT);
        self.run(wanted, bytemuck::cast_slice(from), bytemuck::cast_slice_mut(into))
    }

    /// Nobody goes on before everyone has come.
    pub fn barrier(&mut self) -> Result<(), Fault> {
        let wanted = Wanted::new(Collective::Barrier, Counts::Even(0), Element::U8);
        self.run(wanted, &[], &mut [])
    }

    /// Any call, over buffers as bytes: those of [`crate::Script::input_bytes`] and [`crate::Script::output_bytes`].
    pub fn call(
        &mut self,
        call: &Call,
        (element, reduction): (Element, Reduction),
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Fault> {
        self.run(Wanted::of(call, element, reduction), input, output)
    }

    /// The bytes that the two buffers of a call must have on this rank: input, output.
    pub fn lengths(&self, call: &Call) -> (usize, usize) {
        Script::lengths(call, self.ranks(), self.rank)
    }

    /// How the last call was played.
    pub fn played(&self) -> Option<&Played> {
        self.prepared.get(self.last).map(|last| &last.played)
    }

    /// The algorithm of the last call.
    pub fn algorithm(&self) -> &str {
        self.played().map_or("", |played| &played.algorithm)
    }

    /// From now on algorithms are chosen so; all ranks must be told the same at the same point.
    pub fn choose(&mut self, choice: Choice) {
        if let Some(tuning) = choice.calibration().and_then(|calibration| calibration.tuning) {
            self.tune_to(tuning);
            self.tunes = false;
        }
        self.choice = choice;
        self.prepared.clear();
    }

    /// Makes the transport go that way. Which plan is the quickest depends on it.
    pub(crate) fn tune_to(&mut self, tuning: Tuning) {
        self.transport.tune(tuning);
    }

    fn run(&mut self, mut wanted: Wanted, input: &[u8], output: &mut [u8]) -> Result<(), Fault> {
        if let Some(fault) = &self.broken {
            return Err(fault.clone());
        }
        wanted.registered = self.choice.weighs() && self.is_registered(&wanted, input, output);
        let at = self.prepare(&wanted)?;
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
        if matches!(self.choice, Choice::Measured) {
            self.calibrate()?;
        } else if self.tunes {
            self.tune()?;
        }
        let known = self.prepared.iter().position(|known| known.wanted == *wanted);
        if known.is_none() {
            let call = wanted.call();
            let pricing = |calibration| self.pricing(calibration, wanted.registered);
            let chosen = self.choice.chosen(&call, &self.terrain, pricing)?;
            self.prepared.push(Prepared::new(wanted, self.rank, &self.terrain, chosen)?);
        }
        self.last = known.unwrap_or(self.prepared.len() - 1);
        self.make_scratch();
        Ok(self.last)
    }

    /// Makes what the present call needs besides its buffers: where peers read it if the call is played so and there is
    /// such memory, else a call does without.
    fn make_scratch(&mut self) {
        let Prepared { script, played, .. } = &self.prepared[self.last];
        let is_read = played.tuning.is_none_or(|tuning| tuning.registered_from_bytes < usize::MAX);
        for (number, bytes) in script.scratch_bytes().iter().enumerate() {
            if self.scratch.len() <= number {
                self.scratch.push(Buffer::private(0));
            }
            let scratch = &mut self.scratch[number];
            let shares = is_read && *bytes >= self.transport.shape().registered_from_bytes;
            if scratch.len() < *bytes || shares && !scratch.is_shared() {
                match shares.then(|| self.transport.buffer(*bytes)) {
                    Some(Ok(shared)) => *scratch = shared,
                    Some(Err(_)) | None if scratch.len() < *bytes => *scratch = Buffer::private(*bytes),
                    Some(Err(_)) | None => {}
                }
            }
        }
    }

    /// Whether all that this rank gives to a call lies where peers read it. Ranks with parts of different lengths may
    /// give nothing at all, which lies nowhere.
    fn is_registered(&self, wanted: &Wanted, input: &[u8], output: &[u8]) -> bool {
        let is_registered = |bytes: &[u8]| bytes.is_empty() || self.transport.is_registered(bytes);
        input.len().max(output.len()) >= self.transport.shape().registered_from_bytes
            && wanted.is_even()
            && is_registered(input)
            && is_registered(output)
    }

    fn pricing<'p>(&'p self, calibration: &'p Calibration, registered: bool) -> Pricing<'p> {
        Pricing { calibration, shape: self.transport.shape(), hosts: &self.hosts, registered, reads: false }
    }

    fn play(&mut self, at: usize, input: &[u8], output: &mut [u8]) -> Result<(), Fault> {
        let Self { transport, prepared, scratch, waits_for, .. } = self;
        let Prepared { script, player, wanted, announced, text, played, .. } = &mut prepared[at];
        // What was said of the transport besides holds again for what is not called, as when it is measured.
        let before = transport.tuning().filter(|_| played.tuning.is_some());
        if let Some(tuning) = played.tuning {
            transport.tune(tuning);
        }
        let combined = (wanted.element, wanted.reduction);
        let announced = crate::Announced { signature_bits: *announced, text };
        let memory = Memory { input, output: &mut *output, scratch };
        let over = play(transport, (script, player), combined, announced, memory, waits_for);
        if let Some(before) = before {
            transport.tune(before);
        }
        over?;
        if let Some(sums) = prepared[at].averaged(self.rank) {
            divide(combined.0, self.terrain.ranks(), &mut output[sums]);
        }
        Ok(())
    }

    /// Plays a script that was not made for a call. After a fault nothing can be called any more.
    pub(crate) fn play_script(
        &mut self,
        scripts: (&Script, &mut Player),
        combined: (Element, Reduction),
        announced: crate::Announced<'_>,
        (input, output): (&[u8], &mut [u8]),
    ) -> Result<(), Fault> {
        let memory = Memory { input, output, scratch: &mut self.scratch };
        let played = play(&mut self.transport, scripts, combined, announced, memory, &mut self.waits_for);
        if let Err(fault) = &played {
            self.transport.abandon(fault);
            self.broken = Some(fault.clone());
        }
        played
    }
}

fn play<T: Transport>(
    transport: &mut T,
    (script, player): (&Script, &mut Player),
    combined: (Element, Reduction),
    announced: crate::Announced<'_>,
    mut memory: Memory<'_>,
    waits_for: &mut Vec<Port>,
) -> Result<(), Fault> {
    transport.begin(announced)?;
    player.begin(script);
    let mut rounds = 0;
    loop {
        match player.advance(script, combined, &mut memory, transport)? {
            Progress::Over => return Ok(()),
            Progress::Moved => rounds = 0,
            Progress::Still => {
                rounds += 1;
                waits_for.clear();
                waits_for.extend(player.waits_for(script));
                transport.wait(rounds, waits_for)?;
            }
        }
    }
}
