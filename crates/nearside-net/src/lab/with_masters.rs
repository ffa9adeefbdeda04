//! Servers and masters behind one responder, told apart by the address that was asked.

use std::collections::HashMap;
use std::net::{SocketAddr, SocketAddrV4};

use nearside_types::Moment;

use super::{Reply, Responder};

/// Sends what is addressed to a master to that master, and the rest to the servers.
#[derive(Debug, Clone)]
pub struct WithMasters<S, M> {
    servers: S,
    masters: HashMap<SocketAddr, M>,
}

impl<S, M> WithMasters<S, M> {
    /// The servers alone; add masters with [`WithMasters::master`].
    pub fn new(servers: S) -> Self {
        Self {
            servers,
            masters: HashMap::new(),
        }
    }

    /// Adds a master at this address, in the place of one that was there.
    #[must_use]
    pub fn master(mut self, addr: SocketAddrV4, master: M) -> Self {
        self.masters.insert(addr.into(), master);
        self
    }
}

impl<S: Responder, M: Responder> Responder for WithMasters<S, M> {
    fn handle(
        &mut self,
        now: Moment,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
        replies: &mut Vec<Reply>,
    ) {
        match self.masters.get_mut(&to) {
            Some(master) => master.handle(now, from, to, payload, replies),
            None => self.servers.handle(now, from, to, payload, replies),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Says its name to everybody.
    struct Says(&'static str);

    impl Responder for Says {
        fn handle(
            &mut self,
            _: Moment,
            _: SocketAddr,
            _: SocketAddr,
            _: &[u8],
            replies: &mut Vec<Reply>,
        ) {
            replies.push(Reply {
                delay: Duration::ZERO,
                payload: self.0.into(),
            });
        }
    }

    #[test]
    fn masters_answer_at_their_addresses_and_servers_everywhere_else() {
        let mut both = WithMasters::new(Says("server"))
            .master("127.0.0.1:27011".parse().unwrap(), Says("steam"))
            .master("127.0.0.1:27950".parse().unwrap(), Says("quake"));
        let client = "127.0.0.1:5000".parse().unwrap();
        let mut answer = |to: &str| {
            let mut replies = Vec::new();
            both.handle(
                Moment::EPOCH,
                client,
                to.parse().unwrap(),
                b"?",
                &mut replies,
            );
            String::from_utf8(replies.remove(0).payload).unwrap()
        };
        assert_eq!(answer("127.0.0.1:27011"), "steam");
        assert_eq!(answer("127.0.0.1:27950"), "quake");
        assert_eq!(answer("127.0.0.1:27015"), "server");
        assert_eq!(answer("127.9.0.1:27011"), "server");
    }
}
