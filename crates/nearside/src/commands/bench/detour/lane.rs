//! The ways packets take: each with its two ends, the processes between them, and a thread at each end
//! for as long as the bench lasts, so that links stay alive while others are measured.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use nearside_net::{Stop, sharpen_timers};
use nearside_tunnel::crypto::Chance;

use super::cores::{self, Cores};
use super::directory::Directory;
use super::end::{self, End, Plain, Times};
use super::forwarder::Forwarder;
use super::stream::{Pace, Payloads, Stream, Tally};
use super::{library, linked};
use crate::commands::bench::child::free_address;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Loopback,
    Socat,
    SocatTwice,
    Nginx,
    Bare,
    ProxyPlain,
    Sidecars,
    Library,
    Link,
    Relay,
}

impl Kind {
    /// Those with a comparison right after what they are compared with.
    pub(super) const ALL: [Self; 10] = [
        Self::Loopback,
        Self::Socat,
        Self::ProxyPlain,
        Self::SocatTwice,
        Self::Sidecars,
        Self::Nginx,
        Self::Library,
        Self::Link,
        Self::Relay,
        Self::Bare,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Socat => "socat",
            Self::SocatTwice => "two socats in a row",
            Self::Nginx => "nginx stream",
            Self::Bare => "bare forwarder",
            Self::ProxyPlain => "proxy, plain",
            Self::Sidecars => "proxy and expose, sealed",
            Self::Library => "library, sealed",
            Self::Link => "sealed link",
            Self::Relay => "sealed link by relay",
        }
    }

    /// What it would be without what it adds: the ends of a relayed link seal with or without relay.
    pub(super) const fn baseline(self) -> Self {
        match self {
            Self::Relay => Self::Link,
            _ => Self::Loopback,
        }
    }

    /// What brings it, if it is not ours.
    pub(super) const fn package(self) -> Option<&'static str> {
        match self {
            Self::Socat | Self::SocatTwice => Some("socat"),
            Self::Nginx => Some("nginx and libnginx-mod-stream"),
            _ => None,
        }
    }
}

/// What lanes are made of.
pub(super) struct Yard<'a> {
    pub(super) folder: &'a Path,
    pub(super) payloads: Payloads,
    pub(super) times: Times,
    pub(super) chance: Chance,
    /// For lanes with a directory, one that knows of no relay.
    pub(super) directory: Directory,
    /// Where lanes run.
    pub(super) cores: Option<Cores>,
}

/// Two ends and what is between them.
struct Course {
    near: Box<dyn End>,
    /// `None`: the far end runs already.
    far: Option<Box<dyn End>>,
    forwarders: Vec<Forwarder>,
    directory: Option<Directory>,
    echo: Option<JoinHandle<()>>,
}

/// One way, ready to be measured.
pub(super) struct Lane {
    pub(super) kind: Kind,
    orders: Option<Sender<(Pace, Duration)>>,
    results: Receiver<Result<Tally>>,
    done: Stop,
    threads: Vec<JoinHandle<()>>,
    // After the threads, which may still send to them.
    _forwarders: Vec<Forwarder>,
    _directory: Option<Directory>,
}

impl Lane {
    /// Opens it, and sees packets come back.
    pub(super) fn open(yard: &mut Yard<'_>, kind: Kind) -> Result<Self> {
        let mut course = cores::near(yard.cores, || yard.course(kind))??;
        let mut threads: Vec<JoinHandle<()>> = course.echo.take().into_iter().collect();
        if let Some(far) = course.far.take() {
            threads.push(yard.echo(far)?);
        }
        let mut near = course.near;
        end::knock(near.as_mut(), &yard.times, kind.name())?;
        let (orders, ordered) = channel();
        let (told, results) = channel();
        let pids = course.forwarders.iter().map(Forwarder::pid).collect();
        let stream = Stream::new(yard.payloads.clone(), yard.times.clone(), pids);
        let times = yard.times.clone();
        let near_end = move || serve(near, stream, &times, &ordered, &told);
        threads.push(cores::near(yard.cores, || thread::spawn(near_end))?);
        Ok(Self {
            kind,
            orders: Some(orders),
            results,
            done: yard.times.done.clone(),
            threads,
            _forwarders: course.forwarders,
            _directory: course.directory,
        })
    }

    /// Measures it once; `None` when interrupted.
    pub(super) fn measure(&self, pace: Pace, time: Duration, stop: &Stop) -> Result<Option<Tally>> {
        let ended = || anyhow!("{}: an end has ended", self.kind.name());
        let orders = self.orders.as_ref().ok_or_else(ended)?;
        orders.send((pace, time)).map_err(|_| ended())?;
        loop {
            match self.results.recv_timeout(Duration::from_millis(50)) {
                Ok(tally) => return tally.context(self.kind.name()).map(Some),
                Err(RecvTimeoutError::Timeout) if stop.is_stopped() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            }
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // One lane ends with all of them: there is no bench without it.
        self.done.stop();
        self.orders = None;
        for thread in self.threads.drain(..) {
            // A panic of the thread was printed already.
            let _ = thread.join();
        }
    }
}

/// The near end: measures when it is told to, and else only keeps its link alive.
fn serve(
    mut near: Box<dyn End>,
    mut stream: Stream,
    times: &Times,
    ordered: &Receiver<(Pace, Duration)>,
    told: &Sender<Result<Tally>>,
) {
    sharpen_timers();
    while !times.is_over() {
        let served = match ordered.try_recv() {
            Ok((pace, time)) => {
                let tally = stream.measure(near.as_mut(), pace, time);
                told.send(tally).is_ok()
            }
            Err(_) => {
                let until = times.now() + Duration::from_millis(20);
                near.hear(until, &mut |_| {}).is_ok()
            }
        };
        if !served {
            return;
        }
    }
}

impl Yard<'_> {
    fn course(&mut self, kind: Kind) -> Result<Course> {
        match kind {
            Kind::Loopback => self.plainly(|_, _, _| Ok(Vec::new())),
            Kind::Socat => self.plainly(|_, at, to| Ok(vec![Forwarder::socat(at, to)?])),
            Kind::SocatTwice => self.plainly(|yard, at, to| {
                let between = free_address()?;
                let second = cores::far(yard.cores, || Forwarder::socat(between, to))??;
                Ok(vec![Forwarder::socat(at, between)?, second])
            }),
            Kind::Nginx => self.plainly(|yard, at, to| {
                let nginx = Forwarder::nginx(yard.folder, at, to)?;
                Ok(vec![nginx])
            }),
            Kind::Bare => self.plainly(|_, at, to| Ok(vec![Forwarder::bare(at, to)?])),
            Kind::ProxyPlain => self.plainly(|yard, at, to| {
                let proxy = yard.proxy("plain", at, to)?;
                proxy.expect("plain")?;
                Ok(vec![proxy])
            }),
            Kind::Sidecars => self.plainly(Self::sidecars),
            Kind::Library => {
                let (near, far) =
                    library::pair(&self.times, self.directory.at, self.cores, &mut self.chance)?;
                Ok(Course::of(near, far))
            }
            Kind::Link => {
                let (at, path) = (self.directory.at, linked::Path::Direct);
                let (near, far) = linked::pair(&self.times, at, path, &mut self.chance)?;
                Ok(Course::of(near, far))
            }
            Kind::Relay => self.relayed(),
        }
    }

    /// Sockets at both ends; `between` starts what forwards from the first address to the second.
    fn plainly(
        &mut self,
        between: impl FnOnce(&Self, SocketAddr, SocketAddr) -> Result<Vec<Forwarder>>,
    ) -> Result<Course> {
        let far = Plain::open(&self.times, None)?;
        let (at, to) = (free_address()?, far.address());
        let echo = self.echo(Box::new(far))?;
        let forwarders = between(self, at, to)?;
        let entrance = if forwarders.is_empty() { to } else { at };
        let near = Plain::open(&self.times, Some(entrance))?;
        Ok(Course {
            near: Box::new(near),
            far: None,
            forwarders,
            directory: None,
            echo: Some(echo),
        })
    }

    fn sidecars(&self, at: SocketAddr, to: SocketAddr) -> Result<Vec<Forwarder>> {
        let args = ["expose", "--game", &to.to_string()];
        let expose = cores::far(self.cores, || self.ours("expose", &args, &self.directory))??;
        expose.expect("joined")?;
        let proxy = self.proxy("sealed", at, to)?;
        proxy.expect("connected")?;
        Ok(vec![proxy, expose])
    }

    fn proxy(&self, name: &str, at: SocketAddr, to: SocketAddr) -> Result<Forwarder> {
        let (listen, to) = (at.to_string(), to.to_string());
        let args = ["proxy", "--no-detours", "--listen", &listen, "--to", &to];
        self.ours(name, &args, &self.directory)
    }

    /// The relay has a directory of its own, so that nobody else is offered it.
    fn relayed(&mut self) -> Result<Course> {
        let directory = Directory::start(&mut self.chance)?;
        // More than loopback carries: the relay is measured, not its patience.
        let limits = ["--relay-packets", "4000000", "--relay-kbit", "4000000"];
        let args = [&["join", "--relay-only"], limits.as_slice()].concat();
        let relay = self.ours("relay", &args, &directory)?;
        relay.expect("joined")?;
        let path = linked::Path::Relayed;
        let (near, far) = linked::pair(&self.times, directory.at, path, &mut self.chance)?;
        Ok(Course {
            forwarders: vec![relay],
            directory: Some(directory),
            ..Course::of(near, far)
        })
    }

    fn ours(&self, name: &str, args: &[&str], directory: &Directory) -> Result<Forwarder> {
        let word = directory.word();
        let rest = ["--bind", "127.0.0.1:0", "--directory", &word];
        let args = args.iter().chain(&rest).map(|arg| (*arg).to_owned());
        Forwarder::ours(self.folder, name, &args.collect::<Vec<_>>())
    }

    fn echo(&self, far: Box<dyn End>) -> Result<JoinHandle<()>> {
        let times = self.times.clone();
        let far_end = move || {
            // The near end notices that nothing comes back.
            let _ = end::echo(far, &times);
        };
        Ok(cores::far(self.cores, || thread::spawn(far_end))?)
    }
}

impl Course {
    fn of(near: impl End + 'static, far: impl End + 'static) -> Self {
        Self {
            near: Box::new(near),
            far: Some(Box::new(far)),
            forwarders: Vec::new(),
            directory: None,
            echo: None,
        }
    }
}
