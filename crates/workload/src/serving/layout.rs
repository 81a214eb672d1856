//! How a model that is served is split over GPUs.

use weft_catalogue::Model;

use crate::Misfit;

/// Sizes of groups. Ranks are numbered tensor first, then the copies of attention that share experts, then stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServeLayout {
    /// GPUs that share each matrix.
    pub tensor: u32,
    /// Stages of the pipeline.
    pub pipeline: u32,
    /// GPUs that share the experts of a layer. More than `tensor` of them are several copies of attention, each for
    /// sequences of its own, that send tokens to each other's experts.
    pub expert: u32,
    /// Whole copies of all that, which share nothing but the work.
    pub copies: u32,
}

impl ServeLayout {
    /// One GPU.
    pub const ONE: Self = Self { tensor: 1, pipeline: 1, expert: 1, copies: 1 };

    /// Copies of attention that share experts.
    pub fn replicas(&self) -> u32 {
        (self.expert / self.tensor.max(1)).max(1)
    }

    /// GPUs of a stage.
    pub fn stage_gpus(&self) -> u32 {
        self.tensor * self.replicas()
    }

    /// GPUs of one copy.
    pub fn copy_gpus(&self) -> u32 {
        self.stage_gpus() * self.pipeline
    }

    /// All GPUs.
    pub fn gpus(&self) -> u32 {
        self.copy_gpus() * self.copies
    }

    /// Whether the layout can be for `model`; the first reason why not.
    pub fn check(&self, model: &Model) -> Result<(), Misfit> {
        let sizes = [
            ("tensor", self.tensor),
            ("pipeline", self.pipeline),
            ("expert", self.expert),
            ("the number of copies", self.copies),
        ];
        if let Some((what, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(Misfit::Zero { what });
        }
        let split = |what, whole: u32, by, parts: u32| {
            if whole.is_multiple_of(parts) { Ok(()) } else { Err(Misfit::Uneven { what, whole, by, parts }) }
        };
        split("attention heads", model.attention.heads, "tensor", self.tensor)?;
        if self.pipeline > model.layers {
            return Err(Misfit::Needs("there are more stages of the pipeline than layers"));
        }
        let Some(experts) = model.experts else {
            return if self.expert == 1 {
                split("the feed-forward width", model.feed_forward.width, "tensor", self.tensor)
            } else {
                Err(Misfit::Needs("a dense model has no experts to share"))
            };
        };
        split("experts", experts.count, "expert", self.expert)?;
        let (less, more) = (self.expert.min(self.tensor), self.expert.max(self.tensor));
        split("the larger of expert and tensor", more, "the smaller", less)?;
        split("the width of an expert", experts.width, "tensor / expert", (self.tensor / self.expert).max(1))
    }

    /// All splits of up to `gpus` GPUs that `model` allows, by how many of them one copy takes.
    pub fn all(model: &Model, gpus: u32) -> Vec<Self> {
        let sizes = || (1..=gpus).filter(move |size| gpus.is_multiple_of(*size));
        let experts = model.experts.map_or(1, |experts| experts.count);
        let mut found = Vec::new();
        for tensor in sizes() {
            for pipeline in sizes() {
                for expert in sizes().filter(|size| experts.is_multiple_of(*size)) {
                    let one = Self { tensor, pipeline, expert, copies: 1 };
                    if one.copy_gpus() <= gpus
                        && gpus.is_multiple_of(one.copy_gpus())
                        && one.check(model).is_ok()
                    {
                        found.push(Self { copies: gpus / one.copy_gpus(), ..one });
                    }
                }
            }
        }
        found.sort_by_key(|layout| (layout.copy_gpus(), *layout));
        found
    }
}
