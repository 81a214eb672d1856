//! How many weights a model has, and where.

use weft_catalogue::{FeedForward, Model};

/// Weights of a model by where they are; norms and biases, a few in ten thousand, are not counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Attention of one layer.
    pub attention_count: f64,
    /// The feed-forward part of one layer without experts.
    pub dense_count: f64,
    /// What all tokens pass in a layer with experts: router and shared expert.
    pub shared_count: f64,
    /// One expert.
    pub expert_count: f64,
    /// The embedding of the vocabulary, and as much for the output where it is not the same.
    pub embedding_count: f64,
}

impl Parameters {
    /// Of `model`.
    pub fn of(model: &Model) -> Self {
        let hidden = f64::from(model.hidden);
        let wide = |width: u32, gated: bool| hidden * f64::from(width) * if gated { 3.0 } else { 2.0 };
        let FeedForward { width, gated } = model.feed_forward;
        let (shared, expert) = model.experts.map_or((0.0, 0.0), |experts| {
            let shared = wide(experts.shared_width, gated) + hidden * f64::from(experts.count);
            (shared, wide(experts.width, gated))
        });
        Self {
            attention_count: attention(model),
            dense_count: wide(width, gated),
            shared_count: shared,
            expert_count: expert,
            embedding_count: hidden * f64::from(model.vocabulary),
        }
    }

    /// All of `model`.
    pub fn total(&self, model: &Model) -> f64 {
        let experts = model.experts.map_or(0.0, |experts| f64::from(experts.count) * self.expert_count);
        self.sum(model, experts)
    }

    /// Those that one token passes.
    pub fn active(&self, model: &Model) -> f64 {
        let experts = model.experts.map_or(0.0, |experts| f64::from(experts.active) * self.expert_count);
        self.sum(model, experts)
    }

    fn sum(&self, model: &Model, experts: f64) -> f64 {
        let sparse = f64::from(model.expert_layers());
        let dense = f64::from(model.layers) - sparse;
        let tables = if model.tied_embeddings { 1.0 } else { 2.0 };
        f64::from(model.layers) * self.attention_count
            + dense * self.dense_count
            + sparse * (self.shared_count + experts)
            + tables * self.embedding_count
    }
}

fn attention(model: &Model) -> f64 {
    let (hidden, heads) = (f64::from(model.hidden), f64::from(model.attention.heads));
    match model.attention.latent {
        None => {
            let dim = f64::from(model.head_dim());
            hidden * dim * (2.0 * heads + 2.0 * f64::from(model.kv_heads()))
        }
        Some(latent) => {
            let (kv, rotary) = (f64::from(latent.kv_rank), f64::from(latent.rotary_dim));
            let (plain, value) = (f64::from(latent.plain_dim), f64::from(latent.value_dim));
            let queries = heads * (plain + rotary);
            let query =
                latent.query_rank.map_or(hidden * queries, |rank| f64::from(rank) * (hidden + queries));
            let wider = if latent.is_shared { 0.0 } else { kv * heads * (plain + value) };
            let output = match (latent.narrowed(), latent.output_rank) {
                (Some(narrowed), Some(rank)) => {
                    heads * value * f64::from(rank) + f64::from(narrowed) * hidden
                }
                _ => heads * value * hidden,
            };
            query + hidden * (kv + rotary) + wider + output
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Parameters;
    use weft_catalogue::Catalogue;

    #[test]
    fn published_sizes_come_out() {
        // Totals and active ones in billions, as the models' makers print them.
        for (name, total, active) in [
            ("gpt-3-175b", 175.0, 175.0),
            ("llama-3.1-8b", 8.03, 8.03),
            ("llama-3-70b", 70.6, 70.6),
            ("llama-3.1-405b", 405.0, 405.0),
            ("nemotron-4-340b", 341.0, 341.0),
            ("mixtral-8x7b", 46.7, 12.9),
            ("deepseek-v3", 671.0, 37.0),
            ("qwen3-30b-a3b", 30.5, 3.3),
            ("gpt-oss-120b", 116.8, 5.1),
            ("deepseek-v4-flash", 284.0, 13.0),
            ("qwen3-coder-480b-a35b", 480.0, 35.0),
            ("gemma-7b", 8.54, 8.54),
            ("gemma-2b", 2.51, 2.51),
            ("llama-65b", 65.2, 65.2),
            ("llama-33b", 32.5, 32.5),
            ("falcon-40b", 41.8, 41.8),
            ("falcon-180b", 179.0, 179.0),
            ("gemma-4-31b", 30.7, 30.7),
            ("gemma-4-26b-a4b", 25.2, 3.8),
        ] {
            let model = Catalogue::embedded().model(name).unwrap();
            let parameters = Parameters::of(model);
            let near = |got: f64, printed: f64| (got / 1e9 / printed - 1.0).abs() < 0.025;
            assert!(near(parameters.total(model), total), "{name}: {}", parameters.total(model));
            // Makers count the embedding among the active ones in different ways.
            let active_here = parameters.active(model);
            let least = active_here - 2.0 * parameters.embedding_count;
            assert!(
                least / 1e9 < active * 1.025 && active_here / 1e9 > active * 0.975,
                "{name}: {active_here}"
            );
        }
    }
}
