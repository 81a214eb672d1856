//! What hierarchies of all kinds share: host lists, the joining of names that were declared somewhere, and what a
//! network or a machine says of itself.

mod build;
mod grouped;
mod host_list;
mod network;
mod paths;

pub(crate) use build::{At, Builder, Declared, Named};
pub(crate) use grouped::grouped;
pub(crate) use host_list::{NAMES_MAX, compress, expand};
pub(crate) use network::{of_fabrics, of_subnet};
pub(crate) use paths::{Placed, declare};
