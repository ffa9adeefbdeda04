//! Socket options that no safe crate of ours offers, for neighbours beyond this machine: TCP-MD5
//! (RFC 2385) and the least TTL of what comes in (GTSM, RFC 5082).
//!
//! The only unsafe code of this crate: one call, which hands the kernel bytes to read.

#![allow(
    unsafe_code,
    reason = "setsockopt, for options that rustix and socket2 lack"
)]

use std::ffi::c_int;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd as _};

use super::protection::Md5Key;

/// From now on, segments between the socket and `peer` must be signed with `key`. `peer` is to be of
/// the socket's family: IPv4 in IPv6 form on an IPv6 socket.
pub(super) fn sign(socket: impl AsFd, peer: IpAddr, key: &Md5Key) -> io::Result<()> {
    set(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_MD5SIG,
        &md5_request(peer, key),
    )
}

/// From now on, packets with a lower TTL (hop limit) are dropped.
pub(super) fn set_least_ttl(socket: impl AsFd, peer: IpAddr, ttl: u8) -> io::Result<()> {
    let (level, name) = match peer {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MINTTL),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MINHOPCOUNT),
    };
    set(socket, level, name, &c_int::from(ttl).to_ne_bytes())
}

/// `struct tcp_md5sig` of linux/tcp.h: a `sockaddr_storage` of 128 octets, flags, prefix length, key
/// length (2 octets), interface (4), key (80).
fn md5_request(peer: IpAddr, key: &Md5Key) -> [u8; 216] {
    let mut request = [0; 216];
    let mut put = |at: usize, bytes: &[u8]| request[at..at + bytes.len()].copy_from_slice(bytes);
    // Family, and the address behind the port; IPv6 has four octets of flow information between.
    match peer {
        IpAddr::V4(addr) => {
            put(0, &(libc::AF_INET as u16).to_ne_bytes());
            put(4, &addr.octets());
        }
        IpAddr::V6(addr) => {
            put(0, &(libc::AF_INET6 as u16).to_ne_bytes());
            put(8, &addr.octets());
        }
    }
    let length = u16::try_from(key.as_bytes().len()).expect("a key has at most 80 octets");
    put(130, &length.to_ne_bytes());
    put(136, key.as_bytes());
    request
}

fn set(socket: impl AsFd, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(value.len()).expect("options are short");
    let fd = socket.as_fd();
    // SAFETY: `fd` is open, since it is borrowed. The kernel only reads, and only the `length` octets
    // at the pointer, which are those of `value` and outlive the call.
    let outcome =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value.as_ptr().cast(), length) };
    match outcome {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
