//! `weft gather` on a machine made of scripts, and what the other commands make of its archive.

#![expect(clippy::disallowed_methods, reason = "tests write scripts and read archives")]

mod common;

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{root, run};

const TOPO: &str = "\\tGPU0\\tGPU1\\tNIC0\\tCPU Affinity\\tNUMA Affinity\\nGPU0\\t X \\tNV12\\tPIX\\t0-31\\t0\\nGPU1\\tNV12\\t X \\tSYS\\t32-63\\t1\\n\
                    NIC0\\tPIX\\tSYS\\t X \\n\\nNIC Legend:\\n\\n  NIC0: mlx5_0\\n";

/// A folder with scripts that pose as tools.
struct Tools(PathBuf);

impl Tools {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for scripts");
        Self(folder)
    }

    fn add(&self, name: &str, body: &str) {
        let path = self.0.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    /// Runs `weft gather` with nothing but these tools.
    fn gather(&self, args: &[&str]) -> Output {
        // The shell's own tools are found where the scripts are not.
        let path = format!("{}:/usr/bin:/bin", self.0.display());
        Command::new(env!("CARGO_BIN_EXE_weft"))
            .arg("gather")
            .args(args)
            .current_dir(root())
            .env("PATH", path)
            .env("USER", "janedoe")
            .env("NCCL_SOCKET_IFNAME", "eth7")
            .env("NCCL_COMM_ID", "10.77.3.9:29500")
            .stdin(Stdio::null())
            .output()
            .expect("the built program starts")
    }

    fn archive(&self, output: &Output) -> PathBuf {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let path = self.0.join("case.tar.gz");
        fs::write(&path, &output.stdout).expect("the archive");
        path
    }
}

/// All files of an archive.
fn unpacked(path: &Path) -> Vec<(String, String)> {
    let file = fs::File::open(path).expect("the archive");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let entries = archive.entries().expect("entries").map(|entry| {
        let mut entry = entry.expect("an entry");
        let mut text = String::new();
        entry.read_to_string(&mut text).expect("text");
        (entry.path().expect("a name").display().to_string(), text)
    });
    entries.collect()
}

/// A host with two GPUs, one NIC, a bad event and names all over.
fn host(name: &str) -> Tools {
    let tools = Tools::new(name);
    tools.add(
        "nvidia-smi",
        &format!(
            "case \"$*\" in\n'topo -m') printf '{TOPO}';;\n-L) printf 'GPU 0: NVIDIA A100 80GB PCIe (UUID: GPU-8d1f3c52-11aa-4b0e-9c6f-77d1e5a0b3c4)\\n';;\n\
             -q) printf 'GPU 00000000:1B:00.0\\n    Serial Number                         : 1650321004711\\n';;\n*) exit 3;;\nesac"
        ),
    );
    tools.add("hostname", "echo rack4-node17.dc1.acme.example");
    tools.add("uname", "if [ \"$1\" = -n ]; then echo rack4-node17; else echo Linux 5.15.0 x86_64; fi");
    tools.add("ibstat", "printf \"CA 'mlx5_0'\\n\\tNode GUID: 0x506b4b0300a1b2c3\\n\"");
    tools.add("dmesg", "printf '[1.5] hello from rack4-node17\\n[2.5] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\\n'");
    for missing in [
        "lspci",
        "lstopo-no-graphics",
        "rocm-smi",
        "amd-smi",
        "dcgmi",
        "systemctl",
        "ethtool",
        "mlnx_qos",
        "ip",
    ] {
        tools.add(missing, "exit 1");
    }
    tools
}

#[test]
fn what_was_gathered_can_be_shown_and_names_no_one() {
    let tools = host("gather-host");
    let archive = tools.archive(&tools.gather(&["--timeout", "5"]));
    let files = unpacked(&archive);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    for wanted in
        ["topo.txt", "nvidia-smi-list.txt", "ibstat.txt", "dmesg.txt", "environment.txt", "manifest.txt"]
    {
        assert!(names.contains(&wanted), "{names:?}");
    }
    let secret =
        ["rack4-node17", "dc1.acme", "8d1f3c52", "1650321004711", "506b4b0300a1b2c3", "10.77.3.9", "janedoe"];
    for (name, text) in &files {
        for word in secret {
            assert!(!text.to_lowercase().contains(word), "{word} in {name}:\n{text}");
        }
    }
    let text =
        |wanted: &str| files.iter().find(|(name, _)| name == wanted).map_or("", |(_, text)| text.as_str());
    assert!(text("dmesg.txt").contains("Xid (PCI:0000:1b:00): 79") && !text("dmesg.txt").contains("hello"));
    assert!(text("environment.txt").contains("NCCL_SOCKET_IFNAME=eth7"));
    assert!(text("manifest.txt").contains("nvidia-smi topo -m: ended"), "{}", text("manifest.txt"));
    assert!(text("manifest.txt").contains("ended with status 3"), "{}", text("manifest.txt"));

    let shown = run(&["show", archive.to_str().expect("a path")], b"");
    let (stdout, stderr) = (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    assert!(shown.status.success(), "{stderr}");
    // The model is named by `nvidia-smi -L`, not assumed; the event is told.
    assert!(
        stdout.contains("NVIDIA A100 80GB PCIe") && !stdout.contains("A100 80GB PCIe (assumed)"),
        "{stdout}"
    );
    assert!(stdout.contains("GPU has fallen off the bus"), "{stdout}");
    // An archive can come through a pipe as well.
    let piped = run(&["show", "-"], &fs::read(&archive).expect("the archive"));
    assert!(
        piped.status.success() && String::from_utf8_lossy(&piped.stdout).contains("NVIDIA A100 80GB PCIe")
    );
}

#[test]
fn names_are_kept_on_request_and_the_same_seed_makes_the_same_ones() {
    let tools = host("gather-names");
    let kept = unpacked(&tools.archive(&tools.gather(&["--keep-names"])));
    assert!(kept.iter().any(|(_, text)| text.contains("506b4b0300a1b2c3")));
    let guid = |args: &[&str]| {
        let files = unpacked(&tools.archive(&tools.gather(args)));
        files.into_iter().find(|(name, _)| name == "ibstat.txt").map(|(_, text)| text).expect("ibstat.txt")
    };
    assert_eq!(guid(&["--seed", "x"]), guid(&["--seed", "x"]));
    assert_ne!(guid(&["--seed", "x"]), guid(&["--seed", "y"]));
}

#[test]
fn a_command_that_hangs_is_stopped_and_what_it_said_is_kept() {
    let tools = host("gather-hang");
    tools.add("ibstat", "echo before; sleep 60 & sleep 60");
    let files = unpacked(&tools.archive(&tools.gather(&["--timeout", "1"])));
    let text =
        |wanted: &str| files.iter().find(|(name, _)| name == wanted).map_or("", |(_, text)| text.as_str());
    assert_eq!(text("ibstat.txt"), "before\n");
    assert!(text("manifest.txt").contains("ibstat: was stopped after 1 s"), "{}", text("manifest.txt"));
}

#[test]
fn the_list_says_what_would_be_run() {
    let listed = run(&["gather", "--list"], b"");
    let text = String::from_utf8_lossy(&listed.stdout);
    for wanted in ["nvidia-smi topo -m", "ibnetdiscover  (with --fabric)", "/proc/cmdline", "NCCL_*"] {
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn folders_in_a_folder_are_read_one_level_deep() {
    let folder = Tools::new("gather-folder").0;
    fs::create_dir_all(folder.join("node-1/deeper")).expect("folders");
    fs::write(folder.join("node-1/topo.txt"), "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n")
        .expect("a file");
    fs::write(folder.join("node-1/deeper/topo.txt"), "\tGPU0\nGPU0\t X \n").expect("a file");
    let shown = run(&["show", folder.to_str().expect("a path")], b"");
    let stdout = String::from_utf8_lossy(&shown.stdout);
    assert!(stdout.contains("2 unknown GPUs"), "{stdout}{}", String::from_utf8_lossy(&shown.stderr));
}
