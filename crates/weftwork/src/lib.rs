//! Collectives between processes and hosts, and the model of the fabric that they use, for Rust programs.
//!
//! # Ten lines
//!
//! Each rank knows a place, its own number and how many there are. Ranks of one host share memory, others use TCP; the
//! algorithm is the quickest one for the links that are found.
//!
//! ```
//! use weftwork::{Average, Communicator, Fault, Joining, Place};
//!
//! # fn main() -> Result<(), Fault> {
//! # let file = std::env::temp_dir().join(format!("weftwork-ten-lines-{}", std::process::id()));
//! // Two threads here; mostly processes, told their number by who starts them, at a `Place::Address` of rank 0.
//! let ranks = [0, 1].map(|rank| {
//!     let joining = Joining::new(Place::File(file.clone()), rank, 2);
//!     std::thread::spawn(move || {
//!         let mut group = Communicator::join(&joining)?;
//!         let mut gradient = [1.0_f32, if rank == 0 { 2.0 } else { 5.0 }];
//!         group.all_reduce(&mut gradient, Average)?;
//!         Ok::<_, Fault>(gradient)
//!     })
//! });
//! for rank in ranks {
//!     assert_eq!(rank.join().expect("no rank panics")?, [1.0, 3.5]);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `examples/train.rs` trains a line on several ranks and compares with one process.
//!
//! # When a rank dies
//!
//! A [`Fault`] says which rank is to blame and why: it is dead, it is silent (stopped, or cut off) for longer than
//! [`Joining::deadline`], it calls something else, or it lacks something. One that lives and is busy with something else
//! is waited for, up to [`Joining::patience`]. All others get the fault too, and nothing hangs.
//!
//! Then those who are left may go on: each calls [`Communicator::shrink`], and they are a group with new numbers.
//! `examples/shrink.rs` loses a rank in the middle of a training, and ends with the right line.
//!
//! # The model
//!
//! The same plans can be looked at, proved, and timed without any machine; each part is a module here, and a crate of
//! its own.
//!
//! ```
//! use weftwork::collective::{Call, Collective, Terrain, algorithm, verify};
//!
//! let ring = algorithm("ring").expect("there is one");
//! let (call, terrain) = (Call::bytes(Collective::AllReduce, 1 << 20), Terrain::flat(4));
//! let plan = ring.plan(&call, &terrain);
//! let proof = verify(&plan, &call).expect("it is right for every order in which messages arrive");
//! // A ring of four: three steps to add up and three to tell all, in each of which each rank sends a message.
//! assert_eq!((proof.chain, proof.message_count), (6, 24));
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`base`] | quantities that carry their unit, diagnostics |
//! | [`catalogue`] | facts about links, devices and systems, each with its source |
//! | [`collective`] | what collectives move, algorithms, plans and their proof |
//! | [`reliability`] | how much of a long job is work |
//! | [`topology`] | the graph of a machine: classes, routes, islands, drawing |
//! | [`formats`] | what other tools print, read into machines and measurements |
//! | [`simulator`] | plans in virtual time, on links that are shared |
//! | [`predictor`] | how long NCCL takes, what bounds it, and why |
//! | [`doctor`] | why a machine or a job is slower than it should be |
//! | [`advisor`] | what to buy, what it costs, and what is wrong with counts in print |
//! | [`scheduler`] | who gets which GPUs |
//! | [`runtime`] | plans with real data: the parts of which [`Communicator`] consists |

pub use weft_advisor as advisor;
pub use weft_base as base;
pub use weft_catalogue as catalogue;
pub use weft_collective as collective;
pub use weft_doctor as doctor;
pub use weft_formats as formats;
pub use weft_predictor as predictor;
pub use weft_reliability as reliability;
pub use weft_runtime as runtime;
pub use weft_scheduler as scheduler;
pub use weft_simulator as simulator;
pub use weft_topology as topology;
pub use weft_workload as workload;

pub use weft_collective::Rank;
pub use weft_runtime::Reduction::{self, Average, Max, Min, Product, Sum};
pub use weft_runtime::{Absent, Communicator, Element, Fault, Number, Shrink, Survivors, Transport};
#[cfg(target_os = "linux")]
pub use weft_runtime::{Joining, Place};
