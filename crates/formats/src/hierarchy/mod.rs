//! What readers of hierarchies share: host lists, and the joining of names that were declared somewhere.

mod build;
#[allow(dead_code)]
mod host_list;
mod paths;

pub(crate) use build::{At, Builder, Declared, Named};
#[allow(unused_imports)]
pub(crate) use host_list::compress;
pub(crate) use paths::{Placed, declare};
