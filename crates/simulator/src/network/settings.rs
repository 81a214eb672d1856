//! What models must be told: configuration, and constants of hardware and software.

use thiserror::Error;
use weft_base::{Bytes, Rate, Span};

use super::header::Header;
use super::loss::{Loss, Recovery};
use crate::control::{FloodLimits, OvershootLimits};
use crate::machine::Carriage;

/// Configuration and constants that models are given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Of the hash by which switches choose.
    pub seed: u64,
    /// Data of a packet of InfiniBand or RoCE.
    pub rdma_mtu: Bytes,
    /// The IP packet of TCP.
    pub ip_mtu: Bytes,
    /// Of the NICs.
    pub line_rate: Rate,
    /// From sending a packet until its acknowledgement is there, with empty queues.
    pub round_trip: Span,
    /// The chance that a packet is lost for no fault of other traffic: a bad cable, a bad transceiver.
    pub loss_share: f64,
    /// How NICs send again what was lost.
    pub recovery: Recovery,
    /// After which a NIC sends again what was not acknowledged, when nothing else tells it of the loss.
    pub timeout: Span,
    /// How often it does so before it gives the connection up.
    pub retry_count: u64,
    /// What one port of a switch can hold.
    pub port_buffer: Bytes,
    /// Between two reports of congestion to the same sender (DCQCN: `N`, the least time between notifications).
    pub report_interval: Span,
    /// After which TCP first sends again what was not acknowledged, and what the time has doubled to at most.
    pub tcp_timeouts: (Span, Span),
    /// How often it does so before it gives the connection up.
    pub tcp_retries: u32,
    /// What the hosts at both ends do for each message over TCP.
    pub tcp_message: Span,
    /// What one connection of TCP reaches where its hosts' cores are the limit.
    pub tcp_connection: Rate,
}

/// A constant that the caller did not know.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no network constant is called `{name}`")]
pub struct MissingConstant {
    /// Its name.
    pub name: &'static str,
}

impl Settings {
    /// The names under which [`Settings::new`] asks, each with its unit at its end.
    pub const CONSTANTS: [&'static str; 12] = [
        "rdma-mtu-bytes",
        "ip-mtu-bytes",
        "round-trip-us",
        "timeout-us",
        "retry-count",
        "port-buffer-bytes",
        "report-interval-us",
        "tcp-timeout-us",
        "tcp-timeout-most-us",
        "tcp-retries-count",
        "tcp-message-us",
        "tcp-connection-gigabytes",
    ];

    /// Settings for NICs of a rate without losses, with constants as the caller knows them; `constant` is asked for
    /// each of [`Settings::CONSTANTS`].
    pub fn new(line_rate: Rate, constant: impl Fn(&str) -> Option<f64>) -> Result<Self, MissingConstant> {
        let value = |name: &'static str| constant(name).ok_or(MissingConstant { name });
        let bytes = |name| value(name).map(whole_bytes);
        let span = |name| value(name).map(Span::from_microseconds);
        Ok(Self {
            seed: 0,
            rdma_mtu: bytes("rdma-mtu-bytes")?,
            ip_mtu: bytes("ip-mtu-bytes")?,
            line_rate,
            round_trip: span("round-trip-us")?,
            loss_share: 0.0,
            recovery: Recovery::GoBackN,
            timeout: span("timeout-us")?,
            retry_count: bytes("retry-count")?.get(),
            port_buffer: bytes("port-buffer-bytes")?,
            report_interval: span("report-interval-us")?,
            tcp_timeouts: (span("tcp-timeout-us")?, span("tcp-timeout-most-us")?),
            tcp_retries: u32::try_from(bytes("tcp-retries-count")?.get()).unwrap_or(u32::MAX),
            tcp_message: span("tcp-message-us")?,
            tcp_connection: Rate::from_gigabytes(value("tcp-connection-gigabytes")?),
        })
    }

    /// How long a queue pair takes to notice that a way is dead: every packet that is sent, and sent again, waits for
    /// its acknowledgement in vain.
    pub(super) fn queue_pair_notice(&self) -> Span {
        self.timeout * (self.retry_count + 1)
    }

    /// How long a connection of TCP takes: each try waits twice as long as the one before, up to the most.
    pub(super) fn connection_notice(&self) -> Span {
        let (first, most) = self.tcp_timeouts;
        let waits = std::iter::successors(Some(first.min(most)), |wait| Some((*wait * 2).min(most)));
        waits.take(self.tcp_retries as usize + 1).fold(Span::ZERO, |sum, wait| sum + wait)
    }

    /// What random losses do to packets with a header.
    pub fn loss(&self, header: Header) -> Loss {
        let mtu = match header {
            Header::Infiniband | Header::RoceV2 => self.rdma_mtu,
            Header::Tcp => self.ip_mtu,
        };
        let packet = header.data(mtu).as_f64() + header.bytes().as_f64();
        let flight = self.line_rate.as_gigabytes() * 1e9 * self.round_trip.as_seconds();
        Loss { share: self.loss_share, window_weight: (flight / packet).max(1.0) }
    }

    /// Headers, and what random losses make be sent again.
    pub(super) fn carriage(&self, header: Header, recovery: Recovery) -> Carriage {
        let mtu = match header {
            Header::Infiniband | Header::RoceV2 => self.rdma_mtu,
            Header::Tcp => self.ip_mtu,
        };
        let weight = header.ratio(mtu) * self.loss(header).sent_ratio(recovery);
        Carriage { weight, ..Carriage::BARE }
    }

    pub(super) fn overshoot(&self) -> OvershootLimits {
        OvershootLimits {
            port_buffer: self.port_buffer,
            reaction: self.round_trip,
            interval: self.report_interval,
            packet: self.rdma_mtu,
            recovery: self.recovery,
        }
    }

    pub(super) fn flood(&self) -> FloodLimits {
        FloodLimits { round_trip: self.round_trip, packet: self.rdma_mtu, recovery: self.recovery }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast")]
fn whole_bytes(value: f64) -> Bytes {
    Bytes::new(value.round() as u64)
}
