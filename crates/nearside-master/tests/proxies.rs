//! A master behind a proxy that the operator trusts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use common::{Scene, ask, connect};
use nearside_master::http::Limits;
use nearside_master::store::Memory;
use nearside_registry::Settings;

fn behind(proxies: &[&str], limits: Limits) -> Scene {
    let settings = Settings {
        lan: true,
        ..Settings::default()
    };
    Scene::behind(proxies, limits, settings, Vec::new(), Memory)
}

/// Where a server that names only its port is looked for.
fn asked_at(addr: SocketAddr, forwarded: &str) -> String {
    let header = format!("X-Forwarded-For: {forwarded}");
    let body = br#"{"game":"mygame","port":27999}"#;
    let answer = ask(addr, "POST", "/servers", &[&header], body);
    answer.json()["address"].as_str().unwrap().to_owned()
}

#[test]
fn a_trusted_proxy_tells_the_visitor_and_nobody_else_can() {
    let scene = behind(&["127.0.0.1/32"], Limits::default());
    assert_eq!(asked_at(scene.public, "127.0.0.9"), "127.0.0.9:27999");
    let forged = "127.0.0.7, 127.0.0.9";
    assert_eq!(asked_at(scene.public, forged), "127.0.0.9:27999");
    // Who comes from elsewhere is no proxy.
    assert_eq!(asked_at(scene.public_v6, "127.0.0.7"), "[::1]:27999");
    let alone = behind(&[], Limits::default());
    assert_eq!(asked_at(alone.public, "127.0.0.7"), "127.0.0.1:27999");
}

/// One request on a connection that stays.
fn status(stream: &mut TcpStream, visitor: &str) -> Option<u16> {
    let request = format!(
        "GET /health HTTP/1.1
Host: test
X-Forwarded-For: {visitor}

"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut bytes = [0; 1000];
    let length = stream.read(&mut bytes).ok()?;
    let head = String::from_utf8_lossy(&bytes[..length]);
    head.split(' ').nth(1)?.parse().ok()
}

#[test]
fn the_visitors_of_a_proxy_are_not_one_network() {
    let limits = Limits {
        per_network: 1,
        ..Limits::default()
    };
    let scene = behind(&["127.0.0.1/32"], limits);
    let mut through: Vec<TcpStream> = (0..5).map(|_| connect(scene.public)).collect();
    for (number, stream) in through.iter_mut().enumerate() {
        assert_eq!(status(stream, &format!("192.0.{number}.1")), Some(200));
    }
    // Without a proxy the second connection is turned away.
    let mut direct: Vec<TcpStream> = (0..2).map(|_| connect(scene.public_v6)).collect();
    assert_eq!(status(&mut direct[0], "192.0.2.1"), Some(200));
    assert_eq!(status(&mut direct[1], "192.0.3.1"), None);
}
