//! What the numbers of Xid messages mean. Source: NVIDIA, "XID Errors" (docs.nvidia.com/deploy/xid-errors), the
//! catalogue of Xids; the words are shortened, and numbers that it calls unused are left out.

const MEANINGS: &[(u64, &str)] = &[
    (8, "GPU stopped processing"),
    (13, "graphics engine exception"),
    (16, "display engine hung"),
    (19, "display engine error"),
    (31, "GPU memory page fault"),
    (32, "invalid or corrupted push buffer stream"),
    (33, "internal micro-controller error"),
    (37, "driver firmware error"),
    (38, "driver firmware error"),
    (42, "video processor exception"),
    (43, "GPU stopped processing"),
    (44, "graphics engine fault during context switch"),
    (45, "preemptive cleanup, due to previous errors"),
    (46, "GPU stopped processing"),
    (48, "double bit ECC error"),
    (54, "auxiliary power is not connected to the GPU board"),
    (58, "unstable video memory interface detected"),
    (59, "internal micro-controller error"),
    (60, "video processor exception"),
    (61, "internal micro-controller breakpoint or warning"),
    (62, "internal micro-controller halt"),
    (63, "ECC page retirement or row remapping recorded"),
    (64, "ECC page retirement or row remapping failed to be recorded"),
    (65, "video processor exception"),
    (68, "video processor exception"),
    (69, "graphics engine class error"),
    (74, "NVLink error"),
    (79, "GPU has fallen off the bus"),
    (80, "corrupted data sent to GPU"),
    (92, "high single-bit ECC error rate"),
    (93, "non-fatal violation of provisioned InfoROM wear limit"),
    (94, "contained memory error"),
    (95, "uncontained memory error"),
    (108, "translation error at the destination of a peer's access"),
    (109, "context switch time-out error"),
    (110, "security fault error"),
    (119, "GSP RPC time-out"),
    (120, "GSP error"),
    (121, "corrected errors on the chip-to-chip link"),
    (122, "SPI PMU RPC read failure"),
    (123, "SPI PMU RPC write failure"),
    (124, "SPI PMU RPC erase failure"),
    (125, "InfoROM file system failure"),
    (136, "NVLink training failed"),
    (137, "NVLink privilege error of a peer's access"),
    (140, "unrecovered ECC error"),
    (143, "GPU initialisation failure"),
    (144, "NVLink: SAW error"),
    (145, "NVLink: RLW error"),
    (146, "NVLink: TLW error"),
    (147, "NVLink: TREX error"),
    (148, "NVLink: NVLPW_CTRL error"),
    (149, "NVLink: NETIR error"),
    (150, "NVLink: MSE error"),
    (154, "GPU recovery action changed"),
];

/// In words; nothing for a number that NVIDIA does not explain.
pub(super) fn meaning(code: u64) -> Option<&'static str> {
    MEANINGS.binary_search_by_key(&code, |(number, _)| *number).ok().map(|at| MEANINGS[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_order_so_that_each_is_found() {
        assert!(MEANINGS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!((meaning(79), meaning(5)), (Some("GPU has fallen off the bus"), None));
    }
}
