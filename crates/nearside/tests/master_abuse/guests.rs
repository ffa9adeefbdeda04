//! Clients that prove their addresses and then ask for as much work as they can.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use nearside_wire::steam::{Filter, ListReply, ListRequest};

/// Guests in networks of their own, each with its cookie.
pub(crate) struct Guests(Vec<(UdpSocket, [u8; 4])>);

impl Guests {
    pub(crate) fn open(master: SocketAddr, networks: u8) -> Self {
        let guest = |network| {
            let socket = UdpSocket::bind((Ipv4Addr::new(60, 0, network, 1), 0)).unwrap();
            socket.connect(master).unwrap();
            let patience = Duration::from_millis(500);
            socket.set_read_timeout(Some(patience)).unwrap();
            let cookie = cookie(&socket);
            socket.set_nonblocking(true).unwrap();
            (socket, cookie)
        };
        Self((0..networks).map(guest).collect())
    }

    /// Until the followed servers are there.
    pub(crate) fn wait_for_a_list(&self) {
        let mut buffer = [0; 2000];
        let is_listed = (0..200).any(|_| {
            self.ask(0, r"\gamedir\cstrike");
            std::thread::sleep(Duration::from_millis(100));
            self.0[0]
                .0
                .recv(&mut buffer)
                .is_ok_and(|length| length > 500)
        });
        assert!(is_listed, "the followed list is not served");
    }

    /// Asks in the name of one of them; gives the request's bytes.
    pub(crate) fn ask(&self, number: u32, filter: &str) -> usize {
        let (socket, cookie) = &self.0[number as usize % self.0.len()];
        let filter: Filter = filter.parse().unwrap();
        let request = ListRequest::new(filter.with_challenge(*cookie)).emit();
        // Nobody reads the answers; the kernel throws them away when there are too many.
        let _full = socket.send(&request);
        request.len()
    }
}

fn cookie(socket: &UdpSocket) -> [u8; 4] {
    let request = ListRequest::new(Filter::new().with("gamedir", "cstrike")).emit();
    let mut buffer = [0; 2000];
    let found = (0..20).find_map(|_| {
        socket.send(&request).unwrap();
        let length = socket.recv(&mut buffer).ok()?;
        match ListReply::parse(&buffer[..length], None) {
            Ok(ListReply::Cookie(cookie)) => Some(cookie),
            _ => None,
        }
    });
    found.expect("the master gives a cookie to whoever asks")
}

/// A filter that nobody asked before, as costly as one may be.
pub(crate) fn costly(number: u32) -> String {
    format!(r"\nor\60\map\x{number}{}", r"\name_match\*zz*y".repeat(59))
}

/// A list of so many servers of a game, as Steam's Web API writes it.
pub(crate) fn followed(servers: u32) -> String {
    let row = |number: u32| {
        let ip = Ipv4Addr::from_bits(0x2901_0000 + number);
        let name = "a".repeat(40);
        format!(
            r#"{{"addr":"{ip}:27015","appid":10,"gamedir":"cstrike","name":"Server {number} {name}","map":"de_dust2","players":3,"max_players":16}}"#
        )
    };
    let rows: Vec<String> = (0..servers).map(row).collect();
    format!(r#"{{"response":{{"servers":[{}]}}}}"#, rows.join(","))
}
