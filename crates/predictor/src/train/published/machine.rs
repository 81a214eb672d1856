//! The machines of the published tables as one-liners.

/// GPUs of an NVLink domain of seventy-two that jobs take: powers of two.
const RACK: u32 = 64;

/// `hosts` of a server, joined by rails.
pub(super) fn rails(server: &str, gpus: u32, per_host: u32) -> String {
    cluster(server, gpus, per_host, "rail-optimized")
}

/// The same joined by a tree.
pub(super) fn tree(server: &str, gpus: u32, per_host: u32) -> String {
    cluster(server, gpus, per_host, "fat-tree")
}

fn cluster(server: &str, gpus: u32, per_host: u32, design: &str) -> String {
    match gpus.div_ceil(per_host) {
        0 | 1 => server.to_owned(),
        hosts => format!("{hosts} x {server} @ {design}"),
    }
}

/// NVIDIA's own systems by words such as `DGX-GB200`, `H100`, `DGX H100 BF16`; `None` of others.
pub(super) fn nvidia(words: &str, gpus: u32) -> Option<String> {
    let words = words.to_lowercase();
    let names = [
        ("gb300", "gb300-nvl72", RACK),
        ("gb200", "gb200-nvl72", RACK),
        ("b300", "dgx-b300", 8),
        ("b200", "dgx-b200", 8),
        ("h200", "dgx-h200", 8),
        ("h100", "dgx-h100", 8),
        ("a100", "dgx-a100", 8),
        ("dgx-2", "dgx-2", 16),
        ("dgx-1", "dgx-1", 8),
    ];
    let (_, server, per_host) = names.into_iter().find(|(word, ..)| words.contains(word))?;
    Some(rails(server, gpus, per_host))
}

#[cfg(test)]
mod tests {
    use super::{nvidia, rails};

    #[test]
    fn hosts_are_as_many_as_the_gpus_need() {
        assert_eq!(nvidia("DGX-GB200", 256).as_deref(), Some("4 x gb200-nvl72 @ rail-optimized"));
        assert_eq!(nvidia("DGX H100 BF16", 4).as_deref(), Some("dgx-h100"));
        assert_eq!(nvidia("B200", 16).as_deref(), Some("2 x dgx-b200 @ rail-optimized"));
        assert_eq!(nvidia("TPU v5p", 16), None);
        assert_eq!(rails("dgx-2", 17, 16), "2 x dgx-2 @ rail-optimized");
    }
}
