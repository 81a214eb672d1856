//! How large a window into a function's memory could be.

use weft_base::Bytes;

use crate::files::Files;

/// The largest size of window `number`, from the bits of `resourceN_resize`: bit 0 is 1 MiB, each further one twice as
/// much.
pub(crate) fn largest(files: &dyn Files, path: &str, number: u8) -> Option<Bytes> {
    let bits = files.text(&format!("{path}/resource{number}_resize"))?;
    let bits = u64::from_str_radix(bits.trim_start_matches("0x"), 16).ok()?;
    1u64.checked_shl(bits.checked_ilog2()?)?.checked_mul(1 << 20).map(Bytes::new)
}
