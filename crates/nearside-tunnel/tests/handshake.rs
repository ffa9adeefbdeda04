//! Two who shake hands share keys; nobody else does, and nothing that is changed on the way passes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nearside_tunnel::crypto::{Accepted, Broken, Chance, Dialling, Identity, Keys, accept};
use nearside_wire::detour::{Frame, SEALED_HEADER};
use proptest::prelude::*;

struct Pair {
    alice: Keys,
    bob: Keys,
}

fn pair(seed: u64) -> Pair {
    let mut chance = Chance::from_number(seed);
    let [one, two] = [(); 2].map(|()| Identity::generate(&mut chance));
    let mut dialling = Dialling::new(&one, two.public(), 1, b"hello", &mut chance).unwrap();
    let accepted = accept(
        &two,
        (1, 2),
        dialling.message(),
        &mut chance,
        |peer, said| {
            assert_eq!((peer, said), (one.public(), b"hello".as_slice()));
            Some(b"welcome".to_vec())
        },
    );
    let Accepted {
        keys: bob, answer, ..
    } = accepted.unwrap();
    let (alice, said) = dialling.finish(&answer).unwrap();
    assert_eq!(said, b"welcome");
    assert_eq!((alice.peer, bob.peer), (two.public(), one.public()));
    Pair { alice, bob }
}

fn open(keys: &mut Keys, frame: &[u8]) -> Result<Vec<u8>, Broken> {
    let Ok(Frame::Sealed { counter, .. }) = Frame::parse(frame) else {
        return Err(Broken::Forged);
    };
    let mut body = frame[SEALED_HEADER..].to_vec();
    keys.opener.open(counter, &mut body).map(<[u8]>::to_vec)
}

#[test]
fn both_directions_are_sealed_and_each_packet_is_opened_once() {
    let Pair { mut alice, mut bob } = pair(1);
    let mut frame = Vec::new();
    for word in [b"one".as_slice(), b"", &[7; 1_100]] {
        alice.sealer.seal(&[word], &mut frame).unwrap();
        assert_eq!(open(&mut bob, &frame), Ok(word.to_vec()));
        assert_eq!(open(&mut bob, &frame), Err(Broken::Replayed));
        assert_eq!(
            open(&mut alice, &frame),
            Err(Broken::Forged),
            "not reflected"
        );
        bob.sealer.seal(&[b"back ", word], &mut frame).unwrap();
        assert_eq!(open(&mut alice, &frame).unwrap(), [b"back ", word].concat());
    }
}

#[test]
fn two_handshakes_of_the_same_two_have_different_keys() {
    let Pair { mut alice, .. } = pair(1);
    let Pair { mut bob, .. } = pair(2);
    let mut frame = Vec::new();
    alice.sealer.seal(&[b"word"], &mut frame).unwrap();
    assert_eq!(open(&mut bob, &frame), Err(Broken::Forged));
}

#[test]
fn a_false_answer_does_not_end_a_handshake() {
    let mut chance = Chance::from_number(3);
    let [one, two] = [(); 2].map(|()| Identity::generate(&mut chance));
    let mut dialling = Dialling::new(&one, two.public(), 1, b"", &mut chance).unwrap();
    let accepted = accept(&two, (1, 2), dialling.message(), &mut chance, |_, _| {
        Some(vec![])
    });
    let answer = accepted.unwrap().answer;
    for at in 0..answer.len() {
        let mut changed = answer.clone();
        changed[at] ^= 0x40;
        assert!(dialling.finish(&changed).is_err(), "byte {at}");
    }
    assert!(dialling.finish(&[]).is_err());
    assert!(dialling.finish(&answer).is_ok());
}

#[test]
fn a_hello_to_somebody_else_or_under_another_number_is_not_answered() {
    let mut chance = Chance::from_number(4);
    let [one, two, three] = [(); 3].map(|()| Identity::generate(&mut chance));
    let dialling = Dialling::new(&one, two.public(), 1, b"", &mut chance).unwrap();
    let mut try_as = |own: &Identity, index| {
        accept(own, (index, 9), dialling.message(), &mut chance, |_, _| {
            Some(vec![])
        })
        .is_ok()
    };
    assert!(try_as(&two, 1));
    assert!(!try_as(&three, 1));
    assert!(!try_as(&two, 2));
}

proptest! {
    #[test]
    fn no_changed_packet_is_opened(at in 0_usize..60, bit in 0_u8..8, length in 0_usize..40) {
        let Pair { mut alice, mut bob } = pair(5);
        let mut frame = Vec::new();
        alice.sealer.seal(&[&vec![1; length]], &mut frame).unwrap();
        let at = at % frame.len();
        // The three zeros behind the kind are ignored by those who read, and not part of the seal.
        prop_assume!(!(1..4).contains(&at));
        let whole = frame.clone();
        frame[at] ^= 1 << bit;
        // Another receiver's number is the caller's to look up; it is not what is sealed here.
        if !(4..8).contains(&at) {
            prop_assert!(open(&mut bob, &frame).is_err());
        }
        prop_assert!(open(&mut bob, &whole).is_ok());
    }

    #[test]
    fn no_bytes_break_a_handshake(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut chance = Chance::from_number(6);
        let own = Identity::generate(&mut chance);
        prop_assert!(accept(&own, (1, 2), &bytes, &mut chance, |_, _| Some(vec![])).is_err());
        let mut dialling = Dialling::new(&own, own.public(), 1, b"", &mut chance).unwrap();
        prop_assert!(dialling.finish(&bytes).is_err());
    }
}
