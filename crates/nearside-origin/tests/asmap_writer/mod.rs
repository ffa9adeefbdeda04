//! Writes asmap files for tests, in the plainest way: a tree of JUMP and RETURN, with MATCH and
//! DEFAULT where a branch leads to one side only. Put together from the format's description, not
//! with the code under test.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Networks over the 128 bits of an address.
#[derive(Debug, Default)]
pub struct Tree {
    asn: Option<u32>,
    sides: [Option<Box<Self>>; 2],
}

impl Tree {
    /// Adds a network; the longer of two counts.
    pub fn insert(&mut self, network: IpAddr, length: u8, asn: u32) {
        let (bits, length) = match network {
            IpAddr::V4(v4) => (v4.to_ipv6_mapped().to_bits(), length + 96),
            IpAddr::V6(v6) => (v6.to_bits(), length),
        };
        let mut node = self;
        for place in 0..length {
            let side = usize::from(bits >> (127 - place) & 1 == 1);
            node = node.sides[side].get_or_insert_default();
        }
        node.asn = Some(asn);
    }

    /// The file.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (at, bit) in self.bits().into_iter().enumerate() {
            if at.is_multiple_of(8) {
                bytes.push(0);
            }
            *bytes.last_mut().expect("just pushed") |= u8::from(bit) << (at % 8);
        }
        bytes
    }

    fn bits(&self) -> Vec<bool> {
        match (&self.asn, &self.sides) {
            (Some(asn), [None, None]) => [vec![false], asn_bits(*asn)].concat(),
            (asn, sides) => {
                let default = asn.map(|asn| [vec![true, true, true], asn_bits(asn)].concat());
                [default.unwrap_or_default(), below(sides)].concat()
            }
        }
    }
}

fn below(sides: &[Option<Box<Tree>>; 2]) -> Vec<bool> {
    match sides {
        [Some(zero), Some(one)] => {
            let zero = zero.bits();
            let distance = u32::try_from(zero.len()).expect("test trees are small");
            [
                vec![true, false],
                number(distance, 17, 5..=30),
                zero,
                one.bits(),
            ]
            .concat()
        }
        _ => one_sided(sides),
    }
}

/// MATCH for as long a way as leads to one side only, eight bits at a time.
fn one_sided(mut sides: &[Option<Box<Tree>>; 2]) -> Vec<bool> {
    let mut way = Vec::new();
    let end = loop {
        let (bit, next) = match sides {
            [Some(zero), None] => (0, zero),
            [None, Some(one)] => (1, one),
            _ => unreachable!("only ways to one side come here"),
        };
        way.push(bit);
        sides = &next.sides;
        let goes_on = next.asn.is_none() && sides.iter().flatten().count() == 1;
        if !goes_on {
            break next;
        }
    };
    let matches = way.chunks(8).flat_map(|bits| {
        let bits = bits.iter().fold(1, |number, bit| number << 1 | bit);
        [vec![true, true, false], number(bits, 2, 1..=8)].concat()
    });
    matches.chain(end.bits()).collect()
}

fn asn_bits(asn: u32) -> Vec<bool> {
    number(asn, 1, 15..=24)
}

/// The classes of numbers one after another; see src/files/asmap.rs.
fn number(number: u32, least: u32, classes: RangeInclusive<u32>) -> Vec<bool> {
    let last = *classes.end();
    let mut left = number - least;
    let mut bits = Vec::new();
    for class in classes {
        if left < 1 << class {
            if class != last {
                bits.push(false);
            }
            bits.extend((0..class).rev().map(|place| left >> place & 1 == 1));
            return bits;
        }
        left -= 1 << class;
        bits.push(true);
    }
    panic!("{number} is too large");
}
