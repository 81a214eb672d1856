//! Logs of NCCL and RCCL from the shared corpus: what its notes say must be found. The notes were made by
//! searching lines for words; where that differs from what a reader should find, a general rule says so here.

use std::fs;
use std::path::PathBuf;

use toml::{Table, Value};
use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Gdr, NcclLog, Reading, Source, read};

struct Case {
    name: String,
    expected: Table,
    reading: Reading,
}

/// Files of `kind` whose notes say what to expect; `None` where the corpus is absent.
#[expect(clippy::disallowed_methods, reason = "tests read the corpus from disk")]
fn cases(kind: &str) -> Option<Vec<Case>> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")).join(kind);
    let mut notes: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    notes.retain(|path| path.to_string_lossy().ends_with(".meta.toml"));
    notes.sort();
    let case = |path: PathBuf| {
        let notes: Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        let name = notes["file"].as_str().unwrap().to_owned();
        let text = String::from_utf8_lossy(&fs::read(path.with_file_name(&name)).unwrap()).into_owned();
        let reading = read(&Source::file(&name, text), Catalogue::embedded(), None);
        let expected = notes.get("expected").and_then(Value::as_table).cloned().unwrap_or_default();
        Case { name, expected, reading }
    };
    Some(notes.into_iter().map(case).collect())
}

impl Case {
    fn log(&self) -> NcclLog {
        let log = self.reading.evidence.iter().find_map(|evidence| {
            let Evidence::Log(log) = &evidence.value else { return None };
            Some((**log).clone())
        });
        log.unwrap_or_default()
    }

    fn words(&self, key: &str) -> Option<Vec<String>> {
        let list = self.expected.get(key)?.as_array()?;
        let word = |value: &Value| {
            let number = || value.as_integer().map_or_else(String::new, |number| number.to_string());
            value.as_str().map_or_else(number, str::to_owned)
        };
        Some(list.iter().map(word).collect())
    }

    fn number(&self, key: &str) -> Option<u32> {
        u32::try_from(self.expected.get(key)?.as_integer()?).ok()
    }

    /// What is not as the notes say.
    fn misses(&self) -> Vec<String> {
        let log = self.log();
        let mut misses = Vec::new();
        let mut compare = |what: &str, wanted: Option<String>, found: String| {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
                misses.push(format!("{}: {what}: wanted {wanted}, found {found}", self.name));
            }
        };
        let number = |key: &str| self.number(key).map(|number| number.to_string());
        let list = |key: &str| self.words(key).map(|words| format!("{words:?}"));
        // Lines with `NCCL INFO` were counted.
        compare("lines", number("lines"), log.info_lines.to_string());
        compare("trees", number("trees"), log.tree_lines.to_string());
        compare(
            "patterns",
            number("patterns"),
            log.searches.iter().map(|it| it.count).sum::<u32>().to_string(),
        );
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
        compare(
            "nranks",
            list("nranks"),
            format!("{:?}", sizes.iter().map(u32::to_string).collect::<Vec<_>>()),
        );
        compare(
            "gdr",
            self.expected.get("gdr").and_then(Value::as_bool).map(|gdr| gdr.to_string()),
            used(&log).to_string(),
        );
        compare("transports", list("transports"), format!("{:?}", self.transports(&log)));
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
    fn transports(&self, log: &NcclLog) -> Vec<String> {
        let wanted = self.words("transports").unwrap_or_default();
        let cut = |name: &String| match name.split_once(' ') {
            Some((first, _)) if !wanted.contains(name) => first.to_owned(),
            _ => name.clone(),
        };
        let mut names: Vec<String> = log.transports.iter().map(|transport| cut(&transport.name)).collect();
        names.sort();
        names.dedup();
        names
    }
}

fn used(log: &NcclLog) -> bool {
    matches!(log.gdr_in_use(), Gdr::Yes | Gdr::Some | Gdr::OneSided)
}

#[test]
fn logs_of_the_corpus_are_read() {
    let Some(cases) = cases("F") else {
        println!("skipped: there is no corpus");
        return;
    };
    let misses: Vec<Vec<String>> = cases.iter().map(Case::misses).collect();
    let passed = misses.iter().filter(|misses| misses.is_empty()).count();
    println!("{passed} of {} files", cases.len());
    assert!(passed == cases.len(), "{:#?}", misses.concat());
}

/// Benchmarks of the corpus that hold lines of the library too.
#[test]
fn log_lines_among_benchmarks_are_read() {
    let Some(cases) = cases("E") else { return };
    let logs: Vec<&Case> = cases.iter().filter(|case| case.log() != NcclLog::default()).collect();
    let vendor = logs.iter().find(|case| case.expected.contains_key("vendor_err")).unwrap();
    assert_eq!(vendor.misses(), Vec::<String>::new());
    println!("{} of {} files hold lines of the library", logs.len(), cases.len());
    let hidden = |case: &&&Case| {
        case.reading.diagnostics.iter().any(|finding| finding.code.name == "link-speed-hidden")
    };
    let fallen = logs.iter().find(hidden).unwrap().log();
    // `bw 24.000000/12.000000, type LOC/PHB`
    let search = &fallen.searches[0];
    assert_eq!(
        (search.intra.unwrap().to_string(), search.inter.unwrap().to_string()),
        ("24 GB/s".into(), "12 GB/s".into())
    );
    assert_eq!((search.path_intra.as_str(), search.path_inter.as_str()), ("LOC", "PHB"));
    assert_eq!(fallen.systems[0].nodes.len(), 3);
}
