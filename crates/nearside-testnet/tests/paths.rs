//! Delays, loss, duplicates and cuts, seen by plain UDP sockets.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use nearside_testnet::{HostSpec, Share, Testnet, ready};
use support::{PATIENCE, SILENCE, figure, ms, passes};

const PORT: u16 = 4_000;
const TOLERANCE: Duration = Duration::from_millis(2);

/// How long one datagram takes.
fn one_way(from: &UdpSocket, to: &UdpSocket, address: Ipv4Addr) -> Duration {
    let sent = Instant::now();
    passes(from, to, (address, PORT), PATIENCE).expect("the path is open and without loss");
    sent.elapsed()
}

/// How much more than planned a datagram took, each time until it was within the tolerance. Nothing
/// may come early. Once in time is enough: a busy machine lets the measuring thread itself wait,
/// which tells nothing of the path.
fn is_within_tolerance(planned: Duration, mut measured: impl FnMut() -> Duration) -> Vec<Duration> {
    let mut errors = Vec::new();
    for _ in 0..15 {
        let measured = measured();
        let error = measured.checked_sub(planned);
        errors.push(error.unwrap_or_else(|| panic!("{measured:?} instead of {planned:?}")));
        if errors.last() < Some(&TOLERANCE) {
            return errors;
        }
    }
    panic!("planned were {planned:?}; it took longer by {errors:?}");
}

/// Nine hosts on a line, 7 ms from one to the next and another 3 ms towards lower numbers; but
/// hosts 0 and 1 are 60 ms apart, although a relay at host 2 would need 21 ms.
fn planned(from: usize, to: usize) -> Duration {
    match (from, to) {
        (0, 1) | (1, 0) => ms(60),
        _ if from > to => ms(7 * from.abs_diff(to) as u64 + 3),
        _ => ms(7 * from.abs_diff(to) as u64),
    }
}

fn nine_hosts() -> Testnet {
    let names: Vec<String> = (0..9).map(|index| format!("h{index}")).collect();
    let plan = Testnet::builder();
    let plan = names.iter().fold(plan, |plan, name| plan.host(&name[..]));
    let net = plan.build().unwrap();
    for (from, to) in pairs() {
        let delay = planned(from, to);
        net.change(&names[from], &names[to], |path| path.delay = delay);
    }
    net
}

fn pairs() -> impl Iterator<Item = (usize, usize)> {
    let all = (0..9).flat_map(|from| (0..9).map(move |to| (from, to)));
    all.filter(|(from, to)| from != to)
}

#[test]
fn nine_hosts_are_as_far_apart_as_the_matrix_says() {
    if !ready("nine_hosts_are_as_far_apart_as_the_matrix_says") {
        return;
    }
    let began = Instant::now();
    let net = nine_hosts();
    let built = began.elapsed();
    let sockets: Vec<UdpSocket> = net
        .hosts()
        .iter()
        .map(|host| host.udp(PORT).unwrap())
        .collect();
    let (mut first, mut tries) = (Vec::new(), 0);
    for (from, to) in pairs() {
        let address = net.hosts()[to].address();
        let measured = || one_way(&sockets[from], &sockets[to], address);
        let errors = is_within_tolerance(planned(from, to), measured);
        tries += errors.len();
        first.push(errors[0]);
    }
    first.sort_unstable();
    figure(&format!(
        "nine hosts built in {built:?}; 72 paths took {:?} more than planned at the median of first \
         tries, and {tries} tries to be within {TOLERANCE:?}",
        first[36]
    ));
    let relayed = planned(0, 2) + planned(2, 1);
    assert!(relayed * 2 < planned(0, 1), "the triangle is not violated");
}

#[test]
fn five_thousand_packets_a_second_are_on_time() {
    if !ready("five_thousand_packets_a_second_are_on_time") {
        return;
    }
    let net = Testnet::builder()
        .host("a")
        .host("b")
        .delay(ms(20))
        .build()
        .unwrap();
    let (a, b) = (
        net.host("a").udp(PORT).unwrap(),
        net.host("b").udp(PORT).unwrap(),
    );
    b.set_read_timeout(Some(ms(500))).unwrap();
    // On a busy machine the listener may wait long for its turn, and must lose nothing by it.
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&b, 16 << 20).unwrap();
    let began = Instant::now();
    let listener = thread::spawn(move || arrivals(&b, began));
    let to = (net.host("b").address(), PORT);
    let packets = 10_000_u32;
    for number in 0..packets {
        let due = began + Duration::from_micros(200) * number;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let now = began.elapsed().as_nanos() as u64;
        a.send_to(&now.to_be_bytes(), to).unwrap();
    }
    let took = began.elapsed();
    let mut delays = listener.join().unwrap();
    delays.sort_unstable();
    let share = |percent: usize| delays[delays.len() * percent / 100];
    let lateness = net.lateness();
    figure(&format!(
        "{packets} packets in {took:?}, {} arrived; 20 ms became {:?} at the median and {:?} at p99; \
         the hub itself: {lateness:?}",
        delays.len(),
        share(50),
        share(99),
    ));
    assert_eq!(delays.len(), packets as usize, "none is lost");
    assert!(delays[0] >= ms(20), "one took only {:?}", delays[0]);
    assert!(lateness.median < ms(1), "{lateness:?}");
    // Not the median: on a busy machine most of it is the listener's own wait for a core.
    assert!(share(10) < ms(21), "{:?}", share(10));
}

/// The one-way times of datagrams that carry when they were sent, until none comes.
fn arrivals(socket: &UdpSocket, began: Instant) -> Vec<Duration> {
    let mut buffer = [0; 8];
    let mut delays = Vec::new();
    while socket.recv(&mut buffer).is_ok() {
        let sent = Duration::from_nanos(u64::from_be_bytes(buffer));
        delays.push(began.elapsed() - sent);
    }
    delays
}

#[test]
fn a_path_changes_while_it_runs() {
    if !ready("a_path_changes_while_it_runs") {
        return;
    }
    let net = Testnet::builder()
        .host("a")
        .host("b")
        .delay(ms(5))
        .delay_between("a", "b", ms(10))
        .build()
        .unwrap();
    let (a, b) = (
        net.host("a").udp(PORT).unwrap(),
        net.host("b").udp(PORT).unwrap(),
    );
    let to = net.host("b").address();
    is_within_tolerance(ms(10), || one_way(&a, &b, to));
    net.change("a", "b", |path| path.delay = ms(40));
    is_within_tolerance(ms(40), || one_way(&a, &b, to));
    let back = net.host("a").address();
    is_within_tolerance(ms(10), || one_way(&b, &a, back));
    net.change("a", "b", |path| path.delay = ms(15));
    is_within_tolerance(ms(15), || one_way(&a, &b, to));
}

#[test]
fn a_cut_path_carries_nothing_until_it_is_healed() {
    if !ready("a_cut_path_carries_nothing_until_it_is_healed") {
        return;
    }
    let net = Testnet::builder()
        .host("a")
        .host("b")
        .host("c")
        .build()
        .unwrap();
    let socket = |name: &str| net.host(name).udp(PORT).unwrap();
    let (a, b, c) = (socket("a"), socket("b"), socket("c"));
    let to = (net.host("b").address(), PORT);
    assert!(passes(&a, &b, to, PATIENCE).is_some());
    net.cut("a", "b");
    assert_eq!(passes(&a, &b, to, SILENCE), None);
    let back = (net.host("a").address(), PORT);
    assert_eq!(passes(&b, &a, back, SILENCE), None);
    assert!(
        passes(&c, &b, to, PATIENCE).is_some(),
        "only one pair is cut"
    );
    net.heal("a", "b");
    assert!(passes(&a, &b, to, PATIENCE).is_some());
    let traffic = net.traffic("a", "b");
    assert_eq!((traffic.packets, traffic.lost), (3, 1));
    // 8 bytes with the headers of UDP and IPv4.
    assert_eq!(traffic.bytes, 3 * (8 + 8 + 20));
}

/// Sends one datagram with each number; gives the numbers that arrived. One thread does both, so
/// that no buffer overflows while it waits for its turn.
fn flood(net: &Testnet, count: u16) -> Vec<u16> {
    let a = net.host("a").udp(0).unwrap();
    let b = net.host("b").udp(PORT).unwrap();
    let to = (net.host("b").address(), PORT);
    let mut arrived = Vec::new();
    b.set_nonblocking(true).unwrap();
    for number in 0..count {
        a.send_to(&number.to_be_bytes(), to).unwrap();
        thread::sleep(Duration::from_micros(200));
        arrived.extend(numbers(&b));
    }
    b.set_nonblocking(false).unwrap();
    b.set_read_timeout(Some(SILENCE)).unwrap();
    arrived.extend(numbers(&b));
    arrived
}

/// What arrives until nothing does.
fn numbers(socket: &UdpSocket) -> Vec<u16> {
    let mut buffer = [0; 2];
    let next = || {
        let received = socket.recv(&mut buffer).ok();
        received.map(|_| u16::from_be_bytes(buffer))
    };
    std::iter::from_fn(next).collect()
}

#[test]
fn a_lossy_path_loses_its_share() {
    if !ready("a_lossy_path_loses_its_share") {
        return;
    }
    let net = Testnet::builder()
        .host("a")
        .host("b")
        .seed(1)
        .build()
        .unwrap();
    net.change("a", "b", |path| path.loss = Share(0.2));
    let arrived = flood(&net, 2_000).len();
    // Five standard deviations of 2,000 draws: 90.
    assert!((1_510..=1_690).contains(&arrived), "{arrived} of 2000");
    assert_eq!(net.traffic("a", "b").lost, 2_000 - arrived as u64);
}

#[test]
fn duplicates_come_in_their_share_and_jitter_reorders() {
    if !ready("duplicates_come_in_their_share_and_jitter_reorders") {
        return;
    }
    let net = Testnet::builder()
        .host("a")
        .host("b")
        .seed(2)
        .build()
        .unwrap();
    let ordered = flood(&net, 500);
    assert!(ordered.is_sorted(), "order is kept without jitter");
    net.change_line("b", |path| {
        path.duplication = Share(0.1);
        path.jitter = ms(10);
    });
    let arrived = flood(&net, 1_000);
    // Five standard deviations of 1,000 draws: 47.
    assert!(
        (1_053..=1_147).contains(&arrived.len()),
        "{}",
        arrived.len()
    );
    assert!(!arrived.is_sorted());
}

#[test]
fn flows_take_routes_of_their_own_and_stay_on_them() {
    if !ready("flows_take_routes_of_their_own_and_stay_on_them") {
        return;
    }
    let net = Testnet::builder().host("a").host("b").build().unwrap();
    net.change("a", "b", |path| {
        path.delay = ms(5);
        path.spread = ms(40);
    });
    assert!(flood(&net, 300).is_sorted(), "a flow has one route");
    let b = net.host("b").udp(PORT).unwrap();
    let fastest = |port| {
        let a = net.host("a").udp(port).unwrap();
        let tries = (0..3).map(|_| one_way(&a, &b, net.host("b").address()));
        tries.min().expect("there are three")
    };
    let delays: Vec<Duration> = (5_000..5_008).map(fastest).collect();
    let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
    assert!(*least >= ms(5) && *most > *least + ms(10), "{delays:?}");
}

#[test]
fn a_tap_shows_what_is_on_the_way() {
    if !ready("a_tap_shows_what_is_on_the_way") {
        return;
    }
    let net = Testnet::builder().host("a").host("b").build().unwrap();
    let (a, b) = (
        net.host("a").udp(PORT).unwrap(),
        net.host("b").udp(PORT).unwrap(),
    );
    let seen = net.tap("a", "b");
    a.send_to(b"a secret", (net.host("b").address(), PORT))
        .unwrap();
    let packet = seen.recv_timeout(PATIENCE).unwrap();
    assert!(packet.ends_with(b"a secret"), "{packet:?}");
    assert_eq!(packet.len(), 20 + 8 + 8);
    assert!(passes(&b, &a, (net.host("a").address(), PORT), PATIENCE).is_some());
    assert!(seen.try_recv().is_err(), "only one direction is tapped");
}

#[test]
fn ipv6_takes_the_same_paths() {
    if !ready("ipv6_takes_the_same_paths") {
        return;
    }
    let net = Testnet::builder()
        .host(HostSpec::new("a").ipv6())
        .host(
            HostSpec::new("b")
                .ipv6()
                .address(Ipv4Addr::new(20, 0, 0, 1)),
        )
        .delay(ms(10))
        .build()
        .unwrap();
    let socket = |name: &str| {
        let any = (Ipv6Addr::UNSPECIFIED, PORT).into();
        net.host(name).udp_at(any).unwrap()
    };
    let (a, b) = (socket("a"), socket("b"));
    let sent = Instant::now();
    let to = (net.host("b").ipv6().unwrap(), PORT);
    let from = passes(&a, &b, to, PATIENCE).expect("IPv6 is carried");
    assert!(sent.elapsed() >= ms(10));
    assert_eq!(from.ip(), net.host("a").ipv6().unwrap());
    let four = (net.host("a").udp(0).unwrap(), net.host("b").udp(0).unwrap());
    let port = four.1.local_addr().unwrap().port();
    assert_eq!(net.host("b").address(), Ipv4Addr::new(20, 0, 0, 1));
    assert!(
        passes(
            &four.0,
            &four.1,
            (Ipv4Addr::new(20, 0, 0, 1), port),
            PATIENCE
        )
        .is_some()
    );
}

#[test]
fn a_host_with_a_network_hears_what_is_sent_to_any_address_of_it() {
    if !ready("a_host_with_a_network_hears_what_is_sent_to_any_address_of_it") {
        return;
    }
    let net = Testnet::builder()
        .host("alice")
        .host(HostSpec::new("many").network(Ipv4Addr::new(30, 0, 0, 0), 8))
        .build()
        .unwrap();
    let (alice, many) = (net.host("alice").udp(PORT), net.host("many").udp(PORT));
    let (alice, many) = (alice.unwrap(), many.unwrap());
    for address in [[30, 0, 0, 1], [30, 255, 7, 9]] {
        let heard = passes(&alice, &many, (Ipv4Addr::from(address), PORT), PATIENCE);
        assert!(heard.is_some(), "{address:?}");
    }
    let own = net.host("many").address();
    assert!(passes(&alice, &many, (own, PORT), PATIENCE).is_some());
    let elsewhere = Ipv4Addr::new(31, 0, 0, 1);
    assert!(passes(&alice, &many, (elsewhere, PORT), SILENCE).is_none());
    assert_eq!(net.traffic("alice", "many").packets, 3);
}
