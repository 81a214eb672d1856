//! Writing to the two streams. A reader that went away (`| head`) is no error.

use std::io::{self, ErrorKind, Write};

use crate::exit::Exit;

/// Writes `text` to standard output, with its styles if that is a terminal and the user wants colours.
pub fn text(text: &str) -> Exit {
    ended(anstream::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()))
}

/// Writes `bytes` to standard output as they are.
pub fn bytes(bytes: &[u8]) -> Exit {
    let mut stdout = io::stdout().lock();
    ended(stdout.write_all(bytes).and_then(|()| stdout.flush()))
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
