//! Starts ranks on hosts over ssh, waits for them, and ends all of them when one fails.
#![expect(clippy::disallowed_methods, reason = "what does not end is ended after a while")]

use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weft_base::Diagnostic;

use super::hosts::{HostArgs, Hosts, STARTING, bare};
use super::words::{line, quoted};
use crate::codes::HOST_FAILED;
use crate::commands::Answer;
use crate::exit::{Exit, Failure};

/// What runs a line on a host.
const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=10 {host} {line}";
/// A rank that fails tells the others, and rank 0 says what it was; so long it may take beyond their deadline.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Between two looks at what has ended.
const LOOK: Duration = Duration::from_millis(20);
/// The least that a program of ours ends with and did not choose itself: signals, shells and ssh give more.
const FOREIGN: i32 = 100;

/// Runs the ranks of all hosts to their end, and gives what rank 0 has printed.
pub fn start(
    hosts: &Hosts,
    args: &HostArgs,
    given: &[OsString],
    deadline: Duration,
) -> Result<Answer, Failure> {
    let mut running = Vec::with_capacity(hosts.names.len());
    for number in 0..hosts.names.len() {
        running.push(Remote::start(hosts, number, args, given)?);
    }
    let mut failed: Option<(usize, Instant)> = None;
    loop {
        for (number, remote) in running.iter_mut().enumerate() {
            if remote.look().is_some_and(|status| !status.success()) && failed.is_none() {
                failed = Some((number, Instant::now()));
            }
        }
        if running.iter().all(|remote| remote.status.is_some()) {
            break;
        }
        if let Some((number, since)) = failed {
            let patience = if running[number].is_foreign() { LAST_WORDS } else { LAST_WORDS + deadline };
            // What rank 0 says counts; it names the rank that is to blame.
            if since.elapsed() > patience || running[0].status.is_some() {
                break;
            }
        }
        std::thread::sleep(LOOK);
    }
    let texts: Vec<(String, String)> = running.iter_mut().map(Remote::end).collect();
    let (printed, said) = texts.first().cloned().unwrap_or_default();
    let Some((number, _)) = failed else {
        return Ok(Answer { text: printed, talk: said, plain: true, is_finding: false });
    };
    let code = running[0].status.and_then(|status| status.code());
    if code == Some(i32::from(Exit::Findings.code())) {
        let talk = format!("{said}{}", places(hosts, &said));
        return Ok(Answer { text: printed, talk, plain: true, is_finding: true });
    }
    Err(failure(hosts, number, &running[number], &texts[number].1))
}

/// A host's ranks, as this one sees them.
struct Remote {
    child: Child,
    output: Vec<JoinHandle<String>>,
    status: Option<ExitStatus>,
}

impl Remote {
    fn start(hosts: &Hosts, number: usize, args: &HostArgs, given: &[OsString]) -> Result<Self, Failure> {
        let host = hosts.names[number].as_str();
        let program = match &args.program {
            Some(program) => program.clone(),
            None => std::env::current_exe().map_or_else(|_| "weft".into(), OsString::from),
        };
        let within = if args.meet_within_s == 30 { STARTING } else { args.meet_within_s };
        let mut words = vec!["exec".into(), program];
        words.extend(hosts.words(given.iter().cloned(), within));
        words.extend(["--rank", &hosts.seats(number), "--name", bare(host), "--tied"].map(OsString::from));
        let mut template = args.remote_shell.clone().unwrap_or_else(|| SSH.to_owned());
        for part in ["{host}", "{line}"] {
            if !template.contains(part) {
                template = format!("{template} {part}");
            }
        }
        let command = template
            .replace("{host}", &quoted(host.as_ref()))
            .replace("{line}", &quoted(line(&words).as_ref()));
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("exec {command}"));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().map_err(|error| {
            let why = Diagnostic::error(HOST_FAILED, format!("no shell can be started here: {error}"));
            Failure::new(Exit::Environment, format!("start ranks on {host}"), why)
        })?;
        let output = [child.stdout.take().map(collect), child.stderr.take().map(collect)];
        Ok(Self { child, output: output.into_iter().flatten().collect(), status: None })
    }

    /// How it has ended, if it has.
    fn look(&mut self) -> Option<ExitStatus> {
        self.status = self.status.or_else(|| self.child.try_wait().ok().flatten());
        self.status
    }

    /// Whether it has ended in a way in which ranks do not end by themselves.
    fn is_foreign(&self) -> bool {
        self.status.is_some_and(|status| status.code().is_none_or(|code| code >= FOREIGN))
    }

    /// Ends it if it has not ended, and gives what it has printed and said. Its standard input ends first, by which
    /// ranks on the other side end too.
    fn end(&mut self) -> (String, String) {
        drop(self.child.stdin.take());
        let end = Instant::now() + Duration::from_millis(500);
        while self.look().is_none() && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
        if self.status.is_none() {
            // It may have ended just now.
            let _ = self.child.kill();
            self.status = self.child.wait().ok();
        }
        let mut texts = self.output.drain(..).map(|thread| thread.join().unwrap_or_default());
        (texts.next().unwrap_or_default(), texts.next().unwrap_or_default())
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if self.look().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Reads on a thread of its own, so that no pipe is ever full.
fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is what there is.
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The hosts of the ranks that a text names: `rank 5 is on node02`.
fn places(hosts: &Hosts, text: &str) -> String {
    let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok();
    let mut ranks: Vec<u32> = text.split("rank ").skip(1).filter_map(number).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let named =
        ranks.iter().filter_map(|rank| Some(format!("rank {rank} is on {}\n", hosts.host_of(*rank)?)));
    named.collect()
}

/// What ended the ranks of a host, in the words of what ran them.
fn failure(hosts: &Hosts, number: usize, remote: &Remote, said: &str) -> Failure {
    let host = &hosts.names[number];
    let how = match remote.status.and_then(|status| status.code()) {
        Some(255) => "could not be reached, or its ranks were killed".to_owned(),
        Some(127) => "has no such program".to_owned(),
        Some(code) => format!("its ranks ended with code {code}"),
        None => "its ranks were ended by a signal".to_owned(),
    };
    let words: Vec<&str> = said.trim().lines().rev().take(6).collect();
    let words: Vec<&str> = words.into_iter().rev().collect();
    let words = if words.is_empty() { "nothing was said".to_owned() } else { words.join("; ") };
    let hint = match remote.status.and_then(|status| status.code()) {
        Some(127) => "say with `--program` where it is on the hosts",
        Some(_) | None => "`ssh HOST true` must work without a question; `--remote-shell` takes another way",
    };
    let why =
        Diagnostic::error(HOST_FAILED, format!("{host} (rank {}): {how}: {words}", hosts.seats(number)));
    Failure::new(Exit::Environment, format!("run ranks on {host}"), why.hint(hint))
}

/// From now on this process ends when its standard input does.
pub fn end_with_input() {
    std::thread::spawn(|| {
        // Whoever started this has ended, or wants this to end.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(i32::from(Exit::Environment.code()));
    });
}
