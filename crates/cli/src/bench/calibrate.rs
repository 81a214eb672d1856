//! What messages cost on this host: measured, saved, read again.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use weft_base::{Bytes, Diagnostic, Place, Rate, Span};
use weft_collective::Rank;
use weft_runtime::model::{Calibration, Local, Probed, Probes, Rates, Regime};
use weft_runtime::{Choice, Communicator, Either, Fault, Tuning};

use super::Task;
use crate::codes::CALIBRATION;
use crate::exit::Failure;
use crate::output;

/// How long each probe takes about, each time.
const PROBE: Duration = Duration::from_millis(5);
/// What costs no more costs nothing: no memory is so fast.
const LEAST_S_PER_BYTE: f64 = 1e-15;
/// The version of the file.
const VERSION: u32 = 1;

/// Measures what messages cost.
pub fn calibrate(group: &mut Communicator<Either>, task: &Task) -> Result<(Vec<Probed>, Calibration), Fault> {
    let most = task.series.sizes.iter().max().copied().unwrap_or(Bytes::ZERO);
    let mut probes = Probes::new(group, Bytes::new(2 * most.get()), 4, PROBE);
    for _ in 0..task.series.repeats.max(1) {
        probes.round(group)?;
    }
    Ok((probes.probed(), probes.calibration()))
}

/// Makes all ranks choose by what the first one was told, where it was told anything; gives it.
pub fn tell(
    group: &mut Communicator<Either>,
    known: Option<&Calibration>,
) -> Result<Option<Calibration>, Fault> {
    let root = Rank::new(0);
    let mut text = known.map_or_else(String::new, |known| saved(known, None)).into_bytes();
    let mut length = [i64::try_from(text.len()).unwrap_or(0)];
    group.broadcast(&mut length, root)?;
    text.resize(usize::try_from(length[0]).unwrap_or(0), 0);
    if text.is_empty() {
        return Ok(None);
    }
    group.broadcast(&mut text, root)?;
    let text = String::from_utf8_lossy(&text);
    let refused = |why: Diagnostic| Fault::Lacking { what: "a calibration", how: why.message };
    let known = calibration_file("rank 0", &text).map_err(refused)?;
    group.choose(Choice::Quickest(Box::new(known.clone())));
    Ok(Some(known))
}

/// What messages cost, from a file that the user names.
pub fn read_calibration(path: &Path) -> Result<Calibration, Failure> {
    crate::calibration::read_as(path, calibration_file)
}

/// Writes what was measured to a file that the user names, with the host's name.
#[expect(clippy::disallowed_methods, reason = "the name of this host")]
pub fn save_calibration(path: &Path, calibration: &Calibration) -> Result<(), Failure> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    output::file(path, saved(calibration, host.as_deref().map(str::trim)).as_bytes())
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    version: toml::Spanned<u32>,
    transport: String,
    #[expect(dead_code, reason = "for whoever reads the file")]
    host: Option<String>,
    #[expect(dead_code, reason = "for whoever reads the file")]
    date: Option<String>,
    processors: u32,
    call: Span,
    turn: Span,
    local_work: Span,
    wire: Option<Rate>,
    line: Option<RegimeFile>,
    stream: RegimeFile,
    direct: Option<RegimeFile>,
    registered: Option<RegimeFile>,
    tuning: Option<TuningFile>,
    #[serde(default)]
    local: Vec<LocalFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegimeFile {
    sender: Span,
    receiver: Span,
    latency: Span,
    #[serde(default)]
    pieces: Vec<RatesFile>,
    #[serde(default)]
    touching: Vec<RatesFile>,
    #[serde(default, rename = "passed-on")]
    passed_on: Vec<RatesFile>,
    #[serde(default)]
    fresh: Vec<RatesFile>,
}

/// From which lengths on; what is not said is never done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TuningFile {
    streamed: Option<Bytes>,
    direct: Option<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RatesFile {
    bytes: Bytes,
    send: Option<Rate>,
    receive: Option<Rate>,
    combine: Option<Rate>,
    latency: Option<Rate>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LocalFile {
    footprint: Bytes,
    copy: Rate,
    combine: Rate,
}

/// What messages cost, from the text of a file of that name.
fn calibration_file(name: &str, text: &str) -> Result<Calibration, Diagnostic> {
    let hint = "write it with `weft bench --calibrate --save FILE`";
    let file: File = toml::from_str(text).map_err(|error| {
        let finding = Diagnostic::error(CALIBRATION, error.message().trim_end().to_owned()).hint(hint);
        match error.span() {
            Some(span) => finding.at(Place::in_text(name, text, &span)),
            None => finding,
        }
    })?;
    if *file.version.get_ref() != VERSION {
        let why = format!("this is version {} of the file, not {VERSION}", file.version.get_ref());
        return Err(Diagnostic::error(CALIBRATION, why)
            .at(Place::in_text(name, text, &file.version.span()))
            .hint(hint));
    }
    Ok(Calibration {
        transport: file.transport,
        processors: file.processors.max(1),
        call_s: file.call.as_seconds(),
        turn_s: file.turn.as_seconds(),
        local_s: file.local_work.as_seconds(),
        wire_s_per_byte: cost(file.wire),
        line: file.line.map(regime),
        stream: regime(file.stream),
        direct: file.direct.map(regime),
        registered: file.registered.map(regime),
        tuning: file.tuning.map(|tuning| Tuning {
            streamed_from_bytes: from(tuning.streamed),
            direct_from_bytes: from(tuning.direct),
            registered_from_bytes: 0,
        }),
        local: file.local.iter().map(local).collect(),
    })
}

fn from(bytes: Option<Bytes>) -> usize {
    bytes.and_then(|bytes| usize::try_from(bytes.get()).ok()).unwrap_or(usize::MAX)
}

fn regime(file: RegimeFile) -> Regime {
    Regime {
        sender_s: file.sender.as_seconds(),
        receiver_s: file.receiver.as_seconds(),
        latency_s: file.latency.as_seconds(),
        pieces: rates(file.pieces),
        touching: rates(file.touching),
        passed_on: rates(file.passed_on),
        fresh: rates(file.fresh),
    }
}

fn rates(file: Vec<RatesFile>) -> Vec<Rates> {
    let rates = file.into_iter().map(|rates| Rates {
        bytes: rates.bytes,
        send_s_per_byte: cost(rates.send),
        receive_s_per_byte: cost(rates.receive),
        combine_s_per_byte: cost(rates.combine),
        latency_s_per_byte: cost(rates.latency),
    });
    let mut rates: Vec<Rates> = rates.collect();
    rates.sort_by_key(|rates| rates.bytes);
    rates
}

fn local(file: &LocalFile) -> Local {
    Local {
        footprint: file.footprint,
        copy_s_per_byte: cost(Some(file.copy)),
        combine_s_per_byte: cost(Some(file.combine)),
    }
}

/// What costs nothing has no rate.
fn cost(rate: Option<Rate>) -> f64 {
    rate.map_or(0.0, |rate| 1.0 / (rate.as_gigabytes() * 1e9).max(1.0))
}

/// The file, as of a host and a date that the user gives.
fn saved(calibration: &Calibration, host: Option<&str>) -> String {
    let mut text =
        format!("# What messages and local work cost, by `weft bench --calibrate`.\nversion = {VERSION}\n");
    let _ = writeln!(text, "transport = \"{}\"", calibration.transport);
    if let Some(host) = host {
        let _ = writeln!(text, "host = {host:?}");
    }
    let _ = writeln!(text, "processors = {}", calibration.processors);
    let _ = writeln!(text, "call = {}", span(calibration.call_s));
    let _ = writeln!(text, "turn = {}", span(calibration.turn_s));
    let _ = writeln!(text, "local-work = {}", span(calibration.local_s));
    if calibration.wire_s_per_byte > 0.0 {
        let _ = writeln!(text, "wire = {}", rate(calibration.wire_s_per_byte));
    }
    if let Some(tuning) = calibration.tuning {
        text.push_str("\n[tuning]\n");
        let from = [("streamed", tuning.streamed_from_bytes), ("direct", tuning.direct_from_bytes)];
        for (what, bytes) in from.into_iter().filter(|(_, bytes)| *bytes < usize::MAX) {
            let _ = writeln!(text, "{what} = \"{}\"", Bytes::new(bytes as u64));
        }
    }
    let regimes = [
        ("line", &calibration.line),
        ("stream", &Some(calibration.stream.clone())),
        ("direct", &calibration.direct),
        ("registered", &calibration.registered),
    ];
    for (name, regime) in regimes {
        let Some(regime) = regime else { continue };
        let _ = writeln!(text, "\n[{name}]\nsender = {}", span(regime.sender_s));
        let _ =
            writeln!(text, "receiver = {}\nlatency = {}", span(regime.receiver_s), span(regime.latency_s));
        let lists = [
            ("pieces", &regime.pieces),
            ("touching", &regime.touching),
            ("passed-on", &regime.passed_on),
            ("fresh", &regime.fresh),
        ];
        for (list, rates) in lists {
            for rates in rates {
                write_rates(&mut text, (name, list), rates);
            }
        }
    }
    for local in &calibration.local {
        let _ = writeln!(text, "\n[[local]]\nfootprint = \"{}\"", local.footprint);
        let _ = writeln!(
            text,
            "copy = {}\ncombine = {}",
            rate(local.copy_s_per_byte),
            rate(local.combine_s_per_byte)
        );
    }
    text
}

fn write_rates(text: &mut String, (regime, list): (&str, &str), rates: &Rates) {
    let _ = writeln!(text, "\n[[{regime}.{list}]]\nbytes = \"{}\"", rates.bytes);
    let costs = [
        ("send", rates.send_s_per_byte),
        ("receive", rates.receive_s_per_byte),
        ("combine", rates.combine_s_per_byte),
        ("latency", rates.latency_s_per_byte),
    ];
    for (what, cost) in costs.into_iter().filter(|(_, cost)| *cost > LEAST_S_PER_BYTE) {
        let _ = writeln!(text, "{what} = {}", rate(cost));
    }
}

fn span(seconds: f64) -> String {
    format!("\"{:.6} us\"", seconds * 1e6)
}

fn rate(s_per_byte: f64) -> String {
    format!("\"{:.4} GB/s\"", 1e-9 / s_per_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Calibration {
        let rates = Rates {
            bytes: Bytes::new(512),
            send_s_per_byte: 1e-10,
            receive_s_per_byte: 2e-10,
            combine_s_per_byte: 4e-10,
            latency_s_per_byte: 0.0,
        };
        let regime = Regime {
            sender_s: 1e-7,
            receiver_s: 2e-7,
            latency_s: 5e-8,
            pieces: vec![rates],
            touching: vec![],
            passed_on: vec![],
            fresh: vec![rates],
        };
        let local = Local { footprint: Bytes::new(4096), copy_s_per_byte: 5e-11, combine_s_per_byte: 1e-10 };
        let known = Calibration::of_link(1e-6, 1e9);
        Calibration {
            transport: "shared memory".to_owned(),
            processors: 2,
            call_s: 3e-8,
            turn_s: 8e-7,
            tuning: Some(Tuning {
                streamed_from_bytes: 1024,
                direct_from_bytes: usize::MAX,
                registered_from_bytes: 0,
            }),
            local_s: 1e-8,
            wire_s_per_byte: 0.0,
            line: Some(regime.clone()),
            registered: Some(regime.clone()),
            stream: regime,
            local: vec![local],
            ..known
        }
    }

    #[test]
    fn what_is_saved_is_read_again() {
        let text = saved(&known(), Some("node01"));
        assert!(text.contains("host = \"node01\"") && text.contains("send = \"10.0000 GB/s\""), "{text}");
        let read = calibration_file("c.toml", &text).unwrap();
        assert_eq!(saved(&read, Some("node01")), text);
        assert_eq!((read.direct, read.tuning), (None, known().tuning));
        assert!(
            (read.turn_s - 8e-7).abs() < 1e-12
                && (read.stream.pieces[0].combine_s_per_byte - 4e-10).abs() < 1e-14
        );
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        let text = saved(&known(), None);
        let place = |text: &str| {
            let finding = calibration_file("c.toml", text).unwrap_err();
            assert_eq!(finding.code.name, CALIBRATION.name);
            finding.place.map(|place| (place.line, place.column))
        };
        // The second line is the version, the sixth `turn`.
        assert_eq!(place(&text.replace("version = 1", "version = 7")), Some((2, 11)));
        assert_eq!(place(&text.replace("turn = \"0.800000 us\"", "turn = 0.8")), Some((6, 8)));
        assert_eq!(place(&text.replace("turn =", "trun =")), Some((6, 1)));
    }
}
