//! What is run and read, in one table.

/// On what a command depends, and for what it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Wherever it exists.
    Always,
    /// With `--fabric` alone: it asks every switch of the network.
    Fabric,
    /// Once for each network interface with a device behind it; `{}` stands for its name.
    EachInterface,
}

/// What is kept of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All of it.
    All,
    /// All of it, below a line with the command: the output does not say which device it is of.
    WithCommand,
    /// The lines that a reader of this name claims.
    LinesOf(&'static str),
}

/// A command.
#[derive(Debug)]
pub struct Command {
    /// The program, found on the search path.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: &'static [&'static str],
    /// The file in the archive.
    pub output: &'static str,
    /// Its own limit, where the usual one is too short.
    pub limit_seconds: Option<u64>,
    /// When it is run.
    pub when: When,
    /// What is kept.
    pub keep: Keep,
}

const fn command(program: &'static str, arguments: &'static [&'static str], output: &'static str) -> Command {
    Command { program, arguments, output, limit_seconds: None, when: When::Always, keep: Keep::All }
}

const fn fabric(program: &'static str, output: &'static str) -> Command {
    Command { limit_seconds: Some(120), when: When::Fabric, ..command(program, &[], output) }
}

const fn each(program: &'static str, arguments: &'static [&'static str], output: &'static str) -> Command {
    Command { when: When::EachInterface, keep: Keep::WithCommand, ..command(program, arguments, output) }
}

/// All commands, in the order of the archive. None of them changes anything.
pub const COMMANDS: &[Command] = &[
    command("nvidia-smi", &["topo", "-m"], "topo.txt"),
    command("nvidia-smi", &["topo", "-p2p", "r"], "topo-p2p-r.txt"),
    command("nvidia-smi", &["topo", "-p2p", "w"], "topo-p2p-w.txt"),
    command("nvidia-smi", &["topo", "-p2p", "n"], "topo-p2p-n.txt"),
    command("nvidia-smi", &["-q"], "nvidia-smi-q.txt"),
    command("nvidia-smi", &["-L"], "nvidia-smi-list.txt"),
    command("nvidia-smi", &["nvlink", "-s"], "nvlink-status.txt"),
    command("nvidia-smi", &["nvlink", "-e"], "nvlink-errors.txt"),
    command("nvidia-smi", &["nvlink", "-R"], "nvlink-remote.txt"),
    command("rocm-smi", &["--showtopo"], "rocm-smi-topo.txt"),
    command("amd-smi", &["topology"], "amd-smi-topology.txt"),
    command("lspci", &["-tv"], "lspci-tree.txt"),
    command("lspci", &["-vvv", "-nn"], "lspci-vvv.txt"),
    command("lstopo-no-graphics", &["--of", "xml"], "hwloc.xml"),
    command("numactl", &["-H"], "numactl.txt"),
    command("lscpu", &[], "lscpu.txt"),
    command("lsmod", &[], "lsmod.txt"),
    command("ls", &["-d", "/sys/kernel/mm/memory_peers/nv_mem"], "memory-peers.txt"),
    command("ofed_info", &["-s"], "ofed-info.txt"),
    Command { keep: Keep::LinesOf("kernel-log"), ..command("dmesg", &["-T"], "dmesg.txt") },
    Command { keep: Keep::WithCommand, ..command("uname", &["-srm"], "uname.txt") },
    command("systemctl", &["status", "nvidia-fabricmanager", "--no-pager", "-l"], "fabricmanager.txt"),
    command("dcgmi", &["health", "-c"], "dcgmi-health.txt"),
    command("ibstat", &[], "ibstat.txt"),
    command("ibv_devinfo", &["-v"], "ibv-devinfo.txt"),
    command("ibdev2netdev", &[], "ibdev2netdev.txt"),
    command("show_gids", &[], "show-gids.txt"),
    command("ip", &["-s", "link"], "ip-link.txt"),
    each("ethtool", &["{}"], "ethtool-{}.txt"),
    each("ethtool", &["-i", "{}"], "ethtool-driver-{}.txt"),
    each("ethtool", &["-a", "{}"], "ethtool-pause-{}.txt"),
    each("ethtool", &["-S", "{}"], "ethtool-statistics-{}.txt"),
    each("mlnx_qos", &["-i", "{}"], "mlnx-qos-{}.txt"),
    fabric("ibnetdiscover", "ibnetdiscover.txt"),
    fabric("iblinkinfo", "iblinkinfo.txt"),
];

/// Files that are read, and their names in the archive.
pub const FILES: &[(&str, &str)] = &[("/proc/cmdline", "cmdline.txt"), ("/etc/nccl.conf", "nccl-conf.txt")];

/// Folders of which every file is read, and how their names in the archive begin.
pub const FOLDERS: &[(&str, &str)] = &[("/proc/net/bonding", "bonding")];

/// How the names of variables begin that are kept.
pub const VARIABLES: &[&str] = &[
    "NCCL_",
    "RCCL_",
    "CUDA_",
    "UCX_",
    "FI_",
    "HIP_",
    "ROCR_",
    "HSA_",
    "OMPI_MCA_",
    "SHARP_",
    "GLOO_",
    "MLX5_",
    "IBV_",
    "RDMAV_",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_have_different_names() {
        let mut names: Vec<&str> =
            COMMANDS.iter().map(|command| command.output).chain(FILES.iter().map(|file| file.1)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for command in COMMANDS {
            assert_eq!(command.when == When::EachInterface, command.output.contains("{}"), "{command:?}");
        }
    }
}
