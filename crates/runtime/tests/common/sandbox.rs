//! A sandbox, as containers have one: calls of the system that are refused to this thread and those it starts.
#![allow(unsafe_code, reason = "the C library's wrapper")]

/// A statement of the classic packet filter: what to do, where to go if true and false, a number.
fn statement(code: u32, (yes, no): (u8, u8), k: u32) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap(), jt: yes, jf: no, k }
}

/// Refuses a call; where given, only if certain bits of the lower half of one of its arguments have that value.
pub fn refuse(call: libc::c_long, argument: Option<(u32, u32, u32)>, with: i32) {
    let load = |offset| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, (0, 0), offset);
    let answer = |value| statement(libc::BPF_RET | libc::BPF_K, (0, 0), value);
    let is = |value, to| statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, to, value);
    let mut filter = vec![load(0)];
    match argument {
        None => filter.push(is(u32::try_from(call).unwrap(), (0, 1))),
        Some((number, bits, value)) => {
            filter.push(is(u32::try_from(call).unwrap(), (0, 4)));
            let masked = statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, (0, 0), bits);
            // Numbers of 64 bits, the first behind the call, the machine and the instruction.
            filter.extend([load(16 + 8 * number), masked, is(value, (0, 1))]);
        }
    }
    filter.extend([answer(libc::SECCOMP_RET_ERRNO | with.cast_unsigned()), answer(libc::SECCOMP_RET_ALLOW)]);
    let program = libc::sock_fprog { len: u16::try_from(filter.len()).unwrap(), filter: filter.as_mut_ptr() };
    // SAFETY: the program lives until the call returns, and its length is that of the list.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(installed, 0, "{}", std::io::Error::last_os_error());
}
