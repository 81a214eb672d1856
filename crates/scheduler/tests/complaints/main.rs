//! What users of GPU schedulers complain about, as tests of ours: each says in its name what should happen, and in its
//! comment who complained (`owner/repository#number` on GitHub) and of what.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod admission;
mod desk;
mod failover;
mod fragmentation;
mod gangs;
mod health;
mod numa;
mod placement;
mod preemption;
mod racks;
mod shares;
