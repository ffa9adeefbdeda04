//! What a UDP port does on a real loopback interface.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use nearside_net::{
    IcmpErrors, MonotonicClock, NetError, Outbox, PortConfig, ReceivedAt, RecvBuffers, SendOutcome,
    Stop, UdpPort, wait,
};

type Received = (SocketAddr, Option<IpAddr>, ReceivedAt, Vec<u8>);

fn localhost() -> PortConfig {
    PortConfig::at((Ipv4Addr::LOCALHOST, 0).into())
}

fn open(config: PortConfig) -> (MonotonicClock, UdpPort) {
    let clock = MonotonicClock::start();
    let port = UdpPort::bind(config, &clock).expect("a free port");
    (clock, port)
}

/// Everything that is waiting.
fn drain(port: &mut UdpPort, clock: &MonotonicClock) -> Vec<Received> {
    let mut all = Vec::new();
    let mut buffers = RecvBuffers::new();
    while port
        .recv_batch(&mut buffers, clock, |datagram| {
            all.push((
                datagram.from,
                datagram.to_ip,
                datagram.received,
                datagram.payload.to_vec(),
            ));
        })
        .expect("the port stays readable")
        > 0
    {}
    all
}

/// Linux switches stamping on a little after a socket asks for it: sends to itself until it has.
#[cfg(target_os = "linux")]
fn await_kernel_stamps(port: &mut UdpPort, clock: &MonotonicClock) {
    let own = (Ipv4Addr::LOCALHOST, port.local_addr().port()).into();
    for _ in 0..1_000 {
        port.send(own, b"stamped?", None).expect("loopback works");
        std::thread::sleep(Duration::from_millis(2));
        if let [(_, _, ReceivedAt::Kernel(_), _)] = drain(port, clock).as_slice() {
            return;
        }
    }
    panic!("the kernel never stamped a datagram");
}

#[cfg(target_os = "linux")]
#[test]
fn a_datagram_arrives_with_both_addresses_and_a_kernel_stamp_between_send_and_read() {
    let (clock, mut port) = open(PortConfig::ephemeral_v4());
    await_kernel_stamps(&mut port, &clock);
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server_ip = Ipv4Addr::new(127, 77, 3, 9);
    let sent = clock.now();
    client
        .send_to(b"hello", (server_ip, port.local_addr().port()))
        .unwrap();
    let seen = clock.now();
    std::thread::sleep(Duration::from_millis(20));

    let received = drain(&mut port, &clock);

    let [(from, to_ip, ReceivedAt::Kernel(at), payload)] = received.as_slice() else {
        panic!("one datagram with a kernel stamp, not {received:?}");
    };
    assert_eq!(*from, client.local_addr().unwrap());
    assert_eq!(*to_ip, Some(server_ip.into()));
    assert_eq!(payload, b"hello");
    // The offset of the clocks is measured to a microsecond or so.
    let slack = Duration::from_micros(200);
    assert!(
        *at + slack >= sent && *at <= seen + slack,
        "{sent:?} {at:?} {seen:?}"
    );
}

#[test]
fn datagrams_of_every_size_come_through_whole_and_in_order() {
    let (clock, mut port) = open(localhost());
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let sizes = [0, 1, 1400, 1400, 9_000, 65_507, 0, 25];
    for (index, size) in sizes.into_iter().enumerate() {
        client
            .send_to(&vec![index as u8; size], port.local_addr())
            .unwrap();
    }
    let payloads: Vec<Vec<u8>> = drain(&mut port, &clock).into_iter().map(|r| r.3).collect();
    let expected: Vec<Vec<u8>> = (0u8..).zip(sizes).map(|(i, size)| vec![i; size]).collect();
    assert!(
        payloads == expected,
        "sizes {:?}",
        payloads.iter().map(Vec::len).collect::<Vec<_>>()
    );
}

#[cfg(target_os = "linux")]
#[test]
fn datagrams_that_the_kernel_joined_come_apart_again() {
    use quinn_udp::{Transmit, UdpSocketState};
    let (clock, mut port) = open(localhost());
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let state = UdpSocketState::new((&client).into()).unwrap();
    // One send call, cut into datagrams of 100 bytes by the kernel; loopback keeps them together.
    let contents: Vec<u8> = (0..10u8).flat_map(|i| [i; 100]).chain([99; 7]).collect();
    let transmit = Transmit {
        destination: port.local_addr(),
        ecn: None,
        contents: &contents,
        segment_size: Some(100),
        src_ip: None,
    };
    state.try_send((&client).into(), &transmit).unwrap();
    let payloads: Vec<Vec<u8>> = drain(&mut port, &clock).into_iter().map(|r| r.3).collect();
    let expected: Vec<Vec<u8>> = contents.chunks(100).map(<[u8]>::to_vec).collect();
    assert_eq!(payloads, expected);
}

#[test]
fn a_reply_can_come_from_any_loopback_address() {
    let (_, port) = open(PortConfig::ephemeral_v4());
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    client
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let source = Ipv4Addr::new(127, 200, 1, 2);
    let outcome = port.send(client.local_addr().unwrap(), b"pong", Some(source.into()));
    assert_eq!(outcome.unwrap(), SendOutcome::Sent);
    let (length, from) = client.recv_from(&mut [0; 16]).unwrap();
    assert_eq!(length, 4);
    assert_eq!(from, SocketAddr::from((source, port.local_addr().port())));
}

/// Nobody listens on port 1 there; it lies outside the range the system hands out to other tests.
#[cfg(target_os = "linux")]
#[test]
fn what_waits_in_an_outbox_arrives_whole_from_the_address_it_should() {
    for config in [localhost(), PortConfig::ephemeral_v4()] {
        let (clock, mut one) = open(localhost());
        let (_, mut two) = open(localhost());
        let (_, sender) = open(config);
        let mut outbox = Outbox::default();
        let from = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        for number in 0..300_usize {
            // Long runs to one, single ones in between, some of other sizes, and an empty one.
            let to = if number % 7 == 0 { &two } else { &one };
            let length = if number % 50 == 3 { number } else { 200 };
            outbox.push(to.local_addr(), &vec![number as u8; length], from);
        }
        outbox.push(two.local_addr(), b"", from);
        assert_eq!(sender.send_all(&mut outbox), 0);
        assert_eq!(outbox.bytes(), 0);
        let lengths = |port: &mut UdpPort| -> Vec<usize> {
            let all = drain(port, &clock);
            assert!(all.iter().all(|(addr, ..)| Some(addr.ip()) == from));
            all.iter().map(|(.., bytes)| bytes.len()).collect()
        };
        let (first, second) = (lengths(&mut one), lengths(&mut two));
        assert_eq!((first.len(), second.len()), (257, 44));
        assert_eq!(first.iter().filter(|length| **length != 200).count(), 5);
        assert_eq!(second.last(), Some(&0));
    }
}

fn closed_port(host: u8) -> SocketAddr {
    (Ipv4Addr::new(127, 91, 7, host), 1).into()
}

#[cfg(target_os = "linux")]
#[test]
fn icmp_errors_name_the_destination_that_refused_and_lose_no_other_datagram() {
    let (clock, mut port) = open(PortConfig::ephemeral_v4());
    let listener = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let closed: Vec<SocketAddr> = (1..=5).map(closed_port).collect();
    for addr in &closed {
        assert_eq!(
            port.send(*addr, b"anyone?", None).unwrap(),
            SendOutcome::Sent
        );
        // Not drained yet, so this send meets the pending error of the one before.
        let outcome = port.send(listener.local_addr().unwrap(), b"here", None);
        assert_eq!(outcome.unwrap(), SendOutcome::Sent);
        assert_eq!(listener.recv(&mut [0; 16]).unwrap(), 4);
    }
    let stop = Stop::new().unwrap();
    assert_eq!(wait([&port], &stop, None, &clock).unwrap().ports, [0]);

    let mut refused = Vec::new();
    let count = port
        .drain_errors(|unreachable| refused.push(unreachable.to))
        .unwrap();

    assert_eq!(count, closed.len());
    assert_eq!(refused, closed);
    assert!(drain(&mut port, &clock).is_empty());
    let soon = clock.now() + Duration::from_millis(1);
    let ready = wait([&port], &stop, Some(soon), &clock).unwrap();
    assert!(ready.ports.is_empty(), "drained errors do not wake again");
}

#[cfg(target_os = "linux")]
#[test]
fn a_pending_icmp_error_does_not_hide_the_datagrams_behind_it() {
    let (clock, mut port) = open(localhost());
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    port.send(closed_port(20), b"anyone?", None).unwrap();
    client.send_to(b"hello", port.local_addr()).unwrap();
    assert_eq!(drain(&mut port, &clock).len(), 1);
}

#[test]
fn a_port_that_ignores_icmp_errors_has_none_to_drain() {
    let config = PortConfig {
        icmp_errors: IcmpErrors::Ignore,
        ..localhost()
    };
    let (clock, mut port) = open(config);
    let nobody = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap();
    port.send(nobody, b"anyone?", None).unwrap();
    assert_eq!(port.drain_errors(|_| ()).unwrap(), 0);
    let stop = Stop::new().unwrap();
    let soon = clock.now() + Duration::from_millis(1);
    assert!(
        wait([&port], &stop, Some(soon), &clock)
            .unwrap()
            .ports
            .is_empty()
    );
}

#[test]
fn a_taken_port_is_named_in_the_error() {
    let (clock, port) = open(localhost());
    let config = PortConfig::at(port.local_addr());
    let error = UdpPort::bind(config, &clock).unwrap_err();
    assert!(matches!(error, NetError::Bind { addr, .. } if addr == port.local_addr()));
    assert!(
        error.to_string().contains(&port.local_addr().to_string()),
        "{error}"
    );
}

#[test]
fn a_datagram_beyond_the_limit_is_an_error_with_its_size() {
    let (_, port) = open(localhost());
    let to = port.local_addr();
    let error = port.send(to, &vec![0; 65_508], None).unwrap_err();
    assert!(
        matches!(error, NetError::Send { length: 65_508, .. }),
        "{error}"
    );
}

#[test]
fn the_buffers_hold_more_than_the_system_default() {
    let (_, port) = open(localhost());
    let plain = socket2::Socket::from(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let granted = port.buffers();
    assert!(
        granted.receive >= plain.recv_buffer_size().unwrap(),
        "{granted:?}"
    );
    assert!(granted.send > 0);
}

#[test]
fn ipv6_works_alike_where_the_machine_has_it() {
    let Ok(client) = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return;
    };
    let (clock, mut port) = open(PortConfig::ephemeral_v6());
    client
        .send_to(b"six", (Ipv6Addr::LOCALHOST, port.local_addr().port()))
        .unwrap();
    let received = drain(&mut port, &clock);
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].1, Some(Ipv6Addr::LOCALHOST.into()));
    let outcome = port.send(client.local_addr().unwrap(), b"back", received[0].1);
    assert_eq!(outcome.unwrap(), SendOutcome::Sent);
}

#[test]
fn a_quiet_port_takes_a_burst_of_any_size_in_order() {
    let (clock, mut port) = open(localhost());
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut buffers = RecvBuffers::new();
    for burst in [1_u8, 1, 2, 3, 5, 31, 32, 33, 40, 1, 100, 4] {
        let mut expected = Vec::new();
        for number in 0..burst {
            client.send_to(&[number], port.local_addr()).unwrap();
            expected.push(vec![number]);
        }
        let mut came = Vec::new();
        loop {
            let taken = port.recv_batch(&mut buffers, &clock, |datagram| {
                came.push(datagram.payload.to_vec());
            });
            // Fewer than a batch: nothing more waits, and nobody asks again.
            if taken.unwrap() < RecvBuffers::BATCH {
                break;
            }
        }
        assert_eq!(came, expected, "after quiet times, {burst} at once");
    }
}

#[test]
fn a_single_datagram_of_an_outbox_leaves_by_itself_and_what_cannot_is_counted() {
    let (_, port) = open(localhost());
    let listener = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let mut outbox = Outbox::default();
    outbox.push(listener.local_addr().unwrap(), b"alone", None);
    assert_eq!(port.send_all(&mut outbox), 0);
    assert_eq!(outbox.bytes(), 0);
    let mut buffer = [0; 16];
    let (length, from) = listener.recv_from(&mut buffer).unwrap();
    assert_eq!(
        (&buffer[..length], from),
        (&b"alone"[..], port.local_addr())
    );
    outbox.push((Ipv6Addr::LOCALHOST, 5).into(), b"another family", None);
    assert_eq!(port.send_all(&mut outbox), 1);
}
