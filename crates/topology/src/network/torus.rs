//! Tori: a grid of switches whose ends meet, as of Cray Gemini, Blue Gene or the InfiniBand tori of Gordon (SDSC):
//! each switch has hosts of its own, all NICs of a host at one switch.

use weft_catalogue::Network;

use super::{Switches, Unfit};
use crate::build::Wire;
use crate::graph::NodeId;
use crate::grid::Grid;

/// Sizes of a torus.
pub(super) struct Torus {
    /// Switches along each dimension; the first varies fastest in their numbers.
    sizes: Vec<u16>,
    /// Links in each direction of each dimension.
    links: usize,
}

impl Torus {
    pub fn new(design: &Network, hosts: usize, rails: usize) -> Result<Self, Unfit> {
        let sizes = design.sizes.clone();
        if !(2..=3).contains(&sizes.len()) || sizes.iter().any(|size| *size < 2) {
            let reason = "a torus has two or three sizes of at least 2";
            return Err(Unfit::new("", reason).hint("for example `torus(4x4x4)`"));
        }
        let torus = Self { sizes, links: 0 };
        let (vertices, radix) = (torus.vertices(), usize::from(design.radix));
        if vertices > hosts {
            let reason = format!("a torus of {vertices} switches, but only {hosts} hosts to put at them");
            return Err(Unfit::new("sizes", reason).hint("each switch has at least one host"));
        }
        let down = hosts.div_ceil(vertices) * rails;
        let ways = 2 * torus.sizes.len();
        let most = radix.saturating_sub(down) / ways;
        let links = design.links.map_or(most, usize::from);
        if links == 0 || links > most {
            let reason = format!(
                "{down} NICs at a switch of {radix} ports leave {most} links for each of {ways} directions"
            );
            let option = if design.links.is_some() { "links" } else { "" };
            return Err(Unfit::new(option, reason).hint("a larger torus has fewer hosts at each switch"));
        }
        Ok(Self { links, ..torus })
    }

    pub fn vertices(&self) -> usize {
        self.sizes.iter().map(|size| usize::from(*size)).product()
    }

    /// Links between switches.
    pub fn links(&self) -> usize {
        // Of two along a dimension both directions lead to the same neighbour, with as many links.
        self.vertices() * self.sizes.len() * self.links
    }

    /// Joins neighbours: next along each dimension, the last one to the first.
    pub fn lay(&self, switches: &mut Switches<'_, '_>, vertices: &[NodeId], wire: Wire) {
        let Some(first) = vertices.first() else { return };
        let grid = Grid::new(*first, self.sizes.clone());
        for (dimension, size) in self.sizes.iter().enumerate() {
            // Between two switches both directions are the same neighbour, so that its links are one bundle.
            let (skip_last, links) = if *size == 2 { (true, 2 * self.links) } else { (false, self.links) };
            for vertex in vertices {
                let is_last = grid.place(*vertex, dimension) == Some(size - 1);
                if let Some(next) = grid.next(*vertex, dimension).filter(|_| !(skip_last && is_last)) {
                    switches.bundle(*vertex, next, links, wire);
                }
            }
        }
        switches.graph.add_grid(grid);
    }
}
