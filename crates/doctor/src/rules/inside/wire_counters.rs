//! Errors of PCIe links that sysfs counts: two readings say how many in which time.

use std::collections::BTreeMap;

use weft_base::Place;

use super::signal::{ALLOWED_ERROR_RATE, PCIE_SIGNAL, bits_per_second};
use crate::chart::{Chart, Said};
use crate::finding::{Confidence, Finding};

/// Counters of the physical and of the data link layer.
const WIRE: &[&str] = &["rx-err", "bad-tlp", "bad-dllp", "rollover", "timeout"];
/// Errors between two readings without times, or since the start, from which on chance is no explanation.
const MANY: u64 = 100;

/// A reading of one device.
struct Reading {
    counts: BTreeMap<&'static str, u64>,
    time_s: Option<f64>,
    place: Place,
    says: String,
}

/// Two readings of a device of which the later is higher.
struct Growth {
    device: String,
    /// Errors between them, by counters that both show: what stands between lines may have cut one of them.
    more: u64,
    from: Reading,
    to: Reading,
    /// Errors by bits, where times and the link's rate are known.
    error_rate: Option<f64>,
    /// Errors a second.
    per_second: Option<f64>,
}

/// The link whose errors grow, and how fast.
pub(super) fn grown(chart: &Chart<'_>) -> Option<Finding> {
    let mut devices: BTreeMap<String, Vec<Reading>> = BTreeMap::new();
    for said in chart.records("counter") {
        let is_wire =
            said.record.get("rx-err").is_some() || said.record.text("severity") == Some("correctable");
        if is_wire && said.report.format == "pcie-error-counters" {
            devices.entry(said.record.subject.clone()).or_default().push(reading(said));
        }
    }
    let growths = devices.into_iter().filter_map(|(device, readings)| growth(chart, device, readings));
    let worst = growths.max_by_key(|growth| growth.more)?;
    finding(&worst)
}

fn reading(said: Said<'_>) -> Reading {
    let counts: BTreeMap<&'static str, u64> =
        WIRE.iter().filter_map(|name| Some((*name, said.record.count(name)?))).collect();
    let some = counts.iter().filter(|(_, count)| **count > 0);
    let says: Vec<String> = some.map(|(name, count)| format!("{name} {count}")).collect();
    Reading {
        counts,
        time_s: said.record.text("time").and_then(seconds),
        place: said.place(),
        says: if says.is_empty() { "no errors".to_owned() } else { says.join(", ") },
    }
}

/// Seconds of the day of `10:02:11` or of what `date` prints.
fn seconds(text: &str) -> Option<f64> {
    let words = text.split(|c: char| c.is_ascii_whitespace() || c == 'T');
    let mut clocks = words.filter_map(|word| word.split(['Z', '+', '-']).next());
    let clock = clocks.find(|word| word.matches(':').count() == 2)?.replace(',', ".");
    let mut parts = clock.split(':').map(|part| part.parse::<f64>().ok());
    let mut next = || parts.next().flatten();
    Some(3600.0 * next()? + 60.0 * next()? + next()?)
}

fn growth(chart: &Chart<'_>, device: String, mut readings: Vec<Reading>) -> Option<Growth> {
    let to = readings.pop()?;
    let from = readings.into_iter().next()?;
    // Counters begin anew when the machine does, and files may be in any order.
    let more = |from: &Reading, to: &Reading| -> u64 {
        let both = to.counts.iter().filter_map(|(name, count)| Some((from.counts.get(name)?, count)));
        both.map(|(before, after)| after.saturating_sub(*before)).sum()
    };
    let (from, to) = if more(&from, &to) >= more(&to, &from) { (from, to) } else { (to, from) };
    let count = more(&from, &to);
    #[expect(clippy::cast_precision_loss, reason = "a count of errors")]
    let more = count as f64;
    let past = from
        .time_s
        .zip(to.time_s)
        .map(|(from, to)| (to - from).rem_euclid(86_400.0))
        .filter(|past| *past > 0.0);
    let per_second = past.map(|past| more / past);
    let seat = chart.devices().find(|seat| seat.device.address == device);
    let bits = seat.as_ref().and_then(bits_per_second);
    let error_rate = per_second.zip(bits).map(|(errors, bits)| errors / bits);
    Some(Growth { device, more: count, from, to, error_rate, per_second })
}

fn finding(growth: &Growth) -> Option<Finding> {
    let Growth { device, more, from, to, error_rate, per_second } = growth;
    let more = *more;
    let confidence = match (error_rate, per_second) {
        // Ten times what is allowed is no accident of a short reading.
        (Some(rate), _) if *rate > 10.0 * ALLOWED_ERROR_RATE && more >= 10 => Confidence::Certain,
        (Some(rate), _) if *rate > ALLOWED_ERROR_RATE && more >= 10 => Confidence::Likely,
        (Some(_), _) => return None,
        // The fastest links are allowed half an error a second.
        (None, Some(rate)) if *rate > 5.0 => Confidence::Certain,
        (None, Some(rate)) if *rate > 0.6 && more >= 10 => Confidence::Likely,
        (None, Some(_)) => return None,
        (None, None) if more >= MANY => Confidence::Likely,
        (None, None) => return None,
    };
    let rate = per_second.map_or_else(String::new, |rate| format!(", {rate:.1} a second"));
    let what =
        format!("the PCIe link of {device} counts {more} errors on the wire between two readings{rate}");
    let mut found = Finding::new(&PCIE_SIGNAL, confidence, what)
        .at(to.place.clone(), to.says.clone())
        .at(from.place.clone(), format!("before: {}", from.says));
    if let Some(rate) = error_rate {
        found = found.figures(
            "wrong bits by bits, at least",
            format!("below {ALLOWED_ERROR_RATE:.0e}"),
            format!("{rate:.0e}"),
        );
    }
    Some(
        found
            .costs(0.2, "packets are sent again; the link may fall back or drop off")
            .fix(
                "reseat card, riser and cable, shorten or replace them, or add a retimer (or update its firmware); until then \
                 cap the link one generation lower in the firmware (persists)",
            )
            .check(format!("cat /sys/bus/pci/devices/{device}/aer_dev_correctable twice under load: no new errors"))
            .settle("lspci -vvv as root of that device and the port above it, for speed and width"),
    )
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_are_read_as_clocks_print_them() {
        assert_eq!(seconds("10:02:11"), Some(36_131.0));
        assert_eq!(seconds("Mon Mar  2 10:03:11 CET 2026"), Some(36_191.0));
        assert_eq!(seconds("2026-03-02T10:03:11Z"), Some(36_191.0));
        assert_eq!(seconds("2026-03-02T10:03:11,5+01:00"), Some(36_191.5));
        assert_eq!(seconds("no time"), None);
    }
}
