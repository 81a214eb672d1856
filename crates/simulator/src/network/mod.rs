//! What InfiniBand, RoCE and TCP do to messages: which way they go, what they carry besides, and what happens where
//! several meet.
//!
//! A model is a name with a [`Behaviour`]: a [`Choice`] and a [`Carriage`] for [`Machine`](crate::machine::Machine),
//! and what senders do about a port that is asked for more than it carries, a [`Meeting`], from which a
//! [`Control`] of the session is made. `docs/models/networks.md` has the equations and their sources.

mod header;
mod ideal;
mod infiniband;
mod infiniband_adaptive;
mod infiniband_minhop;
mod infiniband_uncontrolled;
mod loss;
mod ring_loss;
mod roce_adaptive;
mod roce_dcqcn;
mod roce_ecmp;
mod roce_lossy;
mod roce_pfc;
mod roce_spray;
mod settings;
mod tcp;

use weft_base::Span;

use crate::control::{Control, Flood, FloodLimits, Links, Overshoot, OvershootLimits, Pauses};
use crate::machine::{Carriage, Choice};

pub use header::Header;
pub use loss::{Loss, Recovery};
pub use ring_loss::{LossyRing, RingDelay};
pub use settings::{MissingConstant, Settings};

/// How a kind of network behaves.
pub trait NetworkModel: Sync {
    /// Its name in text and JSON: `infiniband`, `roce-pfc`.
    fn name(&self) -> &'static str;

    /// What it is, in a sentence.
    fn title(&self) -> &'static str;

    /// What messages on it are subject to.
    fn behaviour(&self, settings: &Settings) -> Behaviour;

    /// How long hosts take to notice that a way is dead and give it up; as queue pairs of InfiniBand and RoCE do.
    fn notice(&self, settings: &Settings) -> Span {
        settings.queue_pair_notice()
    }
}

/// All models, in the order of the documentation.
///
/// They are models of flows. One that moves packets belongs here too, under a name of its own: it needs an event for
/// each packet and hop, so it will bring its own engine behind the same session, and its `behaviour` says so by a new
/// variant of [`Meeting`].
pub const NETWORK_MODELS: &[&dyn NetworkModel] = &[
    &ideal::Ideal,
    &infiniband::Infiniband,
    &infiniband_minhop::InfinibandMinhop,
    &infiniband_adaptive::InfinibandAdaptive,
    &infiniband_uncontrolled::InfinibandUncontrolled,
    &roce_ecmp::RoceEcmp,
    &roce_pfc::RocePfc,
    &roce_dcqcn::RoceDcqcn,
    &roce_lossy::RoceLossy,
    &roce_adaptive::RoceAdaptive,
    &roce_spray::RoceSpray,
    &tcp::Tcp,
];

/// The model of that name.
pub fn network_model(name: &str) -> Option<&'static dyn NetworkModel> {
    NETWORK_MODELS.iter().copied().find(|model| model.name() == name)
}

/// What messages of a network are subject to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Behaviour {
    /// Which of the shortest ways they take.
    pub choice: Choice,
    /// What they carry besides, and what holds them up.
    pub carriage: Carriage,
    /// What happens at a port that is asked for more than it carries.
    pub meeting: Meeting,
}

/// What senders do about a port that is asked for more than it carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meeting {
    /// They share it at once, max-min fair, and hold up nobody else: what good congestion control settles to.
    Shared,
    /// They are stopped link by link, and whoever shares one of those links with them is stopped too.
    Paused,
    /// They share it after a while. Until then, what the buffer cannot hold is lost and sent again.
    Overshot(OvershootLimits),
    /// They go on at full rate, and what the port cannot carry is lost and sent again, as long as they meet.
    Flooded(FloodLimits),
}

impl Behaviour {
    /// What a session needs for it, on a network whose links are `links`; `None` where the engine does it alone.
    pub fn control(&self, links: Links) -> Option<Box<dyn Control>> {
        match self.meeting {
            Meeting::Shared => None,
            Meeting::Paused => Some(Box::new(Pauses::new(links))),
            Meeting::Overshot(limits) => Some(Box::new(Overshoot::new(links, limits))),
            Meeting::Flooded(limits) => Some(Box::new(Flood::new(links, limits))),
        }
    }
}
