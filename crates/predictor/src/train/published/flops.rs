//! Multiplications and additions as sources count them, to get seconds from their TFLOP/s.

use weft_catalogue::Model;
use weft_workload::Parameters;

/// Forward and backward of a weight and a token.
const PER_WEIGHT: f64 = 6.0;
/// Forward and backward of attention for each token, token before it and element of all heads, no mask counted.
const PER_PAIR: f64 = 12.0;

/// Weights that multiply: the output's, not the embedding.
pub(super) fn weights(model: &Model) -> f64 {
    let parameters = Parameters::of(model);
    let tables = if model.tied_embeddings { 1.0 } else { 2.0 };
    parameters.active(model) + (1.0 - tables) * parameters.embedding_count
}

/// Of a token of a sequence: six for each weight, and attention as if each token saw all.
pub(super) fn unmasked(model: &Model, sequence_tokens: u32) -> f64 {
    PER_WEIGHT * weights(model) + attention(model, sequence_tokens)
}

/// The same where the embedding counts as a matrix.
pub(super) fn with_embedding(model: &Model, sequence_tokens: u32) -> f64 {
    PER_WEIGHT * Parameters::of(model).active(model) + attention(model, sequence_tokens)
}

/// The same where a token sees those before it only: half of the sequence.
pub fn flops_per_token(model: &Model, sequence_tokens: u32) -> f64 {
    PER_WEIGHT * weights(model) + attention(model, sequence_tokens) / 2.0
}

/// Attention of a token as if it saw all.
pub(super) fn attention(model: &Model, sequence_tokens: u32) -> f64 {
    let heads = f64::from(model.attention.heads * model.head_dim());
    PER_PAIR * f64::from(model.layers) * heads * f64::from(sequence_tokens)
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use super::unmasked;

    #[test]
    fn llama_3_8b_costs_what_its_sources_count() {
        let model = Catalogue::embedded().model("llama-3-8b").unwrap();
        let gigaflops = unmasked(model, 8192) / 1e9;
        assert!((gigaflops - 57.8).abs() < 0.2, "{gigaflops}");
    }
}
