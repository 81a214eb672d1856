//! Where the time of a step of inference goes.

/// Seconds by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ServeBreakdown {
    /// Reading weights.
    pub weights_s: f64,
    /// Reading the KV cache.
    pub cache_s: f64,
    /// What computing takes beyond reading.
    pub compute_s: f64,
    /// What layers take besides: starting, filling and draining kernels.
    pub kernels_s: f64,
    /// Tensor-parallel all-reduces.
    pub tensor_s: f64,
    /// Of them, what the smallest ones would take.
    pub tensor_latency_s: f64,
    /// Tokens that go to other GPUs' experts and back.
    pub expert_s: f64,
    /// From stage to stage.
    pub pipeline_s: f64,
    /// Stages that wait for others.
    pub idle_s: f64,
    /// Scheduling and sampling.
    pub host_s: f64,
}

impl ServeBreakdown {
    /// Each part with its name, in the order in which they are shown.
    pub fn parts(&self) -> [(&'static str, f64); 9] {
        [
            ("reading weights", self.weights_s),
            ("reading the KV cache", self.cache_s),
            ("computing", self.compute_s),
            ("kernels of layers", self.kernels_s),
            ("tensor-parallel all-reduces", self.tensor_s),
            ("exchange of experts", self.expert_s),
            ("between stages", self.pipeline_s),
            ("idle stages", self.idle_s),
            ("host", self.host_s),
        ]
    }

    /// All of it.
    pub fn total_s(&self) -> f64 {
        self.parts().into_iter().map(|(_, seconds)| seconds).sum()
    }

    /// What takes longest.
    pub fn bound_by(&self) -> &'static str {
        let parts = self.parts().into_iter();
        parts.max_by(|a, b| a.1.total_cmp(&b.1)).map_or("reading weights", |(part, _)| part)
    }

    /// Adds `other` so many times.
    pub(super) fn add(&mut self, other: Self, times: f64) {
        self.weights_s += times * other.weights_s;
        self.cache_s += times * other.cache_s;
        self.compute_s += times * other.compute_s;
        self.kernels_s += times * other.kernels_s;
        self.tensor_s += times * other.tensor_s;
        self.tensor_latency_s += times * other.tensor_latency_s;
        self.expert_s += times * other.expert_s;
        self.pipeline_s += times * other.pipeline_s;
        self.idle_s += times * other.idle_s;
        self.host_s += times * other.host_s;
    }
}
