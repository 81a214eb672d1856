//! The verifier against every algorithm, against plans that are wrong by one operation, and against an interpreter
//! that shares nothing with it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail and report by these"
)]

mod cases;
mod interpreter;
mod mutants;
mod mutations;
mod table;
mod violations;
