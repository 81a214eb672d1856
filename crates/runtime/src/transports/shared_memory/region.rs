//! The file that the ranks of a group share.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use rustix::fs::{
    FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
    open,
};
use rustix::process::{Resource, getrlimit};

use super::Settings;
use super::layout::{LINE, Layout, MAGIC, PAGE, RANKS, RANKS_MOST, RING};
use super::mapping::Mapping;
use crate::Fault;

/// Of this layout of the file: "weft" and a number that changes with it.
const OURS: u64 = 0x7765_6674_0000_0002;

/// Memory that the ranks of one group share. It has no name and takes no place in `/dev/shm`: it is gone once all who
/// have it are gone, however they end.
#[derive(Debug, Clone)]
pub struct Region {
    pub(super) file: Arc<OwnedFd>,
    pub(super) layout: Layout,
}

/// What else a file is.
fn not_ours(magic: u64) -> String {
    let (weft, version) = (magic >> 32, magic & 0xffff_ffff);
    if weft == OURS >> 32 {
        format!(
            "the file is a region of layout {version}, and this version of Weftwork has layout {}",
            OURS & 0xffff_ffff
        )
    } else {
        "the file is no region of Weftwork".to_owned()
    }
}

/// This machine has not what shared memory needs.
pub(super) fn lacking(tried: &str, error: impl Into<io::Error>) -> Fault {
    let error = error.into();
    let help = crate::limits::of_memory(&error);
    Fault::Lacking { what: "shared memory", how: format!("{tried}: {error}{help}") }
}

impl Region {
    /// Makes one for so many ranks. [`Fault::Lacking`] says what the system refuses.
    pub(super) fn create(ranks: usize, settings: &Settings) -> Result<Self, Fault> {
        if ranks == 0 || ranks > RANKS_MOST {
            let how = format!("{ranks} ranks are asked for, 1 to {RANKS_MOST} can share a region");
            return Err(Fault::Lacking { what: "shared memory", how });
        }
        let ring = settings.ring_bytes.max(PAGE).checked_next_power_of_two().unwrap_or(PAGE).min(1 << 20);
        let layout = Layout { ranks, ring };
        // Beyond the limit the system would end the process.
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < layout.file()) {
            let how = "the size of files is limited; try `ulimit -f unlimited`".to_owned();
            return Err(Fault::Lacking { what: "shared memory", how });
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("weftwork", flags).map_err(|error| {
            lacking("memfd_create, which needs Linux 3.17 and a sandbox that permits it", error)
        })?;
        ftruncate(&file, layout.file()).map_err(|error| lacking("size of the shared file", error))?;
        // Nobody can cut it short, which would end those who map it.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)
            .map_err(|error| lacking("sealing the shared file", error))?;
        fallocate(&file, FallocateFlags::empty(), 0, layout.blocks() as u64).map_err(|error| {
            lacking(&format!("{} bytes for what {ranks} ranks tell each other", layout.blocks()), error)
        })?;
        let first = Mapping::new(&file, 0, PAGE, false).map_err(|error| lacking("mmap", error))?;
        first.word(RANKS).store(ranks as u64, Release);
        first.word(RING).store(ring as u64, Release);
        first.word(MAGIC).store(OURS, Release);
        Ok(Self { file: Arc::new(file), layout })
    }

    /// Where other processes of this user find it, for as long as this process has it: `process/descriptor`.
    pub fn address(&self) -> String {
        format!("{}/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Opens that of another process by its [`Region::address`].
    pub fn open(address: &str) -> Result<Self, Fault> {
        let numbers = address.split_once('/').and_then(|(process, descriptor)| {
            Some((process.parse::<u32>().ok()?, descriptor.parse::<u32>().ok()?))
        });
        let Some((process, descriptor)) = numbers else {
            let how = format!("`{address}` is no address of a region: that is `process/descriptor`");
            return Err(Fault::Lacking { what: "shared memory", how });
        };
        let path = format!("/proc/{process}/fd/{descriptor}");
        let file = open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(|error| {
            let tried = format!(
                "opening {path}, which needs /proc, the process of the region still running, its user and its \
                 container's processes (`--pid` alike)"
            );
            lacking(&tried, error)
        })?;
        Self::from_file(file)
    }

    /// The region that a descriptor means which was inherited, or sent through a socket.
    pub fn from_file(file: OwnedFd) -> Result<Self, Fault> {
        let size =
            rustix::fs::fstat(&file).map_err(|error| lacking("size of the shared file", error))?.st_size;
        let refused = |how: &str| Fault::Lacking { what: "shared memory", how: how.to_owned() };
        if u64::try_from(size).unwrap_or(0) < PAGE as u64 {
            return Err(refused("the file is no region"));
        }
        let first = Mapping::new(&file, 0, PAGE, false).map_err(|error| lacking("mmap", error))?;
        if first.word(MAGIC).load(Acquire) != OURS {
            return Err(refused(&not_ours(first.word(MAGIC).load(Acquire))));
        }
        let number = |at| usize::try_from(first.word(at).load(Acquire)).unwrap_or(0);
        let (ranks, ring) = (number(RANKS), number(RING));
        if ranks == 0 || ranks > RANKS_MOST || !ring.is_power_of_two() || ring < LINE {
            return Err(refused("the file is a damaged region"));
        }
        let layout = Layout { ranks, ring };
        if u64::try_from(size).unwrap_or(0) != layout.file() {
            return Err(refused("the file is a damaged region"));
        }
        Ok(Self { file: Arc::new(file), layout })
    }

    /// The same, if this process can map it: the limit of its address space may be too low.
    pub(crate) fn tried(self) -> Result<Self, Fault> {
        let bytes = self.layout.blocks();
        Mapping::new(&*self.file, 0, bytes, false)
            .map_err(|error| lacking(&format!("mapping {bytes} bytes"), error))?;
        Ok(self)
    }

    /// How many ranks it is for.
    pub fn ranks(&self) -> usize {
        self.layout.ranks
    }
}
