//! HTTP without a library.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A TCP port that is free now. Another program could take it before we do; then the test fails
/// loudly.
pub fn free_tcp_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Status and body of an answer; `None` if nobody answers.
pub fn ask(addr: &str, method: &str, path: &str, head: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(addr).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {length}\r\n{head}\r\n{body}"
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

/// A JSON document.
pub fn json(addr: &str, path: &str) -> Value {
    let (status, body) = ask(addr, "GET", path, "", "").expect("somebody answers");
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// Waits for something that takes a moment.
pub fn wait_for(what: &str, mut wanted: impl FnMut() -> bool) {
    for _ in 0..300 {
        if wanted() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("30 s passed without {what}");
}
