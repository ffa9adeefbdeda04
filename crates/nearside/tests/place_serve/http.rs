//! Just enough of an HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// An answer, its body read to the end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }
}

pub fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).unwrap();
    stream
}

pub fn send(stream: &mut TcpStream, method: &str, path: &str, headers: &str, body: &[u8]) {
    let headers = format!("Content-Length: {}\r\n{headers}", body.len());
    send_head(stream, method, path, &headers);
    send_body(stream, body);
}

pub fn send_head(stream: &mut TcpStream, method: &str, path: &str, headers: &str) {
    let common = "Host: localhost\r\nConnection: close\r\n";
    let head = format!("{method} {path} HTTP/1.1\r\n{common}{headers}\r\n");
    let _ = stream.write_all(head.as_bytes());
}

/// A server may refuse and close before it has read everything.
pub fn send_body(stream: &mut TcpStream, body: &[u8]) {
    let _ = stream.write_all(body);
}

pub fn receive(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Answer {
        status: status.unwrap_or_else(|| panic!("no status: {text:?}")),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// A stream of server-sent events.
pub struct Events(BufReader<TcpStream>);

/// One of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: String,
    pub id: Option<u64>,
    pub data: String,
}

impl Events {
    pub fn open(addr: SocketAddr, path: &str, headers: &str) -> Self {
        let mut stream = connect(addr);
        send(&mut stream, "GET", path, headers, b"");
        Self(BufReader::new(stream))
    }

    /// The next event; `None` at the end of the stream. Chunk sizes and headers are skipped: no field
    /// looks like them.
    pub fn next(&mut self) -> Option<Event> {
        let mut event = Event {
            kind: String::new(),
            id: None,
            data: String::new(),
        };
        let mut line = String::new();
        while self
            .0
            .read_line(&mut line)
            .ok()
            .filter(|&read| read > 0)
            .is_some()
        {
            let text = line.trim_end();
            if let Some(kind) = text.strip_prefix("event: ") {
                event.kind = kind.to_owned();
            } else if let Some(id) = text.strip_prefix("id: ") {
                event.id = id.parse().ok();
            } else if let Some(data) = text.strip_prefix("data: ") {
                event.data = data.to_owned();
            } else if text.is_empty() && !event.data.is_empty() {
                return Some(event);
            }
            line.clear();
        }
        None
    }
}
