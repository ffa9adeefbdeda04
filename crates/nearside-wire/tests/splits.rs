//! Splits with everything left to chance: message, form, fragment size, order, copies, damage.

use nearside_wire::DecodeError;
use nearside_wire::a2s::{Assembled, Limits, Reassembler, Split, SplitForm, split};
use proptest::collection::vec;
use proptest::prelude::*;

fn message() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 2..600).prop_map(|rest| [&b"\xFF\xFF\xFF\xFFE"[..], &rest].concat())
}

fn how() -> impl Strategy<Value = Split> {
    let forms = [
        SplitForm::Source,
        SplitForm::Source2006,
        SplitForm::GoldSource,
    ];
    (
        proptest::sample::select(forms.to_vec()),
        any::<u32>(),
        8usize..700,
        any::<bool>(),
    )
        .prop_map(|(form, id, fragment_bytes, compressed)| Split {
            form,
            id,
            fragment_bytes,
            compressed: compressed && form != SplitForm::GoldSource,
        })
}

/// What is delivered: the fragments of a message, each at least once, in any order.
fn delivery() -> impl Strategy<Value = (Vec<u8>, Vec<Vec<u8>>)> {
    let cut = (message(), how()).prop_filter_map("the form can number it", |(message, how)| {
        split(&message, how)
            .ok()
            .map(|fragments| (message, fragments))
    });
    let copied = cut.prop_flat_map(|(message, fragments)| {
        let copies = vec(proptest::sample::select(fragments.clone()), 0..4);
        let all = copies.prop_map(move |copies| [fragments.clone(), copies].concat());
        (Just(message), all.prop_shuffle())
    });
    copied.boxed()
}

fn push_all(
    reassembler: &mut Reassembler,
    datagrams: &[Vec<u8>],
) -> Vec<Result<Vec<u8>, DecodeError>> {
    let outcomes = datagrams.iter().map(|datagram| reassembler.push(datagram));
    let told = outcomes.filter_map(|outcome| match outcome {
        Ok(Assembled::Pending) => None,
        Ok(Assembled::Whole(message)) => Some(Ok(message)),
        Err(error) => Some(Err(error)),
    });
    told.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn any_split_joins_to_its_message_exactly_once((message, datagrams) in delivery()) {
        let mut reassembler = Reassembler::new();
        prop_assert_eq!(push_all(&mut reassembler, &datagrams), [Ok(message)]);
        prop_assert_eq!(reassembler.held_bytes(), 0);
    }

    #[test]
    fn damage_to_a_compressed_message_never_passes_unnoticed(
        message in message(),
        places in vec((any::<prop::sample::Index>(), 1u8..), 1..4),
    ) {
        let how = Split { compressed: true, fragment_bytes: 300, ..Split::new(SplitForm::Source, 9) };
        let whole = split(&message, how).expect("few fragments");
        let mut damaged = whole.clone();
        for (place, bits) in places {
            let fragment = place.index(damaged.len());
            // Behind the header, so that the fragments still belong together.
            let byte = 12 + place.index(damaged[fragment].len() - 12);
            damaged[fragment][byte] ^= bits;
        }
        let limits = Limits { message_bytes: 2048, ..Limits::default() };
        let outcomes = push_all(&mut Reassembler::new().with_limits(limits), &damaged);
        prop_assert_eq!(outcomes.len(), 1);
        if let Ok(joined) = &outcomes[0] {
            prop_assert_eq!(joined, &message);
        }
    }
}

#[test]
fn a_server_that_leaves_out_the_inner_header_is_understood() {
    for (header, form) in [(&b"\x07\0"[..], "Source"), (b"", "2006")] {
        let fragment = |number: u8, payload: &[u8]| {
            [
                b"\xFE\xFF\xFF\xFF\x01\0\0\0\x02",
                &[number][..],
                header,
                payload,
            ]
            .concat()
        };
        let fragments = [fragment(0, b"E\x01\0mp_f"), fragment(1, b"\x001\0")];
        let outcomes = push_all(&mut Reassembler::new(), &fragments);
        assert_eq!(
            outcomes,
            [Ok(b"\xFF\xFF\xFF\xFFE\x01\0mp_f\x001\0".to_vec())],
            "{form}"
        );
    }
}

#[test]
fn a_goldsource_id_with_its_top_bit_set_is_not_taken_for_compressed() {
    let message = [&b"\xFF\xFF\xFF\xFFE\x01\0"[..], &[b'a'; 300], b"\x001\0"].concat();
    let how = Split {
        fragment_bytes: 100,
        ..Split::new(SplitForm::GoldSource, 0x8000_0001)
    };
    let fragments = split(&message, how).expect("four fragments");
    assert_eq!(push_all(&mut Reassembler::new(), &fragments), [Ok(message)]);
}

#[test]
fn joined_bytes_that_are_no_message_are_refused() {
    let how = Split {
        fragment_bytes: 8,
        ..Split::new(SplitForm::Source, 1)
    };
    let fragments = split(b"no message at all", how).expect("three fragments");
    let outcomes = push_all(&mut Reassembler::new(), &fragments);
    let labels: Vec<_> = outcomes
        .iter()
        .flat_map(|told| told.as_ref().err())
        .collect();
    assert_eq!(labels.len(), 1);
    assert_eq!(labels[0].label(), "unrecognised");
}

#[test]
fn after_clearing_the_same_fragments_make_the_message_again() {
    let message = b"\xFF\xFF\xFF\xFFE\x01\0mp_friendlyfire\x001\0".to_vec();
    let how = Split {
        fragment_bytes: 8,
        ..Split::new(SplitForm::Source, 1)
    };
    let fragments = split(&message, how).expect("few fragments");
    let mut reassembler = Reassembler::new();
    assert_eq!(
        push_all(&mut reassembler, &fragments),
        [Ok(message.clone())]
    );
    assert_eq!(push_all(&mut reassembler, &fragments), [], "late copies");
    reassembler.clear();
    assert_eq!(push_all(&mut reassembler, &fragments), [Ok(message)]);
}
