//! Whose fault it is that a stream cannot go on.
#![expect(clippy::disallowed_methods, reason = "answers are waited for, but not for ever")]

use std::time::{Duration, Instant};

use weft_collective::Rank;

use super::Tcp;
use super::notes::Note;
use super::stream::CallId;
use crate::Fault;
use crate::majority::odd_one;
use crate::wire::CALL;

/// A rank that gives up says why before it goes; its word may be a little later than the end of its streams.
const LAST_WORD: Duration = Duration::from_millis(300);
/// For so long ranks are asked which call they make; who computes does not answer, and has no vote.
const VOTE: Duration = Duration::from_secs(1);

impl Tcp {
    /// A stream has ended: for the reason that its rank has told, or because that rank is dead.
    pub(super) fn ended(&mut self, rank: Rank, how: &str) -> Fault {
        let end = Instant::now() + LAST_WORD.min(self.settings.deadline);
        while Instant::now() < end {
            if let Err(fault) = self.hear_any(Duration::from_millis(10)) {
                return fault;
            }
            let peer = self.peers.get(rank.index());
            if peer.is_none_or(|peer| peer.left || peer.control.is_none()) {
                break;
            }
        }
        let left = self.peers.get(rank.index()).is_some_and(|peer| peer.left);
        self.dead(rank, if left { "it has left the group" } else { how })
    }

    /// What a peer sent belongs to another call than this rank's.
    pub(super) fn differing(&mut self, rank: Rank, theirs: Option<CallId>) -> Fault {
        if let (Some(theirs), Some(peer)) = (theirs, self.peers.get_mut(rank.index()))
            && peer.said.iter().all(|(said, _)| said.number != theirs.number)
        {
            peer.remember(theirs, String::new());
        }
        let fault = self.odd_call(self.call.number);
        if let Fault::Differs { .. } = fault {
            return fault;
        }
        let theirs = theirs.map_or_else(|| "bytes that belong to no call".to_owned(), |call| name(call, ""));
        let ours = self.calls.back().map_or_else(String::new, |(call, text)| name(*call, text));
        Fault::Differs { rank, what: CALL, theirs, ours }
    }

    /// Asks all for their call of a number, and gives which is the odd rank; what happens meanwhile may be another
    /// fault, which is then the one that is given.
    pub(super) fn odd_call(&mut self, number: u32) -> Fault {
        for peer in &mut self.peers {
            if let Some(control) = &mut peer.control {
                Note::Ask { number }.send(control, self.rank);
            }
        }
        let end = Instant::now() + VOTE.min(self.settings.deadline);
        let known = |text: &str| !text.is_empty();
        while Instant::now() < end {
            if let Err(fault) = self.hear_any(Duration::from_millis(10)) {
                return fault;
            }
            let mut voters = self.peers.iter().filter(|peer| peer.control.is_some() && !peer.left);
            if voters.all(|peer| peer.said.iter().any(|(call, text)| call.number == number && known(text))) {
                break;
            }
        }
        let own = self.calls.iter().filter(|(call, _)| call.number == number);
        let mut votes: Vec<(Rank, (CallId, String))> = own.map(|said| (self.rank, said.clone())).collect();
        for (index, peer) in (0..).zip(&self.peers) {
            let said = peer.said.iter().filter(|(call, _)| call.number == number);
            votes.extend(said.map(|said| (Rank::new(index), said.clone())));
        }
        let signatures: Vec<(Rank, CallId)> = votes.iter().map(|(rank, (call, _))| (*rank, *call)).collect();
        let text = |wanted: CallId| {
            let all = votes.iter().filter(|(_, (call, text))| *call == wanted && known(text));
            all.map(|(_, (_, text))| text.as_str()).next().unwrap_or_default()
        };
        let Some(odd) = odd_one(&signatures) else {
            let how =
                format!("call {number} was found to differ, and then not; the connection carries noise");
            return Fault::Lacking { what: "a reliable connection", how };
        };
        let (theirs, ours) = (name(odd.theirs, text(odd.theirs)), name(odd.ours, text(odd.ours)));
        Fault::Differs { rank: odd.rank, what: CALL, theirs, ours }
    }
}

/// `call 7: all-reduce of 1,024 float by ring, sum`.
fn name(call: CallId, text: &str) -> String {
    if text.is_empty() {
        format!("call {} of signature {:016x}", call.number, call.signature)
    } else {
        format!("call {}: {text}", call.number)
    }
}
