//! What all these tests do: send a datagram and look whether, when and from where it arrives.

#![allow(dead_code, reason = "each test uses what it needs of this")]

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Longer than any delay here, and than a busy machine needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// How long nothing has to come before a test believes that nothing will.
pub(crate) const SILENCE: Duration = Duration::from_millis(250);

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A line that `cargo test` shows although the test passes.
pub(crate) fn figure(line: &str) {
    use std::io::Write as _;
    let _closed = writeln!(std::io::stderr(), "FIGURE {line}");
}

/// Who sent the next datagram with these bytes; `None` if it does not come within `patience`.
pub(crate) fn hears(socket: &UdpSocket, bytes: &[u8], patience: Duration) -> Option<SocketAddr> {
    let end = Instant::now() + patience;
    let mut buffer = [0; 2_048];
    loop {
        let left = end.checked_duration_since(Instant::now())?;
        socket.set_read_timeout(Some(left.max(ms(1)))).unwrap();
        let Ok((length, from)) = socket.recv_from(&mut buffer) else {
            continue;
        };
        if &buffer[..length] == bytes {
            return Some(from);
        }
    }
}

/// Sends and gives the sender's address as the receiver sees it, if it arrives.
pub(crate) fn passes(
    from: &UdpSocket,
    to: &UdpSocket,
    address: impl Into<SocketAddr>,
    patience: Duration,
) -> Option<SocketAddr> {
    let bytes = fresh_bytes();
    from.send_to(&bytes, address.into()).unwrap();
    hears(to, &bytes, patience)
}

/// Bytes no other datagram of this process has.
fn fresh_bytes() -> [u8; 8] {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes()
}
