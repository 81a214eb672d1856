//! From a meeting to a transport.
#![expect(clippy::disallowed_methods, reason = "connecting has a deadline")]

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt;
use weft_collective::Rank;

use super::reception::{Arrival, Opening, Reception};
use super::stream::{CallId, Stream};
use super::watch::{Peer, Stall};
use super::{Tcp, TcpSettings, interfaces, links};
use crate::agreement::Lost;
use crate::frames::wait_for;
use crate::rendezvous::{Endpoint, Roster};
use crate::{Fault, Port, limits};

/// Sockets on which the other ranks can reach this one; opened before the meeting, so that their addresses can be told.
#[derive(Debug)]
pub struct Listening {
    listeners: Vec<TcpListener>,
    endpoints: Vec<Endpoint>,
}

impl Listening {
    /// On all interfaces that are up, or on the one that the settings name; fails with a list of what there is where
    /// that does not exist.
    pub fn open(settings: &TcpSettings) -> Result<Self, Fault> {
        let lacking = |error: std::io::Error| Fault::Lacking {
            what: "a port to listen on",
            how: format!("{error}; the limit of open files (ulimit -n) or of ports may be reached"),
        };
        let all = interfaces::all(0)?;
        let mut endpoints = interfaces::chosen(all, settings.interface.as_deref())?;
        let mut listeners = Vec::new();
        if settings.interface.is_some() {
            for endpoint in &mut endpoints {
                let listener = TcpListener::bind(endpoint.address).map_err(lacking)?;
                endpoint.address = listener.local_addr().map_err(lacking)?;
                listeners.push(listener);
            }
        } else {
            let listener = crate::rendezvous::listen_anywhere().map_err(lacking)?;
            let own = listener.local_addr().map_err(lacking)?;
            endpoints.retain(|endpoint| own.is_ipv6() || endpoint.address.is_ipv4());
            for endpoint in &mut endpoints {
                endpoint.address.set_port(own.port());
            }
            listeners.push(listener);
        }
        for listener in &listeners {
            listener.set_nonblocking(true).map_err(lacking)?;
        }
        Ok(Self { listeners, endpoints })
    }

    /// What to tell the others in the meeting.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }
}

impl Tcp {
    /// Connects this rank with all others of the roster, each over the best address that answers as that rank. Takes at
    /// most twice the deadline of the settings, since others may be later.
    ///
    /// Fails with [`Fault::Unreachable`], which says what was tried.
    pub fn connect(
        listening: Listening,
        roster: &Roster,
        rank: Rank,
        settings: TcpSettings,
    ) -> Result<Self, Fault> {
        let Some(me) = roster.members.get(rank.index()) else {
            let how = format!("the roster has {}", roster.members.len());
            return Err(Fault::Lacking { what: "a rank of this number", how });
        };
        let mut reception = Reception::new(listening.listeners);
        let forced = settings.interface.is_some();
        let (found, early) = links::connect_all(&mut reception, roster, me, forced, settings.deadline * 2)?;
        let mut peers = Vec::new();
        let (mut reasons, mut notes) = (Vec::new(), Vec::new());
        for (link, member) in found.into_iter().zip(&roster.members) {
            let mut peer = Peer::new(member.label());
            if let Some(link) = link {
                peer.control = Some(link.control);
                peer.way = link.way;
                reasons.push(link.reason);
                notes.extend(link.notes.into_iter().map(|note| (member.rank.index(), note)));
            }
            peers.push(peer);
        }
        let mut tcp = Self {
            rank,
            id: roster.id.0,
            settings,
            reception,
            peers,
            reasons,
            call: CallId { number: 0, signature: 0 },
            calls: std::collections::VecDeque::new(),
            stall: Stall::default(),
            fault: None,
            generation: 0,
            last_lost: Lost::new(),
            pulse: None,
            instead: None,
        };
        tcp.start_pulse();
        for arrival in early {
            tcp.welcome(arrival);
        }
        for (from, note) in notes {
            tcp.note(from, note).map_err(|fault| tcp.give_up(fault))?;
        }
        Ok(tcp)
    }

    /// Opens the connection of a port, or looks whether the peer has: the higher rank connects, so that there is one.
    /// Both come to it by themselves, since what one of them pushes the other pulls.
    pub(super) fn open_stream(&mut self, port: Port) -> Result<(), Fault> {
        if port.peer == self.rank || port.peer.index() >= self.peers.len() {
            let how = format!("rank {} asked for one to rank {}", self.rank, port.peer);
            return Err(Fault::Lacking { what: "a connection", how });
        }
        let way = self.peers.get(port.peer.index()).and_then(|peer| peer.way);
        if let Some((to, from)) = way {
            let opening = Opening {
                id: self.id,
                from: self.rank,
                to: port.peer,
                channel: Some(port.channel),
                nonce: 0,
            };
            let stream = self.dial(to, from, opening).map_err(|error| {
                let how = format!("{to} took no further connection: {error}");
                limits::of_files(&error).unwrap_or_else(|| self.ended(port.peer, &how))
            });
            let stream = stream.map_err(|fault| self.give_up(fault))?;
            self.install(port, stream);
        }
        for arrival in self.reception.admit(self.id, self.rank) {
            self.welcome(arrival);
        }
        if let Some(fault) = self.reception.lacking.take() {
            return Err(self.give_up(fault));
        }
        Ok(())
    }

    /// Takes a channel that a peer has opened.
    fn welcome(&mut self, arrival: Arrival) {
        if let Some(channel) = arrival.opening.channel {
            self.install(Port { peer: arrival.opening.from, channel }, arrival.stream);
        }
    }

    fn dial(
        &self,
        to: SocketAddr,
        from: Option<std::net::IpAddr>,
        opening: Opening,
    ) -> std::io::Result<TcpStream> {
        use std::io::Write;
        // The system of the peer accepts even while the peer computes, so that this takes one round trip.
        let mut stream = links::begin(to, from)?;
        let end = Instant::now() + self.settings.deadline;
        loop {
            wait_for(&mut [PollFd::new(&stream, PollFlags::OUT)], Duration::from_millis(100));
            match stream.write(&opening.bytes()) {
                Ok(_) => return Ok(stream),
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::NotConnected
                    ) =>
                {
                    if Instant::now() >= end {
                        return Err(std::io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn install(&mut self, port: Port, stream: TcpStream) {
        let nodelay = stream.set_nodelay(true);
        if let Some(bytes) = self.settings.socket_buffer_bytes {
            // Beyond what the system allows only the superuser gets; less is still right, only slower.
            if sockopt::set_socket_send_buffer_size_force(&stream, bytes).is_err() {
                sockopt::set_socket_send_buffer_size(&stream, bytes).ok();
            }
            if sockopt::set_socket_recv_buffer_size_force(&stream, bytes).is_err() {
                sockopt::set_socket_recv_buffer_size(&stream, bytes).ok();
            }
        }
        if nodelay.is_ok()
            && let Some(peer) = self.peers.get_mut(port.peer.index())
        {
            peer.install(port.channel, Stream::new(stream, self.settings.staging_bytes));
        }
    }
}
