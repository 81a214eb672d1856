//! A training step, and inference, as what one GPU computes, sends and keeps: by the shape of the model and the parallel
//! layout.
//!
//! Nothing here knows how fast anything is: `predictor` prices what this crate lists. Figures are of one GPU unless
//! their name says otherwise.

mod communication;
mod layer;
mod layout;
mod memory;
mod operator;
mod parameters;
mod schedule;
mod serving;
mod space;
mod stage;
mod training;

pub use communication::{Axis, Reach, Transfer};
pub use layer::Layer;
pub use layout::{Layout, Misfit, Recompute, Schedule, Sharding};
pub use memory::Memory;
pub use operator::{Multiply, Operator, Pass, Shape, Stream};
pub use parameters::Parameters;
pub use schedule::{Turn, Work, turns};
pub use serving::{CacheRead, ServeLayers, ServeLayout, ServeMemory, Serving, WeightFormat};
pub use space::Space;
pub use stage::{Exchange, Stage, Step, Weights, idle_count, stages, weight_gradients_share, weights};
pub use training::{Part, Precision, Training};
