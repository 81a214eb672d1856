//! Links that are announced or imagined: the catalogue with some kinds of link faster or slower.

use thiserror::Error;
use weft_base::Ratio;
use weft_catalogue::Catalogue;

use crate::performance::StepTime;

/// A change of links: `nvlink x2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhatIf {
    /// How the names of the changed kinds begin: `nvlink`, `pcie5`, `infiniband`.
    pub links: String,
    /// By how much their rate is multiplied.
    pub factor: Ratio,
}

/// Why a text is no such change. Reads as "failed to imagine that: {error}".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotAChange {
    /// Not two words.
    #[error("`{0}` is not a kind of link and a factor, as in `nvlink x2`")]
    Form(String),
    /// No such link.
    #[error("no link of the catalogue begins with `{0}`; `weft show --list links` prints them")]
    Link(String),
}

impl WhatIf {
    /// Reads `nvlink x2`, `infiniband x0.5`.
    pub fn read(text: &str, catalogue: &Catalogue) -> Result<Self, NotAChange> {
        let form = || NotAChange::Form(text.to_owned());
        let (links, factor) = text.trim().rsplit_once(' ').ok_or_else(form)?;
        let factor: Ratio =
            factor.strip_prefix('x').and_then(|factor| factor.parse().ok()).ok_or_else(form)?;
        let links = links.trim().to_lowercase();
        if factor.parts().0 == 0 || links.is_empty() {
            return Err(form());
        }
        if !catalogue.links.iter().any(|link| link.name.starts_with(&links)) {
            return Err(NotAChange::Link(links));
        }
        Ok(Self { links, factor })
    }

    /// The catalogue with these links changed; what programs reach of a link stays the same share.
    pub fn applied(&self, catalogue: &Catalogue) -> Catalogue {
        let mut changed = catalogue.clone();
        for link in changed.links.iter_mut().filter(|link| link.name.starts_with(&self.links)) {
            link.lane.value = link.lane.value.times(self.factor);
            link.lane.grade = weft_catalogue::Grade::Assumed;
            link.lane.note = Some(format!("imagined: {} times what it is", self.factor));
        }
        changed
    }
}

/// How long a step takes with changed links. Models of what libraries choose know links up to the fastest that there
/// are, so that faster ones may not move them: then programs are taken to reach the same share of what the wires allow.
pub fn imagined_seconds(now: &StepTime, then: &StepTime) -> f64 {
    match (now.bound_seconds, then.bound_seconds) {
        (Some(bound_now), Some(bound_then)) if bound_then < bound_now && bound_now > 0.0 => {
            then.seconds.min(now.seconds * bound_then / bound_now)
        }
        (Some(_) | None, Some(_) | None) => then.seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faster_wires_are_used_as_well_as_those_there_are() {
        let time = |seconds, bound| StepTime {
            seconds,
            low_seconds: seconds,
            high_seconds: seconds,
            bound_seconds: bound,
            bound_by: String::new(),
            token_count: None,
            workloads: Vec::new(),
        };
        // The wires would take 3 s and then 1.5; of 4 s two are left. Slower ones are what their model says.
        assert!((imagined_seconds(&time(4.0, Some(3.0)), &time(4.0, Some(1.5))) - 2.0).abs() < 1e-12);
        assert!((imagined_seconds(&time(4.0, Some(3.0)), &time(9.0, Some(6.0))) - 9.0).abs() < 1e-12);
        assert!((imagined_seconds(&time(4.0, None), &time(5.0, Some(1.0))) - 5.0).abs() < 1e-12);
    }

    #[test]
    fn a_change_is_read_and_applied_to_all_of_its_kind() {
        let catalogue = Catalogue::embedded();
        let change = WhatIf::read("NVLink x2", catalogue).unwrap();
        let changed = change.applied(catalogue);
        for name in ["nvlink3", "nvlink5"] {
            let rate = |catalogue: &Catalogue| catalogue.link(name).unwrap().rate(1).get();
            assert_eq!(rate(&changed), 2 * rate(catalogue));
        }
        let rate = |catalogue: &Catalogue| catalogue.link("pcie5").unwrap().rate(16);
        assert_eq!(rate(&changed), rate(catalogue));
        assert!(matches!(WhatIf::read("warp x2", catalogue), Err(NotAChange::Link(_))));
        for text in ["nvlink", "nvlink 2", "nvlink x0", " x2"] {
            assert!(WhatIf::read(text, catalogue).is_err(), "{text}");
        }
    }
}
