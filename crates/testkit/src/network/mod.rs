//! Hosts on one machine: network namespaces on a bridge, or on a line that takes time, with slow hosts, slow links and
//! cuts between them. Needs the rights of the superuser, `ip` and `tc`; [`Unavailable`] says what is missing, so that a test can skip itself.

mod command;
mod line;
mod shape;
mod tap;

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use weft_base::Rate;

pub use command::Running;
use command::{batch, run};
use line::Line;
use tap::Tap;

/// Why there can be no such network here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable(pub String);

impl std::fmt::Display for Unavailable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "skipped: no network of namespaces can be made here: {}", self.0)
    }
}

/// The interface that each host has to the others.
pub const INTERFACE: &str = "eth0";

/// Hosts that see each other, and nothing else. All is removed when it is dropped: links, namespaces, and whatever
/// still runs in them.
#[derive(Debug)]
pub struct Network {
    /// What the names of its namespaces begin with; no other network has it.
    prefix: String,
    hosts: u8,
    /// What each host may send and receive; `None` where nothing holds it back.
    rates: Vec<Option<Rate>>,
    /// Between which hosts, and how fast.
    slow_links: Vec<(u8, u8, Rate)>,
    /// What joins the hosts where it is not a bridge.
    line: Option<Line>,
}

impl Network {
    /// So many hosts, 200 at most, on one bridge, as fast as the machine is.
    pub fn new(hosts: u8) -> Result<Self, Unavailable> {
        let network = Self::namespaces(hosts)?;
        let hub = network.hub();
        let pair = |host| {
            let name = network.namespace(host);
            format!("link add name {INTERFACE} netns {name} type veth peer name p{host} netns {hub}")
        };
        batch("ip", None, &(0..hosts).map(pair).collect::<Vec<_>>())?;
        let bridge = ["link add name bridge type bridge", "link set bridge up"].map(str::to_owned);
        let ports = (0..hosts).map(|host| format!("link set p{host} master bridge up"));
        batch("ip", Some(&hub), &bridge.into_iter().chain(ports).collect::<Vec<_>>())?;
        network.assign_addresses()?;
        Ok(network)
    }

    /// The same, but each host sends and receives no faster than this.
    pub fn with_rate(hosts: u8, rate: Rate) -> Result<Self, Unavailable> {
        let mut network = Self::new(hosts)?;
        for host in 0..hosts {
            network.slow_host(host, rate)?;
        }
        Ok(network)
    }

    /// The same, but whatever a host sends arrives so much later too. Needs `/dev/net/tun`.
    pub fn with_delay(hosts: u8, rate: Rate, one_way: Duration) -> Result<Self, Unavailable> {
        let mut network = Self::namespaces(hosts)?;
        let mut taps = Vec::with_capacity(usize::from(hosts));
        for host in 0..hosts {
            let tap = Tap::new().map_err(|error| Unavailable(format!("/dev/net/tun: {error}")))?;
            let (device, name) = (&tap.name, network.namespace(host));
            run("ip", None, &["link", "set", device, "netns", &name, "name", INTERFACE])?;
            let address = line::hardware_address(host).map(|byte| format!("{byte:02x}")).join(":");
            run("ip", Some(&name), &["link", "set", INTERFACE, "address", &address])?;
            taps.push(tap);
        }
        network.line = Some(Line::start(taps, rate, one_way));
        network.assign_addresses()?;
        Ok(network)
    }

    /// Namespaces without a way out.
    fn namespaces(hosts: u8) -> Result<Self, Unavailable> {
        static NETWORKS: AtomicU32 = AtomicU32::new(0);
        if !rustix::process::geteuid().is_root() {
            return Err(Unavailable("only the superuser may".to_owned()));
        }
        command::remove_leftovers();
        let number = NETWORKS.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("{}{}-{number}-", command::PREFIX, std::process::id());
        let network =
            Self { prefix, hosts, rates: vec![None; usize::from(hosts)], slow_links: Vec::new(), line: None };
        let names = (0..hosts).map(|host| network.namespace(host)).chain([network.hub()]);
        batch("ip", None, &names.map(|name| format!("netns add {name}")).collect::<Vec<_>>())?;
        Ok(network)
    }

    fn assign_addresses(&self) -> Result<(), Unavailable> {
        for host in 0..self.hosts {
            let address = self.address(host);
            let lines = [
                format!("address add {address}/24 dev {INTERFACE}"),
                format!("link set {INTERFACE} up"),
                "link set lo up".to_owned(),
            ];
            batch("ip", Some(&self.namespace(host)), &lines)?;
        }
        Ok(())
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> u8 {
        self.hosts
    }

    /// The address of a host: `10.77.0.1` is that of host 0.
    pub fn address(&self, host: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, host + 1)
    }

    /// What the programs on a host see as its name: `n1` is host 0.
    pub fn host_name(&self, host: u8) -> String {
        format!("n{}", host + 1)
    }

    /// The namespace of a host, as `ip netns` knows it.
    pub fn namespace(&self, host: u8) -> String {
        format!("{}{host}", self.prefix)
    }

    fn hub(&self) -> String {
        format!("{}hub", self.prefix)
    }

    /// A program on a host, to be given arguments and environment and started. Its process is the one that `spawn`
    /// names: a signal to it reaches the program itself.
    pub fn command(&self, host: u8, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(host), "unshare", "--uts", "sh", "-c"]);
        command.arg(r#"echo "$0" >/proc/sys/kernel/hostname 2>/dev/null || hostname "$0"; exec "$@""#);
        command.arg(self.host_name(host)).arg(program);
        command
    }

    /// From now on this host sends and receives no faster than this.
    pub fn slow_host(&mut self, host: u8, rate: Rate) -> Result<(), Unavailable> {
        if let Some(line) = &self.line {
            line.set_rate(host, rate);
            return Ok(());
        }
        if let Some(own) = self.rates.get_mut(usize::from(host)) {
            *own = Some(rate);
        }
        shape::replace(&self.hub(), &format!("p{host}"), &[shape::all(&format!("p{host}"), rate)])?;
        self.shape_outgoing(host)
    }

    /// From now on these two send to each other no faster than this; to the others as before.
    pub fn slow_link(&mut self, one: u8, other: u8, rate: Rate) -> Result<(), Unavailable> {
        self.slow_links.push((one, other, rate));
        self.shape_outgoing(one)?;
        self.shape_outgoing(other)
    }

    /// From now on nothing reaches this host, and nothing leaves it, without anyone being told.
    pub fn cut(&self, host: u8) -> Result<(), Unavailable> {
        self.set_cut(host, true)
    }

    /// Undoes a cut.
    pub fn mend(&self, host: u8) -> Result<(), Unavailable> {
        self.set_cut(host, false)
    }

    fn set_cut(&self, host: u8, cut: bool) -> Result<(), Unavailable> {
        if let Some(line) = &self.line {
            line.set_cut(host, cut);
            return Ok(());
        }
        let port = format!("p{host}");
        let to: &[&str] = if cut { &["nomaster"] } else { &["master", "bridge"] };
        run("ip", Some(&self.hub()), &[&["link", "set", &port], to].concat())
    }

    fn shape_outgoing(&self, host: u8) -> Result<(), Unavailable> {
        let slow: Vec<(Ipv4Addr, Rate)> = self
            .slow_links
            .iter()
            .filter_map(|(one, other, rate)| match host {
                host if host == *one => Some((self.address(*other), *rate)),
                host if host == *other => Some((self.address(*one), *rate)),
                _ => None,
            })
            .collect();
        let lines = match self.rates.get(usize::from(host)).copied().flatten() {
            Some(rate) if slow.is_empty() => vec![shape::all(INTERFACE, rate)],
            rate => shape::by_destination(INTERFACE, rate, &slow),
        };
        shape::replace(&self.namespace(host), INTERFACE, &lines)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in (0..self.hosts).map(|host| self.namespace(host)).chain([self.hub()]) {
            command::remove(&name);
        }
    }
}
