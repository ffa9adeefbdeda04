//! The body of the fuzz target in `fuzz/`, also called by the property tests.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::{Moment, Origin};

use crate::cookie::Secret;
use crate::master::Master;
use crate::settings::Settings;
use crate::told::Output;

/// Any sequence of datagrams from a few addresses, with time passing and challenges answered as a
/// game server would: no panic, and no more bytes to those who have proven nothing than they sent,
/// join challenges aside.
///
/// Each step has three bytes: who, how many bytes follow, and what is done with them.
pub fn datagrams(bytes: &[u8]) {
    let settings = Settings {
        join_challenge_bytes_per_second: 0,
        timeout_s: 30,
        lan: true,
        ..Settings::default()
    };
    let mut master = Master::new(settings, Secret([9; 16]), |_| Origin::default());
    let mut now = Moment::EPOCH + Duration::from_secs(1_000_000);
    let mut rest = bytes;
    let mut replies: Vec<Vec<u8>> = Vec::new();
    while let [who, length, what, tail @ ..] = rest {
        let (payload, tail) = tail.split_at(tail.len().min(usize::from(*length)));
        rest = tail;
        let from = SocketAddr::from(([127, 0, 0, who % 4], 27960));
        let payload = dressed(what % 8, payload, replies.last());
        master.handle(now, from, &payload);
        now += Duration::from_millis(u64::from(*what) * 40);
        master.poll(now);
        while let Some(output) = master.poll_output() {
            if let Output::Send { payload, .. } = output {
                replies.push(payload.to_vec());
            }
        }
    }
    let tally = master.tally();
    assert!(tally.unproven_bytes_out <= tally.unproven_bytes_in);
    assert!(master.shelf().len() <= 4);
}

/// Makes bytes look like what masters get, so that sequences reach beyond the parsers; the last
/// reply's own words come back as the challenge.
fn dressed(how: u8, bytes: &[u8], last: Option<&Vec<u8>>) -> Vec<u8> {
    let words = last.map_or(&b""[..], |reply| {
        let start = reply
            .iter()
            .rposition(|byte| *byte == b' ')
            .map_or(0, |at| at + 1);
        &reply[start..]
    });
    let oob = &b"\xFF\xFF\xFF\xFF"[..];
    match how {
        0 => [oob, b"heartbeat DarkPlaces-long-enough\n"].concat(),
        1 => {
            let info = b"infoResponse\n\\protocol\\71\\clients\\1\\sv_maxclients\\8\\challenge\\";
            [oob, info, words, b"\\mapname\\", bytes].concat()
        }
        2 => [oob, b"getservers 71 empty full challenge=", words].concat(),
        3 => [oob, b"getserversExt x 71 ", bytes].concat(),
        4 => [b"1\xFF0.0.0.0:0\0", bytes].concat(),
        5 => [b"0\n\\protocol\\48\\challenge\\", bytes].concat(),
        6 => [oob, bytes].concat(),
        _ => bytes.to_vec(),
    }
}
