//! Writes MMDB files for tests (MaxMind DB file format specification 2.0): an IPv6 tree with IPv4
//! under `::/96`, records of 32 bits. Nothing like it is needed outside tests.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::HashMap;
use std::net::IpAddr;

use nearside_types::{Asn, Origin};

/// A value in the data section.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    Number(u32),
    Map(Vec<(&'static str, Self)>),
}

/// A map, for short.
pub(crate) fn map<const N: usize>(entries: [(&'static str, Value); N]) -> Value {
    Value::Map(entries.into())
}

/// A text, for short.
pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// An origin as a flat record.
pub(crate) fn origin(origin: Origin) -> Value {
    let asn = origin
        .asn
        .map(|Asn(asn)| ("autonomous_system_number", Value::Number(asn)));
    let country = origin
        .country
        .map(|code| ("country_code", text(code.as_str())));
    Value::Map(asn.into_iter().chain(country).collect())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Record {
    Empty,
    Node(u32),
    Data(u32),
}

pub(crate) struct MmdbWriter {
    nodes: Vec<[Record; 2]>,
    data: Vec<u8>,
    offsets: HashMap<Vec<u8>, u32>,
}

impl Default for MmdbWriter {
    fn default() -> Self {
        Self {
            nodes: vec![[Record::Empty; 2]],
            data: Vec::new(),
            offsets: HashMap::new(),
        }
    }
}

impl MmdbWriter {
    /// Adds a network that overlaps none of those before.
    pub(crate) fn insert(&mut self, network: &str, value: &Value) {
        let (address, length) = network.split_once('/').expect("a network has a length");
        let length: u32 = length.parse().expect("a length is a number");
        match address.parse().expect("a network has an address") {
            IpAddr::V4(v4) => self.insert_bits(v4.to_bits().into(), length + 96, value),
            IpAddr::V6(v6) => self.insert_bits(v6.to_bits(), length, value),
        }
    }

    /// Adds the networks that make up a range.
    pub(crate) fn insert_range(&mut self, first: IpAddr, last: IpAddr, value: &Value) {
        let bits = |ip| match ip {
            IpAddr::V4(v4) => u128::from(v4.to_bits()),
            IpAddr::V6(v6) => v6.to_bits(),
        };
        let (mut first, last) = (bits(first), bits(last));
        loop {
            let aligned = first.trailing_zeros().min(127);
            let fits = (last - first).checked_add(1).map_or(127, u128::ilog2);
            let hosts = aligned.min(fits);
            self.insert_bits(first, 128 - hosts, value);
            match first.checked_add(1 << hosts) {
                Some(next) if next <= last => first = next,
                _ => return,
            }
        }
    }

    fn insert_bits(&mut self, address: u128, length: u32, value: &Value) {
        let offset = self.offset_of(value);
        let mut node = 0;
        for depth in 0..length {
            let side = usize::from(address >> (127 - depth) & 1 == 1);
            if depth + 1 == length {
                self.nodes[node][side] = Record::Data(offset);
                return;
            }
            node = match self.nodes[node][side] {
                Record::Node(next) => next as usize,
                Record::Empty => self.grow(node, side),
                Record::Data(_) => panic!("networks overlap"),
            };
        }
    }

    fn grow(&mut self, node: usize, side: usize) -> usize {
        let next = self.nodes.len();
        self.nodes[node][side] = Record::Node(u32::try_from(next).expect("a test tree is small"));
        self.nodes.push([Record::Empty; 2]);
        next
    }

    fn offset_of(&mut self, value: &Value) -> u32 {
        let bytes = encode(value);
        if let Some(offset) = self.offsets.get(&bytes) {
            return *offset;
        }
        let offset = u32::try_from(self.data.len()).expect("test data is small");
        self.data.extend_from_slice(&bytes);
        self.offsets.insert(bytes, offset);
        offset
    }

    /// The file.
    pub(crate) fn finish(self, database_type: &str, build_epoch: u64) -> Vec<u8> {
        let count = u32::try_from(self.nodes.len()).expect("a test tree is small");
        let number = |record: &Record| match *record {
            Record::Empty => count,
            Record::Node(node) => node,
            Record::Data(offset) => count + 16 + offset,
        };
        let records = self.nodes.iter().flatten();
        let mut file: Vec<u8> = records.flat_map(|r| number(r).to_be_bytes()).collect();
        file.extend_from_slice(&[0; 16]);
        file.extend_from_slice(&self.data);
        file.extend_from_slice(b"\xab\xcd\xefMaxMind.com");
        file.extend_from_slice(&metadata(count, database_type, build_epoch));
        file
    }
}

fn metadata(node_count: u32, database_type: &str, build_epoch: u64) -> Vec<u8> {
    let mut out = vec![control(7, 9)];
    let mut put = |key: &str, value: &[u8]| {
        out.extend_from_slice(&encode(&text(key)));
        out.extend_from_slice(value);
    };
    put("binary_format_major_version", &uint16(2));
    put("binary_format_minor_version", &uint16(0));
    // An unsigned 64-bit number is an extended type: 9, written as 2.
    put(
        "build_epoch",
        &[&[8, 2], &build_epoch.to_be_bytes()[..]].concat(),
    );
    put("database_type", &encode(&text(database_type)));
    put("description", &[control(7, 0)]);
    put("ip_version", &uint16(6));
    // An array is an extended type: 11, written as 4.
    put("languages", &[0, 4]);
    put("node_count", &encode(&Value::Number(node_count)));
    put("record_size", &uint16(32));
    out
}

fn uint16(number: u16) -> Vec<u8> {
    [&[control(5, 2)], &number.to_be_bytes()[..]].concat()
}

fn control(kind: u8, size: usize) -> u8 {
    kind << 5 | u8::try_from(size).expect("sizes in tests fit in five bits")
}

/// Texts in tests are shorter than 29 bytes, or long enough for one more byte of size.
fn encode(value: &Value) -> Vec<u8> {
    match value {
        Value::Text(text) if text.len() < 29 => {
            [&[control(2, text.len())], text.as_bytes()].concat()
        }
        Value::Text(text) => {
            let more = u8::try_from(text.len() - 29).expect("texts in tests are short");
            [&[control(2, 29), more], text.as_bytes()].concat()
        }
        Value::Number(number) => [&[control(6, 4)], &number.to_be_bytes()[..]].concat(),
        Value::Map(entries) => {
            let mut out = vec![control(7, entries.len())];
            for (key, value) in entries {
                out.extend_from_slice(&encode(&text(key)));
                out.extend_from_slice(&encode(value));
            }
            out
        }
    }
}
