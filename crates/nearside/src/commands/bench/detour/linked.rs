//! Ends that are players: each has a node of its own on one socket, turned by whoever waits at it, so
//! that no second thread stands between a packet and the wire.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nearside_detour::ClientConfig;
use nearside_net::{Outbox, RecvBuffers, UdpPort, wait};
use nearside_tunnel::crypto::{Chance, Identity, PublicKey};
use nearside_tunnel::node::{DirectoryAddress, Event, Incoming, LinkId, Node, NodeConfig, Output};
use nearside_types::Moment;

use super::end::{End, Times, open_port};

/// By which path two ends speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    Direct,
    /// What comes straight from the other end is dropped, as if NATs stood between: on loopback no
    /// detour would ever be quicker.
    Relayed,
}

/// One player.
pub(super) struct Linked {
    node: Node,
    link: Option<LinkId>,
    port: UdpPort,
    /// The other end, when it must not be heard directly.
    deaf_to: Option<SocketAddr>,
    through_relay: bool,
    buffers: Box<RecvBuffers>,
    outbox: Outbox,
    datagram: Vec<u8>,
    delivered: Vec<Vec<u8>>,
    times: Times,
}

impl Linked {
    fn open(
        times: &Times,
        directory: DirectoryAddress,
        address: [u8; 4],
        chance: &mut Chance,
    ) -> Result<Self> {
        let usual = NodeConfig::default();
        let config = NodeConfig {
            directories: vec![directory],
            source_ports: 1,
            // No other relays are looked for: there is one.
            detours: false,
            client: ClientConfig {
                shortest_interval: Duration::from_secs(1),
                ..usual.client.clone()
            },
            ..usual
        };
        let own = Identity::generate(chance);
        let chance = Chance::from_seed(chance.bytes());
        Ok(Self {
            node: Node::new(config, own, chance, times.now()),
            link: None,
            port: open_port(times, (address, 0).into())?,
            deaf_to: None,
            through_relay: false,
            buffers: Box::default(),
            outbox: Outbox::default(),
            datagram: Vec::new(),
            delivered: Vec::new(),
            times: times.clone(),
        })
    }

    fn key(&self) -> PublicKey {
        self.node.key()
    }

    /// Does what the node wants.
    fn drain(&mut self) {
        while let Some(output) = self.node.poll_output() {
            match output {
                Output::Send(outgoing) => self.outbox.push(outgoing.to, &outgoing.bytes, None),
                Output::Event(Event::Delivered { payload, .. }) => self.delivered.push(payload),
                Output::Event(Event::Connected {
                    link,
                    through_relay,
                    ..
                }) => {
                    self.link = Some(link);
                    self.through_relay = through_relay;
                }
                Output::Event(_) => {}
            }
        }
        self.port.send_all(&mut self.outbox);
    }

    fn receive(&mut self) -> Result<()> {
        let (node, datagram) = (&mut self.node, &mut self.datagram);
        let (clock, deaf_to) = (&self.times.clock, self.deaf_to);
        let hear = |came: nearside_net::Datagram<'_>| {
            if Some(came.from) == deaf_to {
                return;
            }
            let now = clock.now();
            datagram.clear();
            datagram.extend_from_slice(came.payload);
            let incoming = Incoming {
                port: 0,
                from: came.from,
                received: came.received.moment().unwrap_or(now),
                bytes: datagram,
            };
            node.handle_datagram(now, incoming);
        };
        let mut hear = hear;
        while self.port.recv_batch(&mut self.buffers, clock, &mut hear)? > 0 {}
        Ok(())
    }
}

impl End for Linked {
    fn send(&mut self, payload: &[u8]) {
        if let Some(link) = self.link {
            self.node.send(self.times.now(), link, 0, payload);
        }
    }

    fn flush(&mut self) {
        self.drain();
    }

    fn hear(&mut self, until: Moment, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        let now = self.times.now();
        if self.node.next_time(now) <= now {
            self.node.handle_time(now);
            self.drain();
        }
        let until = until.min(self.node.next_time(now));
        let (done, clock) = (&self.times.done, &self.times.clock);
        wait([&self.port], done, Some(until), clock)?;
        self.receive()?;
        self.drain();
        for payload in self.delivered.drain(..) {
            take(&payload);
        }
        Ok(())
    }
}

/// Two players with a link between them, each in a network of its own.
pub(super) fn pair(
    times: &Times,
    directory: DirectoryAddress,
    path: Path,
    chance: &mut Chance,
) -> Result<(Linked, Linked)> {
    let mut near = Linked::open(times, directory, [127, 0, 3, 1], chance)?;
    let mut far = Linked::open(times, directory, [127, 0, 4, 1], chance)?;
    if path == Path::Relayed {
        near.deaf_to = Some(far.port.local_addr());
        far.deaf_to = Some(near.port.local_addr());
    }
    turn_until(times, &mut near, &mut far, |near, far| {
        near.node.is_joined() && far.node.is_joined()
    })
    .context("joining the directory")?;
    near.node.connect(times.now(), far.key());
    turn_until(times, &mut near, &mut far, |near, far| {
        near.link.is_some() && far.link.is_some()
    })
    .context("linking two players")?;
    if near.through_relay != (path == Path::Relayed) {
        bail!("two players met by another path than they should");
    }
    Ok((near, far))
}

/// Turns both until something is so.
fn turn_until(
    times: &Times,
    near: &mut Linked,
    far: &mut Linked,
    is_so: impl Fn(&Linked, &Linked) -> bool,
) -> Result<()> {
    let patience = times.now() + Duration::from_secs(30);
    while !is_so(near, far) {
        if times.now() >= patience || times.is_over() {
            bail!("did not happen within 30 s");
        }
        for end in [&mut *near, &mut *far] {
            end.hear(times.now() + Duration::from_millis(2), &mut |_| {})?;
        }
    }
    Ok(())
}
