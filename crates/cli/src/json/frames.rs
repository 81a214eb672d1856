//! `weft/frames/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_predictor::frames::{FrameRate, FrameWay, Picture};

use super::DiagnosticJson;
use crate::frames::{SIZES, Shown, word};

/// The document.
#[derive(Debug, Serialize)]
pub struct FramesJson {
    schema: &'static str,
    gpus: u32,
    mode: &'static str,
    width: u32,
    height: u32,
    pixels: &'static str,
    refresh_hz: f64,
    link: LinkJson,
    frame_bytes: f64,
    load_gbps: f64,
    most_hz: f64,
    pictures: Option<PicturesJson>,
    links: Vec<LinkJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct LinkJson {
    title: String,
    rate_gbps: f64,
    display: bool,
    staged: bool,
    most: Vec<MostJson>,
}

#[derive(Debug, Serialize)]
struct MostJson {
    width: u32,
    height: u32,
    most_hz: f64,
}

#[derive(Debug, Serialize)]
struct PicturesJson {
    rate_hz: f64,
    alone_hz: f64,
    scaling: f64,
    bound_by: String,
    latency_s: f64,
    alone_latency_s: f64,
    latency_frames: f64,
}

/// The document of a run.
pub fn document(shown: &Shown<'_>, diagnostics: &[Diagnostic]) -> FramesJson {
    let (ask, way) = (shown.ask, &shown.ways.frames);
    let links = shown.links();
    FramesJson {
        schema: "weft/frames/1",
        gpus: ask.gpus,
        mode: word(ask.mode),
        width: ask.picture.width,
        height: ask.picture.height,
        pixels: ask.picture.format.word(),
        refresh_hz: ask.refresh_hertz,
        link: link(shown, way),
        frame_bytes: way.frame_bytes(ask.picture, ask.gpus),
        load_gbps: shown.load_gbps(),
        most_hz: way.most_hz(ask.picture, ask.gpus),
        pictures: shown.rate.map(pictures),
        links: links.iter().map(|way| link(shown, way)).collect(),
        diagnostics: super::all(diagnostics),
    }
}

fn link(shown: &Shown<'_>, way: &FrameWay) -> LinkJson {
    let most = SIZES.iter().map(|(width, height)| MostJson {
        width: *width,
        height: *height,
        most_hz: way.most_hz(Picture { width: *width, height: *height, ..shown.ask.picture }, shown.ask.gpus),
    });
    LinkJson {
        title: way.title.clone(),
        rate_gbps: way.rate_gbps,
        display: way.is_display,
        staged: way.is_staged,
        most: most.collect(),
    }
}

fn pictures(rate: &FrameRate) -> PicturesJson {
    PicturesJson {
        rate_hz: rate.rate_hertz,
        alone_hz: rate.alone_hertz,
        scaling: rate.scaling(),
        bound_by: rate.bound_by.clone(),
        latency_s: rate.latency_s,
        alone_latency_s: rate.alone_latency_s,
        latency_frames: rate.latency_frames(),
    }
}
