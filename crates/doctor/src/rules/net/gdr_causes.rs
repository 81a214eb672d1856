//! What keeps GPUDirect RDMA away, or should.

use crate::cause::{Cause, Effect, Nature};

/// The peer-memory module is missing.
pub const GDR_OFF_PEERMEM: Cause = Cause {
    code: "D040",
    word: "gdr-off-peermem",
    title: "GPUDirect RDMA is off since no peer-memory module is loaded",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "GPUDirect RDMA lets a NIC read and write GPU memory. For that the kernel needs `nvidia-peermem` (older: \
        `nv_peer_mem`), or a driver, a kernel and a NIC that share DMA-BUFs. Without it each byte is staged in host memory: \
        behind a PCIe switch it crosses the uplink twice, and NCCL shows the NIC as PHB though the board has it under the \
        same switch. NCCL's log says `GPU Direct RDMA Disabled for HCA` and the connections lack `/GDRDMA`; `lsmod` lacks \
        the module. Where only one host lacks it, that host's side of each connection lacks it. Mended by `modprobe \
        nvidia-peermem`, kept by a line in /etc/modules-load.d. Known from NVIDIA/nccl#465, #489, #897.",
};

/// The module is there and does nothing.
pub const GDR_OFF_DRIVER_ORDER: Cause = Cause {
    code: "D041",
    word: "gdr-off-driver-order",
    title: "the peer-memory module is loaded but not known to the RDMA core",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "`nvidia-peermem` is built with the GPU's driver, against the RDMA stack that was there at that time. If \
        OFED was installed or replaced afterwards, or the kernel changed, the module loads and registers with nobody: \
        /sys/kernel/mm/memory_peers is missing, `lsmod` does not list it among the users of ib_core, and NCCL says `GPU \
        Direct RDMA Disabled for HCA`. Install the driver again behind the RDMA stack (with dkms: rebuild), then load the \
        module. Known from NVIDIA/nccl#1939.",
};

/// GPU and NIC are too far apart.
pub const GDR_OFF_DISTANCE: Cause = Cause {
    code: "D042",
    word: "gdr-off-distance",
    title: "GPUDirect RDMA is off since GPU and NIC are farther apart than the limit",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "NCCL uses GPUDirect RDMA up to a path type, by default through PCIe switches only (PXB): over a CPU's \
        root complex peer-to-peer is mostly slower than staging in host memory. The log says `Disabled for GPU … / HCA … \
        (distance 7 > 4)`, in old versions `(distance 2 >= 2)`. That is as it should be where GPU and NIC hang off different \
        root ports. It costs bandwidth where a setting (NCCL_NET_GDR_LEVEL) lowers the limit, or where a virtual machine hides \
        the switch that they share. NCCL_NET_GDR_LEVEL=PHB or SYS allows more; try it with a benchmark, it may be slower. \
        Known from NVIDIA/nccl#1151, Mellanox/nv_peer_memory#56.",
};

/// The card cannot.
pub const GDR_OFF_GEFORCE: Cause = Cause {
    code: "D043",
    word: "gdr-off-geforce",
    title: "GPUDirect RDMA does not exist on this card",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "GeForce cards do not offer their memory to other devices by RDMA: `nvidia-peermem` can be loaded, but \
        registering their memory fails, and NCCL stages in host memory. That needs a data-centre or professional card; no \
        setting helps. Stated by NVIDIA in its documentation of GPUDirect RDMA.",
};

/// GPUDirect where staging is better.
pub const GDR_FORCED_FAR: Cause = Cause {
    code: "D044",
    word: "gdr-forced-far",
    title: "GPUDirect RDMA is forced over the CPU",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "NCCL_NET_GDR_LEVEL of PHB or SYS (3 and more in old numbers) makes a NIC read GPU memory through the CPU's \
        root complex. Many root complexes forward such reads at a fraction of the link's rate, so that staging in host \
        memory, which is NCCL's choice, is faster. The log says `Enabled for GPU … (distance …)` and `/GDRDMA`, and a run \
        without the setting is faster. Unset it. Known from Mellanox/nv_peer_memory#50.",
};
