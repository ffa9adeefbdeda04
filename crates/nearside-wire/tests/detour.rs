//! Frames of the detour: every one survives its datagram, and asks for no more than it brings.

use nearside_wire::detour::{
    CARRY_HEADER, Carry, CarryFlags, Frame, PASS_BYTES, PING_BYTES, TICKET_BYTES, sealed_header,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn kinds<'a>(bytes: &'a [u8], ticket: &'a [u8; TICKET_BYTES], n: u64) -> Vec<Frame<'a>> {
    let (short, pass) = (n as u32, [n as u8; PASS_BYTES]);
    let carry = Carry {
        flags: CarryFlags(n as u8),
        residence: n as u16,
        hop: short,
        counter: n,
        tag: n ^ 1,
        inner: bytes,
    };
    vec![
        Frame::Hello {
            index: short,
            pass,
            noise: bytes,
        },
        Frame::Retry { to: short, pass },
        Frame::Answer {
            to: short,
            noise: bytes,
        },
        Frame::Sealed {
            to: short,
            counter: n,
            body: bytes,
        },
        Frame::Ping {
            from: n,
            nonce: n ^ 2,
            tag: n ^ 3,
        },
        Frame::Pong {
            nonce: n,
            tag: n ^ 3,
            place: bytes,
        },
        Frame::Open { ticket, tag: n },
        Frame::Opened { hop: short, tag: n },
        Frame::Carry(carry),
        Frame::Punch { pass },
        Frame::Refused { hop: short, tag: n },
        Frame::Anew {
            wall_ms: n,
            tag: n ^ 1,
        },
    ]
}

proptest! {
    #[test]
    fn frames_survive_their_datagrams(bytes in vec(any::<u8>(), 0..200), n in any::<u64>()) {
        for frame in kinds(&bytes, &[7; TICKET_BYTES], n) {
            let datagram = frame.emit();
            prop_assert_eq!(Frame::parse(&datagram), Ok(frame));
        }
    }

    #[test]
    fn a_frame_that_is_cut_is_refused_or_another_frame_of_its_kind(n in any::<u64>()) {
        for frame in kinds(b"", &[7; TICKET_BYTES], n) {
            let datagram = frame.emit();
            prop_assert!(Frame::parse(&datagram[..datagram.len() - 1]).is_err(), "{:?}", frame);
        }
    }
}

#[test]
fn answers_to_strangers_are_no_longer_than_questions() {
    let pass = [0; PASS_BYTES];
    // A Noise IK first message has 96 bytes at least: two keys, one of them sealed, and a seal.
    let hello = Frame::Hello {
        index: 1,
        pass,
        noise: &[0; 96],
    };
    assert!(Frame::Retry { to: 1, pass }.emit().len() <= hello.emit().len());
    let ping = Frame::Ping {
        from: 1,
        nonce: 2,
        tag: 3,
    };
    assert_eq!(ping.emit().len(), PING_BYTES);
    let open = Frame::Open {
        ticket: &[0; TICKET_BYTES],
        tag: 1,
    };
    assert!(Frame::Opened { hop: 1, tag: 1 }.emit().len() < open.emit().len());
    // The shortest frame that may be refused is a carried one with a byte inside.
    assert!(Frame::Refused { hop: 1, tag: 1 }.emit().len() <= CARRY_HEADER);
}

#[test]
fn the_header_under_the_seal_is_the_one_on_the_wire() {
    let frame = Frame::Sealed {
        to: 7,
        counter: 1 << 40,
        body: b"sealed",
    };
    assert!(frame.emit().starts_with(&sealed_header(7, 1 << 40)));
}

#[test]
fn another_version_is_refused_by_name() {
    let mut datagram = Frame::Punch {
        pass: [1; PASS_BYTES],
    }
    .emit();
    datagram[1] = 2;
    let error = Frame::parse(&datagram).unwrap_err().to_string();
    assert!(
        error.contains("version") && error.contains("update"),
        "{error}"
    );
}
