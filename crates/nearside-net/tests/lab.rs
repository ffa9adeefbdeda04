//! The lab's shell on a real loopback interface, asked by a plain socket.

use std::collections::{BTreeSet, HashMap};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nearside_net::lab::{
    CsvTruth, LabConfig, LabShell, LabStats, MemoryTruth, Reply, Responder, TruthRow,
};
use nearside_net::{MonotonicClock, NetError};
use nearside_types::Moment;

/// Answers with the address it was asked at, after as many milliseconds as the last byte of that
/// address says; 127.x.y.0 never answers.
struct HostByteIsDelay;

impl Responder for HostByteIsDelay {
    fn handle(
        &mut self,
        _: Moment,
        _: SocketAddr,
        to: SocketAddr,
        _: &[u8],
        replies: &mut Vec<Reply>,
    ) {
        let SocketAddr::V4(server) = to else { return };
        let millis = server.ip().octets()[3];
        if millis > 0 {
            replies.push(Reply {
                delay: Duration::from_millis(millis.into()),
                payload: format!("\u{FF}{to}").into_bytes(),
            });
        }
    }
}

fn one_port() -> LabConfig {
    LabConfig {
        server_ports: BTreeSet::from([0]),
        masters: Vec::new(),
    }
}

fn lab(config: &LabConfig) -> (LabShell<HostByteIsDelay>, u16) {
    let clock = MonotonicClock::start();
    let shell = LabShell::bind(config, HostByteIsDelay, clock).expect("loopback ports are free");
    let port = shell.local_addrs()[0].port();
    (shell, port)
}

fn client() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let patience = Duration::from_secs(2);
    socket
        .set_read_timeout(Some(patience))
        .expect("not zero, so valid");
    socket
}

/// The next `count` replies: who sent them, what they say, and when they were read.
fn replies(
    socket: &UdpSocket,
    count: usize,
    clock: &MonotonicClock,
) -> Vec<(SocketAddr, String, Moment)> {
    let mut buffer = [0; 2048];
    (0..count)
        .map(|index| {
            let received = socket.recv_from(&mut buffer);
            let (length, from) = received.unwrap_or_else(|e| panic!("reply {index}: {e}"));
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            (from, text, clock.now())
        })
        .collect()
}

#[test]
fn every_server_answers_from_its_own_address_after_its_own_delay() {
    let clock = MonotonicClock::start();
    let (shell, port) = lab(&one_port());
    let handle = shell.spawn().unwrap();
    let client = client();
    let hosts = [(9, 1, 90), (4, 200, 20), (77, 3, 50), (4, 201, 5)];
    let servers = hosts.map(|(a, b, c)| SocketAddr::from((Ipv4Addr::new(127, a, b, c), port)));
    let sent = clock.now();
    for server in servers {
        client.send_to(b"?", server).unwrap();
    }

    let received = replies(&client, servers.len(), &clock);

    let order: Vec<SocketAddr> = received.iter().map(|(from, ..)| *from).collect();
    assert_eq!(order, [servers[3], servers[1], servers[2], servers[0]]);
    for ((from, text, at), millis) in received.iter().zip([5, 20, 50, 90]) {
        assert_eq!(*text, format!("\u{FF}{from}"));
        let took = *at - sent;
        assert!(took >= Duration::from_millis(millis), "{from}: {took:?}");
        assert!(
            took < Duration::from_millis(millis + 200),
            "{from}: {took:?}"
        );
    }
    let stats = handle.stop().unwrap();
    assert_eq!((stats.requests, stats.replies, stats.foreign), (4, 4, 0));
}

#[test]
fn the_truth_log_tells_what_each_reply_was_delayed_by() {
    let (shell, port) = lab(&one_port());
    let truth = MemoryTruth::default();
    let handle = shell.with_truth(truth.clone()).spawn().unwrap();
    let client = client();
    for host in 1..=40 {
        client
            .send_to(b"?", (Ipv4Addr::new(127, 60, 0, host), port))
            .unwrap();
    }
    replies(&client, 40, &MonotonicClock::start());
    let stats = handle.stop().unwrap();

    let rows: Vec<TruthRow> = truth.take();
    assert_eq!(rows.len(), 40);
    for row in &rows {
        let SocketAddr::V4(server) = row.server else {
            panic!("{row:?}");
        };
        let millis = server.ip().octets()[3].into();
        assert_eq!(row.intended, Duration::from_millis(millis));
        assert!(row.actual >= row.intended, "{row:?}");
        assert_eq!(row.client, client.local_addr().unwrap());
    }
    assert_eq!(stats.lateness.count(), 40);
}

/// A file that several may look at.
#[derive(Clone, Default)]
struct SharedFile(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics here").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn stopping_writes_the_rest_of_the_csv() {
    let file = SharedFile::default();
    let (shell, port) = lab(&one_port());
    let log = CsvTruth::new(file.clone()).unwrap();
    let handle = shell.with_truth(log).spawn().unwrap();
    let client = client();
    client
        .send_to(b"?", (Ipv4Addr::new(127, 61, 0, 7), port))
        .unwrap();
    replies(&client, 1, &MonotonicClock::start());
    handle.stop().unwrap();
    let text = String::from_utf8(file.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[1].contains(&format!("127.61.0.7:{port}")), "{text}");
    assert!(lines[1].contains(",other,7000,"), "{text}");
}

/// An address of this machine outside 127.0.0.0/8, if it has one. Connecting a UDP socket sends
/// nothing: it only makes the kernel pick the source address.
fn foreign_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(addr) if !addr.ip().is_loopback() => Some(*addr.ip()),
        _ => None,
    }
}

#[test]
fn a_request_from_outside_loopback_is_dropped_and_counted() {
    let Some(foreign) = foreign_address() else {
        return;
    };
    let Ok(outsider) = UdpSocket::bind((foreign, 0)) else {
        return;
    };
    let (shell, port) = lab(&one_port());
    let handle = shell.spawn().unwrap();
    let server = (Ipv4Addr::new(127, 62, 0, 1), port);
    outsider.send_to(b"?", server).unwrap();
    let client = client();
    client.send_to(b"?", server).unwrap();
    replies(&client, 1, &MonotonicClock::start());
    let stats = handle.stop().unwrap();
    assert_eq!((stats.foreign, stats.requests, stats.replies), (1, 1, 1));
    outsider.set_nonblocking(true).unwrap();
    assert!(outsider.recv(&mut [0; 64]).is_err(), "must not be answered");
}

#[test]
fn masters_have_addresses_of_their_own() {
    let master = Ipv4Addr::new(127, 0, 0, 1);
    let config = LabConfig {
        server_ports: BTreeSet::from([0]),
        masters: vec![std::net::SocketAddrV4::new(master, 0)],
    };
    let (shell, _) = lab(&config);
    let addrs = shell.local_addrs();
    assert_eq!(addrs.len(), 2);
    assert_eq!(addrs[1].ip(), master);
    let handle = shell.spawn().unwrap();
    let client = client();
    client.send_to(b"?", addrs[1]).unwrap();
    let received = replies(&client, 1, &MonotonicClock::start());
    assert_eq!(received[0].0, addrs[1]);
    handle.stop().unwrap();
}

#[test]
fn a_master_outside_loopback_is_refused() {
    let config = LabConfig {
        server_ports: BTreeSet::new(),
        masters: vec!["192.0.2.1:27011".parse().unwrap()],
    };
    let shell = LabShell::bind(&config, HostByteIsDelay, MonotonicClock::start());
    let error = shell.map(|_| ()).unwrap_err();
    assert!(matches!(error, NetError::NotLoopback { .. }), "{error}");
}

#[test]
fn a_burst_of_five_thousand_requests_within_50_ms_is_answered_in_full() {
    const BURST: usize = 5_000;
    let (shell, port) = lab(&one_port());
    let handle = shell.spawn().unwrap();
    let sender = client();
    socket2::SockRef::from(&sender)
        .set_recv_buffer_size(8 << 20)
        .unwrap();
    let receiver = sender.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut seen: HashMap<SocketAddr, usize> = HashMap::new();
        let mut buffer = [0; 64];
        while let Ok((_, from)) = receiver.recv_from(&mut buffer) {
            *seen.entry(from).or_default() += 1;
            if seen.len() == BURST {
                break;
            }
        }
        seen
    });
    for index in 0..BURST {
        if index % 500 == 499 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let [high, low] = (index as u16).to_be_bytes();
        let delay = 30 + (index % 200) as u8;
        sender
            .send_to(b"?", (Ipv4Addr::new(127, high, low, delay), port))
            .unwrap();
    }
    let seen = reader.join().unwrap();
    let stats: LabStats = handle.stop().unwrap();
    assert_eq!(stats.requests, BURST as u64, "no request was lost");
    assert_eq!(stats.replies, BURST as u64);
    assert_eq!(seen.len(), BURST);
    assert!(seen.values().all(|count| *count == 1));
}

#[test]
fn dropping_the_handle_frees_the_port() {
    let (shell, port) = lab(&one_port());
    drop(shell.spawn().unwrap());
    let config = LabConfig {
        server_ports: BTreeSet::from([port]),
        masters: Vec::new(),
    };
    let clock = MonotonicClock::start();
    assert!(LabShell::bind(&config, HostByteIsDelay, clock).is_ok());
}
