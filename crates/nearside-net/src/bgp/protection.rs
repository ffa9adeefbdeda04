//! What is asked of neighbours beyond this machine, so that nobody can speak in their name.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU8;

use socket2::{Domain, Protocol, Socket, Type};
use thiserror::Error;

use super::error::BgpListenError;
#[cfg(target_os = "linux")]
use super::options;
#[cfg(not(target_os = "linux"))]
use unsupported as options;

/// What is asked of one neighbour. Of one that is not listed nothing is asked, as is right for
/// loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    /// Whose connection.
    pub neighbour: IpAddr,
    /// Every segment must be signed with this key (TCP-MD5, RFC 2385). Default: none. Linux only.
    pub key: Option<Md5Key>,
    /// How many hops away the neighbour may be; 1 for the same link. It has to send with a TTL of 255
    /// then, and packets from farther away are dropped (TTL security, RFC 5082). Default: any
    /// distance. Linux only.
    pub hops: Option<NonZeroU8>,
}

/// The key of signed connections; 1 to 80 octets.
#[derive(Clone, PartialEq, Eq)]
pub struct Md5Key(Vec<u8>);

/// Not a key: nothing, or more than the 80 octets of RFC 2385.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[error("a TCP-MD5 password of {0} octets (it must have 1 to 80)")]
pub struct Md5KeyError(pub usize);

impl Md5Key {
    /// The password as both sides have it, octet by octet.
    pub fn new(password: &[u8]) -> Result<Self, Md5KeyError> {
        match password.len() {
            1..=80 => Ok(Self(password.to_vec())),
            length => Err(Md5KeyError(length)),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Md5Key {
    /// Not the key: it would end up in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Md5Key(..)")
    }
}

/// RFC 5082 section 3: what is sent with this TTL cannot come from outside with it.
const HIGHEST_TTL: u8 = 255;

impl Protection {
    /// The TTL that packets of a neighbour at the allowed distance still have.
    fn least_ttl(&self) -> u8 {
        self.hops.map_or(0, |hops| HIGHEST_TTL - (hops.get() - 1))
    }

    fn is_of_family(&self, other: &Self) -> bool {
        self.neighbour.is_ipv4() == other.neighbour.is_ipv4()
    }
}

/// What is asked of all neighbours.
#[derive(Debug)]
pub(super) struct Protections(Vec<Protection>);

impl Protections {
    /// One for each of `neighbours`; those that `asked` does not name are asked nothing.
    pub(super) fn new(neighbours: impl Iterator<Item = IpAddr>, asked: &[Protection]) -> Self {
        let protection = |neighbour: IpAddr| {
            let neighbour = neighbour.to_canonical();
            let is_meant = |asked: &&Protection| asked.neighbour.to_canonical() == neighbour;
            let asked = asked.iter().find(is_meant);
            Protection {
                neighbour,
                key: asked.and_then(|asked| asked.key.clone()),
                hops: asked.and_then(|asked| asked.hops),
            }
        };
        Self(neighbours.map(protection).collect())
    }

    /// Opens the listening socket, with everything in place before anybody can connect.
    pub(super) fn listen(&self, addr: SocketAddr) -> Result<TcpListener, BgpListenError> {
        let failed = |source| BgpListenError::Bind { addr, source };
        let socket = open(addr).map_err(failed)?;
        for protection in &self.0 {
            let neighbour = protection.neighbour;
            self.apply(protection, &socket, addr)
                .map_err(|source| BgpListenError::Protection { neighbour, source })?;
        }
        socket.listen(BACKLOG).map_err(failed)?;
        Ok(socket.into())
    }

    fn apply(&self, this: &Protection, socket: &Socket, listening: SocketAddr) -> io::Result<()> {
        if let Some(key) = &this.key {
            options::sign(socket, as_seen_by(listening, this.neighbour), key)?;
        }
        if this.hops.is_some() {
            // The neighbour may ask the same of us.
            match this.neighbour {
                IpAddr::V4(_) => socket.set_ttl_v4(HIGHEST_TTL.into())?,
                IpAddr::V6(_) => socket.set_unicast_hops_v6(HIGHEST_TTL.into())?,
            }
        }
        // Connections take this over from the listener, so that it also counts for what comes before
        // they are accepted. It cannot ask more than what the farthest neighbour can do.
        let family = self.0.iter().filter(|other| other.is_of_family(this));
        match family.map(Protection::least_ttl).min() {
            None | Some(0) => Ok(()),
            Some(ttl) => options::set_least_ttl(socket, this.neighbour, ttl),
        }
    }

    /// Asks of a connection what could not be asked of the listener.
    pub(super) fn check_distance(&self, stream: &TcpStream, from: IpAddr) -> io::Result<()> {
        let is_meant = |this: &&Protection| this.neighbour == from.to_canonical();
        let Some(this) = self.0.iter().find(is_meant) else {
            return Ok(());
        };
        match this.least_ttl() {
            0 => Ok(()),
            ttl => options::set_least_ttl(stream, this.neighbour, ttl),
        }
    }
}

/// Neighbours are few, and each calls again when it is not heard.
const BACKLOG: i32 = 128;

fn open(addr: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    // As the standard library does: a restart must not wait for old connections to be forgotten.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&addr.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// On an IPv6 socket, IPv4 neighbours have addresses in IPv6 form.
fn as_seen_by(listening: SocketAddr, neighbour: IpAddr) -> IpAddr {
    match (listening, neighbour) {
        (SocketAddr::V6(_), IpAddr::V4(addr)) => addr.to_ipv6_mapped().into(),
        _ => neighbour,
    }
}

#[cfg(not(target_os = "linux"))]
mod unsupported {
    use super::{IpAddr, Md5Key, io};

    pub(super) fn sign<S>(_: S, _: IpAddr, _: &Md5Key) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn set_least_ttl<S>(_: S, _: IpAddr, _: u8) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_1_to_80_octets_and_do_not_show() {
        assert_eq!(Md5Key::new(b""), Err(Md5KeyError(0)));
        assert_eq!(Md5Key::new(&[b'x'; 81]), Err(Md5KeyError(81)));
        let key = Md5Key::new(b"secret").unwrap();
        assert_eq!(format!("{key:?}"), "Md5Key(..)");
    }

    #[test]
    fn the_least_ttl_allows_the_distance_and_no_more() {
        let at = |hops| Protection {
            neighbour: [127, 0, 0, 2].into(),
            key: None,
            hops: NonZeroU8::new(hops),
        };
        assert_eq!(
            [0, 1, 2, 255].map(|hops| at(hops).least_ttl()),
            [0, 255, 254, 1]
        );
    }

    #[test]
    fn neighbours_are_named_in_the_form_of_the_socket() {
        let v4: IpAddr = [192, 0, 2, 1].into();
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        let asked = Protection {
            neighbour: mapped,
            key: None,
            hops: NonZeroU8::new(1),
        };
        let all = Protections::new([v4].into_iter(), std::slice::from_ref(&asked));
        assert_eq!((all.0[0].neighbour, all.0[0].hops), (v4, asked.hops));
        let [on_v4, on_v6] = ["0.0.0.0:179", "[::]:179"].map(|addr| addr.parse().unwrap());
        assert_eq!(
            [on_v4, on_v6].map(|addr| as_seen_by(addr, v4)),
            [v4, mapped]
        );
    }
}
