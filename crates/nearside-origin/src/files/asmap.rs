//! Bitcoin's asmap (`ip_asn.map`, `asmap.dat`): all networks with their AS as one small program.
//!
//! The program is a tree over the bits of an IPv6 address, IPv4 being `::ffff:0:0/96` in it, written
//! root first. Four instructions follow one another bit by bit, the lowest bit of each byte first:
//!
//! | instruction | written | means |
//! |---|---|---|
//! | RETURN n | `0` | the AS of all that leads here is *n* |
//! | JUMP d | `10` | if the next bit of the address is 1, go on *d* bits farther on |
//! | MATCH m | `110` | the next bits are those of *m* behind its first 1; else it is the default |
//! | DEFAULT n | `111` | from here on down, the default is *n*; at the root it is "unknown" |
//!
//! There is no mark at the beginning to know a file by. But hardly any other file is such a tree from
//! the first bit to the last, so that being one is the mark.

use std::net::Ipv6Addr;
use std::ops::RangeInclusive;

use nearside_types::{Asn, Origin, Prefix};
use thiserror::Error;

use super::{Place, Problem, Refusal};
use crate::builder::TableBuilder;

/// Why bytes are not an asmap.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum AsmapFault {
    /// Ends within an instruction or before all branches have an end.
    #[error("the tree ends too early")]
    Truncated,
    /// More bits are asked for than an address has.
    #[error("a branch asks for more than 128 bits of an address")]
    TooDeep,
    /// A branch that ends elsewhere than where the next one begins.
    #[error("a branch does not begin where the one before it ends")]
    Astray,
    /// Something behind the end of the tree.
    #[error("there is more behind the end of the tree")]
    Surplus,
}

/// Reads all networks into `builder`.
pub(super) fn read(bytes: &[u8], builder: &mut TableBuilder) -> Result<(), Refusal> {
    let mut bits = Bits { bytes, at: 0 };
    read_tree(&mut bits, builder).map_err(|fault| {
        let place = Place::Byte(bits.at / 8);
        (place, Problem::Asmap(fault))
    })
}

/// A place in the tree: the bits of an address that lead here, and what counts if none fits.
#[derive(Clone, Copy)]
struct Branch {
    network: u128,
    length: u8,
    default: Option<Asn>,
}

/// Where a branch begins that has to be read later.
struct Pending {
    at: usize,
    branch: Branch,
}

const ADDRESS_BITS: u8 = 128;

/// Every instruction is looked at once, whatever the jumps say: a branch has to begin exactly where
/// the one before it ends.
fn read_tree(bits: &mut Bits<'_>, builder: &mut TableBuilder) -> Result<(), AsmapFault> {
    let mut pending: Vec<Pending> = Vec::new();
    let mut branch = Branch {
        network: 0,
        length: 0,
        default: None,
    };
    loop {
        match bits.instruction()? {
            Instruction::Default(asn) => branch.default = Some(asn),
            Instruction::Match { bits, count } => {
                for place in (0..count).rev() {
                    let bit = bits >> place & 1;
                    branch.with(bit ^ 1)?.add(branch.default, builder);
                    branch = branch.with(bit)?;
                }
            }
            Instruction::Jump(distance) => {
                pending.push(Pending {
                    at: bits.at.saturating_add(distance),
                    branch: branch.with(1)?,
                });
                branch = branch.with(0)?;
            }
            Instruction::Return(asn) => {
                branch.add(Some(asn), builder);
                let Some(next) = pending.pop() else {
                    return bits.finish();
                };
                if next.at != bits.at {
                    return Err(AsmapFault::Astray);
                }
                branch = next.branch;
            }
        }
    }
}

impl Branch {
    /// One bit farther down.
    fn with(self, bit: u32) -> Result<Self, AsmapFault> {
        if self.length == ADDRESS_BITS {
            return Err(AsmapFault::TooDeep);
        }
        let length = self.length + 1;
        Ok(Self {
            network: self.network | u128::from(bit) << (ADDRESS_BITS - length),
            length,
            ..self
        })
    }

    fn add(self, asn: Option<Asn>, builder: &mut TableBuilder) {
        let prefix = match Ipv6Addr::from_bits(self.network).to_ipv4_mapped() {
            // Whoever has the 16 ones of `::ffff:0:0` has come at least as far.
            Some(network) => Prefix::new(network.into(), self.length - MAPPED_BITS),
            None => Prefix::new(Ipv6Addr::from_bits(self.network).into(), self.length),
        };
        if asn.is_some() {
            builder.add_prefix(prefix, Origin { asn, country: None });
        }
    }
}

/// The length of `::ffff:0:0/96`.
const MAPPED_BITS: u8 = 96;

enum Instruction {
    Return(Asn),
    Jump(usize),
    /// The `count` low bits.
    Match {
        bits: u32,
        count: u32,
    },
    Default(Asn),
}

/// Takes bits from the front.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn bit(&mut self) -> Result<u32, AsmapFault> {
        let byte = self.bytes.get(self.at / 8).ok_or(AsmapFault::Truncated)?;
        let bit = byte >> (self.at % 8) & 1;
        self.at += 1;
        Ok(bit.into())
    }

    /// A number from `least` up. Classes of numbers follow one another, each with as many numbers as
    /// its bits can tell apart; a 1 for each class that is passed over, a 0, then the place in the
    /// class, highest bit first. The last class needs no 0.
    fn number(&mut self, least: u32, classes: RangeInclusive<u32>) -> Result<u32, AsmapFault> {
        let last = *classes.end();
        let mut number = least;
        for bits in classes {
            if bits == last || self.bit()? == 0 {
                for place in (0..bits).rev() {
                    number += self.bit()? << place;
                }
                break;
            }
            number += 1 << bits;
        }
        Ok(number)
    }

    fn instruction(&mut self) -> Result<Instruction, AsmapFault> {
        if self.bit()? == 0 {
            return self.asn().map(Instruction::Return);
        }
        if self.bit()? == 0 {
            let distance = self.number(17, 5..=30)?;
            return Ok(Instruction::Jump(distance as usize));
        }
        if self.bit()? == 1 {
            return self.asn().map(Instruction::Default);
        }
        let bits = self.number(2, 1..=8)?;
        let count = bits.ilog2();
        Ok(Instruction::Match { bits, count })
    }

    fn asn(&mut self) -> Result<Asn, AsmapFault> {
        self.number(1, 15..=24).map(Asn)
    }

    /// What fills the last byte is 0.
    fn finish(&mut self) -> Result<(), AsmapFault> {
        let left = self.bytes.len() * 8 - self.at;
        if left >= 8 || (0..left).any(|_| self.bit() != Ok(0)) {
            return Err(AsmapFault::Surplus);
        }
        Ok(())
    }
}
