//! `weft bench --hosts`: what it prints, and what it starts where a script stands in for ssh.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{refused, run, stdout};

/// A place to meet that no other test has.
fn place(name: &str) -> String {
    let place = std::env::temp_dir().join(format!("weft-hosts-{}-{name}", std::process::id()));
    place.to_str().unwrap().to_owned()
}

/// What is measured fast.
const SHORT: [&str; 6] = ["--repeats", "1", "--min", "4KiB", "--max", "4KiB"];

#[test]
fn each_host_has_its_line() {
    let args = ["bench", "all-gather", "--hosts", "node[09-10]", "--per-host=2", "--max", "1 MiB", "--tcp"];
    let line = "weft bench all-gather --max '1 MiB' --tcp --ranks 4 --join node09:7400";
    let expected = format!(
        "\
# 4 ranks on 2 hosts; rank 0 is on node09, and prints.
# They meet at node09:7400: that must be reached from all of them.
#
# On each host its line, all within 600 s:
# node09
{line} --meet-within 600 --rank 0-1
# node10
{line} --meet-within 600 --rank 2-3
#
# Or by a launcher, the same line everywhere: Slurm, Open MPI, MPICH
srun --nodelist=node09,node10 --ntasks=4 --ntasks-per-node=2 {line} --rank auto
mpirun -n 4 --host node09:2,node10:2 {line} --rank auto
mpiexec -n 4 -ppn 2 -hosts node09,node10 {line} --rank auto
#
# Or over ssh, from here: the same command with --ssh
"
    );
    assert_eq!(stdout(&args), expected);
}

#[test]
fn a_file_may_name_the_hosts_and_the_ranks_are_shared_out() {
    let file = place("list");
    std::fs::write(&file, "# rack 1\nn[1-2]\nn7 # spare\n").unwrap();
    let lines = stdout(&["bench", "-n", "6", "--hosts", &file, "--port", "99", "--program", "/opt/weft"]);
    let lines: Vec<&str> = lines.lines().filter(|line| line.starts_with("/opt/weft")).collect();
    let line = "/opt/weft bench --ranks 6 --join n1:99 --meet-within 600";
    assert_eq!(lines, ["0-1", "2-3", "4-5"].map(|seats| format!("{line} --rank {seats}")));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn what_cannot_be_placed_is_said() {
    let long = format!("n[1-{}]", 300);
    for (args, code, what) in [
        (&["--hosts", "n1,n2,n1"][..], "host-twice", "`n1` is named twice"),
        (&["--hosts", "n[2-1]"], "host-list", "backwards"),
        (&["--hosts", "n1,-oProxyCommand=x"], "host-list", "begins with a dash"),
        (&["--hosts", "./nowhere.txt"], "file-unreadable", "has no `/` in it"),
        (&["--hosts", "n[1-3]", "--ranks", "4"], "not-measured", "cannot be shared out evenly"),
        (&["--hosts", "n[1-3]", "--ranks", "4", "--per-host", "2"], "not-measured", "have not 4 ranks"),
        (&["--hosts", &long], "not-measured", "more than 256 ranks"),
        (&["--hosts", "n1,n2", "--transport", "shared-memory"], "not-measured", "share no memory"),
        (&["--join", "n1:7"], "not-measured", "nothing says which rank this is"),
        (&["--join", "n1:7", "--rank", "auto"], "not-measured", "none of OMPI_COMM_WORLD_RANK"),
        (&["--join", "n1:7", "--rank", "1-2"], "not-measured", "no rank called `2`"),
        (&["pairs", "--root", "1"], "not-measured", "`--root` says nothing of pairs"),
        (&["pairs", "-n", "1"], "not-measured", "one rank is no pair"),
        (&["--format", "csv"], "not-measured", "only pairs are printed as CSV"),
    ] {
        let (exit, message) = refused(&[&["bench"], args].concat(), b"");
        assert!(exit == 2 || exit == 4, "{args:?}: {exit}");
        assert!(message.contains(what) && message.contains(code), "{args:?}: {message}");
    }
}

#[test]
fn a_launcher_numbers_the_ranks() {
    let place = place("auto");
    let rank = |rank: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
        command.args(["bench"]).args(SHORT).args(["--rank", "auto", "--join", &place]);
        // A step of Slurm, in which Open MPI has started these two.
        command.env("SLURM_PROCID", "0").env("SLURM_NTASKS", "1");
        command.env("OMPI_COMM_WORLD_RANK", rank).env("OMPI_COMM_WORLD_SIZE", "2");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let (first, second) = (rank("0"), rank("1"));
    let (first, second) = (first.wait_with_output().unwrap(), second.wait_with_output().unwrap());
    let table = String::from_utf8(first.stdout).unwrap();
    assert!(first.status.success() && second.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    assert!(table.contains("2 processes"), "{table}");
    assert_eq!(second.stdout, b"");
}

#[test]
fn one_command_starts_all_ranks_of_its_host() {
    let place = place("range");
    let table = stdout(&[&["bench", "-n", "3", "--rank", "0-2", "--join", &place], &SHORT[..]].concat());
    assert!(table.contains("3 processes, shared memory") && table.contains("0 OK"), "{table}");
}

/// The options that start ranks on what are called hosts, by a shell on this one.
fn on<'a>(hosts: &'a str, shell: &'a str, place: &'a str) -> Vec<&'a str> {
    vec!["--hosts", hosts, "--ssh", "--remote-shell", shell, "--join", place]
}

#[test]
fn ranks_are_started_on_all_hosts_and_the_first_one_prints() {
    let place = place("ssh");
    // The name of the host ends as `$0` of the shell.
    let shell = "sh -c {line}";
    let table = stdout(&[&["bench", "--per-host", "2"], &on("a1,b2", shell, &place)[..], &SHORT].concat());
    assert!(table.contains("4 processes, shared memory") && table.contains("0 OK"), "{table}");
    let pairs = ["bench", "pairs", "--max", "64KiB", "--format", "csv"];
    let output = run(&[&pairs[..], &on("anna,bert,carl", shell, &place)].concat(), b"");
    let csv = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = csv.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(names[1..], ["anna", "bert", "carl"], "{csv} {}", String::from_utf8_lossy(&output.stderr));
    // What is printed is read again.
    let shown = run(&["show", "-", "--format", "json"], csv.as_bytes());
    let document: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(document["pair_tables"][0]["values"].as_array().unwrap().len(), 6, "{document}");
}

#[test]
fn a_host_that_cannot_be_reached_is_named_in_the_words_of_ssh() {
    let place = place("unreached");
    let said = "ssh: connect to host b2 port 22: Connection refused";
    let shell = format!(
        "sh -c '[ \"$1\" != b2 ] || {{ echo \"{said}\" >&2; exit 255; }}; exec sh -c \"$0\"' {{line}} {{host}}"
    );
    let begun = Instant::now();
    let args = [&["bench"], &on("a1,b2,c3", &shell, &place)[..], &SHORT].concat();
    let (exit, message) = refused(&args, b"");
    assert_eq!(exit, 4, "{message}");
    assert!(message.contains("host-failed") && message.contains("b2 (rank 1)"), "{message}");
    assert!(message.contains(said), "{message}");
    // Not after the half minute for which ranks would wait for each other.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(left(&place), 0);
}

#[test]
fn a_program_that_is_not_there_is_said() {
    let place = place("absent");
    let args = ["bench", "--program", "/nowhere/weft"];
    let (exit, message) = refused(&[&args, &on("a1,b2", "sh -c {line}", &place)[..]].concat(), b"");
    assert_eq!(exit, 4, "{message}");
    assert!(message.contains("has no such program") && message.contains("--program"), "{message}");
}

#[test]
fn a_rank_that_dies_is_named_with_its_host() {
    let place = place("killed");
    // The ranks of b2 are killed in the middle of a long measurement.
    let shell = "sh -c 'if [ \"$1\" = b2 ]; then exec timeout -s KILL 3 sh -c \"$0\"; else exec sh -c \"$0\"; fi' {line} {host}";
    let long = ["bench", "--repeats", "1000", "--min", "1MiB", "--max", "1MiB"];
    let (exit, message) = refused(&[&long, &on("a1,b2", shell, &place)[..]].concat(), b"");
    assert_eq!(exit, 1, "{message}");
    assert!(message.contains("rank 1 is dead") && message.contains("rank 1 is on b2"), "{message}");
    assert_eq!(left(&place), 0);
}

#[test]
fn ranks_end_when_whoever_started_them_is_killed() {
    let place = place("orphans");
    let mut starter = Command::new(env!("CARGO_BIN_EXE_weft"));
    starter.args(["bench", "--repeats", "1000", "--per-host", "2"]);
    starter
        .args(on("a1,b2", "sh -c {line}", &place))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut starter = starter.spawn().unwrap();
    let begun = Instant::now();
    let waits = |wanted: fn(usize) -> bool, what: &str| {
        while !wanted(left(&place)) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}: {}", left(&place));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // Itself, two shells or what they have become, and two ranks more.
    waits(|left| left >= 5, "they start");
    starter.kill().unwrap();
    starter.wait().unwrap();
    waits(|left| left == 0, "they end");
}

/// How many processes have this in their command lines.
fn left(place: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mentions = |entry: &std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(place)
    };
    processes.filter(mentions).count()
}
