//! Whether an algorithm does what it says.

use weft_collective::{Call, Collective, Proof, Rank, Violation, verify};

use super::{MscclAlgorithm, Origin};

/// Blocks and steps beyond which a file is not checked while it is read.
const WORK_MAX: u64 = 1 << 21;

/// What is proved, and of which call.
#[derive(Debug, Clone, PartialEq)]
pub struct MscclProof {
    /// The call: in place or not, with the root that the algorithm has.
    pub call: Call,
    /// What is known of it.
    pub proof: Proof,
}

/// What is to be said of an algorithm.
#[derive(Debug, Clone, PartialEq)]
pub enum MscclVerdict {
    /// It is right, in and out of place as far as it may be used so.
    Right(Vec<MscclProof>),
    /// It is wrong. Places are those of the file: threads have the numbers of thread blocks, steps those of steps.
    Wrong {
        /// Of which call.
        call: Box<Call>,
        /// What is wrong.
        violation: Violation,
        /// The line of the step, or of the GPU, that it is about.
        line: Option<u32>,
    },
    /// Nothing is known of it, and why.
    Unchecked(&'static str),
}

impl MscclAlgorithm {
    /// Proves the algorithm, or says what is wrong with it.
    pub fn prove(&self) -> MscclVerdict {
        self.judge().0
    }

    /// The same, with where it stands.
    pub(super) fn judge(&self) -> (MscclVerdict, Option<Origin>) {
        if self.collective.is_none() {
            return (MscclVerdict::Unchecked("its collective promises nothing that is known here"), None);
        }
        if self.work() > WORK_MAX {
            return (MscclVerdict::Unchecked("it has too many chunks and steps"), None);
        }
        let places = [(self.in_place, true), (self.out_of_place, false)];
        let mut proofs = Vec::new();
        for (_, in_place) in places.into_iter().filter(|(used, _)| *used) {
            let Some(call) = self.call(in_place) else { continue };
            match self.prove_call(&call) {
                Ok((call, proof)) => proofs.push(MscclProof { call, proof }),
                Err(violation) => {
                    let origin = self.origin_of(&violation);
                    let line = origin.map(|origin| origin.line);
                    let violation = self.in_words_of_the_file(violation);
                    return (MscclVerdict::Wrong { call: Box::new(call), violation, line }, origin);
                }
            }
        }
        (MscclVerdict::Right(proofs), None)
    }

    /// Proves it for a call, with any root where the file does not say which.
    fn prove_call(&self, call: &Call) -> Result<(Call, Proof), Violation> {
        let plan = self.program.clone().into_plan();
        let first = match verify(&plan, call) {
            Ok(proof) => return Ok((call.clone(), proof)),
            Err(violation) => violation,
        };
        if !matches!(call.collective, Collective::Broadcast | Collective::Reduce) {
            return Err(first);
        }
        let others = (1..self.ranks()).map(|root| Call { root: Rank::new(root), ..call.clone() });
        let proved = others.into_iter().find_map(|call| verify(&plan, &call).ok().map(|proof| (call, proof)));
        proved.ok_or(first)
    }

    /// How much there is to check, in blocks.
    fn work(&self) -> u64 {
        let threads = || self.program.ranks.iter().flatten();
        let steps: u64 = threads().map(|thread| thread.steps.len() as u64).sum();
        let ops = threads().flat_map(|thread| thread.steps.iter().flatten());
        let blocks: u64 = ops.map(|op| u64::from(moved(op))).sum();
        let cells = u64::from(self.chunks) * (u64::from(self.program.scratch) + 2) * u64::from(self.ranks());
        // Each step of a thread may know of each other thread.
        steps * (threads().count() as u64).div_ceil(16) + blocks + cells
    }

    fn origin_of(&self, violation: &Violation) -> Option<Origin> {
        match violation.place() {
            Some(at) => self.origin(at.rank, at.thread, at.step),
            None => self.gpus.get(violation.rank()?.index()).copied(),
        }
    }

    /// Thread blocks and steps are numbered as in the file.
    fn in_words_of_the_file(&self, violation: Violation) -> Violation {
        violation.with_places(|at| {
            let step = self.origin(at.rank, at.thread, at.step).map_or(at.step, |origin| origin.number);
            weft_collective::verify::Place { step, ..at }
        })
    }
}

/// Blocks that an operation reads or writes.
fn moved(op: &weft_collective::Op) -> u32 {
    use weft_collective::Op;
    match op {
        Op::Send { from, .. } | Op::Contribute { from, .. } | Op::Multicast { from, .. } => from.blocks(),
        Op::Recv { into, .. }
        | Op::RecvReduce { into, .. }
        | Op::SwitchReduce { into, .. }
        | Op::Copy { into, .. }
        | Op::Reduce { into, .. } => into.blocks(),
        Op::Await { .. } => 1,
    }
}
