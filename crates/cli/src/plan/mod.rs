//! `weft plan`: what algorithms do, whether they are right, how long they take.

mod candidates;
mod fold;
mod study;
mod text;
mod time;

pub use candidates::{Asked, Candidate, Unsuited, candidates, of_file};
pub use fold::{PhaseFold, ThreadFold, folded};
pub use study::{Counted, Studied, Verdict, study};
pub use text::{one, several};
pub use time::{Clock, Timed};

use weft_base::Bytes;
use weft_collective::{Call, Rank};
use weft_predictor::GraphLimit;

/// All that is said.
pub struct Answers {
    /// The call, the same for all plans.
    pub call: Call,
    /// The message as nccl-tests counts it.
    pub size: Bytes,
    /// GPUs that take part.
    pub ranks: u32,
    /// The name of the network model; `None` where no machine is given.
    pub network: Option<&'static str>,
    /// What no algorithm can exceed on these links.
    pub limit: Option<GraphLimit>,
    /// The quickest first.
    pub plans: Vec<Studied>,
    /// What does not suit, and why.
    pub unsuited: Vec<Unsuited>,
    /// The rank whose operations are listed.
    pub rank: Option<Rank>,
}
