//! The plans that there are to look at: of algorithms that suit, or of a file.

use weft_base::{Diagnostic, nearest};
use weft_collective::{ALGORITHMS, Algorithm, Call, Plan, Shape, Terrain, Unsuitable};
use weft_formats::{MscclAlgorithm, MscclProof, MscclVerdict};

use super::Verdict;
use crate::codes::{NO_SUCH_ALGORITHM, UNPLAYABLE};

/// Which plans are wanted.
pub struct Asked<'a> {
    /// One algorithm; all that suit where none is named.
    pub algorithm: Option<&'a str>,
    /// Channels, where not as many as the algorithm takes by itself.
    pub channels: Option<u16>,
    /// Chunks that follow each other through a chain or a tree, where not as many as the algorithm takes by itself.
    pub chunks: Option<u32>,
}

/// A plan with its name.
pub struct Candidate {
    /// The algorithm's name, or that of the file's.
    pub name: String,
    /// What it is.
    pub title: String,
    pub plan: Plan,
    /// What is known of it already.
    pub verdict: Option<Verdict>,
}

/// An algorithm that does not suit.
pub struct Unsuited {
    pub name: &'static str,
    pub reason: Unsuitable,
}

/// The plans of the algorithms that suit, and those that do not.
pub fn candidates(
    asked: &Asked<'_>,
    call: &Call,
    terrain: &Terrain,
) -> Result<(Vec<Candidate>, Vec<Unsuited>), Diagnostic> {
    if let Some(name) = asked.algorithm {
        let algorithm = named(name)?;
        algorithm.suits(call, terrain).map_err(|reason| {
            let hint = match suiting(call, terrain).as_slice() {
                [] => "no algorithm suits this call here".to_owned(),
                names => format!("these suit: {}", names.join(", ")),
            };
            Diagnostic::error(UNPLAYABLE, reason.to_string()).hint(hint)
        })?;
        return Ok((vec![asked.candidate(algorithm, call, terrain)], Vec::new()));
    }
    let (mut suited, mut unsuited) = (Vec::new(), Vec::new());
    for algorithm in ALGORITHMS.iter().copied() {
        match algorithm.suits(call, terrain) {
            Ok(()) => suited.push(asked.candidate(algorithm, call, terrain)),
            Err(reason) => unsuited.push(Unsuited { name: algorithm.name(), reason }),
        }
    }
    if suited.is_empty() {
        let message = format!("no algorithm suits {} here", call.collective.name());
        return Err(
            Diagnostic::error(UNPLAYABLE, message).hint("`weft show --list algorithms` lists them all")
        );
    }
    Ok((suited, unsuited))
}

impl Asked<'_> {
    fn candidate(&self, algorithm: &'static dyn Algorithm, call: &Call, terrain: &Terrain) -> Candidate {
        let usual = algorithm.shape(call, terrain);
        let shape = Shape {
            channels: self.channels.unwrap_or(usual.channels),
            pipeline: self.chunks.unwrap_or(usual.pipeline),
        };
        Candidate {
            name: algorithm.name().to_owned(),
            title: algorithm.title().to_owned(),
            plan: algorithm.plan_with(call, terrain, shape),
            verdict: None,
        }
    }
}

/// The algorithm of that name.
fn named(name: &str) -> Result<&'static dyn Algorithm, Diagnostic> {
    weft_collective::algorithm(name).ok_or_else(|| {
        let names = ALGORITHMS.iter().map(|algorithm| algorithm.name());
        let hint = match nearest(name, names.clone(), 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the algorithms are {}", names.collect::<Vec<_>>().join(", ")),
        };
        Diagnostic::error(NO_SUCH_ALGORITHM, format!("there is no algorithm `{name}`")).hint(hint)
    })
}

fn suiting(call: &Call, terrain: &Terrain) -> Vec<&'static str> {
    let suits = |algorithm: &&&dyn Algorithm| algorithm.suits(call, terrain).is_ok();
    ALGORITHMS.iter().filter(suits).map(|algorithm| algorithm.name()).collect()
}

/// The plan of a file of MSCCL, and the call for which it is, with the root that the proof finds; no call where it is
/// not known what the file promises. What is right is left to be proved again, for the size that is asked for.
pub fn of_file(algorithm: &MscclAlgorithm) -> (Candidate, Option<Call>) {
    let usual = || algorithm.call(algorithm.in_place);
    let (verdict, call) = match algorithm.prove() {
        MscclVerdict::Right(proofs) => (None, proofs.into_iter().next().map(|MscclProof { call, .. }| call)),
        MscclVerdict::Wrong { call, violation, line } => {
            let place = line.map_or_else(String::new, |line| format!(" (line {line})"));
            (Some(Verdict::Wrong(format!("{violation}{place}"))), Some(*call))
        }
        MscclVerdict::Unchecked(why) => (Some(Verdict::Unchecked(why.to_owned())), usual()),
    };
    let title = format!(
        "an algorithm of MSCCL: {} thread blocks with {} steps, protocol {}",
        algorithm.thread_blocks, algorithm.steps, algorithm.protocol
    );
    let plan = algorithm.program.clone().into_plan();
    (Candidate { name: algorithm.name.clone(), title, plan, verdict }, call.or_else(usual))
}
