//! Where a player is inside its own network. Two in the same home meet there, without their router.

use std::net::{SocketAddr, UdpSocket};

use nearside_tunnel::node::DirectoryAddress;

/// Our addresses on the way to the directories, with the ports of our sockets; `socket` is the one that
/// speaks to an address.
pub(crate) fn addresses(
    directories: &[DirectoryAddress],
    socket: impl Fn(SocketAddr) -> Option<SocketAddr>,
) -> Vec<SocketAddr> {
    let all = directories.iter().flat_map(|directory| {
        let other = directory.other;
        [Some(directory.address), other].into_iter().flatten()
    });
    let mut found: Vec<SocketAddr> = all
        .filter_map(|to| {
            let mut ours = source_towards(to)?;
            ours.set_port(socket(to)?.port());
            Some(ours)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The address that the system would send from. Nothing is sent: to connect a UDP socket only asks the
/// routing table.
fn source_towards(to: SocketAddr) -> Option<SocketAddr> {
    let any = match to {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(to).ok()?;
    socket.local_addr().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_tunnel::crypto::{Chance, Identity};

    #[test]
    fn we_are_where_the_way_to_the_directory_begins() {
        let key = Identity::generate(&mut Chance::from_number(1)).public();
        let directory = DirectoryAddress {
            address: "127.0.0.9:4800".parse().unwrap(),
            other: None,
            key,
        };
        let socket = |_| Some("0.0.0.0:4000".parse().unwrap());
        let twice = [directory, directory];
        let expected: SocketAddr = "127.0.0.1:4000".parse().unwrap();
        assert_eq!(addresses(&twice, socket), [expected]);
        assert_eq!(addresses(&twice, |_| None), []);
    }
}
