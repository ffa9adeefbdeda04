//! The way in: turns foreigners away, asks the responder, and puts its replies on the delay line.

use std::net::{IpAddr, SocketAddr};

use nearside_types::Moment;

use super::{DelayLine, Reply, Responder, SharedStats};
use crate::clock::MonotonicClock;
use crate::udp::Datagram;

/// A reply that waits for its moment.
#[derive(Debug)]
pub(super) struct PendingReply {
    /// Position of the port it leaves by.
    pub(super) port: usize,
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
    /// When the request arrived.
    pub(super) received: Moment,
    pub(super) payload: Vec<u8>,
}

pub(super) struct Reception<R> {
    responder: R,
    pub(super) delay_line: DelayLine<PendingReply>,
    replies: Vec<Reply>,
    stats: SharedStats,
    clock: MonotonicClock,
}

impl<R: Responder> Reception<R> {
    pub(super) fn new(responder: R, stats: SharedStats, clock: MonotonicClock) -> Self {
        Self {
            responder,
            delay_line: DelayLine::new(),
            replies: Vec::new(),
            stats,
            clock,
        }
    }

    /// Takes in one datagram that came by the port at this position with this number.
    pub(super) fn accept(&mut self, port: usize, number: u16, datagram: Datagram<'_>) {
        let Some(server) = loopback_destination(&datagram, number) else {
            self.stats.update(|stats| stats.foreign += 1);
            return;
        };
        self.stats.update(|stats| stats.requests += 1);
        let client = datagram.from;
        let received = datagram
            .received
            .moment()
            .unwrap_or_else(|| self.clock.now());
        self.responder.handle(
            received,
            client,
            server,
            datagram.payload,
            &mut self.replies,
        );
        self.queue_replies(port, client, server, received);
    }

    fn queue_replies(
        &mut self,
        port: usize,
        client: SocketAddr,
        server: SocketAddr,
        received: Moment,
    ) {
        for reply in self.replies.drain(..) {
            if self.delay_line.len() >= MOST_WAITING {
                self.stats.update(|stats| stats.unsent += 1);
                continue;
            }
            let due = received + reply.delay;
            let pending = PendingReply {
                port,
                client,
                server,
                received,
                payload: reply.payload,
            };
            self.delay_line.push(due, pending);
        }
    }
}

/// The server a datagram is for, if both ends are in 127.0.0.0/8. Everything else is dropped: the lab
/// answers short requests with long replies and must never be a reflector.
fn loopback_destination(datagram: &Datagram<'_>, port: u16) -> Option<SocketAddr> {
    let to_ip = datagram.to_ip?;
    let both = is_lab_address(datagram.from.ip()) && is_lab_address(to_ip);
    both.then(|| SocketAddr::new(to_ip, port))
}

fn is_lab_address(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(v4) if v4.is_loopback())
}

/// A bound on memory: 200,000 replies are 20,000 requests a second with ten seconds of delay each.
const MOST_WAITING: usize = 200_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamp::ReceivedAt;

    fn destination(from: &str, to: Option<&str>) -> Option<SocketAddr> {
        let datagram = Datagram {
            from: from.parse().unwrap(),
            to_ip: to.map(|ip| ip.parse().unwrap()),
            received: ReceivedAt::Suspect,
            payload: b"",
        };
        loopback_destination(&datagram, 27015)
    }

    #[test]
    fn only_loopback_may_talk_to_loopback() {
        let server = Some("127.8.9.10:27015".parse().unwrap());
        assert_eq!(destination("127.0.0.1:5000", Some("127.8.9.10")), server);
        for (from, to) in [
            ("192.0.2.1:5000", Some("127.8.9.10")),
            ("127.0.0.1:5000", Some("192.0.2.1")),
            ("127.0.0.1:5000", None),
            ("[::1]:5000", Some("::1")),
        ] {
            assert_eq!(destination(from, to), None, "{from} to {to:?}");
        }
    }

    /// Answers everything twice at once.
    struct Echo;

    impl Responder for Echo {
        fn handle(
            &mut self,
            _: Moment,
            _: SocketAddr,
            _: SocketAddr,
            payload: &[u8],
            replies: &mut Vec<Reply>,
        ) {
            for millis in [3, 1] {
                replies.push(Reply {
                    delay: std::time::Duration::from_millis(millis),
                    payload: payload.to_vec(),
                });
            }
        }
    }

    #[test]
    fn replies_are_due_after_the_arrival_of_their_request() {
        let stats = SharedStats::default();
        let mut reception = Reception::new(Echo, stats.clone(), MonotonicClock::start());
        let arrival = Moment::from_nanos(5_000_000);
        let datagram = Datagram {
            from: "127.0.0.1:5000".parse().unwrap(),
            to_ip: Some("127.8.9.10".parse().unwrap()),
            received: ReceivedAt::Kernel(arrival),
            payload: b"?",
        };
        reception.accept(4, 27015, datagram);
        reception.accept(
            4,
            27015,
            Datagram {
                to_ip: None,
                ..datagram
            },
        );

        let (due, reply) = reception
            .delay_line
            .pop_due(arrival + std::time::Duration::MAX)
            .unwrap();
        assert_eq!(due, Moment::from_nanos(6_000_000));
        assert_eq!((reply.port, reply.received), (4, arrival));
        assert_eq!(reply.server, "127.8.9.10:27015".parse().unwrap());
        assert_eq!(
            reception.delay_line.next_due(),
            Some(Moment::from_nanos(8_000_000))
        );
        let stats = stats.snapshot();
        assert_eq!((stats.requests, stats.foreign), (1, 1));
    }
}
