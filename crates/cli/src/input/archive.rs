//! Archives as if they were folders: unpacked in memory, bounded, nothing written to the disk. What an archive
//! says of paths, owners and links does no harm, since names are only shown.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use weft_base::{Diagnostic, Place};

use super::{Given, decoded};
use crate::codes::{ARCHIVE_DAMAGED, ARCHIVE_TOO_LARGE};

/// The most that an archive may hold, all files together.
const TOTAL_MAX: u64 = 1 << 30;
/// The most files that are read of one archive.
const FILES_MAX: usize = 4096;
/// Where a tar archive says that it is one.
const TAR_MARK: std::ops::Range<usize> = 257..262;

/// What became of bytes that may be an archive.
pub enum Opened {
    /// They are none.
    Plain(Vec<u8>),
    /// Its files, each named `archive:file`, and what is wrong with it.
    Files(Vec<Given>, Vec<Diagnostic>),
}

/// Opens `bytes` of a file called `name`: gzip, tar, or tar in gzip.
pub fn open(name: &str, bytes: Vec<u8>) -> Opened {
    if !is_gzip(&bytes) {
        return if is_tar(&bytes) { files(name, &bytes, Vec::new()) } else { Opened::Plain(bytes) };
    }
    let mut findings = Vec::new();
    let (inner, whole) = limited(MultiGzDecoder::new(bytes.as_slice()), TOTAL_MAX);
    match whole {
        Ok(true) => {}
        Ok(false) => findings.push(too_large(name)),
        Err(error) => findings.push(damaged(name, &error)),
    }
    if is_tar(&inner) {
        return files(name, &inner, findings);
    }
    let mut given = decoded(name, inner, false);
    given.diagnostics.extend(findings);
    Opened::Files(vec![given], Vec::new())
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b, 8])
}

fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(TAR_MARK) == Some(b"ustar")
}

/// The files of a tar archive, in its order; folders, links and hidden files are left alone.
fn files(name: &str, bytes: &[u8], mut findings: Vec<Diagnostic>) -> Opened {
    let mut given = Vec::new();
    let mut left = TOTAL_MAX;
    let mut archive = tar::Archive::new(bytes);
    let entries = match archive.entries() {
        Ok(entries) => entries,
        Err(error) => return Opened::Files(given, vec![damaged(name, &error)]),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                findings.push(damaged(name, &error));
                break;
            }
        };
        let path = shown(&entry.path_bytes());
        let is_hidden = path.split('/').any(|part| part.starts_with('.') && part != ".");
        if !entry.header().entry_type().is_file() || is_hidden {
            continue;
        }
        if given.len() == FILES_MAX || left == 0 {
            findings.push(too_large(name));
            break;
        }
        let (bytes, whole) = limited(entry, left);
        left -= bytes.len() as u64;
        // One file that is packed for itself, as logs are.
        let bytes =
            if is_gzip(&bytes) { limited(MultiGzDecoder::new(bytes.as_slice()), left).0 } else { bytes };
        given.push(decoded(&format!("{name}:{path}"), bytes, true));
        match whole {
            Ok(true) => {}
            Ok(false) => findings.push(too_large(name)),
            Err(error) => {
                findings.push(damaged(name, &error));
                break;
            }
        }
    }
    Opened::Files(given, findings)
}

/// A path for readers: no control characters, no `./` in front.
fn shown(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    let text: String =
        text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    text.trim_start_matches("./").to_owned()
}

/// At most `most` bytes, whatever sizes the archive claims, and whether that is all.
fn limited(reader: impl Read, most: u64) -> (Vec<u8>, io::Result<bool>) {
    let mut bytes = Vec::new();
    let read = reader.take(most.saturating_add(1)).read_to_end(&mut bytes);
    let whole = bytes.len() as u64 <= most;
    bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    (bytes, read.map(|_| whole))
}

fn damaged(name: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::warning(
        ARCHIVE_DAMAGED,
        format!("{name} is cut or damaged ({error}); what came before was read"),
    )
    .hint("copy it again in binary mode")
    .at(Place::new(name, 1, 1, 0))
}

fn too_large(name: &str) -> Diagnostic {
    let message = format!("{name} holds more than 1 GiB or {FILES_MAX} files; the rest was not read");
    Diagnostic::warning(ARCHIVE_TOO_LARGE, message).hint("unpack it, and give the files that matter")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, bytes) in files {
            let mut header = tar::Header::new_ustar();
            // As a hostile archive would have it; the builder itself refuses such paths.
            header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, *bytes).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn names(opened: &Opened) -> Vec<(&str, &str)> {
        let Opened::Files(files, _) = opened else { return Vec::new() };
        files.iter().map(|given| (given.source.name.as_str(), given.source.text.as_str())).collect()
    }

    #[test]
    fn files_are_named_by_their_archive_and_hidden_ones_left() {
        let tar =
            tar_of(&[("./a.txt", b"one"), ("dir/b.txt", b"two"), (".hidden", b"x"), ("../../etc/x", b"y")]);
        let wanted = [("c.tgz:a.txt", "one"), ("c.tgz:dir/b.txt", "two")];
        assert_eq!(names(&open("c.tgz", packed(&tar))), wanted);
        assert_eq!(names(&open("c.tgz", tar)), wanted);
    }

    #[test]
    fn one_packed_file_is_that_file_and_other_bytes_are_plain() {
        assert_eq!(names(&open("log.gz", packed(b"text"))), [("log.gz", "text")]);
        assert!(matches!(open("topo.txt", b"\tGPU0".to_vec()), Opened::Plain(_)));
    }

    #[test]
    fn a_cut_archive_keeps_what_came_before_and_says_so() {
        let noise: Vec<u8> =
            (0..20_000u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let bytes = packed(&tar_of(&[("a.txt", b"one"), ("b.bin", &noise)]));
        let Opened::Files(files, findings) = open("c.tgz", bytes[..bytes.len() / 2].to_vec()) else {
            panic!("plain")
        };
        assert_eq!(files[0].source.text, "one");
        assert!(findings.iter().any(|finding| finding.code.name == "archive-damaged"), "{findings:?}");
    }

    #[test]
    fn sizes_that_lie_cost_no_memory() {
        let mut tar = tar_of(&[("a.txt", b"one")]);
        tar[124..136].copy_from_slice(b"77777777777\0");
        // The checksum no longer holds, so nothing is read; and with it made to hold, only what is there.
        assert!(names(&open("c.tar", tar.clone())).is_empty());
        let mut header = tar::Header::from_byte_slice(&tar[..512]).clone();
        header.set_cksum();
        tar[..512].copy_from_slice(header.as_bytes());
        let Opened::Files(files, findings) = open("c.tar", tar) else { panic!("plain") };
        assert!(files.len() <= 1 && !findings.is_empty(), "{findings:?}");
    }

    #[test]
    fn more_files_than_are_read_are_counted_out() {
        let names: Vec<String> = (0..=FILES_MAX).map(|number| format!("{number}.txt")).collect();
        let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
        let Opened::Files(files, findings) = open("c.tar", tar_of(&many)) else { panic!("plain") };
        let codes: Vec<&str> = findings.iter().map(|finding| finding.code.name).collect();
        assert_eq!((files.len(), codes), (FILES_MAX, vec!["archive-too-large"]));
    }
}
