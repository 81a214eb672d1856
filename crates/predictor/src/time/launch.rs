//! Who starts the kernels: what bounds small messages, and differs between one program and another.

use crate::PredictError;
use crate::nccl::constants::Constants;

/// How kernels are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Launch {
    /// One process starts the kernels of all GPUs of its host, one after the other (`nccl-tests -g 8`).
    OneProcess,
    /// Each GPU has a process of its own (`mpirun -np 8 nccl-tests -g 1`).
    ProcessPerGpu,
    /// Each GPU has a process of its own that waits for every operation, as a loop of PyTorch with a barrier does.
    Framework,
}

impl Launch {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::OneProcess, Self::ProcessPerGpu, Self::Framework];

    /// The word for it at the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneProcess => "one-process",
            Self::ProcessPerGpu => "process-per-gpu",
            Self::Framework => "framework",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }
}

/// What starting costs, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LaunchCost {
    /// Hidden behind the GPUs' work, or hiding it.
    pub host_us: f64,
    /// Before it.
    pub call_us: f64,
    /// Kernels that one process starts, one after the other.
    pub in_turn: f64,
}

impl LaunchCost {
    /// For so many GPUs of that generation in a host.
    pub fn of(
        launch: Launch,
        gpus: usize,
        generation: &str,
        achieved: Constants<'_>,
    ) -> Result<Self, PredictError> {
        #[expect(clippy::cast_precision_loss, reason = "a host has few GPUs")]
        let in_turn = match launch {
            Launch::OneProcess => gpus as f64,
            Launch::ProcessPerGpu | Launch::Framework => 1.0,
        };
        let call_us = match launch {
            Launch::OneProcess | Launch::ProcessPerGpu => 0.0,
            Launch::Framework => achieved.only("framework-call", "call")?,
        };
        Ok(Self { host_us: in_turn * achieved.only("launch", generation)?, call_us, in_turn })
    }
}

/// What starting costs: as expected, and at least where nobody said who starts the kernels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Launches {
    /// As expected.
    pub expected: LaunchCost,
    /// The least that it may be.
    pub least: LaunchCost,
}

impl Launches {
    /// Of `launch`, or of what is usual: one process for the GPUs of one host, as nccl-tests' own examples do,
    /// and one for each GPU where there are several hosts.
    pub fn of(
        launch: Option<Launch>,
        gpus: usize,
        hosts: usize,
        generation: &str,
        achieved: Constants<'_>,
    ) -> Result<Self, PredictError> {
        let usual = if hosts > 1 { Launch::ProcessPerGpu } else { Launch::OneProcess };
        Ok(Self {
            expected: LaunchCost::of(launch.unwrap_or(usual), gpus, generation, achieved)?,
            least: LaunchCost::of(launch.unwrap_or(Launch::ProcessPerGpu), gpus, generation, achieved)?,
        })
    }
}
