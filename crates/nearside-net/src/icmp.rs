//! ICMP errors as sockets show them: queued with the destination they are about, and as the errno of
//! some later call that has nothing to do with them.

use std::io;
use std::net::SocketAddr;

use socket2::Socket;

/// The original destination of the next datagram in the error queue: that is what `recvfrom` gives
/// as the address there, while the complaining router is in a control message (ip(7), IP_RECVERR).
#[cfg(target_os = "linux")]
pub(crate) fn next_queued_error(socket: &Socket) -> io::Result<Option<SocketAddr>> {
    use rustix::io::Errno;
    use rustix::net::{RecvFlags, recvfrom};

    let mut quoted = [0u8; 1];
    loop {
        match recvfrom(
            socket,
            &mut quoted,
            RecvFlags::ERRQUEUE | RecvFlags::DONTWAIT,
        ) {
            Ok((_, _, from)) => match from.and_then(|addr| SocketAddr::try_from(addr).ok()) {
                Some(destination) => return Ok(Some(destination)),
                None => continue,
            },
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn next_queued_error(_: &Socket) -> io::Result<Option<SocketAddr>> {
    Ok(None)
}

/// Whether an error of a socket call only says what ICMP told about some earlier datagram. Windows
/// says "connection reset" for it.
pub(crate) fn is_reported_by_network(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::Interrupted
    ) || quinn_udp::is_msg_size_err(error)
        || is_rare_icmp_error(error)
}

/// The rest of what Linux makes of ICMP codes (`icmp_err_convert` in its net/ipv4/icmp.c).
#[cfg(target_os = "linux")]
fn is_rare_icmp_error(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [
        Errno::NOPROTOOPT,
        Errno::OPNOTSUPP,
        Errno::HOSTDOWN,
        Errno::NONET,
        Errno::PROTO,
        Errno::ACCESS,
    ]
    .map(|errno| Some(errno.raw_os_error()))
    .contains(&error.raw_os_error())
}

#[cfg(not(target_os = "linux"))]
fn is_rare_icmp_error(_: &io::Error) -> bool {
    false
}

/// Whether the system has no memory for the datagram at the moment; BSDs say so instead of "would
/// block".
#[cfg(unix)]
pub(crate) fn is_out_of_buffers(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error())
}

#[cfg(not(unix))]
pub(crate) fn is_out_of_buffers(_: &io::Error) -> bool {
    false
}
