//! `ib_write_bw`, `ib_read_lat` and their like of the perftest package.

use weft_base::{Bytes, Diagnostic, Span};
use weft_catalogue::Catalogue;

use crate::codes;
use crate::evidence::{Benchmark, BenchmarkRow, Evidence};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::measured_unit::RateUnit;
use crate::prefix::body;
use crate::ranges;

/// Lines between the title of a test and its header: settings, addresses, rulers.
const HEAD_LINES_MAX: usize = 400;

/// The reader.
#[derive(Debug)]
pub struct Perftest;

impl Format for Perftest {
    fn name(&self) -> &'static str {
        "perftest"
    }

    fn title(&self) -> &'static str {
        "rates and latencies of RDMA: ib_write_bw, ib_read_bw, ib_send_lat and their like"
    }

    fn command(&self) -> Option<&'static str> {
        Some("ib_write_bw -d mlx5_0 --report_gbits HOST")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["BW average[", "BW peak[", "t_avg[", "t_typical["]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut claims = Vec::new();
        // Where the block began that the next header ends: at a ruler or a title.
        let mut start: Option<usize> = None;
        let mut index = 0;
        while let Some(line) = text.lines.get(index) {
            let content = body(&line.text).text;
            if title(content).is_some() {
                let ruled = index > 0 && is_ruler(body(&text.lines[index - 1].text).text);
                let begin = if ruled { index - 1 } else { index };
                start = Some(asked_above(text, begin).unwrap_or(begin));
            } else if Columns::new(content).is_some() {
                let begin = start.take().filter(|start| index - start <= HEAD_LINES_MAX).unwrap_or(index);
                let is_row = |line: &crate::format::Line<'_>| {
                    let content = body(&line.text).text;
                    is_ruler(content) || row_words(content).is_some()
                };
                let mut end = index + 1;
                while text.lines.get(end).is_some_and(is_row) {
                    end += 1;
                    if is_ruler(body(&text.lines[end - 1].text).text) {
                        break;
                    }
                }
                claims.push(Claim::yes(begin..end).piecemeal());
                index = end;
                continue;
            }
            index += 1;
        }
        claims
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let mut table = Benchmark { tool: "perftest", ..Benchmark::default() };
        let mut read = Read::default();
        let mut used = Vec::new();
        let mut columns: Option<Columns> = None;
        let mut asked = None;
        let mut start = part.start();
        for (index, line) in part.lines.iter().enumerate() {
            let content = body(&line.text).text.trim_end();
            if is_ruler(content) || line.text.trim_start().starts_with("GID:") {
                // Addresses of the two ends say nothing that the settings do not.
                used.push(index);
            } else if let Some(pairs) = asked_pairs(content) {
                asked = Some(pairs);
                used.push(index);
            } else if let Some((operation, program)) = title(content) {
                (table.operation, table.program) = (Some(operation), program.map(str::to_owned));
                used.push(index);
            } else if let Some(found) = Columns::new(content) {
                (columns, table.line, start) = (Some(found), line.number, part.start_at(index));
                used.push(index);
            } else if let Some((columns, words)) = columns.as_ref().zip(row_words(content)) {
                table.rows.extend(columns.row(&words, line.number));
                if words.len() < columns.names.len() {
                    let message = "this row has fewer figures than the header has columns";
                    read.diagnostics
                        .push(Diagnostic::warning(codes::ROW_CUT, message).at(part.start_at(index)));
                }
                used.push(index);
            } else if columns.is_none() && !content.is_empty() {
                let settings = settings(content);
                if !settings.is_empty() {
                    table.parameters.extend(settings);
                    used.push(index);
                }
            }
        }
        // Old versions do not print it.
        if let Some(pairs) = asked.filter(|_| table.parameters.iter().all(|(name, _)| name != QUEUE_PAIRS)) {
            table.parameters.push((QUEUE_PAIRS.to_owned(), pairs.to_owned()));
        }
        read.unused = ranges::unused(&part.lines, &used);
        if columns.is_some() {
            read.evidence.push(Located { value: Evidence::Benchmark(Box::new(table)), place: start });
        }
        read
    }
}

/// The setting that says how many queue pairs a test uses.
const QUEUE_PAIRS: &str = "Number of qps";
/// Lines between a command and what it prints: warnings, a server that waits.
const ASKED_MAX: usize = 6;

/// The line above `begin` that holds the command with its queue pairs.
fn asked_above(text: &Text<'_>, begin: usize) -> Option<usize> {
    let content = |index: usize| body(&text.lines[index].text).text;
    let mut above =
        (begin.saturating_sub(ASKED_MAX)..begin).rev().take_while(|index| !is_ruler(content(*index)));
    above.find(|index| asked_pairs(content(*index)).is_some())
}

/// `16` of `$ ib_write_bw -d mlx5_bond_0 -q 16 host` and of `--qp=16`.
fn asked_pairs(text: &str) -> Option<&str> {
    let programs = ["ib_write_bw", "ib_read_bw", "ib_send_bw"];
    let at = programs.iter().find_map(|name| text.find(name))?;
    let mut words = text.get(at..)?.split_whitespace();
    let number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    while let Some(word) = words.next() {
        let value = match word {
            "-q" | "--qp" => words.next()?,
            _ => match word.strip_prefix("--qp=").or_else(|| word.strip_prefix("-q")) {
                Some(value) => value,
                None => continue,
            },
        };
        return number(value).then_some(value);
    }
    None
}

fn is_ruler(text: &str) -> bool {
    text.len() >= 10 && text.trim_end().bytes().all(|byte| byte == b'-')
}

/// `RDMA_Write BW Test` to what it measures and the program that prints so.
fn title(text: &str) -> Option<(String, Option<&'static str>)> {
    let name = text.trim_end().strip_suffix(" Test")?;
    let (verb, kind) = match (name.strip_suffix(" BW"), name.strip_suffix(" Latency")) {
        (Some(verb), _) => (verb, "bandwidth"),
        (None, Some(verb)) => (verb, "latency"),
        (None, None) => return None,
    };
    let (verb, ways) =
        verb.strip_suffix(" Bidirectional").map_or((verb, ""), |verb| (verb, ", both directions at once"));
    let (words, program) = match (verb, kind) {
        ("RDMA_Write", "bandwidth") => ("RDMA write", Some("ib_write_bw")),
        ("RDMA_Write", _) => ("RDMA write", Some("ib_write_lat")),
        ("RDMA_Read", "bandwidth") => ("RDMA read", Some("ib_read_bw")),
        ("RDMA_Read", _) => ("RDMA read", Some("ib_read_lat")),
        ("Send", "bandwidth") => ("send", Some("ib_send_bw")),
        ("Send", _) => ("send", Some("ib_send_lat")),
        ("Atomic FETCH_AND_ADD" | "Atomic CMP_AND_SWAP", "bandwidth") => ("atomic", Some("ib_atomic_bw")),
        ("Atomic FETCH_AND_ADD" | "Atomic CMP_AND_SWAP", _) => ("atomic", Some("ib_atomic_lat")),
        (other, _) => (other, None),
    };
    Some((format!("{words} {kind}{ways}"), program))
}

/// `Dual-port : OFF    Device : mlx5_0` to two settings; `local address: LID 0x01 …` to one.
fn settings(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((name, behind)) = rest.split_once(':') {
        let name = name.trim();
        if name.is_empty() || behind.is_empty() {
            break;
        }
        if !name.contains("address") && name != "GID" {
            // Two settings on one line are kept apart by blanks.
            let value = behind.trim_start();
            let end = value.find("  ").into_iter().chain(value.find('\t')).min().unwrap_or(value.len());
            let (value, next) = value.split_at(end);
            found.push((name.to_owned(), value.trim().to_owned()));
            rest = next.trim_start();
        } else {
            found.push((name.to_owned(), behind.trim().to_owned()));
            break;
        }
    }
    found
}

fn row_words(text: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = text.split_ascii_whitespace().take(16).collect();
    let is_number = |word: &&str| word.parse::<f64>().is_ok_and(f64::is_finite);
    let begins = words.first().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    (begins && words.len() >= 3 && words.iter().all(is_number)).then_some(words)
}

/// The columns of a header.
struct Columns {
    names: Vec<Column>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Bytes,
    Peak(RateUnit),
    Average(RateUnit),
    Fastest,
    Slowest,
    Typical,
    Mean,
    Other,
}

impl Columns {
    fn new(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("#bytes").or_else(|| text.strip_prefix("bytes"))?;
        if !(rest.contains("BW average[")
            || rest.contains("BW peak[")
            || rest.contains("t_avg[")
            || rest.contains("t_typical["))
        {
            return None;
        }
        let mut names = vec![Column::Bytes];
        // Names hold blanks, so that each ends with its unit or is one of few words.
        for word in rest.split_ascii_whitespace() {
            let unit = if word.contains("Gb/sec") { RateUnit::GIGABITS } else { RateUnit::MEBIBYTES };
            names.push(match word {
                _ if word.starts_with("peak[") => Column::Peak(unit),
                _ if word.starts_with("average[") => Column::Average(unit),
                _ if word.starts_with("t_min[") => Column::Fastest,
                _ if word.starts_with("t_max[") => Column::Slowest,
                _ if word.starts_with("t_typical[") => Column::Typical,
                _ if word.starts_with("t_avg[") => Column::Mean,
                "BW" | "99%" | "99.9%" | "tps" => continue,
                _ => Column::Other,
            });
        }
        Some(Self { names })
    }

    fn row(&self, words: &[&str], line: u32) -> Option<BenchmarkRow> {
        let mut row = BenchmarkRow { line, ..BenchmarkRow::default() };
        let mut mean = None;
        for (column, word) in self.names.iter().zip(words) {
            let number: f64 = word.parse().ok()?;
            match column {
                Column::Bytes => row.bytes = Bytes::new(word.parse().ok()?),
                Column::Peak(unit) => row.peak = unit.rate(number),
                Column::Average(unit) => row.algbw = unit.rate(number),
                Column::Fastest => row.fastest = Some(Span::from_microseconds(number)),
                Column::Slowest => row.slowest = Some(Span::from_microseconds(number)),
                Column::Typical => row.time = Some(Span::from_microseconds(number)),
                Column::Mean => mean = Some(Span::from_microseconds(number)),
                Column::Other => {}
            }
        }
        row.time = row.time.or(mean);
        Some(row)
    }
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

    const HEAD: &str = "--------------------\n                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n \
                        Number of qps   : 1    Transport type : IB\n Mtu             : 4096[B]\n Link type       : Ethernet\n \
                        GID index       : 3\n--------------------\n local address: LID 0000 QPN 0x0127 PSN 0x1\n GID: \
                        00:00:00\n--------------------\n";

    #[test]
    fn queue_pairs_of_the_command_are_those_of_the_test() {
        let text = format!(
            "$ ib_write_bw -d mlx5_bond_0 -q 16 --report_gbits 10.0.0.2\n{}                    RDMA_Write BW Test\n \
             Device : mlx5_bond_0\n{} #bytes #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536 \
             5000 392.00 391.20 0.7\n",
            "--------------------\n", "--------------------\n"
        );
        let table = &tables(&text)[0];
        assert_eq!(table.parameters.last(), Some(&("Number of qps".to_owned(), "16".to_owned())));
        assert_eq!(asked_pairs("ib_read_bw --qp=4 -a h"), Some("4"));
        assert_eq!(asked_pairs("ib_write_bw -d mlx5_0 h"), None);
    }

    #[test]
    fn a_megabyte_of_perftest_is_2_to_the_20() {
        let text = format!(
            "{HEAD} #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n 65536      \
                            5000             11500.00            11000.00              0.176000\n--------------------\n"
        );
        let table = &tables(&text)[0];
        assert_eq!(
            (table.program.as_deref(), table.operation.as_deref()),
            (Some("ib_write_bw"), Some("RDMA write bandwidth"))
        );
        // 11000 x 2^20 = 11 534 336 000.
        assert_eq!(table.rows[0].algbw, Some(Rate::bytes_per_second(11_534_336_000)));
        let setting = |name: &str| {
            table.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
        };
        assert_eq!(
            (setting("Link type"), setting("GID index"), setting("Transport type")),
            (Some("Ethernet"), Some("3"), Some("IB"))
        );
        assert_eq!(setting("Device"), Some("mlx5_0"));
    }

    #[test]
    fn gigabits_and_latencies_have_their_units() {
        let text = " #bytes #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536 5000 392.00 391.20 0.7\n";
        let row = &tables(text)[0].rows[0];
        // 391.2 Gb/s are 48.9 GB/s.
        assert_eq!(
            (row.algbw, row.peak),
            (Some(Rate::bytes_per_second(48_900_000_000)), Some(Rate::bytes_per_second(49_000_000_000)))
        );
        let text = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% \
                    percentile[usec]   99.9% percentile[usec]\n 2       1000          1.02           4.51         1.05     1.06  \
                    0.05   1.20   4.51\n";
        let row = &tables(text)[0].rows[0];
        assert_eq!(
            (row.time, row.fastest),
            (Some(Span::from_microseconds(1.05)), Some(Span::from_microseconds(1.02)))
        );
        assert_eq!(row.slowest, Some(Span::from_microseconds(4.51)));
    }
}
