//! All layouts that a run may have.

use weft_catalogue::{Framework, Model};

use crate::layout::{Layout, Recompute, Sharding};

/// Least tokens of a sequence that a GPU keeps where a sequence is shared: below, nobody shares one.
const CONTEXT_TOKENS: u32 = 2048;

/// What layouts are looked for.
#[derive(Debug, Clone)]
pub struct Space<'m> {
    /// The model.
    pub model: &'m Model,
    /// GPUs, all of which are used.
    pub gpus: u32,
    /// Sequences of a step.
    pub global_batch: u32,
    /// Tokens of a sequence.
    pub sequence_tokens: u32,
    /// Most GPUs that share a matrix.
    pub tensor_most: u32,
    /// What may be computed again.
    pub recompute: Vec<Recompute>,
    /// What data-parallel ranks may share.
    pub sharding: Vec<Sharding>,
}

impl<'m> Space<'m> {
    /// All layouts of `model` that differ with `framework`, on `gpus` GPUs.
    pub fn new(
        model: &'m Model,
        framework: &Framework,
        gpus: u32,
        (global_batch, sequence_tokens): (u32, u32),
        tensor_most: u32,
    ) -> Self {
        let mut recompute = vec![Recompute::None, Recompute::Selective, Recompute::Full];
        recompute.retain(|what| *what != Recompute::Selective || framework.recomputes_selectively());
        Self {
            model,
            gpus,
            global_batch,
            sequence_tokens,
            tensor_most,
            recompute,
            sharding: vec![Sharding::None, Sharding::Optimizer, Sharding::Weights],
        }
    }

    /// Every layout that passes its check, each once, in order.
    pub fn layouts(&self) -> impl Iterator<Item = Layout> + '_ {
        let base = Layout::new(self.gpus, self.global_batch, self.sequence_tokens);
        let tensors = divisors(self.gpus).filter(|tensor| *tensor <= self.tensor_most);
        tensors
            .flat_map(move |tensor| {
                let rest = self.gpus / tensor;
                let split = Layout { tensor, ..base.clone() };
                divisors(rest).map(move |pipeline| Layout { pipeline, ..split.clone() })
            })
            .flat_map(|layout| self.contexts(layout))
            .flat_map(|layout| self.experts(layout))
            .flat_map(|layout| self.batches(layout))
            .flat_map(|layout| self.virtual_stages(layout))
            .flat_map(|layout| self.kept(layout))
            .filter(|layout| layout.check(self.model).is_ok())
    }

    fn contexts(&self, layout: Layout) -> impl Iterator<Item = Layout> + use<'_, 'm> {
        let most = (self.sequence_tokens / CONTEXT_TOKENS).max(1);
        let rest = layout.gpus / layout.tensor / layout.pipeline;
        divisors(rest)
            .filter(move |context| *context <= most)
            .map(move |context| Layout { context, ..layout.clone() })
    }

    fn experts(&self, layout: Layout) -> impl Iterator<Item = Layout> + use<'_, 'm> {
        let count = self.model.experts.map_or(1, |experts| experts.count);
        let stage = layout.gpus / layout.pipeline;
        divisors(count)
            .filter(move |expert| stage.is_multiple_of(*expert))
            .map(move |expert| Layout { expert, ..layout.clone() })
    }

    fn batches(&self, layout: Layout) -> impl Iterator<Item = Layout> + use<'_, 'm> {
        let each = if self.global_batch.is_multiple_of(layout.data()) {
            self.global_batch / layout.data()
        } else {
            0
        };
        divisors(each).map(move |micro_batch| Layout { micro_batch, ..layout.clone() })
    }

    /// Interleaving asks for chunks of as many layers.
    fn virtual_stages(&self, layout: Layout) -> impl Iterator<Item = Layout> + use<'_, 'm> {
        let each = if self.model.layers.is_multiple_of(layout.pipeline) {
            self.model.layers / layout.pipeline
        } else {
            1
        };
        let most = if layout.pipeline > 1 { each } else { 1 };
        divisors(each)
            .filter(move |chunks| *chunks <= most)
            .map(move |virtual_stages| Layout { virtual_stages, ..layout.clone() })
    }

    fn kept(&self, layout: Layout) -> impl Iterator<Item = Layout> + use<'_, 'm> {
        let by_sequence: &[bool] = if layout.tensor > 1 { &[true, false] } else { &[false] };
        let data = layout.data() * layout.context;
        let shardings =
            self.sharding.iter().copied().filter(move |sharding| *sharding == Sharding::None || data > 1);
        shardings.flat_map(move |sharding| {
            let layout = layout.clone();
            self.recompute.iter().flat_map(move |recompute| {
                let layout = Layout { sharding, recompute: *recompute, ..layout.clone() };
                by_sequence.iter().map(move |sequence_parallel| Layout {
                    sequence_parallel: *sequence_parallel,
                    ..layout.clone()
                })
            })
        })
    }
}

/// Divisors in ascending order; none of 0.
fn divisors(number: u32) -> impl Iterator<Item = u32> {
    (1..=number).filter(move |part| number.is_multiple_of(*part))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Space;
    use weft_catalogue::Catalogue;

    #[test]
    fn layouts_are_distinct_and_use_all_gpus() {
        let catalogue = Catalogue::embedded();
        let framework = catalogue.framework("megatron-core").unwrap();
        let space = Space::new(catalogue.model("mixtral-8x7b").unwrap(), framework, 64, (256, 8192), 8);
        let all: Vec<_> = space.layouts().collect();
        assert!(all.len() > 1000, "{}", all.len());
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for layout in &all {
            assert_eq!(layout.tensor * layout.pipeline * layout.context * layout.data(), 64);
            assert_eq!(layout.micro_batches() * layout.micro_batch * layout.data(), 256);
        }
        assert!(all.iter().any(|layout| layout.expert == 8) && all.iter().any(|layout| layout.context == 4));
    }
}
