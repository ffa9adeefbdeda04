//! OPEN: who speaks and what it can do (RFC 4271 section 4.2, capabilities by RFC 5492).

use std::net::Ipv4Addr;
use std::time::Duration;

use nearside_types::Asn;

use super::as_path::AS_TRANS;
use super::cursor::Cursor;
use super::frame::{self, MessageType};
use super::nlri::{Family, SAFI_UNICAST};
use super::notification::Notification;

const VERSION: u8 = 4;
const PARAMETER_CAPABILITIES: u8 = 2;
/// Says that lengths of parameters take two octets (RFC 9072).
const PARAMETER_EXTENDED: u8 = 255;

const CAPABILITY_MULTIPROTOCOL: u8 = 1;
const CAPABILITY_ROUTE_REFRESH: u8 = 2;
const CAPABILITY_GRACEFUL_RESTART: u8 = 64;
const CAPABILITY_FOUR_OCTET_AS: u8 = 65;

/// An OPEN, with what its capabilities mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) asn: Asn,
    pub(super) hold_time: HoldTime,
    pub(super) router_id: Ipv4Addr,
    /// Families by RFC 4760; empty when the speaker has no such capability, which means IPv4 alone.
    pub(super) families: Vec<Family>,
    pub(super) four_octet_as: bool,
    pub(super) route_refresh: bool,
    /// Set when the speaker promises to end its first announcement with a marker (RFC 4724).
    pub(super) graceful_restart: bool,
}

/// Seconds a session survives in silence; zero means for ever. One and two are forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HoldTime(pub(super) u16);

impl HoldTime {
    /// The smaller of two; a side that says zero switches the timer off (RFC 4271 section 4.2).
    pub(super) fn agree(self, other: Self) -> Self {
        self.min(other)
    }

    pub(super) fn duration(self) -> Option<Duration> {
        (self.0 != 0).then(|| Duration::from_secs(u64::from(self.0)))
    }
}

impl Open {
    pub(super) fn emit(&self) -> Vec<u8> {
        let capabilities = self.emit_capabilities();
        let short_asn = u16::try_from(self.asn.0).unwrap_or(AS_TRANS);
        let mut body = vec![VERSION];
        body.extend(short_asn.to_be_bytes());
        body.extend(self.hold_time.0.to_be_bytes());
        body.extend(self.router_id.octets());
        let length = u8::try_from(capabilities.len()).expect("five capabilities are short");
        body.extend([length + 2, PARAMETER_CAPABILITIES, length]);
        body.extend(capabilities);
        frame::emit(MessageType::Open, &body)
    }

    fn emit_capabilities(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for family in &self.families {
            let [high, low] = family.afi().to_be_bytes();
            bytes.extend([CAPABILITY_MULTIPROTOCOL, 4, high, low, 0, SAFI_UNICAST]);
        }
        if self.route_refresh {
            bytes.extend([CAPABILITY_ROUTE_REFRESH, 0]);
        }
        if self.graceful_restart {
            // No families and no restart time: we keep a lost peer's routes, and have no forwarding
            // state of our own to preserve (RFC 4724 section 3).
            bytes.extend([CAPABILITY_GRACEFUL_RESTART, 2, 0, 0]);
        }
        if self.four_octet_as {
            bytes.extend([CAPABILITY_FOUR_OCTET_AS, 4]);
            bytes.extend(self.asn.0.to_be_bytes());
        }
        bytes
    }

    /// Reads an OPEN; the error is the NOTIFICATION that RFC 4271 section 6.2 answers it with.
    pub(super) fn parse(body: &[u8]) -> Result<Self, Notification> {
        let mut cursor = Cursor::new(body);
        let mut open = Self::parse_fixed(&mut cursor)?;
        for_each_parameter(cursor.rest(), |kind, value| match kind {
            PARAMETER_CAPABILITIES => open.read_capabilities(value),
            _ => Err(Notification::UNSUPPORTED_PARAMETER),
        })?;
        if open.asn.0 == 0 {
            return Err(Notification::BAD_PEER_AS);
        }
        Ok(open)
    }

    fn parse_fixed(cursor: &mut Cursor<'_>) -> Result<Self, Notification> {
        let malformed = Notification::OPEN_MALFORMED;
        if cursor.u8() != Some(VERSION) {
            return Err(Notification::unsupported_version());
        }
        let asn = cursor.u16().ok_or_else(|| malformed.clone())?;
        let hold_time = cursor.u16().ok_or_else(|| malformed.clone())?;
        let router_id = Ipv4Addr::from(cursor.u32().ok_or(malformed)?);
        if matches!(hold_time, 1 | 2) {
            return Err(Notification::UNACCEPTABLE_HOLD_TIME);
        }
        // Any other number will do since RFC 6286.
        if router_id.is_unspecified() {
            return Err(Notification::BAD_IDENTIFIER);
        }
        Ok(Self {
            asn: Asn(u32::from(asn)),
            hold_time: HoldTime(hold_time),
            router_id,
            families: Vec::new(),
            four_octet_as: false,
            route_refresh: false,
            graceful_restart: false,
        })
    }

    /// Capabilities we do not know are the peer's business (RFC 5492 section 3).
    fn read_capabilities(&mut self, bytes: &[u8]) -> Result<(), Notification> {
        let mut cursor = Cursor::new(bytes);
        while let Some(code) = cursor.u8() {
            let value = cursor.short_field().ok_or(Notification::OPEN_MALFORMED)?;
            self.read_capability(code, value)
                .ok_or(Notification::OPEN_MALFORMED)?;
        }
        Ok(())
    }

    /// `None` when the value is too short for the capability.
    fn read_capability(&mut self, code: u8, value: &[u8]) -> Option<()> {
        let mut value = Cursor::new(value);
        match code {
            CAPABILITY_MULTIPROTOCOL => {
                let (afi, _reserved, safi) = (value.u16()?, value.u8()?, value.u8()?);
                let family = Family::from_wire(afi, safi);
                self.families
                    .extend(family.filter(|family| !self.families.contains(family)));
            }
            CAPABILITY_FOUR_OCTET_AS => {
                self.asn = Asn(value.u32()?);
                self.four_octet_as = true;
            }
            CAPABILITY_ROUTE_REFRESH => self.route_refresh = true,
            CAPABILITY_GRACEFUL_RESTART => self.graceful_restart = true,
            _ => {}
        }
        Some(())
    }
}

/// Walks the optional parameters, which follow their total length, in the form of RFC 4271 or, where
/// the first parameter says so, in the longer one of RFC 9072.
fn for_each_parameter(
    bytes: &[u8],
    mut each: impl FnMut(u8, &[u8]) -> Result<(), Notification>,
) -> Result<(), Notification> {
    let mut cursor = Cursor::new(bytes);
    let length = cursor.u8().ok_or(Notification::OPEN_MALFORMED)?;
    let extended = length != 0 && cursor.rest().first() == Some(&PARAMETER_EXTENDED);
    let parameters = if extended {
        cursor.u8();
        cursor.long_field()
    } else {
        cursor.take(usize::from(length))
    };
    // Octets behind the parameters mean that one of the two lengths is wrong.
    let parameters = parameters.filter(|_| cursor.is_empty());
    let mut cursor = Cursor::new(parameters.ok_or(Notification::OPEN_MALFORMED)?);
    while let Some(kind) = cursor.u8() {
        let value = if extended {
            cursor.long_field()
        } else {
            cursor.short_field()
        };
        each(kind, value.ok_or(Notification::OPEN_MALFORMED)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(message: &[u8]) -> Result<Open, Notification> {
        Open::parse(&message[frame::HEADER..])
    }

    /// Sent by BIRD 2.0.12 from Debian 12.
    const BIRD: &str = "ffffffffffffffffffffffffffffffff 003b 01 04 fbf5 00f0 7f000002 1e 02 1c \
        0104 00010001 0104 00020001 0200 4002 0078 4104 0000fbf5 4600 4700";

    fn hex(text: &str) -> Vec<u8> {
        let digits: String = text.split_whitespace().collect();
        let octet = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(octet).collect()
    }

    #[test]
    fn the_open_of_a_real_daemon_is_understood() {
        let open = parse(&hex(BIRD)).unwrap();
        assert_eq!((open.asn, open.hold_time), (Asn(64_501), HoldTime(240)));
        assert_eq!(open.router_id, Ipv4Addr::new(127, 0, 0, 2));
        assert_eq!(open.families, Family::ALL);
        assert!(open.four_octet_as && open.route_refresh && open.graceful_restart);
    }

    proptest! {
        #[test]
        fn what_is_emitted_reads_back(
            asn in 1u32..,
            hold in 3u16..,
            id in 1u32..,
            v4: bool,
            v6: bool,
            route_refresh: bool,
            graceful_restart: bool,
        ) {
            let families = [(v4, Family::V4), (v6, Family::V6)];
            let open = Open {
                asn: Asn(asn),
                hold_time: HoldTime(hold),
                router_id: Ipv4Addr::from(id),
                families: families.into_iter().filter(|(on, _)| *on).map(|(_, family)| family).collect(),
                four_octet_as: true,
                route_refresh,
                graceful_restart,
            };
            prop_assert_eq!(parse(&open.emit()), Ok(open));
        }
    }

    #[test]
    fn extended_parameters_mean_the_same() {
        let short = [2, 6, 65, 4, 0, 3, 0x0D, 0x40];
        let plain = [&[4, 0x5B, 0xA0, 0, 240, 1, 1, 1, 1, 8], short.as_slice()].concat();
        let long = [255, 0, 9, 2, 0, 6, 65, 4, 0, 3, 0x0D, 0x40];
        let extended = [&[4, 0x5B, 0xA0, 0, 240, 1, 1, 1, 1, 255], long.as_slice()].concat();
        let open = Open::parse(&plain).unwrap();
        assert_eq!(open.asn, Asn(200_000));
        assert_eq!(Open::parse(&extended), Ok(open));
    }

    #[test]
    fn a_bad_open_is_answered_with_the_reason_of_the_registry() {
        let good = [4, 0xFC, 0, 0, 240, 1, 1, 1, 1, 0];
        assert!(Open::parse(&good).is_ok());
        let with = |at: usize, value: u8| {
            let mut bytes = good;
            bytes[at] = value;
            Open::parse(&bytes).unwrap_err()
        };
        assert_eq!(with(0, 3), Notification::unsupported_version());
        assert_eq!(with(4, 2), Notification::UNACCEPTABLE_HOLD_TIME);
        assert_eq!(with(9, 1), Notification::OPEN_MALFORMED);
        let no_id = [4, 0xFC, 0, 0, 240, 0, 0, 0, 0, 0];
        assert_eq!(Open::parse(&no_id), Err(Notification::BAD_IDENTIFIER));
        let authentication = [4, 0xFC, 0, 0, 240, 1, 1, 1, 1, 3, 1, 1, 0];
        let refused = Open::parse(&authentication);
        assert_eq!(refused, Err(Notification::UNSUPPORTED_PARAMETER));
        let cut = [4, 0xFC, 0, 0, 240, 1, 1, 1, 1, 4, 2, 2, 65, 4];
        assert_eq!(Open::parse(&cut), Err(Notification::OPEN_MALFORMED));
    }
}
