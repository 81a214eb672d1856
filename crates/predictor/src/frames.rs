//! Frames over several cards: what crosses the link between them, up to which refresh rate it can, and how fast pictures come
//! when the cards take whole frames in turn (AFR) or parts of each (SFR).
//!
//! A display bridge carries the pixels of the other card while they are shown, so that it must keep up with the refresh rate.
//! Over PCIe (XDMA) and NVLink finished surfaces are copied to the card with the screen.

use weft_catalogue::{Catalogue, LinkFamily, LinkKind, NotFound};
use weft_topology::{NodeId, NodeKind, Topology, route};

/// How cards share the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameMode {
    /// Whole frames in turn.
    Alternate,
    /// A part of each frame.
    Split,
}

/// What a pixel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PixelFormat {
    /// 8 bits of each colour, and 8 more in the surface.
    Rgba8,
    /// 10 bits of each colour, in 32.
    Rgb10,
    /// 16 bits of each colour and 16 more.
    Half,
}

impl PixelFormat {
    /// Bytes of a pixel in a surface that is copied.
    pub fn surface_bytes(self) -> f64 {
        match self {
            Self::Rgba8 | Self::Rgb10 => 4.0,
            Self::Half => 8.0,
        }
    }

    /// Bytes of a pixel that is shown: its colours alone.
    pub fn shown_bytes(self) -> f64 {
        match self {
            Self::Rgba8 => 3.0,
            Self::Rgb10 => 30.0 / 8.0,
            Self::Half => 6.0,
        }
    }

    /// The word in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rgba8 => "rgba8",
            Self::Rgb10 => "rgb10",
            Self::Half => "fp16",
        }
    }
}

/// Pictures of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picture {
    /// Pixels of a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Of what.
    pub format: PixelFormat,
}

impl Picture {
    fn pixels(self) -> f64 {
        f64::from(self.width) * f64::from(self.height)
    }
}

/// A way on which frames go from one card to another.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameWay {
    /// In words: `SLI HB bridge`, `PCIe 3.0 x8`.
    pub title: String,
    /// GB/s in one direction that frames reach.
    pub rate_gbps: f64,
    /// Whether pixels are carried while they are shown, rather than surfaces copied.
    pub is_display: bool,
    /// Whether surfaces go through the host's memory, as the cards are no peers.
    pub is_staged: bool,
}

impl FrameWay {
    /// Over `count` lanes (PCIe) or links of a kind.
    pub fn of_kind(kind: &LinkKind, count: u16) -> Self {
        let is_display = kind.family == LinkFamily::DisplayBridge;
        let rate = if is_display { kind.rate(count) } else { kind.usable(count) };
        let title = if is_display || count == 1 && kind.family != LinkFamily::Pcie {
            kind.title.clone()
        } else {
            kind.family.bundle(&kind.title, u32::from(count))
        };
        Self { title, rate_gbps: rate.as_gigabytes(), is_display, is_staged: false }
    }

    /// Bytes that go over it for each frame shown, of so many cards.
    pub fn frame_bytes(&self, picture: Picture, gpus: u32) -> f64 {
        if self.is_display {
            return picture.pixels() * picture.format.shown_bytes();
        }
        picture.pixels() * picture.format.surface_bytes() * others(gpus)
    }

    /// The highest refresh rate that it carries.
    pub fn most_hz(&self, picture: Picture, gpus: u32) -> f64 {
        1e9 * self.rate_gbps / self.frame_bytes(picture, gpus)
    }
}

/// Share of the pictures that cards without the screen render.
fn others(gpus: u32) -> f64 {
    let gpus = f64::from(gpus);
    (gpus - 1.0) / gpus
}

/// The ways of a machine's first two cards.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameWays {
    /// Of finished frames.
    pub frames: FrameWay,
    /// Of everything else that cards share, which a display bridge does not carry.
    pub data: FrameWay,
}

/// Why no frames can be shared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// One card shares with nobody.
    #[error("frames are shared by at least 2 GPUs, the machine has {gpus}")]
    TooFewGpus {
        /// GPUs of the machine.
        gpus: usize,
    },
    /// The first two cards are not joined.
    #[error("no link joins the first two GPUs")]
    NoWay,
    /// A link of the machine is not in the catalogue.
    #[error(transparent)]
    NotFound(#[from] NotFound),
}

/// Over what the cards of a machine share frames: NVLink, else a display bridge, else PCIe.
pub fn frame_ways(topology: &Topology, catalogue: &Catalogue) -> Result<FrameWays, FrameError> {
    let gpus: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).collect();
    let (Some(first), Some(second)) = (gpus.first(), gpus.get(1)) else {
        return Err(FrameError::TooFewGpus { gpus: gpus.len() });
    };
    let data = data_way(topology, catalogue, *first, *second)?;
    let bridge = topology
        .links_from(*first)
        .find(|(_, link)| link.to == *second && topology.family(link) == LinkFamily::DisplayBridge);
    let is_fabric = topology
        .links_from(*first)
        .any(|(_, link)| link.to == *second && topology.family(link) == LinkFamily::GpuFabric);
    let frames = match bridge.filter(|_| !is_fabric) {
        Some((_, link)) => FrameWay::of_kind(catalogue.link(&topology.kind(link.kind).name)?, link.count),
        None => data.clone(),
    };
    Ok(FrameWays { frames, data })
}

/// Where copies go: the narrowest hop, and half of it where they go through the host's memory.
fn data_way(
    topology: &Topology,
    catalogue: &Catalogue,
    from: NodeId,
    to: NodeId,
) -> Result<FrameWay, FrameError> {
    let way = route(topology, from, to).ok_or(FrameError::NoWay)?;
    let hop = way.hops.get(way.bottleneck).ok_or(FrameError::NoWay)?;
    let link = hop.links.first().map(|link| topology.link(*link)).ok_or(FrameError::NoWay)?;
    let kind = catalogue.link(&topology.kind(link.kind).name)?;
    let model = topology.model(from).and_then(|model| catalogue.gpu(model).ok());
    let is_peer = model.and_then(|gpu| gpu.peer_to_peer.as_ref()).is_none_or(|peer| peer.pcie.value);
    let mut found = FrameWay::of_kind(kind, link.count);
    if kind.family == LinkFamily::Pcie && !is_peer {
        found.is_staged = true;
        found.rate_gbps /= 2.0;
    }
    Ok(found)
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameAsk {
    /// The pictures.
    pub picture: Picture,
    /// How cards share them.
    pub mode: FrameMode,
    /// Cards.
    pub gpus: u32,
    /// Of the screen.
    pub refresh_hertz: f64,
    /// Seconds in which one card renders a frame.
    pub frame_s: f64,
    /// Seconds of a frame that the CPU takes, whatever the cards do; 0 where it is not known.
    pub cpu_s: f64,
    /// Share of a frame's work that each card repeats when frames are split, such as geometry.
    pub repeated_share: f64,
    /// Bytes of a frame that the next one needs from another card, such as shadow maps that are kept.
    pub kept_bytes: f64,
}

/// How pictures come.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameRate {
    /// Pictures per second.
    pub rate_hertz: f64,
    /// Of one card alone.
    pub alone_hertz: f64,
    /// What limits them, in words.
    pub bound_by: String,
    /// From the begin of a frame to the screen.
    pub latency_s: f64,
    /// The same of one card alone.
    pub alone_latency_s: f64,
}

impl FrameRate {
    /// How many times as many pictures as one card.
    pub fn scaling(&self) -> f64 {
        self.rate_hertz / self.alone_hertz
    }

    /// Pictures on their way at a time.
    pub fn latency_frames(&self) -> f64 {
        self.latency_s * self.rate_hertz
    }
}

/// How pictures come over `ways`.
pub fn frame_rate(ask: &FrameAsk, ways: &FrameWays) -> FrameRate {
    let gpus = f64::from(ask.gpus);
    let rendering_s = match ask.mode {
        FrameMode::Alternate => ask.frame_s,
        FrameMode::Split => ask.frame_s * (ask.repeated_share + (1.0 - ask.repeated_share) / gpus),
    };
    let at_once = match ask.mode {
        FrameMode::Alternate => gpus,
        FrameMode::Split => 1.0,
    };
    let cpu_hz = if ask.cpu_s > 0.0 { 1.0 / ask.cpu_s } else { f64::INFINITY };
    let mut limits = vec![
        ("the GPUs".to_owned(), at_once / rendering_s),
        ("the CPU".to_owned(), cpu_hz),
        ("the screen".to_owned(), ask.refresh_hertz),
    ];
    limits.extend(link_limits(ask, ways));
    let least = limits.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let (bound_by, rate_hertz) = least.unwrap_or_default();
    let copy_s = if ways.frames.is_display { 0.0 } else { surface_s(ask, &ways.frames) };
    FrameRate {
        rate_hertz,
        alone_hertz: (1.0 / ask.frame_s).min(cpu_hz).min(ask.refresh_hertz),
        bound_by,
        latency_s: ask.cpu_s + rendering_s + copy_s,
        alone_latency_s: ask.cpu_s + ask.frame_s,
    }
}

/// Seconds in which the surface that another card finished reaches the one with the screen.
fn surface_s(ask: &FrameAsk, way: &FrameWay) -> f64 {
    let part = match ask.mode {
        FrameMode::Alternate => 1.0,
        FrameMode::Split => others(ask.gpus),
    };
    ask.picture.pixels() * ask.picture.format.surface_bytes() * part / (1e9 * way.rate_gbps)
}

fn link_limits(ask: &FrameAsk, ways: &FrameWays) -> Vec<(String, f64)> {
    let FrameWays { frames, data } = ways;
    let bytes = frames.frame_bytes(ask.picture, ask.gpus);
    if !frames.is_display {
        return vec![(frames.title.clone(), 1e9 * frames.rate_gbps / (bytes + ask.kept_bytes))];
    }
    let mut limits = vec![(frames.title.clone(), 1e9 * frames.rate_gbps / bytes)];
    if ask.kept_bytes > 0.0 {
        limits.push((
            format!("{}, which carries what frames share", data.title),
            1e9 * data.rate_gbps / ask.kept_bytes,
        ));
    }
    limits
}
