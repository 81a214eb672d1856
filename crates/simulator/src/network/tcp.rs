//! TCP over Ethernet: lossy, through the hosts' kernels.

use weft_base::{Rate, Span};

use super::{Behaviour, Header, Meeting, NetworkModel, Recovery, Settings};
use crate::machine::{Carriage, Choice};

/// TCP over Ethernet: lossy, through the hosts' kernels.
pub(super) struct Tcp;

impl NetworkModel for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn title(&self) -> &'static str {
        "TCP: ways by hash, a core's work for each message and each byte, a window that losses shrink"
    }

    fn notice(&self, settings: &Settings) -> Span {
        settings.connection_notice()
    }

    /// Senders that share a port settle to fair shares. A connection reaches what a core does, and, where packets are
    /// lost, its window per round trip.
    fn behaviour(&self, settings: &Settings) -> Behaviour {
        let base = settings.carriage(Header::Tcp, Recovery::SelectiveRepeat);
        let mut cap = settings.tcp_connection;
        if settings.loss_share > 0.0 {
            let round_trip_s = settings.round_trip.as_seconds();
            let window = settings.loss(Header::Tcp).tcp_window_count(round_trip_s);
            let data = Header::Tcp.data(settings.ip_mtu).as_f64();
            cap = cap.min(Rate::from_gigabytes(window * data / round_trip_s / 1e9));
        }
        let carriage = Carriage { cap: Some(cap), latency: settings.tcp_message, ..base };
        Behaviour { choice: Choice::Hash { seed: settings.seed }, carriage, meeting: Meeting::Shared }
    }
}
