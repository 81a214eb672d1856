//! What the port of a NIC runs, where each NIC has one in each plane.

use weft_catalogue::{LinkKind, Network};

use super::Unfit;
use crate::build::Parts;

/// The link kind of a NIC's port in one plane: the one that the description names, else the fastest of which the
/// NIC can run one in each plane.
pub(super) fn link<'a>(design: &Network, parts: &Parts<'a>) -> Result<&'a LinkKind, Unfit> {
    let first = parts.nics.first().and_then(|(nic, link)| Some((*nic, (*link)?)));
    let (nic, link) = first.ok_or_else(|| Unfit::new("", "the hosts have no NIC of a known kind"))?;
    let planes = u64::from(design.planes.max(1));
    let Some(nic) = nic.filter(|_| planes > 1) else { return Ok(link) };
    let runs: Vec<&LinkKind> = nic.links.iter().filter_map(|name| parts.catalogue.link(name).ok()).collect();
    let fastest = runs.first().map_or(0, |link| gigabits(link));
    let whole = fastest * u64::from(nic.ports.value);
    // Ports are named by what users get; encodings and the vendors' rounding leave a few per cent.
    let fits = |link: &LinkKind| planes * gigabits(link) <= whole * 21 / 20;
    let is_given = parts.machine.nics.first().is_some_and(|group| group.link.is_some());
    if is_given {
        if fits(link) {
            return Ok(link);
        }
        let rate = gigabits(link);
        let reason = format!(
            "{planes} planes of {rate}G are {}G for each NIC, but {} has {whole}G",
            planes * rate,
            nic.title
        );
        return Err(
            Unfit::new("planes", reason).hint(format!("name ports of {}G: `leaf 64x{0}G`", whole / planes))
        );
    }
    runs.into_iter().find(|link| fits(link)).ok_or_else(|| {
        let reason =
            format!("{} has {whole}G for {planes} planes, but no port of {}G", nic.title, whole / planes);
        Unfit::new("planes", reason).hint("take fewer planes, or a NIC whose ports run slower")
    })
}

/// The nominal rate of one link, rounded up: encodings leave a little less.
pub(crate) fn gigabits(link: &LinkKind) -> u64 {
    (link.rate(1).get() * 8).div_ceil(1_000_000_000)
}
