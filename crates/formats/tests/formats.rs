//! What holds for every format of the list: it has examples, recognises them among all formats, and survives
//! whatever happens to them. `examples/formats/<name>/` holds them.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use weft_base::Severity;
use weft_catalogue::Catalogue;
use weft_formats::{FORMATS, Format, Overrides, Source, join, read};

/// More are run by setting `PROPTEST_CASES`.
const CASES: u32 = 8;

fn folder(format: &dyn Format) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/formats")).join(format.name())
}

fn examples(format: &dyn Format) -> Vec<Source> {
    files(&folder(format))
}

/// All files of a folder, as the program would get them.
#[expect(clippy::disallowed_methods, reason = "tests read examples from disk")]
fn files(folder: &Path) -> Vec<Source> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    let source = |path: &PathBuf| {
        let bytes = fs::read(path).ok()?;
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some(of_bytes(name, bytes))
    };
    paths.iter().filter_map(source).collect()
}

fn of_bytes(name: String, bytes: Vec<u8>) -> Source {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let is_text = str::from_utf8(&bytes).is_ok() && !bytes.contains(&0);
    Source { bytes: if is_text { Vec::new() } else { bytes }, ..Source::file(name, text) }
}

/// Each line is in one part, so that none can be read twice.
fn assert_whole(source: &Source) {
    let lines = weft_formats::lines(source);
    let pieces = weft_formats::split(source, &lines);
    let mut numbers: Vec<u32> =
        pieces.iter().flat_map(|piece| piece.part.lines.iter().map(|line| line.number)).collect();
    numbers.sort_unstable();
    let all: Vec<u32> = lines.iter().map(|line| line.number).collect();
    assert_eq!(numbers, all, "{}", source.name);
}

#[test]
fn each_format_has_examples_that_it_alone_claims() {
    for format in FORMATS {
        let examples = examples(*format);
        assert!(!examples.is_empty(), "{} holds no file", folder(*format).display());
        for source in examples {
            let which = format!("{}/{}", format.name(), source.name);
            let reading = read(&source, Catalogue::embedded(), None);
            assert!(!reading.evidence.is_empty(), "{which}: {:#?}", reading.diagnostics);
            let bad = reading.diagnostics.iter().find(|finding| finding.severity == Severity::Error);
            assert!(bad.is_none(), "{which}: {bad:?}");
            if source.bytes.is_empty() {
                assert_whole(&source);
                let lines = weft_formats::lines(&source);
                let pieces = weft_formats::split(&source, &lines);
                let names: Vec<&str> = pieces.iter().filter_map(|piece| Some(piece.format?.name())).collect();
                assert!(names.iter().all(|name| *name == format.name()), "{which} is claimed by {names:?}");
                let forced = read(&source, Catalogue::embedded(), Some(format.name()));
                assert_eq!(forced.evidence, reading.evidence, "{which}");
            }
        }
    }
}

/// Behind a megabyte of other lines each format is still found.
#[test]
fn what_stands_far_down_is_found() {
    let far = "the quick brown fox jumps over the lazy dog, again and again\n".repeat(20_000);
    for format in FORMATS.iter().filter(|format| !format.marks().is_empty()) {
        let Some(source) = examples(*format).into_iter().find(|source| source.bytes.is_empty()) else {
            continue;
        };
        let source = Source::file(&source.name, format!("{far}{}", source.text));
        let lines = weft_formats::lines(&source);
        let pieces = weft_formats::split(&source, &lines);
        let names: Vec<&str> = pieces.iter().filter_map(|piece| Some(piece.format?.name())).collect();
        // Files of TOML are such a file as a whole or not at all.
        assert!(
            names.contains(&format.name()) || format.name() == "machine-file",
            "{}: {names:?}",
            format.name()
        );
    }
}

#[test]
fn names_and_marks_are_in_order() {
    let mut names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "two formats have one name");
    for format in FORMATS {
        assert!(!format.title().is_empty() && format.marks().iter().all(|mark| !mark.is_empty()));
    }
}

/// Deletes, cuts, doubles or moves a piece of the text.
fn damaged(bytes: &[u8], kind: usize, place: usize, length: usize) -> Vec<u8> {
    let (from, to) = (place.min(bytes.len()), (place + length).min(bytes.len()));
    match kind {
        0 => [&bytes[..from], &bytes[to..]].concat(),
        1 => bytes[..from].to_vec(),
        2 => bytes
            .iter()
            .enumerate()
            .filter(|(at, byte)| !(*at >= from && *at < to && **byte == b'\n'))
            .map(|(_, byte)| *byte)
            .collect(),
        3 => [&bytes[..to], &bytes[from..]].concat(),
        4 => bytes
            .iter()
            .enumerate()
            .map(|(at, byte)| if at >= from && at < to && byte.is_ascii_digit() { b'9' } else { *byte })
            .collect(),
        // Letters of several bytes, so that what is cut by bytes is found.
        5 => [&bytes[..from], "\u{1d4bd}\u{e9}".as_bytes(), &bytes[to..]].concat(),
        _ => [&bytes[..from], b"\nwhat is wrong with this machine?\n", &bytes[from..]].concat(),
    }
}

/// What once made a reader fail stays mended.
#[test]
fn regressions_stay_mended() {
    for format in FORMATS {
        let found = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/regressions"));
        for source in files(&found.join(format.name())) {
            for forced in [None, Some(format.name())] {
                let reading = read(&source, Catalogue::embedded(), forced);
                assert!(!reading.evidence.is_empty() || reading.failed(), "{}", source.name);
                let (_, _) = join(reading.evidence, &Overrides::default(), Catalogue::embedded());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn damaged_examples_are_survived(
        damage in prop::collection::vec((0usize..7, any::<prop::sample::Index>(), 1usize..60), 1..6),
        choice in any::<prop::sample::Index>(),
    ) {
        for format in FORMATS {
            let examples = examples(*format);
            prop_assume!(!examples.is_empty());
            let example = &examples[choice.index(examples.len())];
            let mut bytes =
                if example.bytes.is_empty() { example.text.clone().into_bytes() } else { example.bytes.clone() };
            for (kind, place, length) in &damage {
                bytes = damaged(&bytes, *kind, place.index(bytes.len() + 1), *length);
            }
            let source = of_bytes(example.name.clone(), bytes);
            for forced in [None, Some(format.name())] {
                let reading = read(&source, Catalogue::embedded(), forced);
                prop_assert!(!reading.evidence.is_empty() || reading.failed(), "{}", source.text);
                let (_, _) = join(reading.evidence, &Overrides::default(), Catalogue::embedded());
            }
            assert_whole(&source);
        }
    }
}
