//! The diagnostic codes of this crate.

use weft_base::Code;

/// All codes of this crate, for `weft explain` and the reference.
pub const CODES: &[Code] = &[NO_GPU_HERE, NVML_SILENT, CONFIG_HIDDEN, NOTHING_HERE];

/// No GPU in this machine.
pub const NO_GPU_HERE: Code = Code {
    name: "no-gpu-here",
    explanation: "This machine shows no GPU on PCI. In a container or a virtual machine the GPUs of the host may not \
                  be passed through; what is shown are the PCI functions, NUMA nodes and network devices that are.",
};

/// GPUs, but no word from the driver.
pub const NVML_SILENT: Code = Code {
    name: "nvml-silent",
    explanation: "There are NVIDIA GPUs on PCI, but the driver's library (NVML) could not be loaded or does not \
                  answer, so that models, numbers, NVLinks and peer access are unknown. `nvidia-smi` fails on such \
                  a machine too: load the driver, or pass its library into the container.",
};

/// Registers that only root may read.
pub const CONFIG_HIDDEN: Code = Code {
    name: "config-hidden",
    explanation: "Only root may read the whole configuration of PCI functions. Without it, access control (ACS), \
                  payload sizes and error bits are unknown; everything else is the same.",
};

/// Nothing to see.
pub const NOTHING_HERE: Code = Code {
    name: "nothing-here",
    explanation: "This machine shows neither PCI functions nor NUMA nodes below /sys, as where /sys is not mounted \
                  or the system is not Linux. Paste the output of a command instead.",
};
