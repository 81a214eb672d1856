//! The catalogue's GPU of a name that a tool prints, whichever of the usual spellings it is.

use weft_catalogue::{Catalogue, Gpu};

/// What `pci.ids` adds to the name that a board is sold under.
const ADDITIONS: [&str; 4] = [" Rev. A", " Lite Hash Rate", " PCIe", " Generation"];

/// The GPUs that `name` stands for; several where it does not tell them apart, as in `[Instinct MI250X/MI250]`.
///
/// Names are those of NVML (`NVIDIA GeForce RTX 5090`) or of `pci.ids`, which puts the name of the board in brackets
/// behind that of the chip (`NVIDIA Corporation GB202 [GeForce RTX 5090]`).
pub(crate) fn gpus_called<'c>(name: &str, catalogue: &'c Catalogue) -> Vec<&'c Gpu> {
    if let Ok(gpu) = catalogue.gpu(name) {
        return vec![gpu];
    }
    let inner = name.trim_end().strip_suffix(']').and_then(|front| front.rsplit_once('['));
    let board = inner.map_or(name, |(_, board)| board).trim();
    if let Some(gpu) = spelled(board, catalogue) {
        return vec![gpu];
    }
    let mut found: Vec<&Gpu> = Vec::new();
    for part in board.split('/') {
        if let Some(gpu) =
            spelled(part.trim(), catalogue).filter(|gpu| found.iter().all(|other| other.name != gpu.name))
        {
            found.push(gpu);
        }
    }
    found
}

/// By the name, or without what `pci.ids` adds to it.
fn spelled<'c>(board: &str, catalogue: &'c Catalogue) -> Option<&'c Gpu> {
    let shorter = ADDITIONS.iter().filter_map(|addition| board.strip_suffix(addition));
    std::iter::once(board).chain(shorter).find_map(|name| catalogue.gpu(name).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(name: &str) -> Vec<&'static str> {
        gpus_called(name, Catalogue::embedded()).into_iter().map(|gpu| gpu.name.as_str()).collect()
    }

    #[test]
    fn boards_are_found_by_the_names_of_pci_ids() {
        for (name, gpu) in [
            ("NVIDIA Corporation GB202 [GeForce RTX 5090]", "rtx-5090"),
            ("NVIDIA Corporation AD102 [GeForce RTX 4090]", "rtx-4090"),
            ("NVIDIA Corporation GA100 [A100 PCIe 80GB]", "a100-pcie-80gb"),
            ("NVIDIA Corporation GA100 [A100 SXM4 80GB]", "a100-sxm4-80gb"),
            ("NVIDIA Corporation GA100GL [A30 PCIe]", "a30"),
            ("NVIDIA Corporation GH100 [H100 SXM5 80GB]", "h100-sxm5-80gb"),
            ("NVIDIA Corporation GH100 [H100 PCIe]", "h100-pcie-80gb"),
            ("NVIDIA Corporation GH100 [H200 SXM 141GB]", "h200-sxm5-141gb"),
            ("NVIDIA Corporation AD102GL [RTX 5880 Ada Generation]", "rtx-5880-ada"),
            ("NVIDIA Corporation AD102GL [L40S]", "l40s"),
            ("NVIDIA Corporation GA102GL [RTX A6000]", "rtx-a6000"),
            ("NVIDIA Corporation TU102 [GeForce RTX 2080 Ti Rev. A]", "rtx-2080-ti"),
            ("NVIDIA Corporation GV100GL [Tesla V100 SXM2 32GB]", "v100-sxm2-32gb"),
            ("NVIDIA Corporation GP100GL [Tesla P100 PCIe 16GB]", "p100-pcie-16gb"),
            ("NVIDIA Corporation TU104GL [Tesla T4]", "t4"),
            ("Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI300X]", "mi300x"),
            ("Advanced Micro Devices, Inc. [AMD/ATI] Arcturus GL-XL [Instinct MI100]", "mi100"),
            ("NVIDIA GeForce RTX 5090", "rtx-5090"),
        ] {
            assert_eq!(called(name), [gpu], "{name}");
        }
    }

    #[test]
    fn names_of_several_boards_name_all_of_them_and_chips_none() {
        let name = "Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran/MI200 [Instinct MI210/MI250]";
        assert_eq!(called(name), ["mi210", "mi250"]);
        assert!(called("NVIDIA Corporation GA102").is_empty());
        assert!(called("ASPEED Technology, Inc. ASPEED Graphics Family").is_empty());
    }
}
