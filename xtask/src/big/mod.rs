//! Large inputs for measuring, made up: `cargo xtask big-log FILE 200MB`. The same size gives the same bytes.

mod log;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// Writes a job log of about `size` (`200MB`) to `path`.
pub fn log(path: &Path, size: &str) -> Result<bool> {
    let bytes = parse(size)?;
    let mut out = Counted { inner: BufWriter::new(File::create(path)?), bytes: 0 };
    log::write(&mut out, bytes)?;
    out.flush()?;
    println!("{}: {} bytes", path.display(), out.bytes);
    Ok(true)
}

/// `200MB`, `5kB`.
fn parse(size: &str) -> Result<u64> {
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &size[digits.len()..] {
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        other => anyhow::bail!("`{other}` is no unit of size: kB, MB or GB"),
    };
    let number: u64 = digits.parse().with_context(|| format!("`{digits}` is no number"))?;
    Ok(number.saturating_mul(unit))
}

/// A writer that knows how much was written.
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_the_log_is_as_long_as_asked_for() {
        assert_eq!(parse("200MB").unwrap(), 200_000_000);
        assert!(parse("200").is_err() && parse("MB").is_err());
        let mut out = Counted { inner: Vec::new(), bytes: 0 };
        log::write(&mut out, 6_000_000).unwrap();
        assert!((6_000_000..7_000_000).contains(&out.bytes), "{}", out.bytes);
        let text = String::from_utf8(out.inner).unwrap();
        assert!(text.contains("NCCL INFO Channel 15/0 : 511[7] -> 0[0] [send] via NET/IB/7/GDRDMA"));
        assert!(text.contains("# Avg bus bandwidth"));
    }
}
