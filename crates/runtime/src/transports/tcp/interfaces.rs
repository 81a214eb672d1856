//! The addresses of this host, as the kernel lists them.
#![expect(clippy::disallowed_methods, reason = "the speed of an interface is in a file")]

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

use crate::Fault;
use crate::rendezvous::Endpoint;

/// Numbers of rtnetlink(7).
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
const DONE: u16 = 3;
const REQUEST_DUMP: u16 = 0x301;
const LINK_UP: u32 = 1;
const ATTRIBUTE_ADDRESS: u16 = 1;
const ATTRIBUTE_LOCAL: u16 = 2;
const ATTRIBUTE_NAME: u16 = 3;
/// Duplicate (8), deprecated (0x20) or tentative (0x40) addresses are not for use.
const UNFIT: u8 = 0x68;

/// All addresses of interfaces that are up, with this port; link-local ones are left out, since they mean nothing
/// without their interface. Loopback addresses come last, otherwise as the kernel lists them.
pub(crate) fn all(port: u16) -> Result<Vec<Endpoint>, Fault> {
    let ask = |kind| {
        dump(kind).map_err(|error| Fault::Lacking {
            what: "the list of network interfaces",
            how: format!("the kernel does not give it over netlink: {error}"),
        })
    };
    let links: Vec<Link> = messages(&ask(GET_LINK)?, NEW_LINK).filter_map(read_link).collect();
    let addresses = ask(GET_ADDRESS)?;
    let mut found: Vec<Endpoint> =
        messages(&addresses, NEW_ADDRESS).filter_map(|body| read_address(body, &links, port)).collect();
    found.sort_by_key(|endpoint| endpoint.address.ip().is_loopback());
    Ok(found)
}

/// Those that a user's choice leaves: an interface by its name, or an address.
pub(super) fn chosen(all: Vec<Endpoint>, choice: Option<&str>) -> Result<Vec<Endpoint>, Fault> {
    let Some(choice) = choice else { return Ok(all) };
    let listed: Vec<String> =
        all.iter().map(|one| format!("{} ({})", one.interface, one.address.ip())).collect();
    let kept: Vec<Endpoint> = all
        .into_iter()
        .filter(|one| one.interface == choice || one.address.ip().to_string() == choice)
        .collect();
    if kept.is_empty() {
        let how =
            format!("no interface that is up has this name or address; there are {}", listed.join(", "));
        return Err(Fault::Lacking {
            what: "the interface that was asked for",
            how: format!("`{choice}`: {how}"),
        });
    }
    Ok(kept)
}

struct Link {
    index: u32,
    name: String,
    up: bool,
}

/// Asks the kernel for all of a kind, and gives its answer as it came.
fn dump(kind: u16) -> rustix::io::Result<Vec<u8>> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut request = Vec::new();
    request.extend_from_slice(&32_u32.to_ne_bytes());
    request.extend_from_slice(&kind.to_ne_bytes());
    request.extend_from_slice(&REQUEST_DUMP.to_ne_bytes());
    request.resize(32, 0);
    send(&socket, &request, SendFlags::empty())?;
    let (mut answer, mut part) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let (read, _) = match recv(&socket, part.as_mut_slice(), RecvFlags::empty()) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        let got = part.get(..read).unwrap_or_default();
        answer.extend_from_slice(got);
        if read == 0 || messages(got, DONE).next().is_some() || messages(got, 2).next().is_some() {
            return Ok(answer);
        }
    }
}

/// The bodies of the messages of a kind.
fn messages(mut bytes: &[u8], kind: u16) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        loop {
            let length = u32::from_ne_bytes(*bytes.first_chunk::<4>()?) as usize;
            let found = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk::<2>()?);
            let body = bytes.get(16..length)?;
            bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
            if found == kind {
                return Some(body);
            }
        }
    })
}

/// The attributes behind a fixed part.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*bytes.first_chunk::<2>()?));
        let kind = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk::<2>()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn read_link(body: &[u8]) -> Option<Link> {
    let index = u32::from_ne_bytes(*body.get(4..)?.first_chunk()?);
    let flags = u32::from_ne_bytes(*body.get(8..)?.first_chunk()?);
    let (_, name) = attributes(body.get(16..)?).find(|(kind, _)| *kind == ATTRIBUTE_NAME)?;
    let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
    Some(Link { index, name, up: flags & LINK_UP != 0 })
}

fn read_address(body: &[u8], links: &[Link], port: u16) -> Option<Endpoint> {
    let (prefix_bits, flags) = (*body.get(1)?, *body.get(2)?);
    let index = u32::from_ne_bytes(*body.get(4..)?.first_chunk()?);
    let link = links.iter().find(|link| link.index == index && link.up)?;
    let value = |wanted| attributes(body.get(8..).unwrap_or_default()).find(|(kind, _)| *kind == wanted);
    // On a point-to-point interface `address` is the other end.
    let (_, value) = value(ATTRIBUTE_LOCAL).or_else(|| value(ATTRIBUTE_ADDRESS))?;
    let ip = match value.len() {
        4 => IpAddr::V4(Ipv4Addr::from(*value.first_chunk::<4>()?)),
        16 => IpAddr::V6(Ipv6Addr::from(*value.first_chunk::<16>()?)),
        _ => return None,
    };
    let local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    if local || flags & UNFIT != 0 {
        return None;
    }
    let speed = fs::read_to_string(format!("/sys/class/net/{}/speed", link.name)).ok();
    let speed_mbit_per_s = speed.and_then(|text| text.trim().parse().ok());
    Some(Endpoint {
        interface: link.name.clone(),
        address: SocketAddr::new(ip, port),
        prefix_bits,
        speed_mbit_per_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found_and_last() {
        let found = all(7).unwrap();
        let loopback = found.iter().find(|one| one.address.to_string() == "127.0.0.1:7").unwrap();
        assert_eq!((loopback.interface.as_str(), loopback.prefix_bits), ("lo", 8));
        assert!(found.is_sorted_by_key(|one| one.address.ip().is_loopback()));
    }

    #[test]
    fn a_choice_is_a_name_or_an_address_and_a_wrong_one_lists_what_there_is() {
        let found = all(7).unwrap();
        let by_name = chosen(found.clone(), Some("lo")).unwrap();
        assert!(by_name.iter().all(|one| one.interface == "lo") && !by_name.is_empty());
        let by_address = chosen(found.clone(), Some("127.0.0.1")).unwrap();
        assert_eq!(by_address.len(), 1);
        let fault = chosen(found, Some("ib7")).unwrap_err();
        let text = fault.to_string();
        assert!(text.contains("`ib7`") && text.contains("lo (127.0.0.1)"), "{text}");
    }

    #[test]
    fn messages_are_read_from_their_bytes() {
        // A link: length 16 + 16 + 8, index 3, up, name `e1`; then one that is cut off.
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&40_u32.to_ne_bytes());
        bytes.extend_from_slice(&NEW_LINK.to_ne_bytes());
        bytes.resize(20, 0);
        bytes.extend_from_slice(&3_u32.to_ne_bytes());
        bytes.extend_from_slice(&LINK_UP.to_ne_bytes());
        bytes.resize(32, 0);
        bytes.extend_from_slice(&7_u16.to_ne_bytes());
        bytes.extend_from_slice(&ATTRIBUTE_NAME.to_ne_bytes());
        bytes.extend_from_slice(b"e1\0\0");
        bytes.extend_from_slice(&99_u32.to_ne_bytes());
        let links: Vec<Link> = messages(&bytes, NEW_LINK).filter_map(read_link).collect();
        assert_eq!(links.len(), 1);
        assert_eq!((links[0].index, links[0].name.as_str(), links[0].up), (3, "e1", true));
    }
}
