//! A call with all that is made once for it.

use std::fmt::Write;
use std::ops::Range;

use weft_collective::{Call, Collective, Counts, Layout, Plan, Rank, Terrain};

use super::choice::Chosen;
use crate::{Element, Fault, Player, Reduction, Script, Tuning};

/// What a caller wants, as far as plans differ by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    collective: Collective,
    counts: Counts,
    pub element: Element,
    pub reduction: Reduction,
    root: Rank,
    peer: Rank,
    in_place: bool,
    /// Whether all that is given to the call lies where peers read it: then others are the quickest.
    pub registered: bool,
}

impl Wanted {
    pub fn new(collective: Collective, counts: Counts, element: Element) -> Self {
        let (root, peer) = (Rank::new(0), Rank::new(1));
        let (reduction, in_place, registered) = (Reduction::Sum, false, false);
        Self { collective, counts, element, reduction, root, peer, in_place, registered }
    }

    pub fn of(call: &Call, element: Element, reduction: Reduction) -> Self {
        let Call { collective, ref counts, root, peer, in_place, .. } = *call;
        let registered = false;
        Self { collective, counts: counts.clone(), element, reduction, root, peer, in_place, registered }
    }

    /// Whether all ranks bring and get as much.
    pub fn is_even(&self) -> bool {
        matches!(self.counts, Counts::Even(_))
    }

    pub fn reduced(self, reduction: Reduction) -> Self {
        Self { reduction, ..self }
    }

    pub fn rooted(self, root: Rank) -> Self {
        Self { root, ..self }
    }

    pub fn in_place(self) -> Self {
        Self { in_place: true, ..self }
    }

    pub fn call(&self) -> Call {
        Call {
            collective: self.collective,
            counts: self.counts.clone(),
            data_type: self.element.data_type(),
            root: self.root,
            peer: self.peer,
            in_place: self.in_place,
            ..Call::bytes(self.collective, 0)
        }
    }

    /// The call as a person reads it.
    fn text(&self, algorithm: &str, terrain: &Terrain) -> String {
        let element = self.element.name();
        let much = match &self.counts {
            Counts::Even(elements) => format!("{elements} {element}"),
            Counts::PerRank(counts) => format!("{counts:?} {element}"),
            Counts::PerPair(counts) => format!("{} {element} in all", counts.iter().sum::<u64>()),
        };
        let mut text = format!("{} of {much} by {algorithm}", self.collective.name());
        if self.collective.reduces() {
            text = format!("{text}, {}", self.reduction.name());
        }
        if matches!(self.collective, Collective::Broadcast | Collective::Reduce) {
            text = format!("{text}, root {}", self.root);
        }
        if self.registered {
            text.push_str(", registered buffers");
        }
        format!("{text}, {} ranks", terrain.ranks())
    }
}

/// How a call is played.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Played {
    /// The algorithm's name.
    pub algorithm: String,
    /// Whether its data lies in buffers that peers map.
    pub registered: bool,
    /// Which of two ways the transport goes, where that was chosen for the call.
    pub tuning: Option<Tuning>,
    /// Into how many parts it is cut, which follow each other.
    pub parts: u32,
}

/// A call that can be played.
#[derive(Debug)]
pub(super) struct Prepared {
    pub wanted: Wanted,
    pub script: Script,
    pub player: Player,
    /// By which way.
    pub played: Played,
    pub announced: u64,
    pub text: String,
    /// Where this rank's own part of the output is, in bytes.
    own: Range<usize>,
}

impl Prepared {
    pub fn new(
        wanted: &Wanted,
        rank: Rank,
        terrain: &Terrain,
        Chosen { entry: chosen, tuning, parts }: Chosen,
    ) -> Result<Self, Fault> {
        let call = wanted.call();
        let plan = chosen.plan(&call, terrain);
        let script = Script::in_parts(&plan, &call, rank, parts)?;
        let mut text = wanted.text(chosen.name(), terrain);
        if parts > 1 {
            text = format!("{text}, in {parts} parts");
        }
        let own = if call.in_place && call.collective == Collective::ReduceScatter {
            let layout = Layout::new(&call, plan.ranks, 1);
            let elements = layout.elements(weft_collective::Buffer::Input, rank, rank.get());
            let at = |element| usize::try_from(element).unwrap_or(usize::MAX) * wanted.element.size_bytes();
            at(elements.start)..at(elements.end)
        } else {
            0..script.output_bytes()
        };
        let announced = signature(&text, &plan);
        let (algorithm, registered) = (chosen.name().to_owned(), wanted.registered);
        let played = Played { algorithm, registered, tuning, parts };
        let (wanted, player) = (wanted.clone(), Player::default());
        Ok(Self { wanted, script, player, played, announced, text, own })
    }

    /// The sums that are divided at the end, where an average is asked for.
    pub fn averaged(&self, rank: Rank) -> Option<Range<usize>> {
        let Wanted { collective, reduction, root, .. } = self.wanted;
        let ends_here = match collective {
            Collective::AllReduce | Collective::ReduceScatter => true,
            Collective::Reduce => rank == root,
            Collective::AllGather
            | Collective::Broadcast
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => false,
        };
        (reduction == Reduction::Average && ends_here).then(|| self.own.clone())
    }

    /// Whether the buffers are as long as the call says.
    pub fn check(&self, input_bytes: usize, output_bytes: usize) -> Result<(), Fault> {
        let wanted = (self.script.input_bytes(), self.script.output_bytes());
        if (input_bytes, output_bytes) == wanted {
            return Ok(());
        }
        let how = format!(
            "{} needs {} bytes in and {} bytes out, the buffers have {input_bytes} and {output_bytes}",
            self.text, wanted.0, wanted.1
        );
        Err(Fault::Lacking { what: "buffers of the right length", how })
    }
}

/// Of the call, and of the plan: two ranks may have the same name for different ones.
fn signature(text: &str, plan: &Plan) -> u64 {
    hashed(format_args!("{}{text}{plan:?}", env!("CARGO_PKG_VERSION")))
}

/// The same for the same text, and almost surely no other.
pub(super) fn hashed(text: std::fmt::Arguments<'_>) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    // Nothing that is written here fails.
    let _written = hash.write_fmt(text);
    hash.0
}

/// FNV-1a, 64 bits.
struct Hash(u64);

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let next = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 = text.bytes().fold(self.0, next);
        Ok(())
    }
}
