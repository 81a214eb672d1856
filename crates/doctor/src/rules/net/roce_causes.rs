//! What RoCE needs.

use crate::cause::{Cause, Effect, Nature};

/// No flow control.
pub const ROCE_NO_PFC: Cause = Cause {
    code: "D051",
    word: "roce-no-pfc",
    title: "RoCE runs without flow control: packets are dropped and sent again",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "RoCE adapters expect a network that drops nothing. Without priority flow control (PFC) or pause frames, in the \
        adapters and in each switch, a full buffer drops packets; the adapter then sends everything from the lost one on again, \
        and busbw falls to tenths of a GB/s as soon as messages are large or many hosts send to one, while small sizes look \
        well. The host's counters may show nothing, since the switch drops. `mlnx_qos -i DEV` shows PFC and trust; one \
        priority (3) with PFC, trust in DSCP, ECN in the switches, and NCCL_IB_TC that matches are usual. Known from \
        NVIDIA/nccl#378.",
};

/// The wrong GID.
pub const ROCE_GID: Cause = Cause {
    code: "D052",
    word: "roce-gid",
    title: "RoCE uses a GID that the other side cannot reach",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "A RoCE port has a table of GIDs: link-local and by IP address, each for RoCE v1 and v2. NCCL before 2.21 takes \
        index 0 unless told, which is RoCE v1 with a link-local address; routers drop it, and the first large message ends with \
        `Got completion with … error 12` (retry exceeded, vendor err 129). The index of the IPv4 entry with v2, mostly 3, \
        belongs into NCCL_IB_GID_INDEX; the table changes when addresses, VLANs or bonds do. `show_gids` prints it. Known \
        from NVIDIA/nccl#426.",
};

/// Enhanced connection establishment.
pub const ROCE_ECE: Cause = Cause {
    code: "D053",
    word: "roce-ece",
    title: "enhanced connection establishment makes RoCE slow here",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "From 2.19 on NCCL lets adapters agree on extensions (ECE), such as selective repeat and other ways to control \
        congestion. With some firmware or switches bandwidth then is low and jumps from run to run. NCCL_IB_ECE_ENABLE=0 shows \
        whether it is so; newer firmware mends it. Known from NVIDIA/nccl#1403.",
};

/// One path per flow.
pub const ROCE_NO_ADAPTIVE_ROUTING: Cause = Cause {
    code: "D066",
    word: "roce-no-adaptive-routing",
    title: "RoCE without adaptive routing",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "With adaptive routing each packet takes the free path, and the receiver puts them in order; without it a flow stays \
        on one path and flows collide. In RoCE both the switches and the adapters have to be set: register ROCE_ACCL of the \
        adapter says adaptive_routing_forced_en 0 where it is off. Many small flows, as those of expert parallelism, suffer \
        most. Set it with `mlxreg -d DEV --reg_name ROCE_ACCL --set adaptive_routing_forced_en=1` and in the switches, all at \
        once. It brings nothing below one switch. Known from deepseek-ai/DeepEP#82.",
};
