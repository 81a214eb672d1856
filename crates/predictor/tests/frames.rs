//! Frames over several cards, against what makers and magazines say of bridges.

mod common;

use common::topology;
use weft_catalogue::Catalogue;
use weft_predictor::frames::{
    FrameAsk, FrameMode, FrameRate, FrameWay, FrameWays, Picture, PixelFormat, frame_rate, frame_ways,
};

const UHD: (u32, u32) = (3840, 2160);

fn picture((width, height): (u32, u32)) -> Picture {
    Picture { width, height, format: PixelFormat::Rgba8 }
}

fn ways(machine: &str) -> FrameWays {
    frame_ways(&topology(machine), Catalogue::embedded()).expect("two cards")
}

/// Whether a link of that name carries pictures at that refresh rate.
fn carries(link: &str, size: (u32, u32), refresh_hertz: f64) -> bool {
    let way = FrameWay::of_kind(Catalogue::embedded().link(link).expect("a link"), 1);
    way.most_hz(picture(size), 2) >= refresh_hertz
}

fn ask(mode: FrameMode, gpus: u32, refresh_hertz: f64) -> FrameAsk {
    FrameAsk {
        picture: picture(UHD),
        mode,
        gpus,
        refresh_hertz,
        frame_s: 0.020,
        cpu_s: 0.0,
        repeated_share: 0.0,
        kept_bytes: 0.0,
    }
}

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-3, "{value} is not {expected}");
}

#[test]
fn bridges_carry_what_nvidia_recommends_them_for() {
    // With the GTX 1080: a standard bridge for 1920x1080 and 2560x1440 at 60 Hz, an LED bridge for 2560x1440 at 120 Hz and
    // 4K, the HB bridge for 5K and surround.
    assert!(carries("sli", (1920, 1080), 60.0) && carries("sli", (2560, 1440), 60.0));
    assert!(!carries("sli", (2560, 1440), 120.0) && !carries("sli", UHD, 60.0));
    assert!(carries("sli-led", (2560, 1440), 120.0) && carries("sli-led", UHD, 60.0));
    assert!(!carries("sli-led", (5120, 2880), 60.0));
    assert!(carries("sli-hb", (5120, 2880), 60.0) && carries("sli-hb", (7680, 1440), 60.0));
}

#[test]
fn a_crossfire_bridge_ends_at_four_megapixels() {
    // Tom's Hardware, review of the R9 290X: good to 2560x1600, problematic at 5760x1080 and Ultra HD.
    assert!(carries("crossfire", (2560, 1600), 60.0));
    assert!(!carries("crossfire", (5760, 1080), 60.0) && !carries("crossfire", UHD, 60.0));
    // XDMA of two R9 290X on PCIe 2.0 x8 carries Ultra HD: 3840 x 2160 x 4 bytes, every other frame.
    let xdma = ways("2 r9-290x @ pcie2x8");
    assert!(!xdma.frames.is_display && xdma.frames.title.starts_with("PCIe 2.0 x8"), "{xdma:?}");
    assert_near(xdma.frames.frame_bytes(picture(UHD), 2), 16_588_800.0);
    assert!(xdma.frames.most_hz(picture(UHD), 2) > 120.0);
}

#[test]
fn a_machine_says_which_link_carries_frames() {
    let hb = ways("2 gtx-1080 @ pcie3x8 + sli-hb");
    assert!(hb.frames.is_display && hb.frames.title == "SLI HB bridge", "{hb:?}");
    assert!(!hb.data.is_display && hb.data.title == "PCIe 3.0 x8");
    assert_near(hb.frames.rate_gbps, 3.25);
    // 24.9 MB of colours a frame.
    assert_near(hb.frames.frame_bytes(picture(UHD), 2), 24_883_200.0);
    // Two links of the RTX 20 bridge carry 50 GB/s each way, of which programs reach 43: any screen.
    let nvlink = ways("2 rtx-2080-ti @ pcie3x8 + nvlink-bridge");
    assert!(!nvlink.frames.is_display && nvlink.frames.title == "2 x NVLink 2", "{nvlink:?}");
    assert!(nvlink.frames.most_hz(picture((7680, 4320)), 2) > 500.0);
    // Without it the cards are no peers, and a frame goes through the host's memory.
    let bare = ways("2 rtx-2080-ti @ pcie3x8");
    assert!(bare.frames.is_staged && bare.frames.rate_gbps < 4.0, "{bare:?}");
}

#[test]
fn alternate_frames_double_the_rate_and_keep_the_latency() {
    let rate = |gpus| frame_rate(&ask(FrameMode::Alternate, gpus, 240.0), &ways("4 r9-290x @ pcie3x16"));
    let (two, four): (FrameRate, FrameRate) = (rate(2), rate(4));
    // 20 ms a frame: 100 Hz of two cards, 200 of four; a frame still takes 20 ms and the way to the screen.
    assert_near(two.rate_hertz, 100.0);
    assert_near(four.scaling(), 4.0);
    assert_eq!(two.bound_by, "the GPUs");
    assert!(two.latency_s > 0.020 && two.latency_s < 0.024, "{}", two.latency_s);
    // One frame more is on its way than of a single card as fast.
    assert!((two.latency_frames() - 2.0).abs() < 0.4);
}

#[test]
fn split_frames_shorten_the_latency_but_repeat_what_is_not_split() {
    let hb = ways("2 gtx-1080 @ pcie3x8 + sli-hb");
    let even = frame_rate(&ask(FrameMode::Split, 2, 144.0), &hb);
    assert_near(even.rate_hertz, 100.0);
    assert_near(even.latency_s, 0.010);
    // A fifth of the work on both cards: 0.2 + 0.8 / 2 of 20 ms.
    let geometry = frame_rate(&FrameAsk { repeated_share: 0.2, ..ask(FrameMode::Split, 2, 144.0) }, &hb);
    assert_near(geometry.rate_hertz, 1.0 / 0.012);
}

#[test]
fn what_is_narrow_limits_the_rate() {
    let fast = FrameAsk { frame_s: 0.004, ..ask(FrameMode::Alternate, 2, 500.0) };
    // 24.9 MB of 1 GB/s.
    let old = ways("2 gtx-1080 @ pcie3x8 + sli");
    let bridge = frame_rate(&fast, &old);
    assert_eq!(bridge.bound_by, "SLI bridge");
    assert_near(bridge.rate_hertz, 1e9 / 24_883_200.0);
    assert!(bridge.scaling() < 0.2, "two cards are slower than one here");
    let cpu = frame_rate(&FrameAsk { cpu_s: 0.010, ..fast }, &ways("2 gtx-1080 @ pcie3x8 + sli-hb"));
    assert_eq!(cpu.bound_by, "the CPU");
    assert_near(cpu.scaling(), 1.0);
    let screen =
        frame_rate(&FrameAsk { refresh_hertz: 60.0, ..fast }, &ways("2 gtx-1080 @ pcie3x8 + sli-hb"));
    assert_eq!(screen.bound_by, "the screen");
    // 200 MB that the next frame needs, over 7.9 GB/s at most.
    let kept = frame_rate(&FrameAsk { kept_bytes: 2e8, ..fast }, &ways("2 gtx-1080 @ pcie3x8 + sli-hb"));
    assert!(kept.bound_by.starts_with("PCIe 3.0 x8") && kept.rate_hertz < 40.0, "{kept:?}");
}
