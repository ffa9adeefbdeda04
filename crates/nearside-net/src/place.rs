//! Moves the messages of one node of a distributed placement over UDP on loopback. Node number i
//! (clients first, then servers) has port `base + i`.

use std::net::{Ipv4Addr, SocketAddr};

use nearside_placement::distributed::{Message, Node, NodeEvent, NodeId, Output};

use crate::buffers::RecvBuffers;
use crate::clock::MonotonicClock;
use crate::error::NetError;
use crate::poll::{Stop, wait};
use crate::udp::{Datagram, PortConfig, UdpPort};

/// Who has which port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopbackPorts {
    /// The port of the first client.
    pub base: u16,
    /// Clients, from 0.
    pub clients: u16,
    /// Servers, from 0.
    pub servers: u16,
}

impl LoopbackPorts {
    /// Whether there are ports enough for everybody.
    pub fn fit(self) -> bool {
        let nodes = u32::from(self.clients) + u32::from(self.servers);
        u32::from(self.base) + nodes <= u32::from(u16::MAX) + 1
    }

    /// Where a node listens.
    pub fn address(self, node: NodeId) -> SocketAddr {
        let number = match node {
            NodeId::Client(client) => client,
            NodeId::Server(server) => self.clients.wrapping_add(server),
        };
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.base.wrapping_add(number)))
    }

    /// Who listens there; `None` for anybody else's address.
    pub fn node(self, addr: SocketAddr) -> Option<NodeId> {
        let number = addr.port().checked_sub(self.base)?;
        let node = match number.checked_sub(self.clients) {
            None => NodeId::Client(number),
            Some(server) if server < self.servers => NodeId::Server(server),
            Some(_) => return None,
        };
        (self.address(node) == addr).then_some(node)
    }
}

/// Runs a node until `stop`. What comes from elsewhere than a node's address, or is no message, is
/// dropped.
///
/// # Errors
/// When the port is taken or the system refuses.
pub fn run_node(
    node: &mut dyn Node,
    me: NodeId,
    ports: LoopbackPorts,
    clock: &MonotonicClock,
    stop: &Stop,
    mut observe: impl FnMut(NodeEvent),
) -> Result<(), NetError> {
    let config = PortConfig {
        loopback_only: true,
        ..PortConfig::at(ports.address(me))
    };
    let mut port = UdpPort::bind(config, clock)?;
    let mut buffers = RecvBuffers::new();
    node.handle_timeout(clock.now());
    loop {
        match node.poll_output(clock.now()) {
            Output::Send { to, message } => {
                // What the network does not take is lost, as on any network; it will be repeated.
                let _ = port.send(ports.address(to), &message.encode(), None)?;
            }
            Output::Event(event) => observe(event),
            Output::Wait(until) => {
                let ready = wait([&port], stop, Some(until), clock)?;
                if ready.stopped {
                    return Ok(());
                }
                port.drain_errors(|_| {})?;
                let deliver = |datagram: Datagram<'_>| {
                    let message = Message::decode(datagram.payload);
                    if let (Some(from), Ok(message)) = (ports.node(datagram.from), message) {
                        node.handle_message(clock.now(), from, message);
                    }
                };
                receive_all(&mut port, &mut buffers, clock, deliver)?;
                node.handle_timeout(clock.now());
            }
        }
    }
}

fn receive_all(
    port: &mut UdpPort,
    buffers: &mut RecvBuffers,
    clock: &MonotonicClock,
    mut deliver: impl FnMut(Datagram<'_>),
) -> Result<(), NetError> {
    while port.recv_batch(buffers, clock, &mut deliver)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_nodes_find_each_other() {
        let ports = LoopbackPorts {
            base: 40_000,
            clients: 3,
            servers: 2,
        };
        assert!(ports.fit());
        for node in [
            NodeId::Client(0),
            NodeId::Client(2),
            NodeId::Server(0),
            NodeId::Server(1),
        ] {
            assert_eq!(ports.node(ports.address(node)), Some(node));
        }
        assert_eq!(ports.address(NodeId::Server(0)).port(), 40_003);
    }

    #[test]
    fn strangers_are_nobody() {
        let ports = LoopbackPorts {
            base: 40_000,
            clients: 3,
            servers: 2,
        };
        for stranger in [
            "127.0.0.1:39999",
            "127.0.0.1:40005",
            "127.0.0.2:40000",
            "[::1]:40000",
        ] {
            assert_eq!(ports.node(stranger.parse().unwrap()), None, "{stranger}");
        }
    }
}
