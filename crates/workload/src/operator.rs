//! What a GPU computes, without seconds: multiplications of matrices, the core of attention, and what only moves bytes.

/// Forward, or backward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    /// From input to loss.
    Forward,
    /// Gradients of inputs and of weights.
    Backward,
}

/// In which precision a multiplication runs, and how it is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// A layer's matrix: in the precision of the run.
    Layer,
    /// The matrices of several experts at once: in the precision of the run, in one grouped kernel.
    Grouped,
    /// The output layer: always in 16 bits.
    Output,
}

/// A multiplication of `rows x inner` by `inner x columns`, forward; backward there are two like it, for the gradient of
/// the input (`inner` and `columns` change places) and of the weights (`inner` and `rows` do).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Multiply {
    /// Rows of the input: tokens.
    pub row_count: f64,
    /// What is summed over.
    pub inner_count: f64,
    /// Columns of the weights.
    pub column_count: f64,
    /// How many like it.
    pub count: f64,
    /// Precision and launch.
    pub shape: Shape,
}

impl Multiply {
    /// Multiplications and additions of the forward pass.
    pub fn flops(&self) -> f64 {
        2.0 * self.row_count * self.inner_count * self.column_count * self.count
    }
}

/// Kernels that compute little for each byte: norms, activations, residuals, softmax.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stream {
    /// Bytes read and written forward, where kernels are fused.
    pub forward_bytes: f64,
    /// The same backward.
    pub backward_bytes: f64,
    /// Whether a framework that fuses less moves more of it.
    pub fusible: bool,
}

/// One kind of kernel in a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operator {
    /// Matrices.
    Multiply(Multiply),
    /// The core of attention: scores, softmax, weighted values.
    Attention {
        /// Multiplications and additions forward, of what the causal mask leaves.
        causal_flops: f64,
        /// Mean width of a head's scores and values.
        head_length: f64,
        /// Scores that an unfused kernel computes and stores, causal or not.
        score_count: f64,
    },
    /// Bytes.
    Stream(Stream),
}
