//! Writing to the two streams. A reader that went away (`| head`) is no error.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use weft_base::Diagnostic;

use crate::codes::FILE_UNWRITABLE;
use crate::exit::{Exit, Failure};

/// Writes `text` to standard output, with its styles if that is a terminal and the user wants colours.
pub fn text(text: &str) -> Exit {
    ended(anstream::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()))
}

/// Writes `bytes` to standard output as they are.
pub fn bytes(bytes: &[u8]) -> Exit {
    let mut stdout = io::stdout().lock();
    ended(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Writes `bytes` to a file that the user named.
#[expect(clippy::disallowed_methods, reason = "the command line is where files are written")]
pub fn file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|error| {
        let name = path.display();
        let why = Diagnostic::error(FILE_UNWRITABLE, format!("{name}: {error}"));
        Failure::new(
            Exit::Environment,
            format!("write {name}"),
            why.hint("name a file in a folder that exists"),
        )
    })
}

/// Writes `text` to standard error; there is no one left to tell if that fails.
pub fn talk(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

fn ended(result: io::Result<()>) -> Exit {
    match result {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            talk(&format!("weft: failed to write the output: {error}\n"));
            Exit::Environment
        }
    }
}
