//! One layer of a model as one GPU sees it, for one micro-batch.

use weft_catalogue::{Experts, Latent, Model};
use weft_collective::Collective;

use crate::communication::{Axis, Reach, Transfer};
use crate::operator::{Multiply, Operator, Shape, Stream};
use crate::training::Part;

/// Bytes of a score that an unfused attention moves forward, in 16 bits: it is written by the multiplication, read and
/// written by the softmax, read and written by the dropout with its mask, and read by the second multiplication.
const SCORE_FORWARD_BYTES: f64 = 11.0;
/// The same backward.
const SCORE_BACKWARD_BYTES: f64 = 13.0;
/// Times that norms, residuals and dropouts read or write the stream of a layer forward, fused: each of the two norms
/// reads and writes it, each of the two residuals reads two and writes one.
const HIDDEN_FORWARD: f64 = 10.0;
/// The same backward: a norm reads the gradient and its input and writes one, a residual adds two gradients.
const HIDDEN_BACKWARD: f64 = 12.0;

/// What one GPU does for one layer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layer {
    /// Kernels, each with a forward and a backward pass.
    pub operators: Vec<Operator>,
    /// Collectives of the forward pass.
    pub forward: Vec<Transfer>,
    /// Collectives of the backward pass.
    pub backward: Vec<Transfer>,
}

impl Layer {
    /// A layer without experts.
    pub fn dense(part: &Part<'_>) -> Self {
        let mut layer = Self::default();
        layer.attention(part);
        layer.feed_forward(part, f64::from(part.model.feed_forward.width));
        layer.finish(part, 2.0);
        layer
    }

    /// A layer with experts.
    pub fn sparse(part: &Part<'_>, experts: Experts) -> Self {
        let mut layer = Self::default();
        layer.attention(part);
        if experts.shared_width > 0 {
            layer.feed_forward(part, f64::from(experts.shared_width));
        }
        layer.experts(part, experts);
        // Experts take what each GPU has; only what all tokens pass is shared as attention is.
        let parts = if experts.shared_width > 0 || !part.layout.sequence_parallel { 2.0 } else { 1.0 };
        layer.finish(part, parts);
        layer
    }

    /// The output layer and the loss, with `extra` more of the vocabulary's width for what predicts further tokens.
    pub fn output(part: &Part<'_>) -> Self {
        let (model, layout) = (part.model, part.layout);
        let columns = f64::from(model.vocabulary) / f64::from(layout.tensor);
        let tokens = layout.tokens();
        let inner = f64::from(model.hidden);
        let multiply = Multiply {
            row_count: tokens,
            inner_count: inner,
            column_count: columns,
            count: 1.0,
            shape: Shape::Output,
        };
        // Logits are written, read in 32 bits for the loss, and their gradient is written and read twice.
        let logits = tokens * columns;
        let loss = Stream { forward_bytes: 10.0 * logits, backward_bytes: 8.0 * logits, fusible: true };
        Self { operators: vec![Operator::Multiply(multiply), Operator::Stream(loss)], ..Self::default() }
    }

    /// Multiplications and additions of the forward pass, attention by what the mask leaves.
    pub fn flops(&self) -> f64 {
        let flops = |operator: &Operator| match operator {
            Operator::Multiply(multiply) => multiply.flops(),
            Operator::Attention { causal_flops, .. } => *causal_flops,
            Operator::Stream(_) => 0.0,
        };
        self.operators.iter().map(flops).sum()
    }

    fn multiply(&mut self, rows: f64, inner: f64, columns: f64) {
        self.operators.push(Operator::Multiply(Multiply {
            row_count: rows,
            inner_count: inner,
            column_count: columns,
            count: 1.0,
            shape: Shape::Layer,
        }));
    }

    fn stream(&mut self, forward_bytes: f64, backward_bytes: f64) {
        self.operators.push(Operator::Stream(Stream { forward_bytes, backward_bytes, fusible: true }));
    }

    fn attention(&mut self, part: &Part<'_>) {
        let (model, layout) = (part.model, part.layout);
        let (tokens, tensor) = (layout.tokens(), f64::from(layout.tensor));
        let heads = f64::from(model.attention.heads) / tensor;
        let (score_dim, value_dim) = if let Some(latent) = model.attention.latent {
            self.latent_projections(part, latent, heads)
        } else {
            self.plain_projections(part, heads)
        };
        let seen = seen_tokens(model, f64::from(layout.sequence_tokens));
        let causal_flops = 2.0 * tokens * seen * heads * (score_dim + value_dim);
        let scores = tokens * f64::from(layout.sequence_tokens) * heads;
        let head_dim = f64::midpoint(score_dim, value_dim);
        self.operators.push(Operator::Attention { causal_flops, head_length: head_dim, score_count: scores });
        if part.is_unfused {
            let (forward_bytes, backward_bytes) =
                (SCORE_FORWARD_BYTES * scores, SCORE_BACKWARD_BYTES * scores);
            self.operators.push(Operator::Stream(Stream { forward_bytes, backward_bytes, fusible: false }));
        }
        self.context(part);
    }

    /// The projections of attention whose heads may share keys and values; widths of a head's scores and values.
    fn plain_projections(&mut self, part: &Part<'_>, heads: f64) -> (f64, f64) {
        let (model, tokens) = (part.model, part.layout.tokens());
        let dim = f64::from(model.head_dim());
        // Heads of keys and values that are fewer than the GPUs are copied.
        let kv = (f64::from(model.kv_heads()) / f64::from(part.layout.tensor)).max(1.0);
        self.multiply(tokens, f64::from(model.hidden), (heads + 2.0 * kv) * dim);
        self.multiply(tokens, heads * dim, f64::from(model.hidden));
        self.rotary(part, (heads + kv) * dim);
        (dim, dim)
    }

    /// The projections of multi-head latent attention; widths of a head's scores and values.
    fn latent_projections(&mut self, part: &Part<'_>, latent: Latent, heads: f64) -> (f64, f64) {
        let (tokens, hidden) = (part.layout.tokens(), f64::from(part.model.hidden));
        let (plain, rotary) = (f64::from(latent.plain_dim), f64::from(latent.rotary_dim));
        let (value, rank) = (f64::from(latent.value_dim), f64::from(latent.kv_rank));
        match latent.query_rank {
            Some(query_rank) => {
                self.multiply(tokens, hidden, f64::from(query_rank));
                self.multiply(tokens, f64::from(query_rank), heads * (plain + rotary));
            }
            None => self.multiply(tokens, hidden, heads * (plain + rotary)),
        }
        self.multiply(tokens, hidden, rank + rotary);
        if !latent.is_shared {
            self.multiply(tokens, rank, heads * (plain + value));
        }
        self.output_projection(part, latent, heads);
        self.rotary(part, 2.0 * heads * (plain + rotary));
        (plain + rotary, value)
    }

    /// From a latent attention's values back to the stream, through a narrowing of groups of heads where there is one.
    fn output_projection(&mut self, part: &Part<'_>, latent: Latent, heads: f64) {
        let (tokens, hidden) = (part.layout.tokens(), f64::from(part.model.hidden));
        let value = f64::from(latent.value_dim);
        match (latent.output_groups, latent.output_rank) {
            (Some(groups), Some(rank)) => {
                let split = f64::from(part.layout.tensor);
                let (groups, rank) = ((f64::from(groups) / split).max(1.0), f64::from(rank));
                self.operators.push(Operator::Multiply(Multiply {
                    row_count: tokens,
                    inner_count: heads * value / groups,
                    column_count: rank,
                    count: groups,
                    shape: Shape::Layer,
                }));
                self.multiply(tokens, groups * rank, hidden);
            }
            _ => self.multiply(tokens, heads * value, hidden),
        }
    }

    /// Positions are turned into queries and keys: read and written, forward and backward.
    fn rotary(&mut self, part: &Part<'_>, width: f64) {
        let bytes = 2.0 * part.precision.activation_bytes() * part.layout.tokens() * width;
        self.stream(bytes, bytes);
    }

    fn feed_forward(&mut self, part: &Part<'_>, width: f64) {
        let layout = part.layout;
        let (tokens, width) = (layout.tokens(), width / f64::from(layout.tensor));
        let (hidden, gated) = (f64::from(part.model.hidden), part.model.feed_forward.gated);
        self.multiply(tokens, hidden, if gated { 2.0 * width } else { width });
        self.multiply(tokens, width, hidden);
        self.activation(part, tokens * width, gated);
    }

    /// The activation between the matrices: reads one or two values and writes one; backward it reads them, the gradient,
    /// and writes as many as it read forward.
    fn activation(&mut self, part: &Part<'_>, values: f64, gated: bool) {
        let bytes = part.precision.activation_bytes() * values;
        let (forward, backward) = if gated { (3.0, 5.0) } else { (2.0, 3.0) };
        self.stream(forward * bytes, backward * bytes);
    }

    fn experts(&mut self, part: &Part<'_>, experts: Experts) {
        let layout = part.layout;
        let (hidden, gated) = (f64::from(part.model.hidden), part.model.feed_forward.gated);
        let local = f64::from(experts.count) / f64::from(layout.expert);
        let share = f64::from(layout.expert_tensor);
        // Tokens of this GPU before they are sent: split as by the sequence, gathered again where experts are split.
        let own = layout.tokens() / f64::from(layout.tensor) * share;
        let routed = own * f64::from(experts.active);
        let width = f64::from(experts.width) / share;
        let up = if gated { 2.0 * width } else { width };
        let grouped = |inner, columns| {
            let rows = routed / local;
            Operator::Multiply(Multiply {
                row_count: rows,
                inner_count: inner,
                column_count: columns,
                count: local,
                shape: Shape::Grouped,
            })
        };
        self.multiply(own, hidden, f64::from(experts.count));
        self.operators.push(grouped(hidden, up));
        self.operators.push(grouped(width, hidden));
        self.activation(part, routed * width, gated);
        // Tokens are put in order of their experts and back: read and written twice.
        let bytes = 4.0 * part.precision.activation_bytes() * routed * hidden;
        self.stream(bytes, bytes);
        let reach = Reach { gpus: layout.expert, stride: layout.expert_tensor };
        let sent = own / share * hidden * part.precision.activation_bytes();
        let bytes = sent * f64::from(experts.active);
        let exchange = Transfer {
            repeat_count: 2.0,
            copy_count: f64::from(experts.active),
            ..Transfer::once(Axis::Expert, Collective::AllToAll, reach, bytes)
        };
        // Where each expert is split, those who share it gather the tokens and sum what comes out.
        let shared = Reach { gpus: layout.expert_tensor, stride: 1 };
        let whole = bytes * share;
        let gather = Transfer::once(Axis::Tensor, Collective::AllGather, shared, whole);
        let scatter = Transfer::once(Axis::Tensor, Collective::ReduceScatter, shared, whole);
        for transfer in [exchange, gather, scatter].into_iter().filter(Transfer::is_needed) {
            self.forward.push(transfer);
            self.backward.push(transfer);
        }
    }

    /// Norms and residuals, and what tensor parallelism gathers and reduces around so many parts.
    fn finish(&mut self, part: &Part<'_>, parts: f64) {
        let layout = part.layout;
        let stream = layout.tokens() * f64::from(part.model.hidden) * part.precision.activation_bytes();
        let split = if layout.sequence_parallel { f64::from(layout.tensor) } else { 1.0 };
        self.stream(HIDDEN_FORWARD * stream / split, HIDDEN_BACKWARD * stream / split);
        let reach = Reach { gpus: layout.tensor, stride: 1 };
        let of = |collective| Transfer::once(Axis::Tensor, collective, reach, stream).repeated(parts);
        let transfers = if layout.sequence_parallel {
            vec![of(Collective::AllGather), of(Collective::ReduceScatter)]
        } else {
            vec![of(Collective::AllReduce)]
        };
        for transfer in transfers.into_iter().filter(Transfer::is_needed) {
            self.forward.push(transfer);
            self.backward.push(transfer);
        }
    }

    /// Keys and values go around the ring of those who share a sequence; backward their gradients do too.
    fn context(&mut self, part: &Part<'_>) {
        let (model, layout) = (part.model, part.layout);
        let kv = (f64::from(model.kv_heads()) / f64::from(layout.tensor)).max(1.0);
        let width = match model.attention.latent {
            Some(latent) => kv * f64::from(latent.plain_dim + latent.rotary_dim + latent.value_dim),
            None => 2.0 * kv * f64::from(model.head_dim()),
        };
        let own = layout.tokens() * width * part.precision.activation_bytes();
        let reach = Reach { gpus: layout.context, stride: layout.tensor };
        let whole = own * f64::from(layout.context);
        let gather = Transfer::once(Axis::Context, Collective::AllGather, reach, whole);
        if gather.is_needed() {
            self.forward.push(gather);
            self.backward.push(gather);
            self.backward.push(Transfer { collective: Collective::ReduceScatter, ..gather });
        }
    }
}

/// Tokens that a token sees, on average over tokens and layers.
fn seen_tokens(model: &Model, sequence: f64) -> f64 {
    let all = sequence / 2.0;
    let Some(window) = model.attention.window_tokens else { return all };
    let near = f64::from(window).min(all);
    match model.attention.windowed_of {
        Some(every) if every > 0 => all / f64::from(every) + near * (1.0 - 1.0 / f64::from(every)),
        Some(_) | None => near,
    }
}
