//! All choices of one request, priced by NCCL and by what is expected.

use weft_base::{Bytes, Rate, Span};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::Topology;

use super::{Expected, LIBRARY, Launch, LaunchCost, Launches, Spreads, Time, expect, time};
use crate::PredictError;
use crate::bound::Bound;
use crate::calibrate::{Calibrated, Calibration, Parts, Regime};
use crate::contention::{Between, Pattern};
use crate::nccl::choice::{Algorithm, Choice, Protocol, generation};
use crate::nccl::constants::Constants;
use crate::nccl::tuning::Tuning;
use crate::predict::Row;

/// The choices of one request, priced by NCCL and by what is expected.
pub(crate) struct Pricing<'a> {
    tuning: &'a Tuning<'a>,
    choices: Vec<Expected<'a>>,
    launches: Launches,
    spreads: Spreads,
    pub bus_factor: f64,
    collective: Collective,
    calibration: Option<&'a Calibration>,
}

impl<'a> Pricing<'a> {
    pub fn new(
        tuning: &'a Tuning<'a>,
        bound: &Bound,
        catalogue: &'a Catalogue,
        collective: Collective,
        (launch, calibration): (Option<Launch>, Option<&'a Calibration>),
    ) -> Result<Self, PredictError> {
        let all = tuning.choices(collective)?;
        let settings = tuning.settings;
        let wanted = |choice: &Choice| {
            // What is not an algorithm to NCCL cannot be allowed or excluded.
            let is_named = Algorithm::ALL.contains(&choice.algorithm);
            !is_named
                || settings.algorithms.allows(collective, choice.algorithm)
                    && settings.protocols.allows(collective, choice.protocol)
        };
        let any = all.iter().any(wanted);
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let bus_factor = collective.bus_factor(count(tuning.ranks));
        let choices = all
            .into_iter()
            .filter(|choice| !any || wanted(choice))
            .map(|choice| expect(choice, tuning, bus_factor, bound, catalogue))
            .collect::<Result<_, _>>()?;
        let achieved = Constants::of(catalogue, LIBRARY)?;
        let each = count(tuning.ranks.div_ceil(tuning.nodes.max(1)));
        let launches =
            Launches::of(launch, each, count(tuning.nodes), generation(tuning.system.capability), achieved)?;
        Ok(Self {
            tuning,
            choices,
            launches,
            spreads: Spreads::of(achieved)?,
            bus_factor,
            collective,
            calibration,
        })
    }

    /// Lets flows between hosts meet in the network of the machine.
    pub fn share_network(&mut self, between: &Between, machine: &Topology) -> Result<(), PredictError> {
        let large = Bytes::new(1 << 33);
        let nics = self.tuning.system.nics.len();
        let mut patterns: Vec<Pattern> = Vec::new();
        let mut of_choice = Vec::with_capacity(self.choices.len());
        for expected in &self.choices {
            let channels = self.tuning.channels_used(&expected.choice, large)?;
            let pattern = Pattern::of(&expected.choice, channels, nics, self.bus_factor);
            of_choice.push(pattern.map(|pattern| {
                patterns.iter().position(|known| *known == pattern).unwrap_or_else(|| {
                    patterns.push(pattern);
                    patterns.len() - 1
                })
            }));
        }
        let crowds = between.crowds(machine, &patterns);
        for (expected, index) in self.choices.iter_mut().zip(of_choice) {
            if let Some(crowd) = index.and_then(|index| crowds[index].as_ref()) {
                expected.share_network(crowd, self.bus_factor);
            }
        }
        Ok(())
    }

    /// How the largest size fares in the network, where flows of its choice meet there.
    pub fn crowded(&self, bytes: Bytes) -> Option<String> {
        let expected = self.choose(bytes).ok()?;
        expected.crowded?;
        expected.reasons.last().map(|reason| reason.text.clone())
    }

    /// Index of what NCCL finds cheapest.
    fn cheapest(&self, bytes: Bytes) -> Result<usize, PredictError> {
        let mut best: Option<(f64, usize)> = None;
        for (index, expected) in self.choices.iter().enumerate() {
            let price = self.tuning.price(&expected.choice, bytes)?;
            if best.is_none_or(|(least, _)| price < least) {
                best = Some((price, index));
            }
        }
        best.map(|(_, index)| index)
            .ok_or(PredictError::NoPath { gpus: usize::try_from(self.tuning.ranks).unwrap_or(usize::MAX) })
    }

    /// What NCCL finds cheapest.
    pub fn choose(&self, bytes: Bytes) -> Result<&Expected<'a>, PredictError> {
        self.cheapest(bytes).map(|index| &self.choices[index])
    }

    /// Expected time of NCCL's choice on a machine of its kind.
    pub fn time(&self, bytes: Bytes) -> Result<Time, PredictError> {
        Ok(self.time_of(self.cheapest(bytes)?, bytes, self.launches.expected))
    }

    fn time_of(&self, index: usize, bytes: Bytes, launch: LaunchCost) -> Time {
        let expected = &self.choices[index];
        time(expected, launch, bytes, expected.choice.correction(bytes))
    }

    /// The parts of a choice's time, and what it is one of.
    fn parts(&self, index: usize, bytes: Bytes) -> (Regime, Parts) {
        let least = self.time_of(index, bytes, self.launches.least);
        let choice = &self.choices[index].choice;
        let regime =
            Regime { collective: self.collective, algorithm: choice.algorithm, protocol: choice.protocol };
        (regime, self.time_of(index, bytes, self.launches.expected).parts(&least, self.tuning.ranks))
    }

    /// Microseconds as expected of this machine.
    fn expected_us(&self, index: usize, bytes: Bytes) -> f64 {
        let (regime, parts) = self.parts(index, bytes);
        self.calibration.map_or_else(|| parts.total_us(), |known| known.time_us(regime, &parts))
    }

    /// The same, and between which 90 % of measurements are expected.
    fn interval(&self, index: usize, bytes: Bytes) -> Calibrated {
        let (regime, parts) = self.parts(index, bytes);
        self.calibration.and_then(|known| known.interval(regime, &parts)).unwrap_or_else(|| {
            let (mut low_us, mut high_us) = self.spreads.interval_us(&parts);
            if let Some([least, most]) = self.choices[index].crowded {
                let with =
                    |share: f64| self.spreads.interval_us(&Parts { wire_us: parts.wire_us / share, ..parts });
                (low_us, high_us) = (with(most).0.min(low_us), with(least).1.max(high_us));
            }
            Calibrated { time_us: parts.total_us(), low_us, high_us }
        })
    }

    /// What prices a size: the choice, the row of the table of trees, and whether GPUs wait for their host; of a
    /// machine with a calibration, which follows no rule of growth, the half doubling too.
    fn key(&self, bytes: u64) -> Result<(usize, u32, bool), PredictError> {
        let index = self.cheapest(Bytes::new(bytes))?;
        let waits = self.time_of(index, Bytes::new(bytes), self.launches.expected).waits_for_host();
        let is_tree = self.choices[index].choice.algorithm == Algorithm::Tree;
        let doubling = bytes.ilog2();
        let row = match self.calibration {
            Some(_) => 2 * doubling + u32::from(bytes >> doubling.saturating_sub(1) & 1 == 1),
            None if is_tree => doubling,
            None => 0,
        };
        Ok((index, row, waits))
    }

    /// Sizes below `bytes` after which something else prices, each with its time.
    ///
    /// Within one choice time grows with size; at a change it may fall, since NCCL compares other prices than
    /// those expected here, and its table of trees has steps. A larger message is never sooner done.
    pub fn peaks(&self, bytes: u64) -> Result<Vec<(u64, f64)>, PredictError> {
        let mut peaks = Vec::new();
        let mut start = 1;
        while start < bytes {
            let key = self.key(start)?;
            let mut last = start;
            let mut step = start;
            // Doubles the step while the key stays, then halves it down to the last byte of this key.
            while last.saturating_add(step) < bytes && self.key(last + step)? == key {
                last += step;
                step = step.saturating_mul(2);
            }
            while step > 0 {
                if last.saturating_add(step) < bytes && self.key(last + step)? == key {
                    last += step;
                }
                step /= 2;
            }
            peaks.push((last, self.expected_us(key.0, Bytes::new(last))));
            start = last + 1;
        }
        Ok(peaks)
    }

    pub fn row(
        &self,
        bytes: Bytes,
        peaks: &[(u64, f64)],
        narrow: Option<&(String, f64)>,
    ) -> Result<Row, PredictError> {
        let index = self.cheapest(bytes)?;
        let expected = &self.choices[index];
        let before = peaks.iter().filter(|(last, _)| *last < bytes.get()).map(|(_, time_us)| *time_us);
        let time = self.time_of(index, bytes, self.launches.expected);
        let calibrated = self.interval(index, bytes);
        let time_us = before.fold(calibrated.time_us, f64::max);
        let raised = time_us / calibrated.time_us;
        let algbw = bytes.as_f64() / time_us / 1000.0;
        let choice = &expected.choice;
        let bound_by = if time.waits_for_host() {
            format!("the start of {} kernels by one process", self.tuning.system.gpus.len())
        } else if time.latency_us() >= 0.5 * time_us {
            format!("latency of {} {}", choice.algorithm.name(), choice.protocol.name())
        } else {
            limit(expected, narrow)
        };
        Ok(Row {
            bytes,
            time: Span::from_microseconds(time_us),
            low: Span::from_microseconds(calibrated.low_us * raised),
            high: Span::from_microseconds(calibrated.high_us * raised),
            algbw: Rate::from_gigabytes(algbw),
            busbw: Rate::from_gigabytes(algbw * self.bus_factor),
            algorithm: choice.algorithm,
            protocol: choice.protocol,
            channels: self.tuning.channels_used(choice, bytes)?,
            bound_by,
            parts: self.parts(index, bytes).1,
        })
    }
}

/// What limits a size at which bandwidth counts.
fn limit(expected: &Expected<'_>, narrow: Option<&(String, f64)>) -> String {
    if let Some(wire) = &expected.wire {
        return wire.clone();
    }
    let choice = &expected.choice;
    match (choice.algorithm, choice.protocol) {
        (Algorithm::Ring | Algorithm::Tree, Protocol::Ll | Protocol::Ll128) => {
            format!("flags of protocol {}", choice.protocol.name())
        }
        (Algorithm::Ring | Algorithm::Tree, _) if choice.staged => {
            "copies through host memory, over the PCIe ports".to_owned()
        }
        (
            Algorithm::Ring
            | Algorithm::Tree
            | Algorithm::CollnetDirect
            | Algorithm::CollnetChain
            | Algorithm::Nvls
            | Algorithm::NvlsTree
            | Algorithm::Pat
            | Algorithm::Symmetric
            | Algorithm::Direct,
            _,
        ) => narrow.map_or("the narrowest link", |(name, _)| name.as_str()).to_owned(),
    }
}
