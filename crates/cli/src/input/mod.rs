//! From a SOURCE of the command line to text. Each file is read once; nothing else touches the disk.

mod archive;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use weft_base::{Diagnostic, Place, nearest};
use weft_catalogue::Catalogue;
use weft_formats::Source;

use self::archive::Opened;
use crate::codes::{FILE_TOO_LARGE, FILE_UNREADABLE, INVALID_UTF8};
use crate::exit::{Exit, Failure};

/// The most that is read of one source.
const SIZE_MAX: u64 = 1 << 30;

/// A source and how it came to be read.
#[derive(Debug)]
pub struct Given {
    /// The text.
    pub source: Source,
    /// Whether it is one of many files of a folder, which need not all hold something.
    pub from_folder: bool,
    /// What is wrong with its bytes.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads what `argument` names: a file, every file of an archive or of a folder and of the folders in it, standard
/// input, or the argument itself.
pub fn read(argument: &OsStr, catalogue: &Catalogue) -> Result<Vec<Given>, Failure> {
    let name = argument.to_string_lossy().into_owned();
    if name == "-" {
        let bytes = limited(io::stdin().lock(), "-")?;
        return Ok(opened(&name, bytes, false));
    }
    let path = Path::new(argument);
    if path.is_dir() {
        return folder(path);
    }
    if path.exists() {
        return Ok(opened(&name, bytes_of(path)?, false));
    }
    if catalogue.system(&name).is_err() && looks_like_a_path(&name) {
        return Err(missing(path, &name, catalogue));
    }
    Ok(vec![Given { source: Source::argument(name), from_folder: false, diagnostics: Vec::new() }])
}

/// The files of `folder`, in order of their names; hidden files and folders below it are left alone.
pub fn folder_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_file()).collect())
}

/// What is in `folder` and not hidden, in order of the names.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let what = format!("read the folder {}", folder.display());
    #[expect(clippy::disallowed_methods, reason = "the command line is where folders are read")]
    let entries = fs::read_dir(folder).map_err(|error| unreadable(&what, folder, &error))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| !file_name(path).starts_with('.'))
        .collect();
    found.sort();
    Ok(found)
}

/// The bytes of a file, as text; wrong UTF-8 is replaced and diagnosed.
pub fn file(path: &Path, from_folder: bool) -> Result<Given, Failure> {
    Ok(decoded(&path.display().to_string(), bytes_of(path)?, from_folder))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = path.display().to_string();
    let opened = File::open(path).map_err(|error| unreadable(&format!("read {name}"), path, &error))?;
    if opened.metadata().is_ok_and(|metadata| metadata.len() > SIZE_MAX) {
        return Err(too_large(&name));
    }
    limited(opened, &name)
}

/// The file itself, or the files of the archive that it is.
fn opened(name: &str, bytes: Vec<u8>, from_folder: bool) -> Vec<Given> {
    match archive::open(name, bytes) {
        Opened::Plain(bytes) => vec![decoded(name, bytes, from_folder)],
        Opened::Files(mut files, findings) => {
            if files.is_empty() {
                // Someone has to say why nothing came.
                files.push(decoded(name, Vec::new(), from_folder));
            }
            for given in &mut files {
                given.from_folder |= from_folder;
            }
            if let Some(first) = files.first_mut() {
                first.diagnostics.extend(findings);
            }
            files
        }
    }
}

/// All files of a folder and of the folders in it, one level deep: `case/node-3/topo.txt`.
fn folder(path: &Path) -> Result<Vec<Given>, Failure> {
    let mut files = Vec::new();
    for entry in entries(path)? {
        if entry.is_file() {
            files.push(entry);
        } else if entry.is_dir() {
            files.extend(folder_files(&entry)?);
        }
    }
    if files.is_empty() {
        let why = Diagnostic::error(FILE_UNREADABLE, format!("the folder {} holds no file", path.display()))
            .hint("name a folder with the output of `nvidia-smi topo -m` in it");
        return Err(Failure::new(Exit::BadInput, format!("read the folder {}", path.display()), why));
    }
    let mut given = Vec::new();
    for file in files {
        given.extend(opened(&file.display().to_string(), bytes_of(&file)?, true));
    }
    Ok(given)
}

fn limited(reader: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    reader
        .take(SIZE_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&reading(name), Path::new(name), &error))?;
    if bytes.len() as u64 > SIZE_MAX {
        return Err(too_large(name));
    }
    Ok(bytes)
}

fn too_large(name: &str) -> Failure {
    let why = Diagnostic::error(FILE_TOO_LARGE, format!("{name} holds more than 1 GiB"))
        .hint("give only the part that describes the machine");
    Failure::new(Exit::BadInput, reading(name), why)
}

fn reading(name: &str) -> String {
    if name == "-" { "read standard input".to_owned() } else { format!("read {name}") }
}

fn decoded(name: &str, bytes: Vec<u8>, from_folder: bool) -> Given {
    let (text, diagnostics) = match String::from_utf8(bytes) {
        Ok(text) => (text, Vec::new()),
        Err(error) => {
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let finding = invalid_utf8(name, &text, error.utf8_error().valid_up_to());
            let source = Source { bytes: error.into_bytes(), ..Source::file(name, text) };
            return Given { source, from_folder, diagnostics: vec![finding] };
        }
    };
    let mut source = Source::file(name, text);
    if source.text.contains('\0') {
        source.bytes = source.text.clone().into_bytes();
    }
    Given { source, from_folder, diagnostics }
}

fn invalid_utf8(name: &str, text: &str, offset: usize) -> Diagnostic {
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let line = small(before.matches('\n').count() + 1);
    let column = small(before[start..].chars().count() + 1);
    let count = text.matches(char::REPLACEMENT_CHARACTER).count();
    let message = match count {
        1 => "a byte here is not UTF-8; it was read as an unknown character".to_owned(),
        _ => format!("{count} places from here on are not UTF-8; they were read as unknown characters"),
    };
    Diagnostic::warning(INVALID_UTF8, message).at(Place::new(name, line, column, 1))
}

/// A name with a separator, or one word with an extension; neither is a one-liner.
fn looks_like_a_path(name: &str) -> bool {
    let extension = Path::new(name).extension().is_some_and(|extension| {
        let plain = extension.to_string_lossy();
        (1..=5).contains(&plain.len()) && plain.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let one_word = !name.contains(|c: char| c.is_whitespace() || c == '@');
    one_word && (name.contains('/') || extension)
}

fn missing(path: &Path, name: &str, catalogue: &Catalogue) -> Failure {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let siblings: Vec<String> =
        folder_files(parent).unwrap_or_default().iter().map(|path| file_name(path)).collect();
    let near = nearest(&file_name(path), siblings.iter().map(String::as_str), 1);
    let system = nearest(name, catalogue.systems.iter().map(|system| system.name.as_str()), 1);
    let hint = match (near.first(), system.first()) {
        (Some(file), _) => format!("did you mean {}?", path.with_file_name(file).display()),
        (None, Some(system)) => format!("did you mean the system `{system}`?"),
        (None, None) if !parent.is_dir() => format!("there is no folder {}", parent.display()),
        (None, None) => {
            "a source is a file, a folder, `-`, a machine in one line or a system's name".to_owned()
        }
    };
    let why = Diagnostic::error(FILE_UNREADABLE, format!("there is no file {name}")).hint(hint);
    Failure::new(Exit::Environment, format!("read {name}"), why)
}

fn unreadable(what: &str, path: &Path, error: &io::Error) -> Failure {
    let why = Diagnostic::error(FILE_UNREADABLE, format!("cannot open {}: {error}", path.display()));
    Failure::new(Exit::Environment, what, why)
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_one_liners_and_systems() {
        for name in ["topo.txt", "./topo", "logs/topo", "/etc/passwd", "machine.toml"] {
            assert!(looks_like_a_path(name), "{name}");
        }
        for name in ["dgx-a100", "8 h100 @ nvswitch3(4)", "2 rtx-3090 @ pcie4x8 + nvlink-bridge", "-"] {
            assert!(!looks_like_a_path(name), "{name}");
        }
    }

    #[test]
    fn wrong_bytes_are_replaced_and_named() {
        let given = decoded("t", b"ab\ncd\xffef\xfe".to_vec(), false);
        assert_eq!(given.source.text, "ab\ncd\u{fffd}ef\u{fffd}");
        assert_eq!(given.diagnostics[0].place, Some(Place::new("t", 2, 3, 1)));
        assert!(given.diagnostics[0].message.starts_with("2 places"));
    }
}
