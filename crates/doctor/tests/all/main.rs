//! The doctor before public cases and real inputs.

#![allow(clippy::unwrap_used, reason = "a damaged case must stop the test that needs it")]

mod cases;
mod common;
mod corpus;
mod damage;
