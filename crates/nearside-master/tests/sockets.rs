//! Which socket a master speaks from, where it has several.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use nearside_master::store::Memory;
use nearside_master::{Service, ServiceConfig};
use nearside_net::Stop;
use nearside_registry::{Bans, Secret, Settings};
use nearside_types::Origin;
use nearside_wire::quake3::{InfoString, Request, Response};
use nearside_wire::{a2s, steam};

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 2000];
    let (length, from) = socket.recv_from(&mut buffer).expect("within its time");
    (buffer[..length].to_vec(), from)
}

fn info() -> InfoString {
    InfoString::new()
        .with("protocol", "71")
        .with("clients", "1")
        .with("sv_maxclients", "8")
        .with("mapname", "oa_dm1")
}

/// What it sends to a server that registers at the second of its sockets, and then stays silent.
#[test]
fn a_silent_server_is_asked_from_the_socket_that_it_registered_on() {
    let settings = Settings {
        lan: true,
        timeout_s: 10,
        ..Settings::default()
    };
    let config = ServiceConfig {
        listen: ["127.0.0.1:0", "127.0.0.2:0"]
            .map(|addr| addr.parse().unwrap())
            .to_vec(),
        settings,
        secret: Secret([7; 16]),
        bans: Bans::default(),
    };
    let stop = Stop::new().unwrap();
    let origin = |_| Origin::default();
    let (service, _) = Service::start(config, Memory, origin, stop.clone()).unwrap();
    let second = service.handle().addresses()[1];
    let serving = service.spawn().unwrap();

    let [quake3, goldsource] = [(), ()].map(|()| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(15)))
            .unwrap();
        socket
    });
    quake3
        .send_to(b"\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n", second)
        .unwrap();
    let (asked, _) = receive(&quake3);
    let Ok(Request::GetInfo {
        challenge: Some(challenge),
    }) = Request::parse(&asked)
    else {
        panic!("a getinfo, not {asked:?}");
    };
    let answer = Response::Info(info().with("challenge", challenge.as_bytes()));
    quake3.send_to(&answer.emit(), second).unwrap();
    goldsource.send_to(b"q", second).unwrap();
    let challenge = steam::JoinChallenge::parse(&receive(&goldsource).0)
        .unwrap()
        .0;
    let join = info()
        .with("players", "1")
        .with("max", "8")
        .with("gamedir", "cstrike")
        .with("map", "de_dust2")
        .with("challenge", challenge.to_string().as_str());
    let join = steam::Heartbeat::Join(join).emit();
    goldsource.send_to(&join, second).unwrap();

    // After half of the time.
    let (again, from) = receive(&quake3);
    assert!(matches!(
        Request::parse(&again),
        Ok(Request::GetInfo { .. })
    ));
    assert_eq!(from, second);
    let (again, from) = receive(&goldsource);
    assert!(matches!(
        a2s::Request::parse(&again),
        Ok(a2s::Request::Info { .. })
    ));
    assert_eq!(
        from.ip(),
        second.ip(),
        "from a port for questions at the same address"
    );
    stop.stop();
    serving.join().unwrap().unwrap();
}
