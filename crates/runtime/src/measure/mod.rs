//! How long collectives take: the same calls on all ranks, timed by all, told by the slowest.

mod compare;
mod pairs;
mod pattern;

use std::time::{Duration, Instant};

use weft_base::Bytes;
use weft_collective::{Buffer, Call, Collective, Counts, Layout, Rank};

pub use compare::{Compared, Verdict, compare, median};

use crate::{Buffer as Numbers, Communicator, Element, Fault, Played, Reduction, Transport};
pub use pairs::{PairMeasured, PairSeries, PairsMeasured, pairs};

/// The collectives that all ranks take part in.
pub fn collectives() -> impl Iterator<Item = Collective> {
    Collective::ALL.into_iter().filter(|collective| *collective != Collective::SendRecv)
}

/// What is measured.
#[derive(Debug, Clone)]
pub struct Series {
    /// What.
    pub collective: Collective,
    /// Of what.
    pub element: Element,
    /// Combined how, where it is.
    pub reduction: Reduction,
    /// The root of a broadcast or reduce.
    pub root: Rank,
    /// Messages as nccl-tests counts them: the whole buffer, all ranks' parts.
    pub sizes: Vec<Bytes>,
    /// How often each is measured; the median counts.
    pub repeats: usize,
    /// How long one measurement takes about; as many calls as fit, at least one.
    pub lasting: Duration,
    /// Whether the buffers are those of [`Communicator::buffer`], from which peers read; else each rank's own.
    pub registered: bool,
}

/// What a size took.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The message, as it could be cut: a multiple of ranks and elements.
    pub bytes: Bytes,
    /// Elements of a part.
    pub element_count: u64,
    /// The algorithm that was taken out of place.
    pub algorithm: String,
    /// With input and output apart.
    pub out_of_place: Timing,
    /// With both the same memory.
    pub in_place: Timing,
}

/// Repeats of one measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// Seconds of a call, of the slowest rank: the median of the repeats.
    pub median_s: f64,
    /// The shortest and the longest repeat, in seconds.
    pub range_s: (f64, f64),
    /// Elements that were wrong on any rank.
    pub wrong_count: u64,
}

impl Series {
    /// The sizes from the least to the most, each `factor` times the one before.
    pub fn sizes(least: Bytes, most: Bytes, factor: u64) -> Vec<Bytes> {
        let next = |size: &Bytes| size.get().checked_mul(factor.max(2)).map(Bytes::new);
        std::iter::successors(Some(least), next).take_while(|size| *size <= most).collect()
    }

    /// Elements of a part of a message of about this size, and the bytes of all parts.
    pub fn part(&self, size: Bytes, ranks: u32) -> (u64, Bytes) {
        let whole = Call::message(self.collective, size.get(), ranks);
        let unit = self.element.size_bytes() as u64;
        let part = match whole.counts {
            Counts::Even(bytes) => bytes / unit,
            Counts::PerRank(_) | Counts::PerPair(_) => 0,
        };
        let layout = Layout::new(&whole, ranks, 1);
        let parts = u64::from(layout.parts(Buffer::Input).max(layout.parts(Buffer::Output)));
        (part, Bytes::new(part * parts * unit))
    }

    fn call(&self, elements: u64, in_place: bool) -> Call {
        Call {
            counts: Counts::Even(elements),
            data_type: self.element.data_type(),
            root: self.root,
            in_place,
            ..Call::bytes(self.collective, 0)
        }
    }
}

/// Measures a size; all ranks measure the same ones in the same order.
pub fn measure<T: Transport>(
    communicator: &mut Communicator<T>,
    series: &Series,
    size: Bytes,
) -> Result<Measured, Fault> {
    let ranks = communicator.ranks();
    let (part, bytes) = series.part(size, ranks);
    let (out_of_place, algorithm) = timed(communicator, series, part, false)?;
    // An exchange of parts with everyone has no meaning in place that all libraries share; it is measured once.
    let alike = matches!(series.collective, Collective::AllToAll | Collective::Barrier);
    let in_place = if alike { out_of_place.clone() } else { timed(communicator, series, part, true)?.0 };
    Ok(Measured { bytes, element_count: part, algorithm, out_of_place, in_place })
}

fn timed<T: Transport>(
    communicator: &mut Communicator<T>,
    series: &Series,
    elements: u64,
    in_place: bool,
) -> Result<(Timing, String), Fault> {
    let mut measurement = Measurement::begin(communicator, series, elements, in_place)?;
    for _ in 0..series.repeats.max(1) {
        measurement.repeat(communicator)?;
    }
    Ok((measurement.timing(), measurement.played.algorithm))
}

/// A call that is measured in repeats, so that other measurements can be between them.
#[derive(Debug)]
pub struct Measurement {
    call: Call,
    combined: (Element, Reduction),
    buffers: Buffers,
    played: Played,
    wrong_count: u64,
    /// Calls of a repeat.
    count: u32,
    repeats_s: Vec<f64>,
}

impl Measurement {
    /// Makes the call for the first time, checks what comes out, and finds how many calls a repeat takes. All ranks do
    /// so together, as with [`Self::repeat`].
    pub fn begin<T: Transport>(
        communicator: &mut Communicator<T>,
        series: &Series,
        element_count: u64,
        in_place: bool,
    ) -> Result<Self, Fault> {
        let call = series.call(element_count, in_place);
        let combined = (series.element, series.reduction);
        let (rank, ranks) = (communicator.rank(), communicator.ranks());
        let mut buffers = Buffers::new(communicator, &call, series.registered)?;
        buffers.fill(&call, combined, (rank, ranks));
        communicator.call(&call, combined, &buffers.input, &mut buffers.output)?;
        let played = communicator.played().cloned().unwrap_or_default();
        let wrong = pattern::wrong(&call, combined, (rank, ranks), buffers.result(&call, rank));
        let wrong_count = total(communicator, wrong)?;
        // In place, sums of sums would grow beyond all numbers, and those take longer.
        buffers.clear();
        let mut begun =
            Self { call, combined, buffers, played, wrong_count, count: 1, repeats_s: Vec::new() };
        let one_s = begun.calls(communicator)?.min(begun.calls(communicator)?);
        begun.count = fitting(series.lasting.as_secs_f64() / one_s.max(1e-9), CALLS_MOST);
        Ok(begun)
    }

    /// Measures it once more.
    pub fn repeat<T: Transport>(&mut self, communicator: &mut Communicator<T>) -> Result<(), Fault> {
        let seconds = self.calls(communicator)?;
        self.repeats_s.push(seconds);
        Ok(())
    }

    /// What is measured.
    pub fn of(&self) -> &Call {
        &self.call
    }

    /// How many calls are made in a row.
    pub fn calls_in_a_row(&self) -> u32 {
        self.count
    }

    /// How it is played.
    pub fn played(&self) -> &Played {
        &self.played
    }

    /// What came of the repeats.
    pub fn timing(&self) -> Timing {
        let mut repeats_s = self.repeats_s.clone();
        repeats_s.sort_by(f64::total_cmp);
        let at = |index: usize| repeats_s.get(index).copied().unwrap_or(f64::NAN);
        let range_s = (at(0), at(repeats_s.len().saturating_sub(1)));
        Timing { median_s: at(repeats_s.len() / 2), range_s, wrong_count: self.wrong_count }
    }

    fn calls<T: Transport>(&mut self, communicator: &mut Communicator<T>) -> Result<f64, Fault> {
        communicator.barrier()?;
        let begun = now();
        for _ in 0..self.count {
            communicator.call(&self.call, self.combined, &self.buffers.input, &mut self.buffers.output)?;
        }
        slowest(communicator, begun.elapsed().as_secs_f64() / f64::from(self.count))
    }
}

/// Calls of a repeat at most.
const CALLS_MOST: u32 = 100_000;

#[derive(Debug)]
struct Buffers {
    input: Numbers<u8>,
    output: Numbers<u8>,
}

impl Buffers {
    fn new<T: Transport>(
        communicator: &Communicator<T>,
        call: &Call,
        registered: bool,
    ) -> Result<Self, Fault> {
        let (input, output) = communicator.lengths(call);
        let buffer =
            |bytes| if registered { communicator.buffer(bytes) } else { Ok(Numbers::private(bytes)) };
        Ok(Self { input: buffer(input)?, output: buffer(output)? })
    }

    /// What the rank brings.
    fn fill(&mut self, call: &Call, (element, reduction): (Element, Reduction), (rank, ranks): (Rank, u32)) {
        if !call.in_place {
            return pattern::fill(element, reduction, rank, &mut self.input);
        }
        let own = if call.collective == Collective::AllGather {
            let part = self.output.len() / ranks.max(1) as usize;
            rank.index() * part..(rank.index() + 1) * part
        } else {
            0..self.output.len()
        };
        pattern::fill(element, reduction, rank, &mut self.output[own]);
    }

    /// What the rank ends with.
    fn result(&self, call: &Call, rank: Rank) -> &[u8] {
        let Counts::Even(part) = call.counts else { return &self.output };
        if call.in_place && call.collective == Collective::ReduceScatter {
            let bytes = usize::try_from(part * call.data_type.size_bytes()).unwrap_or(usize::MAX);
            return &self.output[rank.index() * bytes..(rank.index() + 1) * bytes];
        }
        &self.output
    }

    fn clear(&mut self) {
        self.input.fill(0);
        self.output.fill(0);
    }
}

/// Numbers of all ranks, added.
fn total<T: Transport>(communicator: &mut Communicator<T>, own: u64) -> Result<u64, Fault> {
    let mut sum = [i64::try_from(own).unwrap_or(i64::MAX)];
    communicator.all_reduce(&mut sum, Reduction::Sum)?;
    Ok(u64::try_from(sum[0]).unwrap_or(u64::MAX))
}

/// The seconds of the slowest rank; one that took no part has none.
pub(crate) fn slowest<T: Transport>(communicator: &mut Communicator<T>, own_s: f64) -> Result<f64, Fault> {
    let mut most = [own_s];
    communicator.all_reduce(&mut most, Reduction::Max)?;
    Ok(most[0])
}

/// A count of calls, at least one, that all ranks find alike, since all know the same time.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded above and below")]
pub(crate) fn fitting(count: f64, most: u32) -> u32 {
    count.clamp(1.0, f64::from(most)) as u32
}

#[expect(clippy::disallowed_methods, reason = "to measure time is what this is for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
