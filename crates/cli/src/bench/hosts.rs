//! Ranks on several hosts: the commands that start them there.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use weft_base::Diagnostic;
use weft_formats::{Source, host_names};

use super::words::{line, measuring};
use crate::codes::{FILE_UNREADABLE, NOT_MEASURED};
use crate::exit::{Exit, Failure};

/// How long commands that are pasted one by one may come after each other, in seconds.
const PASTING: u64 = 600;
/// How long ranks wait for each other that are started all at once.
pub const STARTING: u64 = 60;

/// Where ranks run, and how they are started there.
#[derive(Debug, Clone, clap::Args)]
pub struct HostArgs {
    /// Measure on these hosts (`node[01-16]`, `a,b,c`, or a file with one a line): prints the commands that start it
    /// there; `--ssh` starts them
    #[arg(long, value_name = "HOSTS", conflicts_with = "rank")]
    pub hosts: Option<String>,
    /// How many ranks each host gets
    #[arg(long, value_name = "NUMBER", requires = "hosts", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub per_host: Option<u32>,
    /// Start all ranks over ssh, and end them when one fails or this command does
    #[arg(long, requires = "hosts")]
    pub ssh: bool,
    /// What runs a line of shell on a host, in place of `ssh -o BatchMode=yes -o ConnectTimeout=10 {host} {line}`
    #[arg(long, value_name = "COMMAND", requires = "ssh")]
    pub remote_shell: Option<String>,
    /// Where this program is on the hosts; over ssh else where it is here
    #[arg(long, value_name = "PATH", requires = "hosts")]
    pub program: Option<OsString>,
    /// The port of the first host at which ranks meet
    #[arg(long, value_name = "NUMBER", default_value_t = 7400)]
    pub port: u16,
    /// How long ranks wait for those that have not come, in seconds
    #[arg(long = "meet-within", value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub meet_within_s: u64,
    /// What ranks move data over; else shared memory where all are on one host
    #[arg(long, value_enum, ignore_case = true, value_name = "TRANSPORT", conflicts_with = "tcp")]
    pub transport: Option<TransportName>,
    /// What this host is called in the matrix of pairs; else as it calls itself
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// End when standard input ends, as it does when whoever started this process has ended
    #[arg(long, hide = true)]
    pub tied: bool,
}

/// A transport, as an option names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TransportName {
    /// Between hosts, and within one.
    Tcp,
    /// Within one host; fails where memory cannot be shared.
    SharedMemory,
}

/// Hosts, each with as many ranks as any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    /// In the order of ranks.
    pub names: Vec<String>,
    /// Of each.
    pub per_host: u32,
    /// Where ranks meet, as `--join` takes it.
    pub join: OsString,
}

/// The hosts that a text or the file of that name lists.
pub fn listed(text: &str) -> Result<Vec<String>, Failure> {
    let source = source(text)?;
    host_names(&source).map_err(|found| {
        Failure::because(Exit::Usage, format!("read the hosts `{text}`"), found, vec![source.clone()])
    })
}

impl Hosts {
    /// The hosts of a command line, on which `ranks` are to be, if that was said.
    pub fn read(args: &HostArgs, ranks: Option<u32>, join: Option<&OsString>) -> Result<Self, Failure> {
        let names = listed(args.hosts.as_deref().unwrap_or_default())?;
        let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let unfit = |message: String, hint: &str| {
            let why = Diagnostic::error(NOT_MEASURED, message).hint(hint);
            Failure::new(Exit::Usage, "place the ranks", why)
        };
        let per_host = match (args.per_host, ranks) {
            (None, None) => 1,
            (Some(per_host), None) => per_host,
            (None, Some(ranks)) if ranks % count == 0 && ranks > 0 => ranks / count,
            (None, Some(ranks)) => {
                let message = format!("{ranks} ranks cannot be shared out evenly among {count} hosts");
                return Err(unfit(
                    message,
                    "leave `--ranks` out, and say with `--per-host` how many each gets",
                ));
            }
            (Some(per_host), Some(ranks)) if u64::from(per_host) * u64::from(count) == u64::from(ranks) => {
                per_host
            }
            (Some(per_host), Some(ranks)) => {
                let message = format!("{count} hosts with {per_host} ranks each have not {ranks} ranks");
                return Err(unfit(message, "leave `--ranks` out: it follows from the hosts"));
            }
        };
        if count.saturating_mul(per_host) > super::RANKS_MAX {
            let message =
                format!("{count} hosts with {per_host} ranks each are more than {} ranks", super::RANKS_MAX);
            return Err(unfit(message, "measure on fewer hosts at a time"));
        }
        if args.transport == Some(TransportName::SharedMemory) && count > 1 {
            let message = format!("{count} hosts share no memory");
            return Err(unfit(message, "leave `--transport shared-memory` out, or name one host"));
        }
        let first = names.first().map_or("", |name| bare(name));
        let place = if first.contains(':') {
            format!("[{first}]:{}", args.port)
        } else {
            format!("{first}:{}", args.port)
        };
        Ok(Self { names, per_host, join: join.cloned().unwrap_or_else(|| place.into()) })
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.names.len()).unwrap_or(u32::MAX).saturating_mul(self.per_host)
    }

    /// The host of a rank.
    pub fn host_of(&self, rank: u32) -> Option<&str> {
        self.names.get((rank / self.per_host.max(1)) as usize).map(String::as_str)
    }

    /// `3`, or `4-7`: the ranks of a host.
    pub fn seats(&self, host: usize) -> String {
        let first = u32::try_from(host).unwrap_or(u32::MAX).saturating_mul(self.per_host);
        if self.per_host == 1 { first.to_string() } else { format!("{first}-{}", first + self.per_host - 1) }
    }

    /// The words that start ranks, without a program before and `--rank` behind.
    pub fn words(&self, given: impl IntoIterator<Item = OsString>, meet_within_s: u64) -> Vec<OsString> {
        let mut words = measuring(given);
        words.extend(["--ranks", &self.ranks().to_string(), "--join"].map(OsString::from));
        words.push(self.join.clone());
        if meet_within_s != 30 {
            words.extend(["--meet-within", &meet_within_s.to_string()].map(OsString::from));
        }
        words
    }
}

/// A user may stand before the name of a host.
pub fn bare(host: &str) -> &str {
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

/// A list is its own text; a file's is read.
#[expect(clippy::disallowed_methods, reason = "the command line is where files are read")]
fn source(text: &str) -> Result<Source, Failure> {
    let path = Path::new(text);
    if !path.is_file() && !text.contains('/') {
        return Ok(Source::file("--hosts", text));
    }
    let read = std::fs::read_to_string(path).map_err(|error| {
        let why = Diagnostic::error(FILE_UNREADABLE, format!("{text}: {error}"));
        let why = why.hint("a list of hosts has no `/` in it: `node[01-16]` or `a,b,c`");
        Failure::new(Exit::Environment, format!("read the hosts `{text}`"), why)
    })?;
    Ok(Source::file(text, read))
}

/// The commands to be pasted.
pub fn commands(hosts: &Hosts, args: &HostArgs, given: &[OsString]) -> String {
    let ranks = hosts.ranks();
    let program = args.program.clone().unwrap_or_else(|| "weft".into());
    let command = |seat: &str, meet_within_s: u64| {
        let words = hosts.words(given.iter().cloned(), meet_within_s);
        let ends = ["--rank".into(), OsString::from(seat)];
        line([&program].into_iter().chain(&words).chain(&ends))
    };
    let (place, count) = (hosts.join.to_string_lossy(), hosts.names.len());
    let patience = if args.meet_within_s == 30 { PASTING } else { args.meet_within_s };
    let mut text =
        format!("# {ranks} ranks on {count} hosts; rank 0 is on {}, and prints.\n", hosts.names[0]);
    let _ = writeln!(text, "# They meet at {place}: that must be reached from all of them.");
    let _ = writeln!(text, "#\n# On each host its line, all within {patience} s:");
    for (number, host) in hosts.names.iter().enumerate() {
        let _ = writeln!(text, "# {host}\n{}", command(&hosts.seats(number), patience));
    }
    let (names, auto) =
        (hosts.names.iter().map(|name| bare(name)).collect::<Vec<_>>(), command("auto", args.meet_within_s));
    let (list, each) = (names.join(","), hosts.per_host);
    let slots: Vec<String> = names.iter().map(|name| format!("{name}:{each}")).collect();
    let _ = writeln!(text, "#\n# Or by a launcher, the same line everywhere: Slurm, Open MPI, MPICH");
    let _ = writeln!(text, "srun --nodelist={list} --ntasks={ranks} --ntasks-per-node={each} {auto}");
    let _ = writeln!(text, "mpirun -n {ranks} --host {} {auto}", slots.join(","));
    let _ = writeln!(text, "mpiexec -n {ranks} -ppn {each} -hosts {list} {auto}");
    let _ = writeln!(text, "#\n# Or over ssh, from here: the same command with --ssh");
    text
}
