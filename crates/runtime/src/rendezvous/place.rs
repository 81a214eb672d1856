//! Where ranks meet, and what they know of where they are.
#![expect(clippy::disallowed_methods, reason = "the runtime is where ranks meet by files")]

use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};

use super::{Meeting, Member};
use crate::Fault;
use crate::transports::tcp::interfaces;

/// The first line of a file by which ranks meet.
const TITLE: &str = "weftwork meeting 1";

/// Where ranks meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// `host:port` on which rank 0 listens.
    Address(String),
    /// A file that all ranks see. Rank 0 writes its addresses into it, and removes it when all have come.
    File(PathBuf),
}

impl Place {
    /// How a message names it.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Address(address) => format!("`{address}`"),
            Self::File(path) => format!("the file `{}`", path.display()),
        }
    }
}

/// What rank 0 opens; the file goes when it does.
#[derive(Debug)]
pub(super) struct Open {
    pub listener: TcpListener,
    file: Option<(PathBuf, String)>,
}

impl Open {
    pub(super) fn new(meeting: &Meeting, me: &Member) -> Result<Self, Fault> {
        let lacking = |error: std::io::Error| {
            let help = if error.kind() == ErrorKind::AddrInUse {
                "; another program listens there: take another port"
            } else if error.kind() == ErrorKind::AddrNotAvailable {
                "; no interface of this host has that address: rank 0 must run where it is"
            } else {
                ""
            };
            Fault::Lacking {
                what: "a place to meet",
                how: format!("{}: {error}{help}", meeting.place.label()),
            }
        };
        let opened = match &meeting.place {
            Place::Address(address) => Self { listener: listen_at(address).map_err(lacking)?, file: None },
            Place::File(path) => {
                let listener = listen_anywhere().map_err(lacking)?;
                let port = listener.local_addr().map_err(lacking)?.port();
                let text = invitation(meeting.id.0, me, port)?;
                write_whole(path, &text).map_err(lacking)?;
                Self { listener, file: Some((path.clone(), text)) }
            }
        };
        opened.listener.set_nonblocking(true).map_err(lacking)?;
        Ok(opened)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // Only if it is still ours: another meeting may have begun at the same path.
        if let Some((path, text)) = &self.file
            && fs::read_to_string(path).is_ok_and(|there| there == *text)
        {
            drop(fs::remove_file(path));
        }
    }
}

/// At an address. Many systems have for their own name an address that only they can reach; who gives a name means to be
/// reached by others, so that then all addresses are listened at.
fn listen_at(address: &str) -> std::io::Result<TcpListener> {
    let found: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    let name = address.rsplit_once(':').map_or(address, |(name, _)| name);
    let is_meant = name == "localhost" || address.parse::<SocketAddr>().is_ok();
    match found.first() {
        Some(first) if !is_meant && found.iter().all(|address| address.ip().is_loopback()) => {
            let port = first.port();
            TcpListener::bind(("::", port)).or_else(|_| TcpListener::bind(("0.0.0.0", port)))
        }
        Some(_) | None => TcpListener::bind(&found[..]),
    }
}

/// On all addresses of both families, where the system has both.
pub(crate) fn listen_anywhere() -> std::io::Result<TcpListener> {
    TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0"))
}

fn invitation(id: u64, me: &Member, port: u16) -> Result<String, Fault> {
    let mut text = format!("{TITLE}\nid {id:016x}\nnetwork {}\n", me.network);
    let mut endpoints = me.endpoints.clone();
    if endpoints.is_empty() {
        endpoints = interfaces::all(port)?;
    }
    for endpoint in endpoints {
        writeln!(text, "address {}", SocketAddr::new(endpoint.address.ip(), port)).ok();
    }
    text.push_str("end\n");
    Ok(text)
}

fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let draft = path.with_file_name(name);
    let mut file = fs::File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    drop(file);
    // A reader sees the old text or the new one, never half of it.
    fs::rename(&draft, path).inspect_err(|_| drop(fs::remove_file(&draft)))
}

/// The addresses at which rank 0 may be, or why none is known yet.
pub(super) fn addresses(meeting: &Meeting, network: &str) -> Result<Vec<SocketAddr>, String> {
    match &meeting.place {
        Place::Address(address) => match address.to_socket_addrs() {
            Ok(found) => Ok(found.collect()),
            Err(error) => Err(format!("`{address}`: {error}")),
        },
        Place::File(path) => {
            let name = path.display();
            let text = fs::read_to_string(path).map_err(|error| format!("the file `{name}`: {error}"))?;
            read_invitation(&text, meeting.id.0, network).map_err(|how| format!("the file `{name}` {how}"))
        }
    }
}

fn read_invitation(text: &str, id: u64, network: &str) -> Result<Vec<SocketAddr>, &'static str> {
    let lines: Vec<&str> = text.lines().collect();
    let value = |key: &str| lines.iter().find_map(|line| line.strip_prefix(key));
    if lines.first() != Some(&TITLE) || lines.last() != Some(&"end") {
        return Err("is not one by which ranks of this version meet");
    }
    if value("id ") != Some(format!("{id:016x}").as_str()) {
        return Err("is of another meeting");
    }
    let near = value("network ") == Some(network);
    let mut found: Vec<SocketAddr> =
        lines.iter().filter_map(|line| line.strip_prefix("address ")?.parse().ok()).collect();
    found.retain(|address| near || !address.ip().is_loopback());
    found.sort_by_key(|address| !address.ip().is_loopback());
    if found.is_empty() { Err("has no address that can be reached from here") } else { Ok(found) }
}

/// The name of this host.
pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The boot of the kernel and the network namespace, in one text.
pub(super) fn network() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {}", boot.trim(), space.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_meant_is_taken_as_it_is() {
        for address in ["127.0.0.1:0", "localhost:0"] {
            assert!(listen_at(address).unwrap().local_addr().unwrap().ip().is_loopback(), "{address}");
        }
        assert!(listen_at("no such name:0").is_err());
    }

    #[test]
    fn an_invitation_is_read_by_those_who_are_meant() {
        let text = "weftwork meeting 1\nid 00000000000000ff\nnetwork b n\naddress 10.0.0.1:7\naddress 127.0.0.1:7\nend\n";
        let read = |id, network| read_invitation(text, id, network);
        let (far, near) = ("10.0.0.1:7".parse().unwrap(), "127.0.0.1:7".parse().unwrap());
        assert_eq!(read(255, "b n"), Ok(vec![near, far]));
        assert_eq!(read(255, "b m"), Ok(vec![far]));
        assert_eq!(read(254, "b n"), Err("is of another meeting"));
        assert_eq!(
            read_invitation(&text[..60], 255, "b n"),
            Err("is not one by which ranks of this version meet")
        );
    }
}
