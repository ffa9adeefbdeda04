//! A game of 60 packets a second with a server that sends every one back. Packets have numbers, so that
//! what is lost is counted and not guessed.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nearside_testnet::Host;

/// 60 packets a second.
const INTERVAL: Duration = Duration::from_micros(16_667);
/// As long as a usual packet of a game.
const BYTES: usize = 60;
/// What has not come back after this long is lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// What came and went, each packet by its number.
#[derive(Debug, Default)]
struct Log {
    sent: Vec<Instant>,
    served: Vec<(usize, Instant)>,
    back: Vec<(usize, Instant)>,
}

/// A game under way, until it is dropped.
pub(crate) struct Stream {
    log: Arc<Mutex<Log>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// A moment of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    packet: usize,
    at: Instant,
}

/// How a stretch of a stream went.
#[derive(Debug)]
pub(crate) struct Stretch {
    pub(crate) sent: usize,
    pub(crate) lost: usize,
    /// The longest time in which nothing came to the server.
    pub(crate) gap_at_server: Duration,
    /// The longest time in which nothing came back to the player.
    pub(crate) gap_at_player: Duration,
    /// The longest time between two packets that the player sent: what the machine itself adds to all
    /// gaps, since they should be 17 ms apart.
    pub(crate) stall: Duration,
    /// The median round trip of the last second and a half.
    pub(crate) round_trip_ms: f64,
    /// What one in ten was quicker than: the path, without the machine's other work.
    pub(crate) path_ms: f64,
}

impl Stream {
    /// Plays from `player` through its loopback port with a server at the same port of `server`'s.
    pub(crate) fn play(player: &Host, server: &Host, port: u16) -> Self {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let game = listening(server.udp_at(at).unwrap());
        let socket = listening(player.udp_at((Ipv4Addr::LOCALHOST, 0).into()).unwrap());
        socket.connect(at).unwrap();
        let mut stream = Self {
            log: Arc::default(),
            over: Arc::default(),
            threads: Vec::new(),
        };
        let sender = socket.try_clone().unwrap();
        stream.spawn(move |log| {
            let mut packet = [0; 2_048];
            if let Ok((length, from)) = game.recv_from(&mut packet) {
                note(log, &packet[..length], |log| &mut log.served);
                let _lost = game.send_to(&packet[..length], from);
            }
        });
        stream.spawn(move |log| {
            let mut packet = [0; 2_048];
            if let Ok(length) = socket.recv(&mut packet) {
                note(log, &packet[..length], |log| &mut log.back);
            }
        });
        let start = Instant::now();
        stream.spawn(move |log| {
            let number = lock(log).sent.len() as u32;
            let due = start + INTERVAL * number;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let mut packet = [0; BYTES];
            packet[..4].copy_from_slice(&number.to_be_bytes());
            lock(log).sent.push(Instant::now());
            // Nobody may listen there yet.
            let _lost = sender.send(&packet);
        });
        stream
    }

    /// Does the same again and again on a thread, until the game is over.
    fn spawn(&mut self, mut turn: impl FnMut(&Mutex<Log>) + Send + 'static) {
        let (log, over) = (Arc::clone(&self.log), Arc::clone(&self.over));
        self.threads.push(std::thread::spawn(move || {
            nearside_testnet::be_punctual();
            while !over.load(Ordering::Relaxed) {
                turn(&log);
            }
        }));
    }

    /// Now.
    pub(crate) fn mark(&self) -> Mark {
        let packet = lock(&self.log).sent.len();
        let at = Instant::now();
        Mark { packet, at }
    }

    /// Waits some time, and tells how the game went since `mark`.
    pub(crate) fn after(&self, mark: Mark, time: Duration) -> Stretch {
        std::thread::sleep((mark.at + time).saturating_duration_since(Instant::now()));
        let end = self.mark();
        std::thread::sleep(PATIENCE);
        lock(&self.log).stretch(mark, end)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ended = thread.join();
        }
    }
}

impl Log {
    fn stretch(&self, from: Mark, to: Mark) -> Stretch {
        let numbers = from.packet..to.packet;
        let mut came = vec![false; numbers.len()];
        for (number, _) in self.back.iter().filter(|(n, _)| numbers.contains(n)) {
            came[number - from.packet] = true;
        }
        Stretch {
            sent: numbers.len(),
            lost: came.iter().filter(|came| !**came).count(),
            gap_at_server: longest_gap(&self.served, from, to),
            gap_at_player: longest_gap(&self.back, from, to),
            stall: self.stall(&numbers),
            round_trip_ms: self.round_trip_ms(to, 0.5),
            path_ms: self.round_trip_ms(to, 0.1),
        }
    }

    fn stall(&self, numbers: &Range<usize>) -> Duration {
        let sent = self.sent[numbers.clone()].windows(2);
        sent.map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
    }

    fn round_trip_ms(&self, to: Mark, quantile: f64) -> f64 {
        let lately = to.packet.saturating_sub(90)..to.packet;
        let back = self
            .back
            .iter()
            .filter(|(number, _)| lately.contains(number));
        let mut took: Vec<f64> = back
            .map(|(number, at)| (*at - self.sent[*number]).as_secs_f64() * 1e3)
            .collect();
        took.sort_by(f64::total_cmp);
        let at = (took.len() as f64 * quantile) as usize;
        took.get(at).copied().unwrap_or(f64::INFINITY)
    }
}

/// Between the last arrival before the stretch and its end.
fn longest_gap(arrivals: &[(usize, Instant)], from: Mark, to: Mark) -> Duration {
    let before = arrivals.iter().rev().find(|(_, at)| *at <= from.at);
    let within = arrivals
        .iter()
        .filter(|(_, at)| *at > from.at && *at <= to.at);
    let start = before.map_or(from.at, |(_, at)| *at);
    let times = within.map(|(_, at)| *at).chain([to.at]);
    let gaps = times.scan(start, |last, at| Some(at - std::mem::replace(last, at)));
    gaps.max().unwrap_or_default()
}

fn note(log: &Mutex<Log>, packet: &[u8], of: impl Fn(&mut Log) -> &mut Vec<(usize, Instant)>) {
    if let Some(number) = packet.first_chunk() {
        let number = u32::from_be_bytes(*number) as usize;
        of(&mut lock(log)).push((number, Instant::now()));
    }
}

fn lock(log: &Mutex<Log>) -> std::sync::MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A socket that looks up now and then.
fn listening(socket: UdpSocket) -> UdpSocket {
    let moment = Some(Duration::from_millis(100));
    socket.set_read_timeout(moment).unwrap();
    socket
}
