//! Limits of this process and this machine, as errors that say what helps.

use std::io;

use rustix::process::{Resource, getrlimit};

use crate::Fault;

/// What an error means if it is that no more files may be open.
pub(crate) fn of_files(error: &io::Error) -> Option<Fault> {
    let how = match error.raw_os_error() {
        Some(libc::EMFILE) => {
            let limit = getrlimit(Resource::Nofile);
            let number =
                |limit: Option<u64>| limit.map_or_else(|| "any number".to_owned(), |it| it.to_string());
            format!(
                "{error}: this process may have {} open; a group needs one for each other rank, and one more for each \
                 channel to it: raise the limit by `ulimit -n`, up to {} without being the superuser",
                number(limit.current),
                number(limit.maximum)
            )
        }
        Some(libc::ENFILE) => format!("{error}: this machine has no more; see fs.file-max"),
        _ => return None,
    };
    Some(Fault::Lacking { what: "file descriptors", how })
}

/// What helps where memory for all to share is refused.
pub(crate) fn of_memory(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::ENOMEM | libc::EDQUOT) => {
            "; the memory of the machine or of the container (`--memory`, cgroup memory.max) is used up: give it more, \
             or use TCP"
        }
        Some(libc::EFBIG) => "; the size of files is limited: `ulimit -f unlimited`",
        Some(libc::EMFILE | libc::ENFILE) => "; too many files are open: see `ulimit -n`",
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => "; a sandbox may forbid it: permit it, or use TCP",
        _ => "",
    }
}
