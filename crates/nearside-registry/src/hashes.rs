//! Texts and addresses as short keyed hashes. Two that share one only cost time: what an index finds
//! is compared with what was asked for. The key is what keeps others from choosing such.

use std::hash::Hasher;
use std::net::IpAddr;

use siphasher::sip::SipHasher13;

use crate::cookie::Secret;
use crate::server::{Family, Text};

/// What a text or an address is indexed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Hash32(pub(crate) u32);

impl Hash32 {
    pub(crate) const FIRST: Self = Self(0);
    pub(crate) const LAST: Self = Self(u32::MAX);
}

/// Makes the hashes of one shelf.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hashes(pub(crate) Secret);

impl Hashes {
    /// One of a server's texts, whatever the case.
    pub(crate) fn text(self, family: Family, which: Text, text: &[u8]) -> Hash32 {
        let mut hasher = SipHasher13::new_with_key(&self.0.0);
        hasher.write(&[family as u8, which as u8]);
        for part in text.chunks(LONGEST) {
            let mut small = [0; LONGEST];
            let small = &mut small[..part.len()];
            small.copy_from_slice(part);
            small.make_ascii_lowercase();
            hasher.write(small);
        }
        Hash32(hasher.finish() as u32)
    }

    pub(crate) fn address(self, ip: IpAddr) -> Hash32 {
        let mut hasher = SipHasher13::new_with_key(&self.0.0);
        match ip {
            IpAddr::V4(ip) => hasher.write(&ip.octets()),
            IpAddr::V6(ip) => hasher.write(&ip.octets()),
        }
        Hash32(hasher.finish() as u32)
    }
}

/// No indexed text of a server is longer; those of questions may be.
const LONGEST: usize = 64;
