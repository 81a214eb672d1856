//! Which host and which pair is slow.
//!
//! A transfer is as quick as the slowest of three: what its sender sends, what its receiver takes, and what lies between
//! them. So what a host can send is seen in its row, with its quickest peers; what it can take in its column; and a
//! pair is slow by itself only if it stays below both. A slow host makes its whole row or column slow, and none of its
//! pairs is named for that; a slow pair leaves the rest of its row and column alone, and its hosts are not named.

use weft_base::Rate;

use super::statistics::{deviations, median, spread, upper_quartile};
use super::{PairRate, PairRates};

/// What is less slow than this is never named, however alike all others are: a fault halves a link (half its lanes, a
/// step of its speed) or does worse, and repeats of one pair on a network that others use differ by up to a tenth.
pub const LEAST_LOSS: f64 = 0.2;

/// Fewer hosts than this, and the matrix cannot tell a slow host from a slow pair.
const HOSTS_MIN: usize = 3;

/// From where on something is slow, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The share of what is expected: 0.8.
    pub share: f64,
    /// How much the values differ from each other without cause, as the standard deviation of their logarithms.
    pub noise_share: f64,
    /// By how many such deviations one value of so many may be lower by chance.
    pub deviation_count: f64,
}

impl Limit {
    fn new(noise_share: f64, count: usize) -> Self {
        let deviation_count = deviations(count);
        let share = (1.0 - LEAST_LOSS).min(libm::exp(-noise_share * deviation_count));
        Self { share, noise_share, deviation_count }
    }

    /// Whether the noise sets it, rather than [`LEAST_LOSS`].
    pub fn is_by_noise(&self) -> bool {
        self.share < 1.0 - LEAST_LOSS
    }
}

/// A host that is slow with all its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowHost {
    /// Which.
    pub host: usize,
    /// What it sends, where that is slow.
    pub sends: Option<Rate>,
    /// What it receives, where that is slow.
    pub receives: Option<Rate>,
}

/// A pair that is slower than both its hosts are with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowPair {
    /// The host that sends; the lower one where both directions are slow.
    pub from: usize,
    /// The host that receives.
    pub to: usize,
    /// What was measured from the one to the other.
    pub rate: Rate,
    /// What both hosts reach with others in that direction.
    pub expected: Rate,
    /// What was measured the other way round, where that is slow as well.
    pub back: Option<Rate>,
}

/// What stands out of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What hosts send and receive: the median of all. `None` where nothing was measured.
    pub typical: Option<Rate>,
    /// From where on a host is slow, as a share of `typical`.
    pub host_limit: Limit,
    /// From where on a pair is slow, as a share of what is expected of its hosts.
    pub pair_limit: Limit,
    /// Slow hosts, in their order.
    pub hosts: Vec<SlowHost>,
    /// Slow pairs, the slowest first.
    pub pairs: Vec<SlowPair>,
    /// Directions whose median is slow, and whose best repeat is not: from, to. They are not named as slow.
    pub unsteady: Vec<(usize, usize)>,
}

impl Verdict {
    /// Whether nothing stands out.
    pub fn is_clean(&self) -> bool {
        self.hosts.is_empty() && self.pairs.is_empty()
    }
}

/// What stands out of a matrix, by medians and median deviations, so that what stands out does not shift what it is
/// compared with. It needs three hosts to tell a host from a pair, and more good hosts than slow ones.
pub fn judge(rates: &PairRates) -> Verdict {
    let typical_of = |rate: PairRate| log(rate.median);
    let (sends, receives) = (ends(rates, Side::Sends, typical_of), ends(rates, Side::Receives, typical_of));
    let known: Vec<f64> = sends.iter().chain(&receives).flatten().copied().collect();
    let typical = median(&known);
    let centre = typical.unwrap_or(0.0);
    let is_enough = rates.hosts() >= HOSTS_MIN;
    let repeats = repeat_noise(rates);
    let host_limit = Limit::new(repeats.max(spread(&known, centre)), known.len());
    let hosts =
        if is_enough { slow_hosts(rates, (&sends, &receives), centre, host_limit) } else { Vec::new() };
    let expected = |from: usize, to: usize| {
        let ends = [sends.get(from), receives.get(to)].into_iter().flatten().flatten();
        // Two hosts have nothing to be compared with but each other.
        if is_enough {
            ends.copied().min_by(f64::total_cmp)
        } else {
            known.iter().copied().max_by(f64::total_cmp)
        }
    };
    let found: Vec<Residual> = rates
        .iter()
        .filter_map(|(from, to, rate)| Some(Residual { from, to, rate, expected: expected(from, to)? }))
        .collect();
    let residuals: Vec<f64> = found.iter().map(|cell| log(cell.rate.median) - cell.expected).collect();
    // Hosts are taken at their quickest, so that most pairs lie a little below.
    let offset = if is_enough { median(&residuals).unwrap_or(0.0) } else { 0.0 };
    let noise = if is_enough { pair_noise(&residuals, offset, rates.hosts()) } else { 0.0 };
    let pair_limit = Limit::new(repeats.max(noise), residuals.len());
    let (pairs, unsteady) = slow_pairs(&found, offset + libm::log(pair_limit.share));
    Verdict { typical: typical.map(rate), host_limit, pair_limit, hosts, pairs, unsteady }
}

/// By how much medians vary, as their own repeats show it: half of what the best lies above the median. Of five normal
/// repeats the best lies 1.16 deviations above, and their median varies by 0.54.
fn repeat_noise(rates: &PairRates) -> f64 {
    let above: Vec<f64> = rates.iter().map(|(_, _, rate)| log(rate.best) - log(rate.median)).collect();
    median(&above).unwrap_or(0.0) / 2.0
}

/// How far pairs lie below what their hosts reach. Above they cannot lie far, since their hosts are taken at their
/// quickest. Two numbers for each host were taken from the same values, which makes these look closer than they are:
/// the correction is that of a fit of so many numbers.
#[expect(clippy::cast_precision_loss, reason = "a count of pairs")]
fn pair_noise(residuals: &[f64], offset: f64, hosts: usize) -> f64 {
    let below: Vec<f64> = residuals.iter().copied().filter(|residual| *residual <= offset).collect();
    let free = (residuals.len() + 1).saturating_sub(2 * hosts).max(1);
    spread(&below, offset) * libm::sqrt(residuals.len() as f64 / free as f64)
}

/// A pair beside what its hosts reach, as a logarithm.
struct Residual {
    from: usize,
    to: usize,
    rate: PairRate,
    expected: f64,
}

#[derive(Clone, Copy)]
enum Side {
    Sends,
    Receives,
}

/// What each host sends or receives with its quickest peers, as a logarithm. The upper quartile, not the most: one
/// lucky repeat is no evidence.
fn ends(rates: &PairRates, side: Side, of: impl Fn(PairRate) -> f64) -> Vec<Option<f64>> {
    let values = |host: usize| {
        let cells = (0..rates.hosts()).filter_map(|peer| match side {
            Side::Sends => rates.get(host, peer),
            Side::Receives => rates.get(peer, host),
        });
        cells.map(&of).collect::<Vec<f64>>()
    };
    (0..rates.hosts()).map(|host| upper_quartile(&values(host))).collect()
}

fn slow_hosts(
    rates: &PairRates,
    (sends, receives): (&[Option<f64>], &[Option<f64>]),
    typical: f64,
    limit: Limit,
) -> Vec<SlowHost> {
    let least = typical + libm::log(limit.share);
    let best_of = |rate: PairRate| log(rate.best);
    let best = (ends(rates, Side::Sends, best_of), ends(rates, Side::Receives, best_of));
    // A host that others slowed down in some repeats was quick in others.
    let slow = |median: Option<f64>, best: Option<f64>| {
        median.filter(|median| *median < least && best.is_some_and(|best| best < least)).map(rate)
    };
    let at = |values: &[Option<f64>], host: usize| values.get(host).copied().flatten();
    let hosts = (0..rates.hosts()).map(|host| SlowHost {
        host,
        sends: slow(at(sends, host), at(&best.0, host)),
        receives: slow(at(receives, host), at(&best.1, host)),
    });
    hosts.filter(|host| host.sends.is_some() || host.receives.is_some()).collect()
}

/// The pairs whose logarithm lies so far from what is expected, and those that only sometimes do.
fn slow_pairs(cells: &[Residual], limit: f64) -> (Vec<SlowPair>, Vec<(usize, usize)>) {
    let is_low = |cell: &&Residual| log(cell.rate.median) - cell.expected < limit;
    let (slow, unsteady): (Vec<&Residual>, Vec<&Residual>) =
        cells.iter().filter(is_low).partition(|cell| log(cell.rate.best) - cell.expected < limit);
    let back = |cell: &Residual| slow.iter().find(|other| (other.from, other.to) == (cell.to, cell.from));
    let mut pairs: Vec<SlowPair> = slow
        .iter()
        .filter(|cell| cell.from < cell.to || back(cell).is_none())
        .map(|cell| SlowPair {
            from: cell.from,
            to: cell.to,
            rate: cell.rate.median,
            expected: rate(cell.expected),
            back: back(cell).map(|other| other.rate.median),
        })
        .collect();
    pairs.sort_by_key(|pair| (pair.rate, pair.from, pair.to));
    (pairs, unsteady.into_iter().map(|cell| (cell.from, cell.to)).collect())
}

/// The logarithm of a rate; of none, that of the least there is.
fn log(rate: Rate) -> f64 {
    libm::log(rate.as_gigabytes().max(1e-9))
}

fn rate(log: f64) -> Rate {
    Rate::from_gigabytes(libm::exp(log))
}
