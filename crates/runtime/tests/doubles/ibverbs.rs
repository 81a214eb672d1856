//! A double of the verbs library: two devices, the second of which cannot be opened. Compiled by the test that loads it.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

struct Fake {
    name: &'static [u8],
    guid: u64,
    opens: bool,
}

static DEVICES: [Fake; 2] = [
    Fake { name: b"fake_0\0", guid: 0x506b_4b03_00a1_b2c3, opens: true },
    Fake { name: b"fake_1\0", guid: 7, opens: false },
];

#[unsafe(no_mangle)]
pub extern "C" fn ibv_get_device_list(count: *mut c_int) -> *mut *mut c_void {
    unsafe { *count = DEVICES.len() as c_int };
    let list: Vec<*mut c_void> = DEVICES.iter().map(|one| std::ptr::from_ref(one).cast_mut().cast()).collect();
    Box::leak(list.into_boxed_slice()).as_mut_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn ibv_free_device_list(list: *mut *mut c_void) {
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(list, DEVICES.len())) });
}

#[unsafe(no_mangle)]
pub extern "C" fn ibv_get_device_name(device: *mut c_void) -> *const c_char {
    unsafe { (*device.cast::<Fake>()).name.as_ptr().cast() }
}

#[unsafe(no_mangle)]
pub extern "C" fn ibv_get_device_guid(device: *mut c_void) -> u64 {
    unsafe { (*device.cast::<Fake>()).guid.to_be() }
}

#[unsafe(no_mangle)]
pub extern "C" fn ibv_open_device(device: *mut c_void) -> *mut c_void {
    if unsafe { (*device.cast::<Fake>()).opens } { device } else { std::ptr::null_mut() }
}

#[unsafe(no_mangle)]
pub extern "C" fn ibv_close_device(_context: *mut c_void) -> c_int {
    0
}

/// `struct ibv_port_attr` as infiniband/verbs.h has it.
#[repr(C)]
pub struct PortAttributes {
    state: c_int,
    max_mtu: c_int,
    active_mtu: c_int,
    gid_tbl_len: c_int,
    port_cap_flags: u32,
    max_msg_sz: u32,
    bad_pkey_cntr: u32,
    qkey_viol_cntr: u32,
    pkey_tbl_len: u16,
    lid: u16,
    sm_lid: u16,
    lmc: u8,
    max_vl_num: u8,
    sm_sl: u8,
    subnet_timeout: u8,
    init_type_reply: u8,
    active_width: u8,
    active_speed: u8,
    phys_state: u8,
    link_layer: u8,
    flags: u8,
    port_cap_flags2: u16,
    active_speed_ex: u32,
}

#[unsafe(no_mangle)]
pub extern "C" fn ibv_query_port(_context: *mut c_void, port: u8, attributes: *mut PortAttributes) -> c_int {
    // An active port of InfiniBand with packets of 4 KiB, and one of Ethernet that is down.
    let (state, active_mtu, lid, link_layer) = match port {
        1 => (4, 5, 0x1234, 1),
        2 => (1, 3, 0, 2),
        _ => return 22,
    };
    unsafe {
        (*attributes).state = state;
        (*attributes).active_mtu = active_mtu;
        (*attributes).lid = lid;
        (*attributes).link_layer = link_layer;
        (*attributes).active_speed_ex = 128;
    }
    0
}
