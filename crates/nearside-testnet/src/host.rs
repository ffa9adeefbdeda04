//! A host as a test sees it: its addresses, its sockets, its programs.

use std::ffi::OsStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::TestnetError;
use crate::namespace::Namespace;
use crate::nat::NatBox;
use crate::places::Network;

/// Real time, behind the hub's. Niceness would not do: with the kernel's automatic groups it orders the
/// processes of one session only.
const PUNCTUALLY: &str = r#"chrt --fifo --pid 5 $$ >/dev/null 2>&1; exec "$0" "$@""#;

/// One host, with the NAT boxes in front of it.
#[derive(Debug)]
pub struct Host {
    pub(crate) name: String,
    pub(crate) namespace: Namespace,
    /// From the hub to the host.
    pub(crate) boxes: Vec<NatBox>,
    pub(crate) address: Ipv4Addr,
    pub(crate) inside_address: Ipv4Addr,
    pub(crate) ipv6: Option<Ipv6Addr>,
    pub(crate) network: Option<Network>,
    /// How often the boxes were rebound.
    pub(crate) round: AtomicU32,
}

impl Host {
    /// As it was named.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address others see: its own, or that of its outermost NAT.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The address the host itself sees; behind a NAT it is 192.168.1.2 for everybody.
    pub fn inside_address(&self) -> Ipv4Addr {
        self.inside_address
    }

    /// Its IPv6 address, if it has one; no NAT changes that.
    pub fn ipv6(&self) -> Option<Ipv6Addr> {
        self.ipv6
    }

    /// The name `ip netns` knows it by.
    pub fn namespace(&self) -> &str {
        self.namespace.name()
    }

    /// A command that runs on this host (`ip netns exec`). [`Running::start`] starts it so that it
    /// ends with the test; whatever is left is killed when the network is dropped.
    ///
    /// [`Running::start`]: crate::Running::start
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.namespace.command(program)
    }

    /// The same for a program whose times are looked at: it has its turn as soon as it wants one, as the
    /// hub does, so that what is measured is the program and not what else runs. Where that is not
    /// allowed it runs like others.
    pub fn punctual_command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.command("sh");
        command.arg("-c").arg(PUNCTUALLY).arg(program);
        command
    }

    /// Runs `work` on a thread of its own on this host and waits for it. Sockets it opens stay on
    /// this host wherever they are used; threads it starts do too.
    ///
    /// # Panics
    /// When `work` does, or when the host cannot be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.namespace
            .inside(work)
            .expect("a namespace that we made and hold can be entered")
    }

    /// An IPv4 socket on this host; port 0 lets the kernel choose.
    pub fn udp(&self, port: u16) -> io::Result<UdpSocket> {
        self.udp_at((Ipv4Addr::UNSPECIFIED, port).into())
    }

    /// A socket at an address of this host, of either version.
    pub fn udp_at(&self, address: SocketAddr) -> io::Result<UdpSocket> {
        self.run(|| UdpSocket::bind(address))
    }

    /// Makes all NATs in front of this host forget their mappings and use other outside ports, as
    /// a router that was restarted. Without NATs nothing happens.
    pub fn rebind(&self) -> Result<(), TestnetError> {
        let round = self.round.fetch_add(1, Ordering::Relaxed) + 1;
        self.boxes.iter().try_for_each(|layer| layer.rebind(round))
    }

    /// Every address at which the hub delivers to this host.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let six = self.ipv6.map(IpAddr::from);
        std::iter::once(IpAddr::from(self.address)).chain(six)
    }
}
