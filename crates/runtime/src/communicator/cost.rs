//! What a call takes by an algorithm.

use weft_collective::{Algorithm, Call, Plan, Rank, Terrain};

use crate::model::Calibration;
use crate::model::clock::{Clock, is_crowded};
use crate::ports::Shape;
use crate::{Script, Tuning};

/// Plans with more actions are not priced: that would take longer than what they do.
const ACTIONS_MOST: usize = 400_000;
/// Calls in a row that are played at most: ranks that need not wait run ahead for that long.
const CALLS_MOST: u32 = 24;
/// Of large plans fewer, so that these many actions are played about.
const ACTIONS_WANTED: usize = 4_000;

/// What a call takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Priced {
    /// In seconds, from the moment at which all begin until the last rank is done.
    pub alone_s: f64,
    /// In seconds, of one of many calls in a row: who is done begins the next one.
    pub in_a_row_s: f64,
    /// Things that all ranks do for it: what they send, take, copy and wait for.
    pub action_count: usize,
}

impl Priced {
    /// By what algorithms are chosen. Where all wait for all, as in most collectives, both are the same; a broadcast
    /// can take long alone and little in a row, and programs make both.
    pub fn mean_s(&self) -> f64 {
        f64::midpoint(self.alone_s, self.in_a_row_s)
    }
}

/// All that decides what calls take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pricing<'p> {
    pub calibration: &'p Calibration,
    pub shape: Shape,
    /// The host of each rank; all are on the same one where it says nothing.
    pub hosts: &'p [u32],
    /// Whether what is given to the call lies in buffers that peers map.
    pub registered: bool,
    /// Whether only plans come into question that send nothing but what they are given. What the system reads of what
    /// was just written takes a time that hangs on where the two processors are, and those of a virtual machine move.
    pub reads: bool,
}

impl Pricing<'_> {
    /// The same where the transport goes that way.
    pub fn tuned(self, tuning: Option<Tuning>) -> Self {
        let Some(tuning) = tuning else { return self };
        let registered_from_bytes = tuning.registered_from_bytes.max(self.shape.registered_from_bytes);
        let direct_from_bytes = tuning.direct_from_bytes;
        Self { shape: Shape { direct_from_bytes, registered_from_bytes, ..self.shape }, ..self }
    }

    /// The same for plans alone that send nothing but what they are given, where the system reads anything.
    pub fn given_only(self) -> Self {
        Self { reads: self.shape.direct_from_bytes < usize::MAX, ..self }
    }

    /// What a call takes by an algorithm in so many parts, alone and in a row of so many; nothing if its plan cannot be played, or is too
    /// large to be priced.
    pub fn call(
        &self,
        algorithm: &dyn Algorithm,
        call: &Call,
        terrain: &Terrain,
        (calls, parts): (u32, u32),
    ) -> Option<Priced> {
        let scripts = scripts(&algorithm.plan(call, terrain), call, parts)?;
        if self.reads && scripts.iter().any(Script::passes_on) {
            return None;
        }
        let actions: usize = scripts.iter().map(|script| script.actions.len()).sum();
        let most = u32::try_from(ACTIONS_WANTED / actions.max(1)).unwrap_or(CALLS_MOST);
        let calls = calls.min(most.clamp(2, CALLS_MOST)).max(1);
        let ends = self.ends(&scripts, calls as usize)?;
        Some(Priced {
            alone_s: ends[0],
            in_a_row_s: ends[ends.len() - 1] / f64::from(calls),
            action_count: actions,
        })
    }

    /// When the last rank is done with each of some calls in a row: the mean over the ways in which ranks may be placed
    /// on processors that they share.
    fn ends(&self, scripts: &[Script], calls: usize) -> Option<Vec<f64>> {
        let play = |apart| {
            let clock = Clock::new(scripts, self.hosts, self.calibration, self.shape, apart);
            clock.registered(self.registered).run(calls)
        };
        let apart = play(true)?;
        if !is_crowded(self.hosts, self.calibration.processors) {
            return Some(apart);
        }
        let together = play(false)?;
        Some(apart.iter().zip(together).map(|(one, other)| f64::midpoint(*one, other)).collect())
    }
}

/// What each rank does of a plan.
fn scripts(plan: &Plan, call: &Call, parts: u32) -> Option<Vec<Script>> {
    let (mut scripts, mut actions) = (Vec::new(), 0);
    for rank in 0..plan.ranks {
        let script = Script::in_parts(plan, call, Rank::new(rank), parts).ok()?;
        actions += script.actions.len();
        if actions > ACTIONS_MOST {
            return None;
        }
        scripts.push(script);
    }
    Some(scripts)
}

#[cfg(test)]
mod tests {
    use weft_collective::{Collective, algorithm};

    use super::*;
    use crate::model::{Rates, Regime};

    /// 1 us, and 1 GB/s: a byte takes a nanosecond.
    fn microseconds(name: &str, collective: Collective, bytes: u64, ranks: u32) -> f64 {
        let calibration = Calibration::of_link(1e-6, 1e9);
        let hosts: Vec<u32> = (0..ranks).collect();
        let shape = Shape::stream(1 << 20, 4 << 20);
        let pricing =
            Pricing { calibration: &calibration, shape, hosts: &hosts, registered: false, reads: false };
        let call = Call { in_place: true, ..Call::bytes(collective, bytes) };
        let entry = algorithm(name).unwrap();
        pricing.call(entry, &call, &Terrain::flat(ranks), (1, 1)).unwrap().alone_s * 1e6
    }

    /// 1 GB/s where the sender was given the data, half of that where it passes it on, a tenth where it is fresh.
    #[test]
    fn what_is_read_where_it_is_costs_by_its_age() {
        let rates = |receive_s_per_byte| {
            vec![Rates { receive_s_per_byte, combine_s_per_byte: receive_s_per_byte, ..Rates::default() }]
        };
        let (touching, passed_on, fresh) = (rates(1e-9), rates(2e-9), rates(1e-8));
        let registered = Some(Regime { touching, passed_on, fresh, ..Regime::default() });
        let calibration = Calibration { registered, ..Calibration::of_link(1e-6, 1e6) };
        let shape = Shape { registered_from_bytes: 64, ..Shape::stream(1 << 20, 4 << 20) };
        let pricing =
            Pricing { calibration: &calibration, shape, hosts: &[0, 0], registered: true, reads: false };
        let microseconds = |name: &str, in_place| {
            let call = Call { in_place, ..Call::bytes(Collective::AllReduce, 8000) };
            pricing.call(algorithm(name).unwrap(), &call, &Terrain::flat(2), (1, 1)).unwrap().alone_s * 1e6
        };
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-3, "{found} {wanted}");
        // All that the other one was given.
        close(microseconds("recursive-doubling", false), 8.0);
        // Half of that, and half a sum.
        close(microseconds("ring", false), 4.0 + 8.0);
        // In place, the other's data are fresh.
        close(microseconds("ring", true), 40.0 + 8.0);
    }

    #[test]
    fn plans_take_what_their_closed_forms_say() {
        let close =
            |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-6 * wanted, "{found} {wanted}");
        // 2 (n - 1) steps of a latency and an n-th of 8,000 ns.
        close(microseconds("ring", Collective::AllReduce, 8000, 4), 6.0 * (1.0 + 2.0));
        // log2 n steps of everything.
        close(microseconds("recursive-doubling", Collective::AllReduce, 8000, 8), 3.0 * (1.0 + 8.0));
        // Up and down: a thread that waits for another one is not free to go on.
        assert!(microseconds("double-binary-tree", Collective::AllReduce, 8, 2) > 2.0);
    }
}
