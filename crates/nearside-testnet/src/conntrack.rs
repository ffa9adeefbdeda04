//! Forgetting all connections of a namespace, which `nft` cannot do and `conntrack -F` would need
//! another package for.

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recv, sendto, socket_with};

use crate::TestnetError;
use crate::namespace::Namespace;

/// `struct nlmsghdr` and `struct nfgenmsg` of linux/netlink.h and linux/netfilter/nfnetlink.h.
const LENGTH: u32 = 20;
/// `NFNL_SUBSYS_CTNETLINK` in the upper byte, `IPCTNL_MSG_CT_DELETE` in the lower.
const DELETE_CONNECTIONS: u16 = 0x0102;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const ANSWER_PLEASE: u16 = 0x0005;

/// Deletes all entries of the connection table: a request to delete that names none means all.
pub(crate) fn forget(namespace: &Namespace) -> Result<(), TestnetError> {
    namespace
        .inside(ask)?
        .map_err(TestnetError::io("flush the connection table"))
}

fn ask() -> rustix::io::Result<()> {
    let protocol = Some(netlink::NETFILTER);
    let kind = (AddressFamily::NETLINK, SocketType::RAW);
    let socket = socket_with(kind.0, kind.1, SocketFlags::CLOEXEC, protocol)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, &request(), SendFlags::empty(), &kernel)?;
    let mut answer = [0; 128];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    verdict(&answer[..length])
}

fn request() -> Vec<u8> {
    let mut message = LENGTH.to_ne_bytes().to_vec();
    message.extend(DELETE_CONNECTIONS.to_ne_bytes());
    message.extend(ANSWER_PLEASE.to_ne_bytes());
    // Sequence number, port, and any family, version 0, no resource: all zero.
    message.resize(LENGTH as usize, 0);
    message
}

/// `struct nlmsgerr`: a negative error number, or zero, behind the header of 16 bytes.
fn verdict(answer: &[u8]) -> rustix::io::Result<()> {
    let code = answer.get(16..20).and_then(|bytes| bytes.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(rustix::io::Errno::from_raw_os_error(-error)),
        None => Err(rustix::io::Errno::BADMSG),
    }
}
