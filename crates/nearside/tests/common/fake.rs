//! A server that says what a test wants it to say.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Answers every datagram with the same bytes, until dropped.
pub struct FakeServer {
    pub addr: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FakeServer {
    /// A server that sends `reply` to whoever asks anything.
    pub fn saying(reply: Vec<u8>) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let patience = Some(Duration::from_millis(20));
        socket.set_read_timeout(patience).unwrap();
        let addr = socket.local_addr().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while !seen.load(Ordering::Relaxed) {
                if let Ok((_, from)) = socket.recv_from(&mut buffer) {
                    let _ = socket.send_to(&reply, from);
                }
            }
        });
        Self {
            addr,
            over,
            thread: Some(thread),
        }
    }

    /// A Source server of this name, map and game, in the layout of A2S_INFO (docs/wire/a2s.md).
    pub fn a2s(name: &[u8], map: &[u8], game: &[u8]) -> Self {
        let mut reply = b"\xff\xff\xff\xff\x49\x11".to_vec();
        for text in [name, map, b"cstrike", game] {
            reply.extend(text);
            reply.push(0);
        }
        // Application 240, 3 of 16 players, no bots, dedicated, Linux, open, no VAC.
        reply.extend(b"\xf0\x00\x03\x10\x00dl\x00\x001.0.0.34\0");
        Self::saying(reply)
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
