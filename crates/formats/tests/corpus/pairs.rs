//! Measurements between devices.

use weft_base::{Rate, Span};
use weft_formats::{Benchmark, Evidence, Measure, PairTable, Reading, Report, Value};
use weft_testkit::noted::Noted;

#[derive(Default)]
struct Found<'a> {
    tables: Vec<&'a PairTable>,
    benchmarks: Vec<&'a Benchmark>,
    reports: Vec<&'a Report>,
    /// Whether direct access is refused, or changes nothing.
    is_without_peers: bool,
}

fn found(reading: &Reading) -> Found<'_> {
    let mut found = Found {
        is_without_peers: reading
            .diagnostics
            .iter()
            .any(|finding| finding.code.name.starts_with("peer-access-")),
        ..Found::default()
    };
    for evidence in &reading.evidence {
        if let Evidence::Pairs(table) = &evidence.value {
            found.tables.push(&**table);
        } else if let Evidence::Benchmark(table) = &evidence.value {
            found.benchmarks.push(&**table);
        } else if let Evidence::Report(report) = &evidence.value {
            found.reports.push(&**report);
        }
    }
    found
}

impl Found<'_> {
    /// Rates between devices of the tables that `which` takes, from small to large, in GB/s.
    fn rates(&self, which: impl Fn(&PairTable) -> bool) -> Vec<f64> {
        let mut rates: Vec<Rate> = Vec::new();
        for table in self.tables.iter().copied().filter(|table| which(table)) {
            rates.extend(table.between().filter_map(|cell| match cell.measure {
                Measure::Rate(rate) => Some(rate),
                Measure::Span(_) | Measure::Access(_) => None,
            }));
        }
        rates.sort_unstable();
        rates.into_iter().map(Rate::as_gigabytes).collect()
    }

    fn largest_latency_us(&self, which: impl Fn(&PairTable) -> bool) -> Option<f64> {
        let tables = self.tables.iter().copied().filter(|table| which(table));
        let spans = tables.flat_map(|table| {
            table
                .between()
                .filter_map(|cell| match cell.measure {
                    Measure::Span(span) => Some(span),
                    Measure::Rate(_) | Measure::Access(_) => None,
                })
                .collect::<Vec<_>>()
        });
        spans.max().map(Span::as_microseconds)
    }

    /// The largest rate that is clearly below `limit`.
    fn below(&self, limit: f64, which: impl Fn(&PairTable) -> bool) -> Option<f64> {
        self.rates(which).into_iter().rev().find(|rate| *rate < limit * 0.9)
    }

    /// The value under a key of the notes, as far as the readers hold it.
    fn value(&self, key: &str) -> Option<f64> {
        let enabled = |table: &PairTable| table.title.contains("P2P=Enabled");
        let test = |name: &'static str| {
            move |table: &PairTable| table.test.as_deref().is_some_and(|test| test.starts_with(name))
        };
        let last = |rates: Vec<f64>| rates.last().copied();
        let first = |rates: Vec<f64>| rates.first().copied();
        let count = |count: usize| u32::try_from(count).ok().map(f64::from);
        match key {
            "matrices" => count(self.tables.iter().filter(|table| !table.cells.is_empty()).count()),
            "gpus" | "devices" => {
                let table = self.tables.first()?;
                count(if table.devices.is_empty() { table.rows.len() } else { table.devices.len() })
            }
            "uni_gbps" => last(self.rates(|table| enabled(table) && !table.both_directions)),
            "bidi_gbps" | "nvlink_pair_bidi" => {
                last(self.rates(|table| enabled(table) && table.both_directions))
            }
            "p2p_off_bidi" => last(self.rates(|table| !enabled(table) && table.both_directions)),
            "latency_us" => self.largest_latency_us(|table| {
                enabled(table) && table.test.as_deref() == Some("by the GPU's clock")
            }),
            "best_offdiag" => last(self.rates(|_| true)),
            "worst_offdiag" => first(self.rates(|_| true)),
            "same_socket_bidi" => self.below(self.value("nvlink_pair_bidi")?, enabled),
            "cross_socket_bidi" => self.below(self.value("same_socket_bidi")?, enabled),
            "same_socket" => last(self.rates(|_| true)),
            "cross_socket" => first(self.rates(|_| true)),
            "sum" => self.tables.iter().find_map(|table| table.sum).map(Rate::as_gigabytes),
            "h2d_min" => first(self.rates(test("host_to_device"))),
            "d2h_max" => last(self.rates(test("device_to_host"))),
            "max_value" => {
                let fields =
                    self.reports.iter().flat_map(|report| &report.records).flat_map(|record| &record.fields);
                let rates = fields.filter_map(|field| match field.value {
                    Value::Rate(rate) => Some(rate),
                    Value::Text(_) | Value::Count(_) | Value::Flag(_) => None,
                });
                rates.max().map(Rate::as_gigabytes)
            }
            _ => None,
        }
    }
}

/// Notes that round, or say which of many figures a person would pick: the file, the key and what a reader holds.
const ROUNDED: &[(&str, &str, f64)] = &[
    ("014-", "p2p_off_bidi", 21.23),
    ("014-", "same_socket_bidi", 50.39),
    ("014-", "cross_socket_bidi", 41.55),
];

/// What differs from the notes of a table of pairs.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    if file.kind != "G" {
        return None;
    }
    let found = found(reading);
    let mut misses = Vec::new();
    for (key, wanted) in &file.expected {
        if let Some((_, _, value)) = ROUNDED.iter().find(|(name, rounded, _)| file.is(name) && rounded == key)
        {
            let is_rounded = file.number(key).is_some_and(|wanted| (value - wanted).abs() < 0.06);
            if found.value(key) != Some(*value) || !is_rounded {
                misses.push(format!(
                    "{key}: found {:?}, wanted {value}, the notes say {wanted:?}",
                    found.value(key)
                ));
            }
        } else if key == "p2p" {
            if found.is_without_peers == wanted.as_bool().unwrap_or_default() {
                misses.push(format!("p2p: wanted {wanted:?}"));
            }
        } else if let (Some(wanted), "h2d_gbps") = (wanted.as_array(), key.as_str()) {
            let of = |table: &&&Benchmark| table.operation.as_deref() == Some("host to device");
            let rates = found
                .benchmarks
                .iter()
                .filter(of)
                .flat_map(|table| table.rows.iter().filter_map(|row| row.algbw));
            let rates: Vec<f64> = rates.map(Rate::as_gigabytes).collect();
            if rates != wanted.iter().filter_map(toml::Value::as_float).collect::<Vec<_>>() {
                misses.push(format!("{key}: found {rates:?}, wanted {wanted:?}"));
            }
        } else {
            misses.extend(file.miss(key, found.value(key)));
        }
    }
    if found.tables.is_empty() && found.benchmarks.is_empty() {
        misses.push("nothing was read".to_owned());
    }
    Some(misses)
}
