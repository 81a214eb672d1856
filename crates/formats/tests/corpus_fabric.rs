//! The subnets of the shared corpus are read and hold what their notes say. The corpus lies beside the project;
//! without it this test says that it is skipped.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use weft_catalogue::Catalogue;
use weft_formats::{Evidence, Source, read};
use weft_testkit::corpus;
use weft_topology::{Subnet, SubnetNodeKind};

#[derive(Deserialize)]
struct Meta {
    format: String,
    file: String,
    #[serde(default)]
    expected: Expected,
}

#[derive(Deserialize, Default)]
struct Expected {
    switches: Option<usize>,
    cas: Option<usize>,
    link_lines: Option<usize>,
    speeds: Option<Vec<String>>,
}

/// What the notes say that is not so.
fn misses(subnet: &Subnet, expected: &Expected) -> Vec<String> {
    let listed = |kind| subnet.of_kind(kind).filter(|(_, node)| node.line != 0).count();
    let ends = || subnet.links.iter().flat_map(|link| [link.a, link.b]).filter(|end| end.line != 0);
    let speeds: BTreeSet<String> =
        ends().filter_map(|end| end.signalling).map(|runs| runs.to_string()).collect();
    let mut found = Vec::new();
    let mut compare = |what: &str, wanted: Option<usize>, is: usize| {
        found.extend(
            wanted.filter(|wanted| *wanted != is).map(|wanted| format!("{what}: {is}, wanted {wanted}")),
        );
    };
    compare("switches", expected.switches, listed(SubnetNodeKind::Switch));
    compare("adapters", expected.cas, listed(SubnetNodeKind::Adapter));
    compare("lines of ports", expected.link_lines, ends().count());
    if let Some(wanted) = &expected.speeds {
        let wanted: BTreeSet<String> = wanted.iter().cloned().collect();
        if wanted != speeds {
            found.push(format!("speeds: {speeds:?}, wanted {wanted:?}"));
        }
    }
    found
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests read the corpus from disk")]
fn subnets_hold_what_their_notes_say() {
    let folder: PathBuf = corpus::folder("D");
    let Ok(entries) = fs::read_dir(&folder) else {
        println!("skipped: no corpus at {}", folder.display());
        return;
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let (mut count, mut missed) = (0, Vec::new());
    for path in paths.iter().filter(|path| path.to_string_lossy().ends_with(".meta.toml")) {
        let meta: Meta = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        if !(meta.format.starts_with("ibnetdiscover") || meta.format.starts_with("ibsim")) {
            continue;
        }
        count += 1;
        let text = String::from_utf8_lossy(&fs::read(folder.join(&meta.file)).unwrap()).into_owned();
        let reading = read(&Source::file(&meta.file, text), Catalogue::embedded(), None);
        for finding in &reading.diagnostics {
            println!("{finding}");
        }
        let subnets: Vec<&Subnet> = reading
            .evidence
            .iter()
            .filter_map(|evidence| match &evidence.value {
                Evidence::Subnet(subnet) => Some(&**subnet),
                _ => None,
            })
            .collect();
        let [subnet] = subnets[..] else {
            missed.push(format!("{}: {} subnets", meta.file, subnets.len()));
            continue;
        };
        let differences = misses(subnet, &meta.expected);
        if !differences.is_empty() {
            missed.push(format!("{}: {}", meta.file, differences.join("; ")));
        }
    }
    println!("{} of {count} files", count - missed.len());
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
