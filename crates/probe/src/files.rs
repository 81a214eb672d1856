//! Files as a probe sees them: read whole, folders listed, links followed by hand.

use std::collections::BTreeMap;

/// Where a probe reads. Paths are absolute; whatever cannot be read is `None` or empty, since drivers differ in what
/// they show and to whom.
pub trait Files {
    /// The bytes of a file.
    fn bytes(&self, path: &str) -> Option<Vec<u8>>;
    /// The names in a folder, sorted.
    fn list(&self, path: &str) -> Vec<String>;
    /// What a symbolic link points to, as an absolute path.
    fn link(&self, path: &str) -> Option<String>;

    /// The text of a file without the line break at its end.
    fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        let text = String::from_utf8_lossy(&bytes).trim_matches(['\0', '\n', ' ']).to_owned();
        Some(text).filter(|text| !text.is_empty())
    }

    /// The last part of what a link points to: the name of a driver or of a group.
    fn link_name(&self, path: &str) -> Option<String> {
        self.link(path)?.rsplit('/').next().map(str::to_owned)
    }
}

/// Files that were captured, or made up, as text.
///
/// One a line: `PATH = TEXT`, where `\n` and `\t` stand for a line break and a tab; `PATH -> TARGET` for a link;
/// `PATH : 86 80 @100 0d …` for bytes, where `@100` goes on at that offset in hexadecimal. Blank lines and lines with `#` in front say nothing.
#[derive(Debug, Clone, Default)]
pub struct Captured {
    files: BTreeMap<String, Vec<u8>>,
    links: BTreeMap<String, String>,
}

impl Captured {
    /// Reads the form above; lines of any other form are left out.
    pub fn parse(text: &str) -> Self {
        let mut captured = Self::default();
        for line in text.lines().map(str::trim).filter(|line| line.starts_with('/')) {
            if let Some((path, target)) = line.split_once(" -> ") {
                captured.links.insert(path.to_owned(), absolute(path, target));
            } else if let Some((path, text)) = line.split_once(" = ") {
                let text = text.replace("\\n", "\n").replace("\\t", "\t");
                captured.files.insert(path.to_owned(), text.into_bytes());
            } else if let Some((path, bytes)) = line.split_once(" : ") {
                captured.files.insert(path.to_owned(), bytes_of(bytes));
            }
        }
        captured
    }
}

impl Files for Captured {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.files.get(path).cloned()
    }

    fn list(&self, path: &str) -> Vec<String> {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let inside = |known: &String| {
            let rest = known.strip_prefix(&folder)?;
            rest.split('/').next().map(str::to_owned)
        };
        let mut names: Vec<String> = self.files.keys().chain(self.links.keys()).filter_map(inside).collect();
        names.sort();
        names.dedup();
        names
    }

    fn link(&self, path: &str) -> Option<String> {
        self.links.get(path).cloned()
    }
}

/// Bytes in hexadecimal, with zeros up to each offset.
fn bytes_of(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        match word.strip_prefix('@') {
            Some(offset) => {
                // Configuration space ends there.
                let offset = usize::from_str_radix(offset, 16).unwrap_or(0).min(0x1000);
                bytes.resize(offset.max(bytes.len()), 0);
            }
            None => bytes.extend(u8::from_str_radix(word, 16).ok()),
        }
    }
    bytes
}

/// `target` as seen from the folder that `path` is in.
pub(crate) fn absolute(path: &str, target: &str) -> String {
    if target.starts_with('/') {
        return target.to_owned();
    }
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_files_are_read_like_a_disk() {
        let files = Captured::parse("# made up\n/a/b = x\\ny\n/a/c/d : 01 @3 ff\n/a/e -> ../f/g\nno path\n");
        assert_eq!(files.text("/a/b").as_deref(), Some("x\ny"));
        assert_eq!(files.bytes("/a/c/d"), Some(vec![1, 0, 0, 255]));
        assert_eq!(files.list("/a"), ["b", "c", "e"]);
        assert_eq!(files.link("/a/e").as_deref(), Some("/f/g"));
        assert_eq!(files.link_name("/a/e").as_deref(), Some("g"));
        assert_eq!((files.bytes("/a"), files.link("/a/b")), (None, None));
    }
}
