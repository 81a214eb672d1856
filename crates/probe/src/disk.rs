//! The files of this machine.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::files::{Files, absolute};

/// The most that is read of a file; those of drivers are pages.
const SIZE_MAX: u64 = 1 << 22;

/// The files of this machine, as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Files for Disk {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(SIZE_MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn list(&self, path: &str) -> Vec<String> {
        #[expect(clippy::disallowed_methods, reason = "the probe is where this machine's folders are listed")]
        let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        let mut names: Vec<String> = entries.filter_map(|entry| name(entry.ok()?)).collect();
        names.sort();
        names
    }

    fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(Path::new(path)).ok()?;
        Some(absolute(path, target.to_str()?))
    }
}
