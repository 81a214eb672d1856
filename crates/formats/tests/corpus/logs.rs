//! Logs of NCCL and RCCL. The notes were made by searching lines for words; where that differs from what a reader
//! should find, a general rule says so here.

use toml::Value;
use weft_base::Rate;
use weft_formats::{Evidence, Gdr, NcclLog, Reading};
use weft_testkit::noted::{self, Noted};

use crate::reading;

/// Whether a file is of this topic: a log, or lines of the library among the benchmarks.
pub fn is_own(file: &Noted) -> bool {
    file.kind == "F" || file.is_of(&["NCCL WARN", "NCCL graph log"])
}

/// What differs from the notes of a log.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    is_own(file).then(|| {
        let mut misses = differences(file, &log(reading));
        misses.extend(result(file, reading));
        misses
    })
}

/// The last line with a bus bandwidth was noted, as `busbw: 997.0682  Gbps`.
fn result(file: &Noted, reading: &Reading) -> Option<String> {
    let noted = file.expected.get("result")?.as_str()?;
    let gigabits: f64 = noted.split_whitespace().nth(1)?.parse().ok()?;
    let wanted = Some(Rate::from_gigabytes(gigabits / 8.0));
    let found = reading.evidence.iter().find_map(|evidence| {
        let Evidence::Benchmark(table) = &evidence.value else { return None };
        table.rows.last()?.busbw
    });
    (found != wanted).then(|| format!("result: wanted {noted}, found {found:?}"))
}

fn log(reading: &Reading) -> NcclLog {
    let log = reading.evidence.iter().find_map(|evidence| {
        let Evidence::Log(log) = &evidence.value else { return None };
        Some((**log).clone())
    });
    log.unwrap_or_default()
}

/// What is not as the notes say.
fn differences(file: &Noted, log: &NcclLog) -> Vec<String> {
    let mut misses = Vec::new();
    let mut compare = |what: &str, wanted: Option<String>, found: String| {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            misses.push(format!("{what}: wanted {wanted}, found {found}"));
        }
    };
    let number = |key: &str| file.count(key).map(|number| number.to_string());
    let list = |key: &str| file.words(key).map(|words| format!("{words:?}"));
    // Lines with `NCCL INFO` were counted.
    compare("lines", number("lines"), log.info_lines.to_string());
    compare("trees", number("trees"), log.tree_lines.to_string());
    compare("patterns", number("patterns"), log.searches.iter().map(|it| it.count).sum::<u32>().to_string());
    // Lines with `Channel 00/0 :` were counted, be they rings or connections.
    let connected: u32 = log.transports.iter().map(weft_formats::Transport::lines).sum();
    compare("rings", number("rings"), (log.ring_lines + connected).to_string());
    // `NCCL version` was looked for, which RCCL does not write.
    let versions: Vec<&str> =
        log.versions.iter().filter(|it| it.library == "nccl").map(|it| it.version.as_str()).collect();
    compare("version", list("version"), format!("{versions:?}"));
    let networks: Vec<&str> = log.networks.iter().map(|it| it.text.as_str()).collect();
    compare("net", list("net"), format!("{networks:?}"));
    let mut sizes: Vec<u32> = log.communicators.iter().map(|it| it.ranks).collect();
    sizes.sort_unstable();
    sizes.dedup();
    compare("nranks", list("nranks"), format!("{:?}", sizes.iter().map(u32::to_string).collect::<Vec<_>>()));
    compare(
        "gdr",
        file.expected.get("gdr").and_then(Value::as_bool).map(|gdr| gdr.to_string()),
        used(log).to_string(),
    );
    compare("transports", list("transports"), format!("{:?}", transports(file, log)));
    let mut channels: Vec<String> = log.channels.iter().map(|it| it.collective.to_string()).collect();
    channels.dedup();
    compare("channels", number("channels"), channels.join(" "));
    compare("channels", list("channels"), format!("{channels:?}"));
    let error = log.problems.iter().find_map(|problem| problem.status);
    compare("error", number("error"), format!("{}", error.unwrap_or(0)));
    let vendor = log.problems.iter().find_map(|problem| problem.vendor_error);
    compare("vendor_err", number("vendor_err"), format!("{}", vendor.unwrap_or(0)));
    misses
}

/// In the notes a name ends at its blank where it has one, except in the name of a network.
fn transports(file: &Noted, log: &NcclLog) -> Vec<String> {
    let wanted = file.words("transports").unwrap_or_default();
    let cut = |name: &String| match name.split_once(' ') {
        Some((first, _)) if !wanted.contains(name) => first.to_owned(),
        _ => name.clone(),
    };
    let mut names: Vec<String> = log.transports.iter().map(|transport| cut(&transport.name)).collect();
    names.sort();
    names.dedup();
    names
}

fn used(log: &NcclLog) -> bool {
    matches!(log.gdr_in_use(), Gdr::Yes | Gdr::Some | Gdr::OneSided)
}

/// Benchmarks of the corpus that hold lines of the library too.
#[test]
fn log_lines_among_benchmarks_are_read() {
    let Some(files) = noted::files("E") else { return };
    let count = files.len();
    let all: Vec<(Noted, Reading)> = files.into_iter().map(|file| (file.clone(), reading(&file))).collect();
    let logs: Vec<&(Noted, Reading)> =
        all.iter().filter(|(_, reading)| log(reading) != NcclLog::default()).collect();
    let (vendor, read) = logs.iter().find(|(file, _)| file.expected.contains_key("vendor_err")).unwrap();
    assert_eq!(differences(vendor, &log(read)), Vec::<String>::new());
    println!("{} of {count} files hold lines of the library", logs.len());
    let hidden = |(_, reading): &&&(Noted, Reading)| {
        reading.diagnostics.iter().any(|finding| finding.code.name == "link-speed-hidden")
    };
    let fallen = log(&logs.iter().find(hidden).unwrap().1);
    // `bw 24.000000/12.000000, type LOC/PHB`
    let search = &fallen.searches[0];
    assert_eq!(
        (search.intra.unwrap().to_string(), search.inter.unwrap().to_string()),
        ("24 GB/s".into(), "12 GB/s".into())
    );
    assert_eq!((search.path_intra.as_str(), search.path_inter.as_str()), ("LOC", "PHB"));
    assert_eq!(fallen.systems[0].nodes.len(), 3);
}
