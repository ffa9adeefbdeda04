use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nearside_net::{MonotonicClock, Stop};
use nearside_tunnel::crypto::PublicKey;
use nearside_tunnel::node::{LinkId, NodeView};

use crate::driver::Driver;
use crate::order::{Bell, Happening, Heard, Order, Told};
use crate::settings::{Settings, StartError};

/// Asks a player's thread from anywhere, for as long as it runs.
#[derive(Debug, Clone)]
pub struct Remote {
    bell: Arc<Bell>,
}

impl Remote {
    /// What there is to be seen; `None` when the thread has ended.
    pub fn view(&self) -> Option<NodeView> {
        let (sender, answer) = channel();
        self.bell.ring(Order::View(sender));
        answer.recv_timeout(Duration::from_secs(5)).ok()
    }

    /// Lets packets take the direct path and the detour in turns, to compare them on live traffic.
    pub fn compare(&self, link: LinkId, on: bool) {
        self.bell.ring(Order::Compare(link, on));
    }
}

/// A player's thread. It ends, with a goodbye to everybody, when this is dropped.
#[derive(Debug)]
pub struct Player {
    bell: Arc<Bell>,
    stop: Stop,
    happenings: Heard,
    address: SocketAddr,
    listen: Option<SocketAddr>,
    thread: Option<JoinHandle<()>>,
}

impl Player {
    /// Opens the sockets and starts the thread.
    ///
    /// # Errors
    /// If a socket or the thread cannot be had.
    pub fn start(settings: Settings) -> Result<Self, StartError> {
        let clock = MonotonicClock::start();
        let stop = Stop::new()?;
        let (bell, heard, orders) = Bell::new(&clock)?;
        let (told, happenings) = Told::new();
        let driver = Driver::new(settings, clock, stop.clone(), heard, orders, told)?;
        let (address, listen) = (driver.address(), driver.listens_at());
        let thread = thread::Builder::new()
            .name("nearside-player".to_owned())
            .spawn(move || driver.run())
            .map_err(StartError::Thread)?;
        Ok(Self {
            bell: Arc::new(bell),
            stop,
            happenings,
            address,
            listen,
            thread: Some(thread),
        })
    }

    /// The address of its socket.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where games connect to, if it is a proxy.
    pub fn listens_at(&self) -> Option<SocketAddr> {
        self.listen
    }

    /// Asks for a link to a peer.
    pub fn connect(&self, peer: PublicKey) {
        self.bell.ring(Order::Connect(peer));
    }

    /// Asks who stands beside a game server; [`Happening::Found`] is the answer.
    pub fn find(&self, game: SocketAddr) {
        self.bell.ring(Order::Find(game));
    }

    /// Sends a packet on the path in use.
    pub fn send(&self, link: LinkId, payload: &[u8]) {
        self.bell.ring(Order::Send(link, payload.to_vec()));
    }

    /// Sends a packet on the direct path alone; without one it is not sent, and [`Happening::NotSent`]
    /// says so.
    pub fn send_direct(&self, link: LinkId, payload: &[u8]) {
        self.bell.ring(Order::SendDirect(link, payload.to_vec()));
    }

    /// The game notices that updates come late: the next path is tried at once.
    pub fn report_lag(&self, link: LinkId) {
        self.bell.ring(Order::ReportLag(link));
    }

    /// See [`Remote::compare`].
    pub fn compare(&self, link: LinkId, on: bool) {
        self.remote().compare(link, on);
    }

    /// Ends a link.
    pub fn close(&self, link: LinkId) {
        self.bell.ring(Order::Close(link));
    }

    /// What there is to be seen; `None` when the thread has ended.
    pub fn view(&self) -> Option<NodeView> {
        self.remote().view()
    }

    /// For other threads.
    pub fn remote(&self) -> Remote {
        Remote {
            bell: Arc::clone(&self.bell),
        }
    }

    /// The next thing that happens within this time.
    pub fn wait(&self, time: Duration) -> Option<Happening> {
        self.happenings.wait(time)
    }

    /// What happened and was dropped, since nobody waited for it: 4,096 packets wait at most.
    pub fn dropped(&self) -> u64 {
        self.happenings.dropped()
    }

    /// Tells the thread to end; [`Happening::Ended`] follows.
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// Ends it from anywhere.
    pub fn stopper(&self) -> Stop {
        self.stop.clone()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed already.
            let _ = thread.join();
        }
    }
}
