//! `bandwidthTest` of the CUDA samples: copies between host and device, in its quick, its shmoo and its CSV form.

use std::mem;

use weft_base::{Bytes, Span};
use weft_catalogue::Catalogue;

use crate::evidence::{Benchmark, BenchmarkRank, BenchmarkRow, Evidence};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::measured_unit::RateUnit;
use crate::prefix::body;
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct BandwidthTest;

impl Format for BandwidthTest {
    fn name(&self) -> &'static str {
        "bandwidth-test"
    }

    fn title(&self) -> &'static str {
        "copies between host and device, of the CUDA samples"
    }

    fn command(&self) -> Option<&'static str> {
        Some("bandwidthTest")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["[CUDA Bandwidth Test]", "bandwidthTest-", " Device Bandwidth, ", " Host Bandwidth, "]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut indices = Vec::new();
        let (mut inside, mut ended) = (false, false);
        for (index, line) in text.lines.iter().enumerate() {
            let mark = Mark::of(&line.text, inside || ended);
            match mark {
                Some(Mark::Begin | Mark::Direction(_) | Mark::Record(_)) => (inside, ended) = (true, false),
                Some(Mark::Result) if inside => {
                    indices.push(index);
                    (inside, ended) = (false, true);
                    continue;
                }
                // Advice may stand behind the result too.
                Some(Mark::Note) if ended => indices.push(index),
                Some(_) => ended = false,
                None => (inside, ended) = (inside && line.is_blank(), ended && line.is_blank()),
            }
            if mark.is_some() && inside {
                indices.push(index);
            }
        }
        if indices.is_empty() { Vec::new() } else { vec![Claim::lines(indices).piecemeal()] }
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let mut reader = Reader::default();
        let mut used = Vec::new();
        for (index, line) in part.lines.iter().enumerate() {
            let Some(mark) = Mark::of(&line.text, true) else { continue };
            reader.take(mark, line.number);
            used.push(index);
        }
        reader.close();
        let place = |line: u32| {
            let index = part.lines.binary_search_by_key(&line, |known| known.number);
            index.map_or_else(|_| part.start(), |index| part.start_at(index))
        };
        let located = |table: Benchmark| Located {
            place: place(table.line),
            value: Evidence::Benchmark(Box::new(table)),
        };
        Read {
            evidence: reader.tables.into_iter().map(located).collect(),
            unused: ranges::unused(&part.lines, &used),
            ..Read::default()
        }
    }
}

/// A line of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mark<'a> {
    /// The name of the test.
    Begin,
    /// `0: Tesla V100-PCIE-32GB`.
    Device(&'a str),
    /// `Host to Device`.
    Direction(&'a str),
    /// `PINNED`.
    Memory(&'a str),
    /// The header of the figures; its text.
    Header(&'a str),
    /// Size and rate.
    Figures(u64, f64),
    /// One line of the CSV form.
    Record(&'a str),
    /// The end.
    Result,
    /// What carries nothing: the mode, a bar of dots.
    Note,
}

impl<'a> Mark<'a> {
    /// What `text` is; figures alone count only inside of a test.
    fn of(text: &'a str, inside: bool) -> Option<Self> {
        if text.contains("[CUDA Bandwidth Test]") {
            return Some(Self::Begin);
        }
        if let Some(at) = text.find("bandwidthTest-").filter(|_| text.contains("Bandwidth = ")) {
            return Some(Self::Record(&text[at + "bandwidthTest-".len()..]));
        }
        if let Some((direction, _)) =
            text.split_once(" Bandwidth, ").filter(|(_, rest)| rest.contains("Device(s)"))
        {
            return Some(Self::Direction(body(direction).text.trim()));
        }
        if !inside {
            return None;
        }
        // `NOTE:` looks like a launcher's prefix.
        if text.contains("NOTE: The CUDA Samples are not") {
            return Some(Self::Note);
        }
        let text = body(text).text.trim_end();
        if let Some(device) = text.strip_prefix("Device ").filter(|device| device.contains(':')) {
            return Some(Self::Device(device));
        }
        if let Some(memory) = text.strip_suffix("Memory Transfers") {
            return Some(Self::Memory(memory.trim_end()));
        }
        if text.starts_with("Transfer Size") {
            return Some(Self::Header(text));
        }
        if text.starts_with("Result = ") {
            return Some(Self::Result);
        }
        let is_bar = !text.is_empty() && text.bytes().all(|byte| byte == b'.');
        if is_bar || text.starts_with("Running on") || text.ends_with(" Mode") {
            return Some(Self::Note);
        }
        let (size, rate) = text.split_once([' ', '\t'])?;
        Some(Self::Figures(size.parse().ok()?, rate.trim().parse().ok()?))
    }
}

#[derive(Default)]
struct Reader {
    devices: Vec<BenchmarkRank>,
    open: Benchmark,
    unit: Option<RateUnit>,
    tables: Vec<Benchmark>,
}

impl Reader {
    fn take(&mut self, mark: Mark<'_>, line: u32) {
        match mark {
            Mark::Begin => {
                self.close();
                self.devices.clear();
            }
            Mark::Device(text) => self.devices.extend(device(text, line)),
            Mark::Direction(direction) => {
                self.close();
                self.open.operation = Some(direction.to_ascii_lowercase());
                self.open.line = line;
            }
            Mark::Memory(memory) => {
                self.open.parameters.push(("memory".to_owned(), memory.to_ascii_lowercase()));
            }
            Mark::Header(text) => self.unit = RateUnit::within(text).map(|(unit, _)| unit),
            Mark::Figures(bytes, rate) => {
                let algbw = self.unit.unwrap_or(RateUnit::GIGABYTES).rate(rate);
                let row = BenchmarkRow { bytes: Bytes::new(bytes), algbw, line, ..BenchmarkRow::default() };
                self.open.rows.push(row);
            }
            Mark::Record(text) => self.record(text, line),
            Mark::Result | Mark::Note => {}
        }
    }

    /// `H2D-Pinned, Bandwidth = 12.3 GB/s, Time = 0.00260 s, Size = 32000000 bytes, NumDevsUsed = 1`.
    fn record(&mut self, text: &str, line: u32) {
        let mut fields = text.split(", ");
        let test = fields.next().unwrap_or_default();
        let (direction, memory) = test.split_once('-').unwrap_or((test, ""));
        let direction = match direction {
            "H2D" => "host to device",
            "D2H" => "device to host",
            "D2D" => "device to device",
            other => other,
        };
        if self.open.operation.as_deref() != Some(direction) {
            self.close();
            self.open.operation = Some(direction.to_owned());
            self.open.line = line;
            if !memory.is_empty() {
                self.open.parameters.push(("memory".to_owned(), memory.to_ascii_lowercase()));
            }
        }
        let mut row = BenchmarkRow { line, ..BenchmarkRow::default() };
        for (name, value) in fields.filter_map(|field| field.split_once(" = ")) {
            let number = value.split(' ').next().unwrap_or_default();
            match name {
                "Bandwidth" => row.algbw = RateUnit::GIGABYTES.parse(value),
                // Five digits of a second say nothing of short copies.
                "Time" => {
                    let seconds = number.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
                    row.time = seconds.map(|seconds| Span::from_microseconds(seconds * 1e6));
                }
                "Size" => row.bytes = Bytes::new(number.parse().unwrap_or(0)),
                _ => {}
            }
        }
        self.open.rows.extend(Some(row).filter(|row| row.algbw.is_some()));
    }

    fn close(&mut self) {
        let open = mem::take(&mut self.open);
        if !open.rows.is_empty() {
            self.tables.push(Benchmark { tool: "bandwidth-test", ranks: self.devices.clone(), ..open });
        }
    }
}

fn device(text: &str, line: u32) -> Option<BenchmarkRank> {
    let (number, model) = text.split_once(':')?;
    let device: u32 = number.trim().parse().ok()?;
    let gpu = Some(model.trim().to_owned());
    Some(BenchmarkRank { rank: device, device: Some(device), gpu, line, ..BenchmarkRank::default() })
}

#[cfg(test)]
mod tests {
    use weft_base::Rate;

    use super::*;
    use crate::format::Source;

    fn tables(text: &str) -> Vec<Benchmark> {
        let evidence = crate::read(&Source::file("t", text), Catalogue::embedded(), None).evidence;
        let table = |evidence| if let Evidence::Benchmark(table) = evidence { Some(*table) } else { None };
        evidence.into_iter().filter_map(|located| table(located.value)).collect()
    }

    #[test]
    fn the_quick_form_gives_one_table_per_direction() {
        let text = "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n Device 0: Tesla T4\n Quick Mode\n\n \
                    Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n   Transfer Size (Bytes)\t\
                    Bandwidth(MB/s)\n   33554432\t\t\t12300.5\n\n Device to Host Bandwidth, 1 Device(s)\n PINNED Memory \
                    Transfers\n   Transfer Size (Bytes)\tBandwidth(GB/s)\n   33554432\t\t\t13.1\n\nResult = PASS\n";
        let [down, up] = &tables(text)[..] else { panic!("two tables") };
        assert_eq!(
            (down.operation.as_deref(), up.operation.as_deref()),
            (Some("host to device"), Some("device to host"))
        );
        assert_eq!(down.rows[0].algbw, Some(Rate::bytes_per_second(12_300_500_000)));
        assert_eq!((up.gpus(), up.rows[0].bytes), (vec!["Tesla T4"], Bytes::new(33_554_432)));
    }

    #[test]
    fn advice_behind_the_result_belongs_to_the_test() {
        let text = "[CUDA Bandwidth Test] - Starting...\n Host to Device Bandwidth, 1 Device(s)\n PINNED Memory \
                    Transfers\n   Transfer Size (Bytes)\tBandwidth(GB/s)\n   33554432\t\t\t13.1\n\nResult = PASS\n\n\
                    NOTE: The CUDA Samples are not meant for performance measurements.\n";
        let reading = crate::read(&crate::format::Source::file("t", text), Catalogue::embedded(), None);
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    }

    #[test]
    fn the_csv_form_gives_sizes_and_times() {
        let text = "bandwidthTest-H2D-Pinned, Bandwidth = 12.3 GB/s, Time = 0.00260 s, Size = 32000000 bytes, \
                    NumDevsUsed = 1\nbandwidthTest-D2D, Bandwidth = 700.0 GB/s, Time = 0.00000 s, Size = 1000 bytes, \
                    NumDevsUsed = 1\n";
        let [down, inside] = &tables(text)[..] else { panic!("two tables") };
        assert_eq!(down.rows[0].time, Some(Span::from_microseconds(2600.0)));
        assert_eq!((inside.operation.as_deref(), inside.rows[0].time), (Some("device to device"), None));
    }
}
