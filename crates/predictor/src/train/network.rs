//! Seconds of collectives of groups that are the same everywhere in the machine, and talk at the same time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use weft_base::Bytes;
use weft_collective::Collective;
use weft_topology::{NcclPath, NodeId};
use weft_workload::{Axis, Reach, Transfer};

use super::{Site, TrainError};
use crate::found::Found;
use crate::predict::{Predictor, Request};

/// The least size of which a time is asked, and by how much it grows: between them, times are taken on a line of
/// logarithms.
const LEAST_POWER: u32 = 10;
const POWER_STEP: u32 = 2;
const POINTS: u32 = 14;

/// Members of a group in each domain, and in how many domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spread {
    within: u32,
    stride: u32,
    domains: u32,
}

/// How GPUs of a group read each other's memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Peers {
    /// Over links of the GPU fabric, all of them.
    pub fabric: bool,
    /// What one stream reaches between the worst two.
    pub rate_gbps: f64,
}

/// What a collective of named ranks takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GroupPrice {
    /// Seconds while nothing else is sent.
    pub alone_s: f64,
    /// Of what the ports of each of its domains to the network carry, what it then takes; 0 within one domain.
    pub ports_share: f64,
    /// The domains, by number.
    pub domains: Vec<u32>,
}

/// Times by size, of one collective of one spread of ranks.
type Curve = Vec<f64>;

/// What was asked of a site once; it depends on nothing else.
pub(super) type Curves = RefCell<BTreeMap<(Collective, Spread), Curve>>;

/// Channels of groups in one domain or two, found once: all collectives but send/recv run on the same ones.
pub(super) type Looked = RefCell<BTreeMap<(bool, Spread), Rc<Found>>>;

/// Prices of collectives on a site.
#[derive(Clone, Copy)]
pub struct Network<'s> {
    site: &'s Site<'s>,
    /// GPUs that form a domain in this layout: a power of two of them where not all are used.
    domain_gpus: u32,
}

impl<'s> Network<'s> {
    /// Of a layout whose model-parallel groups are laid into domains of `domain_gpus`.
    pub fn new(site: &'s Site<'s>, domain_gpus: u32) -> Self {
        Self { site, domain_gpus }
    }

    /// Seconds of all of a transfer.
    pub fn transfer(&self, transfer: &Transfer) -> Result<f64, TrainError> {
        if !transfer.is_needed() {
            return Ok(0.0);
        }
        let spread = self.spread(transfer.reach);
        let bytes = match transfer.axis {
            Axis::Expert => transfer.bytes * copies_kept(spread, transfer.copy_count),
            Axis::Tensor | Axis::Context | Axis::Pipeline | Axis::Data => transfer.bytes,
        };
        let fabric = &self.site.fabric;
        if spread.domains > 1 && fabric.is_cut(transfer.collective, transfer.reach) {
            return Err(TrainError::CrossesRails { axis: transfer.axis });
        }
        let alone = self.seconds(transfer.collective, spread, bytes)?;
        let shared = self.shared(transfer.collective, transfer.reach.gpus, spread, bytes)?;
        let slower = fabric.slower(transfer.collective, transfer.reach, self.domain_gpus);
        Ok(transfer.repeat_count * alone.max(shared) * slower)
    }

    /// A collective of just these ranks, in order, whatever else goes on; `None` where rails that no switch joins keep
    /// them apart.
    pub(crate) fn group(
        &self,
        collective: Collective,
        ranks: &[u32],
        bytes: f64,
    ) -> Result<Option<GroupPrice>, TrainError> {
        let (spread, domains) = self.spread_of(ranks);
        let span = ranks.last().zip(ranks.first()).map_or(0, |(last, first)| last.saturating_sub(*first));
        let gpus = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
        let reach = Reach { gpus, stride: (span / gpus.saturating_sub(1).max(1)).max(1) };
        let fabric = &self.site.fabric;
        if spread.domains > 1 && fabric.is_cut(collective, reach) {
            return Ok(None);
        }
        let alone_s = self.exactly(collective, spread, bytes)?;
        let groups = self.domain_gpus / spread.within.max(1);
        let ports_share = match spread.domains {
            0 | 1 => 0.0,
            _ if groups < 2 => 1.0,
            _ => {
                let between_s = self.seconds(collective, spread, bytes)?;
                (self.shared(collective, gpus, spread, bytes)? / (between_s * f64::from(groups))).min(1.0)
            }
        };
        let slower =
            if spread.domains > 1 { fabric.slower(collective, reach, self.domain_gpus) } else { 1.0 };
        Ok(Some(GroupPrice { alone_s: alone_s * slower, ports_share, domains }))
    }

    /// Which domains ranks are in. Where their distances differ, they are taken to be neighbours.
    fn spread_of(&self, ranks: &[u32]) -> (Spread, Vec<u32>) {
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for rank in ranks {
            members.entry(rank / self.domain_gpus.max(1)).or_default().push(*rank);
        }
        let fullest = members.values().max_by_key(|members| members.len()).map_or(&[][..], Vec::as_slice);
        let mut strides = fullest.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).max(1));
        let first = strides.next().unwrap_or(1);
        let stride = if strides.all(|stride| stride == first) { first } else { 1 };
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let spread = Spread { within: count(fullest.len()).max(1), stride, domains: count(members.len()) };
        (spread, members.into_keys().collect())
    }

    /// Which domains a group of ranks is in.
    fn spread(&self, reach: Reach) -> Spread {
        let within = (self.domain_gpus / reach.stride.max(1)).clamp(1, reach.gpus);
        Spread { within, stride: reach.stride.min(self.domain_gpus), domains: reach.gpus.div_ceil(within) }
    }

    /// Seconds that the domain's ports to the network take, where all its groups talk at once.
    fn shared(
        &self,
        collective: Collective,
        gpus: u32,
        spread: Spread,
        bytes: f64,
    ) -> Result<f64, TrainError> {
        let groups = self.domain_gpus / spread.within.max(1);
        if spread.domains < 2 || groups < 2 {
            return Ok(0.0);
        }
        // All GPUs of the domains in one collective: what the ports carry together.
        let whole = Spread { within: self.domain_gpus, stride: 1, domains: spread.domains };
        let (ranks, all) = (f64::from(gpus), f64::from(whole.within * whole.domains));
        let part = |ranks: f64| (ranks - 1.0) / ranks;
        // A point-to-point message of each GPU at once is an exchange in which each sends as much to one.
        let sends = collective == Collective::SendRecv;
        if sends || collective == Collective::AllToAll {
            let sent = if sends { bytes } else { bytes * part(ranks) };
            return self.seconds(Collective::AllToAll, whole, sent / part(all));
        }
        self.seconds(collective, whole, bytes * f64::from(groups) * part(ranks) / part(all))
    }

    fn seconds(&self, collective: Collective, spread: Spread, bytes: f64) -> Result<f64, TrainError> {
        if let Some(torus) = &self.site.torus {
            return Ok(torus.seconds(collective, spread.within * spread.domains, bytes));
        }
        let key = (collective, spread);
        if let Some(curve) = self.site.curves.borrow().get(&key) {
            return Ok(at(curve, bytes));
        }
        let curve = self.find(collective, spread)?;
        let seconds = at(&curve, bytes);
        self.site.curves.borrow_mut().insert(key, curve);
        Ok(seconds)
    }

    /// The same for just this size, which is what a prediction of it says.
    fn exactly(&self, collective: Collective, spread: Spread, bytes: f64) -> Result<f64, TrainError> {
        if self.site.torus.is_some() {
            return self.seconds(collective, spread, bytes);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sizes are positive and fit"
        )]
        let size = Bytes::new(bytes.max(1.0) as u64);
        let times = self.times(collective, spread, &[size])?;
        Ok(times.first().copied().unwrap_or_default())
    }

    fn find(&self, collective: Collective, spread: Spread) -> Result<Curve, TrainError> {
        let sizes: Vec<Bytes> =
            (0..POINTS).map(|step| Bytes::new(1 << (LEAST_POWER + POWER_STEP * step))).collect();
        self.times(collective, spread, &sizes)
    }

    fn times(&self, collective: Collective, spread: Spread, sizes: &[Bytes]) -> Result<Curve, TrainError> {
        let built = u32::try_from(self.site.domains.len()).unwrap_or(u32::MAX);
        if spread.domains > built && built < 2 {
            return Err(TrainError::TooFewGpus {
                wanted: spread.domains * spread.within,
                has: self.site.gpus,
            });
        }
        let request = self.request(collective, spread);
        let found = self.look(spread, &request)?;
        let predictor = Predictor::known(&self.site.topology, self.site.catalogue, &request, &found)?;
        let predictor = match (spread.domains, collective) {
            (1 | 2, _) | (_, Collective::SendRecv) => predictor,
            (domains, _) => {
                let none = TrainError::TooFewGpus { wanted: domains * spread.within, has: self.site.gpus };
                predictor.with_nodes(domains).ok_or(none)?
            }
        };
        let rows = predictor.rows(collective, sizes)?;
        Ok(rows.iter().map(|row| row.time.as_seconds()).collect())
    }

    /// The library on the group's GPUs in the first two domains.
    fn predictor(&self, collective: Collective, spread: Spread) -> Result<Predictor<'s>, TrainError> {
        Ok(Predictor::new(&self.site.topology, self.site.catalogue, &self.request(collective, spread))?)
    }

    fn request(&self, collective: Collective, spread: Spread) -> Request {
        Request {
            gpus: Some(self.members(spread)),
            launch: Some(self.site.launch),
            access: self.site.access.clone(),
            ..Request::new(collective)
        }
    }

    /// How the GPUs of a group reach each other's memory; `None` where the group spans domains, or some do not.
    pub(crate) fn peers(&self, reach: Reach) -> Result<Option<Peers>, TrainError> {
        let spread = self.spread(reach);
        if spread.domains > 1 || reach.gpus < 2 || self.site.torus.is_some() {
            return Ok(None);
        }
        let predictor = self.predictor(Collective::AllReduce, spread)?;
        let system = predictor.system();
        let pairs = || system.paths().filter(|path| path.kind != NcclPath::Loc);
        if pairs().any(|path| path.staged) {
            return Ok(None);
        }
        let fabric = pairs().all(|path| path.kind == NcclPath::Nvl);
        let rate = pairs().map(|path| path.rate).fold(f64::INFINITY, f64::min);
        Ok(rate.is_finite().then_some(Peers { fabric, rate_gbps: rate }))
    }

    /// What bounds a transfer, in words.
    pub(crate) fn bound_by(&self, transfer: &Transfer) -> Result<String, TrainError> {
        let spread = self.spread(transfer.reach);
        if self.site.torus.is_some() {
            return Ok("the links between chips".to_owned());
        }
        let predictor = self.predictor(transfer.collective, spread)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "buffers are positive and fit"
        )]
        let size = Bytes::new(transfer.bytes.max(1.0) as u64);
        let rows = predictor.rows(transfer.collective, &[size])?;
        Ok(rows.first().map_or_else(String::new, |row| row.bound_by.clone()))
    }

    /// The channels of a group; many domains have those of two.
    fn look(&self, spread: Spread, request: &Request) -> Result<Rc<Found>, TrainError> {
        let pair = request.collective == Collective::SendRecv;
        let key = (pair, Spread { domains: spread.domains.min(2), ..spread });
        if let Some(known) = self.site.looked.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let predictor = Predictor::new(&self.site.topology, self.site.catalogue, request)?;
        let found = Rc::new(predictor.into_found());
        self.site.looked.borrow_mut().insert(key, Rc::clone(&found));
        Ok(found)
    }

    /// The GPUs of one group in the first two domains.
    fn members(&self, spread: Spread) -> Vec<NodeId> {
        let used = self.site.domains.iter().take(spread.domains.min(2) as usize);
        let of_domain = |domain: &Vec<NodeId>| -> Vec<NodeId> {
            let every = domain.iter().copied().step_by(spread.stride.max(1) as usize);
            every.take(spread.within as usize).collect()
        };
        used.flat_map(of_domain).collect()
    }
}

/// The time of `bytes`, on a line of logarithms between the sizes that were asked; beyond them in proportion.
fn at(curve: &[f64], bytes: f64) -> f64 {
    let mut steps = (libm::log2(bytes.max(1.0)) - f64::from(LEAST_POWER)) / f64::from(POWER_STEP);
    let first = curve.first().copied().unwrap_or_default();
    if steps <= 0.0 {
        return first;
    }
    for pair in curve.windows(2) {
        if steps < 1.0 {
            return libm::exp2(libm::log2(pair[0]) * (1.0 - steps) + libm::log2(pair[1]) * steps);
        }
        steps -= 1.0;
    }
    curve.last().map_or(first, |last| last * libm::exp2(steps * f64::from(POWER_STEP)))
}

/// Share of an exchange's bytes that is sent, where a token that goes to several experts of one domain is sent there
/// once.
fn copies_kept(spread: Spread, copies: f64) -> f64 {
    if spread.domains < 2 || copies <= 1.0 {
        return 1.0;
    }
    let domains = f64::from(spread.domains);
    let hit = domains * (1.0 - libm::pow(1.0 - 1.0 / domains, copies));
    (hit / copies).min(1.0)
}
