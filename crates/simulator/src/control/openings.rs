//! When the bytes of messages begin to move.

use std::collections::BTreeMap;

use weft_base::{Bytes, Time};

use super::Moving;
use crate::engine::{Engine, FlowId};

/// When each message has begun to move, or will.
#[derive(Debug, Default)]
pub(super) struct Openings {
    /// The time, and whether it has been told.
    at: BTreeMap<FlowId, (Time, bool)>,
}

/// The messages at one time.
pub(super) struct Stage {
    /// Those that move.
    pub open: Vec<Moving>,
    /// Those of them that did not when last asked.
    pub fresh: Vec<Moving>,
    /// When the next begins to move.
    pub next: Option<Time>,
}

impl Openings {
    /// Takes note of the messages under way now.
    pub fn note(&mut self, engine: &Engine, moving: &[Moving]) -> Stage {
        let now = engine.now();
        let mut known = std::mem::take(&mut self.at);
        for message in moving {
            // A path without bytes takes its latency.
            let latency = || engine.alone(message.path, Bytes::ZERO).unwrap_or_default();
            let fresh = || (now + latency(), false);
            let (at, told) = known.remove(&message.flow).unwrap_or_else(fresh);
            self.at.insert(message.flow, (at, told));
        }
        let mut stage = Stage { open: Vec::new(), fresh: Vec::new(), next: None };
        for message in moving {
            let Some((at, told)) = self.at.get_mut(&message.flow) else { continue };
            if *at > now {
                stage.next = Some(stage.next.map_or(*at, |next| next.min(*at)));
                continue;
            }
            stage.open.push(*message);
            if !std::mem::replace(told, true) {
                stage.fresh.push(*message);
            }
        }
        stage
    }
}
