#![no_main]

// One target for all readers, so that adding a format touches no file here: `WEFT_FORMAT` names the one that is
// forced; without it, whichever fits is taken, as with a paste.
use std::sync::LazyLock;

#[expect(clippy::disallowed_methods, reason = "the environment names the reader")]
static FORMAT: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("WEFT_FORMAT").ok());

libfuzzer_sys::fuzz_target!(|data: &[u8]| weft_fuzz::run(FORMAT.as_deref(), data));
