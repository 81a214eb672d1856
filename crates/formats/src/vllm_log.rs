//! What vLLM says when it serves, and the result of its benchmark: version, parallelism, tokens a second.

use weft_catalogue::Catalogue;

use crate::block::{field_name, number};
use crate::evidence::{Evidence, Record, Report, Value};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::prefix::body;
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct VllmLog;

impl Format for VllmLog {
    fn name(&self) -> &'static str {
        "vllm-log"
    }

    fn title(&self) -> &'static str {
        "vLLM's log, and the result of its benchmark"
    }

    fn command(&self) -> Option<&'static str> {
        Some("vllm bench serve")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Serving Benchmark Result", "VllmWorker", ".py:"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut indices = Vec::new();
        let (mut is_result, mut is_vllm) = (false, false);
        for (index, line) in text.lines.iter().enumerate() {
            let Some(own) = Own::of(&line.text, is_result) else {
                is_result &= line.is_blank();
                continue;
            };
            is_result = matches!(own, Own::Title | Own::Figure(..) | Own::Heading);
            is_vllm |= own.is_vllm();
            indices.push(index);
        }
        // Other programs of Python log in the same form.
        if is_vllm { vec![Claim::lines(indices).piecemeal()] } else { Vec::new() }
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let (mut server, mut results) = (Server::default(), Vec::<Record>::new());
        let mut used = Vec::new();
        let mut is_result = false;
        for (index, line) in part.lines.iter().enumerate() {
            let Some(own) = Own::of(&line.text, is_result) else { continue };
            used.push(index);
            is_result = matches!(own, Own::Title | Own::Figure(..) | Own::Heading);
            match own {
                Own::Title => results.push(Record::new("test", "serving benchmark", line.number)),
                Own::Figure(name, figure) => {
                    if let Some(result) = results.last_mut() {
                        let value =
                            number(figure).map_or_else(|| Value::Text(figure.to_owned()), Value::Count);
                        result.push(field_name(name), value, line.number);
                    }
                }
                Own::Logged(text) => server.take(text, line.number),
                Own::Heading | Own::End => {}
            }
        }
        let records: Vec<Record> = server.record().into_iter().chain(results).collect();
        let unused = ranges::unused(&part.lines, &used);
        if records.is_empty() {
            return Read { unused, ..Read::default() };
        }
        let report = Report { format: "vllm-log", host: None, records };
        let evidence = vec![Located { value: Evidence::Report(Box::new(report)), place: part.start() }];
        Read { evidence, unused, ..Read::default() }
    }
}

/// A line of the log or of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Own<'a> {
    /// `====== Serving Benchmark Result ======`.
    Title,
    /// `Output token throughput (tok/s):  71.94`: name and figure.
    Figure(&'a str, &'a str),
    /// `-----Time to First Token-----`.
    Heading,
    /// The bar below a result.
    End,
    /// What stands behind `INFO 07-19 20:11:11 [config.py:1604]`.
    Logged(&'a str),
}

impl<'a> Own<'a> {
    fn of(text: &'a str, is_result: bool) -> Option<Self> {
        let text = body(text).text.trim_end();
        match text.as_bytes().first()? {
            b'=' if text.contains(" Serving Benchmark Result ") => Some(Self::Title),
            b'=' if is_result => Some(Self::End),
            b'-' if is_result && text.ends_with("--") => Some(Self::Heading),
            _ if is_result => {
                let (name, figure) = text.split_once(':')?;
                let figure = figure.trim();
                figure.parse::<f64>().is_ok().then_some(Self::Figure(name.trim(), figure))
            }
            b'I' | b'W' | b'E' | b'D' | b'(' => logged(text).map(Self::Logged),
            _ => None,
        }
    }

    /// Whether no other program prints it.
    fn is_vllm(self) -> bool {
        match self {
            Self::Title => true,
            Self::Logged(text) => {
                ["vLLM", "VllmWorker", "Custom allreduce is disabled", " is assigned as DP rank "]
                    .iter()
                    .any(|word| text.contains(word))
            }
            Self::Figure(..) | Self::Heading | Self::End => false,
        }
    }
}

/// What is logged by `(VllmWorker rank=0 pid=4411) INFO 07-19 20:11:18 [parallel_state.py:1102] …`.
fn logged(text: &str) -> Option<&str> {
    let own = match text.strip_prefix('(') {
        Some(rest) => rest.split_once(") ").filter(|(who, _)| who.contains("pid="))?.1,
        None => text,
    };
    let (level, rest) = own.split_once(' ')?;
    if !matches!(level, "INFO" | "WARNING" | "ERROR" | "DEBUG") {
        return None;
    }
    let (head, said) = rest.split_once("] ")?;
    let (time, place) = head.split_once('[')?;
    let is_time = time.len() <= 24 && time.as_bytes().first().is_some_and(u8::is_ascii_digit);
    (is_time && place.contains(".py:")).then_some(said)
}

/// What the server said of itself: the first of each.
#[derive(Debug, Default)]
struct Server {
    record: Record,
    lines: u64,
}

impl Server {
    fn take(&mut self, text: &str, line: u32) {
        if self.lines == 0 {
            self.record = Record::new("setting", "vllm", line);
        }
        self.lines += 1;
        let word_behind = |mark: &str| {
            let rest = text.split_once(mark)?.1.trim_start();
            let word = rest.split([' ', ',', ')']).next()?;
            (!word.is_empty()).then(|| word.trim_end_matches('.').to_owned())
        };
        let version = word_behind("API server version").or_else(|| word_behind("LLM engine (v"));
        self.say("version", version.map(Value::Text), line);
        let count = |mark| word_behind(mark).and_then(|word| number(&word)).map(Value::Count);
        self.say("tensor-parallel-size", count("tensor_parallel_size="), line);
        self.say("pipeline-parallel-size", count("pipeline_parallel_size="), line);
        if text.contains(" is assigned as DP rank ") {
            self.say("world-size", count("in world size"), line);
        }
        if text.starts_with("Custom allreduce is disabled") {
            self.say("custom-all-reduce", Some(Value::Flag(false)), line);
            self.say("why-not", Some(Value::Text(text.to_owned())), line);
        }
        for (name, mark) in [
            ("prompt-throughput", "Avg prompt throughput:"),
            ("generation-throughput", "Avg generation throughput:"),
        ] {
            let figure = word_behind(mark).map(Value::Text);
            self.say(name, figure, line);
        }
    }

    fn say(&mut self, name: &str, value: Option<Value>, line: u32) {
        if let Some(value) = value.filter(|_| self.record.get(name).is_none()) {
            self.record.push(name, value, line);
        }
    }

    fn record(self) -> Option<Record> {
        let Self { mut record, lines } = self;
        (lines > 0).then(|| {
            let line = record.line;
            record.push("lines", Value::Count(lines), line);
            record
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;

    fn records(text: &str) -> Vec<Record> {
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("a report") };
        report.records.clone()
    }

    #[test]
    fn a_server_says_its_version_and_size_and_the_benchmark_its_rates() {
        let found = records(include_str!("../../../examples/formats/vllm-log/serve.txt"));
        let [server, one, two] = &found[..] else { panic!("{found:?}") };
        assert_eq!((server.text("version"), server.count("tensor-parallel-size")), (Some("0.9.1"), Some(2)));
        assert_eq!((server.count("world-size"), server.count("lines")), (Some(2), Some(6)));
        assert_eq!(server.get("custom-all-reduce"), Some(&Value::Flag(false)));
        assert_eq!(server.text("generation-throughput"), Some("74.3"));
        assert_eq!(one.text("output-token-throughput-tok-s"), Some("71.94"));
        assert_eq!((one.count("successful-requests"), two.text("mean-ttft-ms")), (Some(1), Some("310.00")));
    }

    #[test]
    fn logs_of_other_programs_are_not_claimed() {
        let text = "INFO 07-19 20:11:11 [train.py:16] epoch 1\n";
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        assert!(reading.evidence.is_empty());
    }
}
