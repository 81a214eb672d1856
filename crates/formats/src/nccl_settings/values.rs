//! What NCCL's variables can be, as far as a value can be wrong.

/// What was expected, if `value` is nothing that the variable `name` can be.
pub(super) fn wanted(name: &str, value: &str, is_number: bool) -> Option<&'static str> {
    // Shells put in what we do not see.
    if value.is_empty() || value.contains('$') || value.contains('`') {
        return None;
    }
    let plain = value.to_ascii_uppercase();
    match name {
        "NCCL_P2P_LEVEL" | "NCCL_NET_GDR_LEVEL" | "NCCL_NET_MERGE_LEVEL" => {
            const PATHS: [&str; 13] =
                ["LOC", "PORT", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "NODE", "SYS", "DIS"];
            let known = PATHS.contains(&plain.as_str()) || is_whole(value);
            (!known).then_some("LOC, NVL, PIX, PXB, PHB or SYS, or a number from 0 to 5")
        }
        "NCCL_DEBUG" => {
            const LEVELS: [&str; 6] = ["NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE"];
            (!LEVELS.contains(&plain.as_str())).then_some("VERSION, WARN, INFO or TRACE")
        }
        "NCCL_ALGO" => {
            const NAMES: [&str; 8] =
                ["TREE", "RING", "COLLNET", "COLLNETDIRECT", "COLLNETCHAIN", "NVLS", "NVLSTREE", "PAT"];
            wrong_list(&plain, &NAMES)
                .then_some("names from Ring, Tree, CollnetDirect, CollnetChain, NVLS, NVLSTree, PAT")
        }
        "NCCL_PROTO" => {
            wrong_list(&plain, &["LL", "LL128", "SIMPLE"]).then_some("names from LL, LL128, Simple")
        }
        "NCCL_SOCKET_FAMILY" | "NCCL_IB_ADDR_FAMILY" => {
            (!["AF_INET", "AF_INET6"].contains(&plain.as_str())).then_some("AF_INET or AF_INET6")
        }
        _ if is_number => (!is_whole(value)).then_some("a whole number"),
        _ => None,
    }
}

/// Decimal or hexadecimal, as `strtoll` reads it.
fn is_whole(value: &str) -> bool {
    let digits = value.trim().trim_start_matches(['-', '+']);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// `ring,tree`, `^tree`, `ring;allreduce:tree`.
fn wrong_list(value: &str, names: &[&str]) -> bool {
    let lists = value.split(';').map(|list| list.rsplit(':').next().unwrap_or(list));
    let mut words = lists.flat_map(|list| list.trim_start_matches('^').split(',')).map(str::trim);
    words.any(|word| !word.is_empty() && !names.contains(&word))
}
