//! Which glibc a binary needs: the newest symbol version that it asks for.

use std::path::Path;

use anyhow::{Context, Result, bail};
use object::elf::{FileHeader64, SHT_GNU_VERNEED};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

/// RHEL 8, Debian 10 and everything later.
const NEWEST: (u32, u32) = (2, 28);
/// A binary that operators copy around stays small.
const BYTES_MAX: u64 = 20_000_000;
/// Libraries that every glibc system has.
const LIBRARIES: [&str; 8] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libgcc_s.so.1",
    "libutil.so.1",
    "ld-linux-x86-64.so.2",
];

/// A library that a binary needs, and the versions of its symbols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed {
    library: String,
    versions: Vec<String>,
}

/// Prints what `path` needs; whether that is old and small enough.
pub fn run(path: &Path) -> Result<bool> {
    let bytes = std::fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
    let needed = needed(&bytes).with_context(|| format!("failed to read {} as ELF", path.display()))?;
    let newest = newest(&needed).map_or("none".to_owned(), |(major, minor)| format!("{major}.{minor}"));
    println!("{}: glibc {newest} (at most {}.{})", path.display(), NEWEST.0, NEWEST.1);
    let size = bytes.len() as u64;
    println!("{}: {size} bytes (at most {BYTES_MAX})", path.display());
    let complaints = complaints(&needed, size);
    for complaint in &complaints {
        println!("{}: {complaint}", path.display());
    }
    Ok(complaints.is_empty())
}

fn complaints(needed: &[Needed], size: u64) -> Vec<String> {
    let mut found = Vec::new();
    for needed in needed {
        if !LIBRARIES.contains(&needed.library.as_str()) {
            found.push(format!("needs the library {}, which not every system has", needed.library));
        }
        let too_new =
            needed.versions.iter().filter(|version| glibc(version).is_some_and(|found| found > NEWEST));
        found.extend(too_new.map(|version| format!("needs {version} of {}", needed.library)));
    }
    if size > BYTES_MAX {
        found.push(format!("has more than {BYTES_MAX} bytes"));
    }
    found
}

fn newest(needed: &[Needed]) -> Option<(u32, u32)> {
    needed.iter().flat_map(|needed| needed.versions.iter().filter_map(|version| glibc(version))).max()
}

/// (2, 17) of `GLIBC_2.17`; `None` for versions of other libraries.
fn glibc(version: &str) -> Option<(u32, u32)> {
    let (major, rest) = version.strip_prefix("GLIBC_")?.split_once('.')?;
    Some((major.parse().ok()?, rest.split('.').next()?.parse().ok()?))
}

/// What the dynamic section of an x86-64 binary asks for; nothing for a static one.
fn needed(bytes: &[u8]) -> Result<Vec<Needed>> {
    let header = FileHeader64::<Endianness>::parse(bytes).context("not a 64-bit ELF file")?;
    let endian = header.endian()?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        bail!("not for x86-64");
    }
    let sections = header.sections(endian, bytes)?;
    let mut found = Vec::new();
    for section in sections.iter().filter(|section| section.sh_type(endian) == SHT_GNU_VERNEED) {
        let Some((mut libraries, link)) = section.gnu_verneed(endian, bytes)? else { continue };
        let strings = sections.strings(endian, bytes, link)?;
        let name = |at| strings.get(at).map(|name| String::from_utf8_lossy(name).into_owned());
        while let Some((library, mut versions)) = libraries.next()? {
            let mut needed =
                Needed { library: text(name(library.vn_file.get(endian)))?, versions: Vec::new() };
            while let Some(version) = versions.next()? {
                needed.versions.push(text(name(version.vna_name.get(endian)))?);
            }
            found.push(needed);
        }
    }
    Ok(found)
}

fn text(name: std::result::Result<String, ()>) -> Result<String> {
    name.map_err(|()| anyhow::anyhow!("a name outside the string table"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(name: &str, versions: &[&str]) -> Needed {
        let versions = versions.iter().map(|version| (*version).to_owned()).collect();
        Needed { library: name.to_owned(), versions }
    }

    #[test]
    fn a_newer_glibc_a_strange_library_and_a_big_file_are_found() {
        let good = library("libc.so.6", &["GLIBC_2.2.5", "GLIBC_2.28"]);
        assert_eq!(complaints(std::slice::from_ref(&good), BYTES_MAX).len(), 0);
        assert_eq!(newest(&[good]), Some((2, 28)));
        assert_eq!(complaints(&[library("libc.so.6", &["GLIBC_2.34"])], 0).len(), 1);
        assert_eq!(complaints(&[library("libssl.so.3", &["OPENSSL_3.0.0"])], 0).len(), 1);
        assert_eq!(complaints(&[], BYTES_MAX + 1).len(), 1);
    }

    #[test]
    fn this_test_itself_asks_for_glibc() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needed = needed(&bytes).unwrap();
        assert!(needed.iter().any(|needed| needed.library == "libc.so.6"), "{needed:?}");
        assert!(newest(&needed).is_some_and(|newest| newest >= (2, 2)));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(needed(b"#!/bin/sh\n").is_err());
        assert!(needed(&[]).is_err());
    }
}
