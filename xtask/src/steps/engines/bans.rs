//! What an engine must not reach, directly (calls) or by dependency (crates), and why.

/// Calls that each engine's `clippy.toml` has to disallow.
pub(super) const CALLS: [&str; 4] = [
    "std::time::Instant::now",
    "std::time::SystemTime::now",
    "std::thread::spawn",
    "std::net::UdpSocket::bind",
];

/// Crates by which an effect would come in through the back door.
///
/// `libc` and its relatives do nothing by themselves, but a pure crate has no use for the operating
/// system: whoever needs them below an engine wants time, threads, files or sockets. Should a pure
/// dependency ever bring one along for a constant, take the entry out and say why here.
pub(super) const CRATES: [(&str, &str); 37] = [
    ("async-executor", RUNTIME),
    ("async-global-executor", RUNTIME),
    ("async-io", RUNTIME),
    ("async-std", RUNTIME),
    ("embassy-executor", RUNTIME),
    ("futures-executor", RUNTIME),
    ("glommio", RUNTIME),
    ("monoio", RUNTIME),
    ("smol", RUNTIME),
    ("tokio", RUNTIME),
    ("crossbeam-channel", THREADS),
    ("flume", THREADS),
    ("num_cpus", THREADS),
    ("parking_lot", THREADS),
    ("rayon", THREADS),
    ("threadpool", THREADS),
    ("curl", SOCKETS),
    ("h2", SOCKETS),
    ("hyper", SOCKETS),
    ("io-uring", SOCKETS),
    ("mio", SOCKETS),
    ("polling", SOCKETS),
    ("quinn", SOCKETS),
    ("quinn-udp", SOCKETS),
    ("reqwest", SOCKETS),
    ("socket2", SOCKETS),
    ("ureq", SOCKETS),
    ("libc", SYSTEM),
    ("nix", SYSTEM),
    ("rustix", SYSTEM),
    ("windows-sys", SYSTEM),
    ("chrono", CLOCK),
    ("instant", CLOCK),
    ("quanta", CLOCK),
    ("web-time", CLOCK),
    ("fastrand", CHANCE),
    ("getrandom", CHANCE),
];

/// Crates that may pull in some of these after all: `ring`, five times as quick at sealing as ciphers
/// in pure Rust, brings them for its own source of chance, which nearside-tunnel's `clippy.toml`
/// forbids to call.
pub(super) const EXCUSED: [(&str, &[&str]); 1] =
    [("nearside-tunnel", &["getrandom", "libc", "windows-sys"])];

const RUNTIME: &str = "is an async runtime";
const THREADS: &str = "brings threads, locks or channels";
const SOCKETS: &str = "opens sockets";
const SYSTEM: &str = "talks to the operating system";
const CLOCK: &str = "reads a clock";
const CHANCE: &str = "draws randomness that no seed controls";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_crate_is_banned_twice() {
        let mut names: Vec<&str> = CRATES.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CRATES.len());
    }
}
