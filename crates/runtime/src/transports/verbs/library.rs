//! The verbs library of rdma-core, opened when it is asked for: which devices there are, and what their ports can.
//!
//! Names, numbers and the layout of a port are those of `infiniband/verbs.h`.
#![allow(unsafe_code, reason = "functions of a C library")]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};

use libloading::{Library as Shared, Symbol};

use weft_base::Guid;

use crate::Fault;

/// As programs that are linked to it find it.
const NAME: &str = "libibverbs.so.1";

/// What travels between two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkLayer {
    /// InfiniBand.
    InfiniBand,
    /// Ethernet: RoCE.
    Ethernet,
    /// Whatever else.
    Other,
}

/// A port as the library describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortState {
    /// Counted from 1.
    pub number: u8,
    /// Whether it can be used now.
    pub active: bool,
    /// The longest packet.
    pub mtu_bytes: u32,
    /// The local address that the subnet manager gave; 0 on Ethernet.
    pub lid: u16,
    /// What travels.
    pub layer: LinkLayer,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name: `mlx5_0`.
    pub name: String,
    /// Its number, which no other has.
    pub guid: Guid,
    /// Its ports; none where the device cannot be opened.
    pub ports: Vec<PortState>,
}

/// The library.
#[derive(Debug)]
pub struct Library(Shared);

/// `struct ibv_port_attr` as far as it has been the same since the first version, and room for what newer ones write.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct PortAttributes {
    state: c_int,
    max_mtu: c_int,
    active_mtu: c_int,
    gid_table: c_int,
    capabilities: u32,
    max_message: u32,
    bad_keys: u32,
    key_violations: u32,
    key_table: u16,
    lid: u16,
    manager_lid: u16,
    bytes: [u8; 8],
    link_layer: u8,
    newer: [[u8; 32]; 2],
}

const ACTIVE: c_int = 4;
/// `ibv_query_port` counts ports from 1, and fails beyond the last.
const PORTS_MOST: u8 = 16;

type GetList = unsafe extern "C" fn(*mut c_int) -> *mut *mut c_void;
type FreeList = unsafe extern "C" fn(*mut *mut c_void);
type GetName = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type GetGuid = unsafe extern "C" fn(*mut c_void) -> u64;
type Open = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Close = unsafe extern "C" fn(*mut c_void) -> c_int;
type QueryPort = unsafe extern "C" fn(*mut c_void, u8, *mut PortAttributes) -> c_int;

fn lacking(how: impl std::fmt::Display) -> Fault {
    Fault::Lacking { what: "the verbs library", how: format!("{how}; install rdma-core, or use TCP") }
}

impl Library {
    /// Opens the one of this system.
    pub fn open() -> Result<Self, Fault> {
        Self::open_at(NAME.as_ref())
    }

    /// Opens that of a path or a name.
    pub fn open_at(path: &OsStr) -> Result<Self, Fault> {
        // SAFETY: the library is the system's; what it does when it is loaded is what each program linked to it accepts.
        unsafe { Shared::new(path) }.map(Self).map_err(lacking)
    }

    fn function<T>(&self, name: &'static [u8]) -> Result<Symbol<'_, T>, Fault> {
        // SAFETY: each name is asked for with the type that `infiniband/verbs.h` gives it.
        unsafe { self.0.get(name) }.map_err(lacking)
    }

    /// The devices, in the library's order. None is no fault.
    pub fn devices(&self) -> Result<Vec<Device>, Fault> {
        let get_list: Symbol<'_, GetList> = self.function(b"ibv_get_device_list\0")?;
        let free_list: Symbol<'_, FreeList> = self.function(b"ibv_free_device_list\0")?;
        let mut count: c_int = 0;
        // SAFETY: it writes how many there are, and gives a list of so many that is freed below.
        let list = unsafe { get_list(&raw mut count) };
        if list.is_null() {
            // Without the kernel's modules there is no list.
            return Ok(Vec::new());
        }
        let mut devices = Vec::new();
        for index in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the list has `count` devices, which live until it is freed.
            let device = unsafe { *list.add(index) };
            devices.push(self.device(device));
        }
        // SAFETY: the library's own list, once.
        unsafe { free_list(list) };
        devices.into_iter().collect()
    }

    fn device(&self, device: *mut c_void) -> Result<Device, Fault> {
        let get_name: Symbol<'_, GetName> = self.function(b"ibv_get_device_name\0")?;
        let get_guid: Symbol<'_, GetGuid> = self.function(b"ibv_get_device_guid\0")?;
        // SAFETY: a device of the list, which has a name that ends in 0 as long as the list lives.
        let name = unsafe { CStr::from_ptr(get_name(device)) }.to_string_lossy().into_owned();
        // SAFETY: a device of the list. The number is in network order.
        let guid = Guid::new(u64::from_be(unsafe { get_guid(device) }));
        Ok(Device { name, guid, ports: self.ports(device)? })
    }

    fn ports(&self, device: *mut c_void) -> Result<Vec<PortState>, Fault> {
        let open: Symbol<'_, Open> = self.function(b"ibv_open_device\0")?;
        let close: Symbol<'_, Close> = self.function(b"ibv_close_device\0")?;
        let query: Symbol<'_, QueryPort> = self.function(b"ibv_query_port\0")?;
        // SAFETY: a device of the list; the context is closed below.
        let context = unsafe { open(device) };
        if context.is_null() {
            return Ok(Vec::new());
        }
        let mut ports = Vec::new();
        for number in 1..=PORTS_MOST {
            let mut attributes = PortAttributes::default();
            // SAFETY: an open context, and room for more than any version writes.
            if unsafe { query(context, number, &raw mut attributes) } != 0 {
                break;
            }
            ports.push(state(number, &attributes));
        }
        // SAFETY: opened above, and used nowhere else.
        let _closed = unsafe { close(context) };
        Ok(ports)
    }
}

fn state(number: u8, attributes: &PortAttributes) -> PortState {
    // 1 is 256 bytes, and each further one twice as much.
    let mtu = u32::try_from(attributes.active_mtu).unwrap_or(0).min(8);
    let layer = match attributes.link_layer {
        // Drivers older than Ethernet say nothing.
        0 | 1 => LinkLayer::InfiniBand,
        2 => LinkLayer::Ethernet,
        _ => LinkLayer::Other,
    };
    let mtu_bytes = if mtu == 0 { 0 } else { 128 << mtu };
    PortState { number, active: attributes.state == ACTIVE, mtu_bytes, lid: attributes.lid, layer }
}
