//! Messages as bytes: a version, the epoch, a kind, then the fields of that kind, little-endian.
//!
//! | field | bytes |
//! |---|---|
//! | delay | 8, grid steps of 10⁻⁹ ms; −1 for none |
//! | server, client | 2; 65535 for none |
//! | list | 2 for its length, then its entries |
//! | set | 2 for its length, then a byte for each 8 members, the lowest bit first |

use thiserror::Error;

use super::message::{
    Act, Body, Bracket, Decision, Epoch, InUse, Members, Message, Phase, Probe, Roll, Seats, Turn,
};
use crate::Delay;

/// The format described above.
const VERSION: u8 = 1;
const NONE: u16 = u16::MAX;

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// They end before the message does.
    #[error("the message ends early")]
    Short,
    /// They go on after its end.
    #[error("{0} bytes follow the message")]
    Long(usize),
    /// Another version of the format.
    #[error("version {0} of the format is not known")]
    Version(u8),
    /// A kind, a phase or the like that is not known.
    #[error("{what} {value} is not known")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// What stands there.
        value: u8,
    },
    /// A number that is no delay.
    #[error("{0} is not a delay")]
    Delay(i64),
}

impl Message {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer(vec![VERSION]);
        out.epoch(self.epoch);
        out.body(&self.body);
        out.0
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When the bytes are not exactly one message.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut input = Reader(bytes);
        match input.u8()? {
            VERSION => {}
            version => return Err(DecodeError::Version(version)),
        }
        let message = Self {
            epoch: input.epoch()?,
            body: input.body()?,
        };
        match input.0.len() {
            0 => Ok(message),
            more => Err(DecodeError::Long(more)),
        }
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    /// # Panics
    /// For lists beyond 65,535 entries; clients and servers are numbered by 16 bits.
    fn length(&mut self, length: usize) {
        self.u16(u16::try_from(length).expect("lists of nodes have 16-bit lengths"));
    }

    fn delay(&mut self, delay: Option<Delay>) {
        let steps = delay.map_or(-1, Delay::steps);
        self.0.extend(steps.to_le_bytes());
    }

    fn epoch(&mut self, epoch: Epoch) {
        self.u32(epoch.number);
        self.u16(epoch.initiator);
    }

    fn members(&mut self, members: &Members) {
        self.length(members.len());
        for eight in members.chunks(8) {
            let bits = eight.iter().enumerate();
            self.u8(bits.fold(0, |byte, (bit, &here)| byte | u8::from(here) << bit));
        }
    }

    fn roll(&mut self, roll: &Roll) {
        self.members(&roll.clients);
        self.members(&roll.servers);
    }

    fn phase(&mut self, phase: Phase) {
        self.u8(match phase {
            Phase::Seat => 0,
            Phase::ZoomIn => 1,
            Phase::ZoomOut => 2,
        });
    }

    fn turn(&mut self, turn: &Turn) {
        self.u32(turn.number);
        self.phase(turn.phase);
        self.u32(turn.version);
        self.u16(turn.present.unwrap_or(NONE));
        self.members(&turn.in_use);
        self.members(&turn.full);
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Pass => self.u8(0),
            Act::Stay => self.u8(1),
            Act::Go => self.u8(2),
            Act::Sit { server, distance } => {
                self.u8(3);
                self.u16(server);
                self.delay(Some(distance));
            }
        }
    }

    fn probe(&mut self, probe: Probe) {
        self.u32(probe.turn);
        self.phase(probe.phase);
        self.u32(probe.version);
        self.u16(probe.client);
        self.delay(Some(probe.distance));
    }

    fn seats(&mut self, seats: &Seats) {
        self.u32(seats.version);
        self.length(seats.in_use.len());
        for server in &seats.in_use {
            self.u16(server.server);
            self.u16(server.load);
            self.u16(server.farthest);
            self.delay(Some(server.radius));
            self.delay(server.second);
        }
    }

    fn body(&mut self, body: &Body) {
        self.u8(kind(body));
        match body {
            Body::Here {
                prepared,
                committed,
            } => {
                self.epoch(*prepared);
                self.epoch(*committed);
            }
            Body::Settle { committed } => self.epoch(*committed),
            Body::Distance(distance) => self.delay(Some(*distance)),
            Body::Match(bracket) => {
                self.roll(&bracket.roll);
                self.u16(bracket.first);
                self.u8(bracket.level);
            }
            Body::Winner { server, farthest } => {
                self.u16(*server);
                self.delay(Some(*farthest));
            }
            Body::Lead(roll) => self.roll(roll),
            Body::Begin(row) => {
                self.length(row.len());
                row.iter().for_each(|&apart| self.delay(apart));
            }
            Body::Began { places } => {
                self.u8(u8::from(places.is_some()));
                self.u32(places.unwrap_or(0));
            }
            Body::Turn(turn) => self.turn(turn),
            Body::TurnDone { turn, act } => {
                self.u32(*turn);
                self.act(*act);
            }
            Body::Probe(probe) | Body::Propose { probe } => self.probe(*probe),
            Body::Answer { turn, accepted } => {
                self.u32(*turn);
                self.u8(u8::from(*accepted));
            }
            Body::Fetch { version } | Body::Check { version } => self.u32(*version),
            Body::State(seats) => self.seats(seats),
            Body::Decision { turn, decision } => {
                self.u32(*turn);
                let stale = match decision {
                    Decision::Taken => None,
                    Decision::Stale { version } => Some(*version),
                };
                self.u8(u8::from(stale.is_some()));
                self.u32(stale.unwrap_or(0));
            }
            Body::Checked { version, holds } => {
                self.u32(*version);
                self.u8(u8::from(*holds));
            }
            Body::Prepare { contacts } => {
                self.length(contacts.len());
                for contact in contacts {
                    self.u16(contact.unwrap_or(NONE));
                }
            }
            Body::Beat
            | Body::Alive
            | Body::Census
            | Body::Ask
            | Body::Leading
            | Body::Prepared
            | Body::Commit
            | Body::CommitDone
            | Body::Unmet
            | Body::UnmetDone => {}
        }
    }
}

/// The number of a kind of message. Numbers are never reused for something else.
fn kind(body: &Body) -> u8 {
    match body {
        Body::Beat => 1,
        Body::Alive => 2,
        Body::Census => 3,
        Body::Here { .. } => 4,
        Body::Settle { .. } => 5,
        Body::Ask => 6,
        Body::Distance(_) => 7,
        Body::Match(_) => 8,
        Body::Winner { .. } => 9,
        Body::Lead(_) => 10,
        Body::Leading => 11,
        Body::Begin(_) => 12,
        Body::Began { .. } => 13,
        Body::Turn(_) => 14,
        Body::TurnDone { .. } => 15,
        Body::Probe(_) => 16,
        Body::Answer { .. } => 17,
        Body::Fetch { .. } => 18,
        Body::State(_) => 19,
        Body::Propose { .. } => 20,
        Body::Decision { .. } => 21,
        Body::Check { .. } => 22,
        Body::Checked { .. } => 23,
        Body::Prepare { .. } => 24,
        Body::Prepared => 25,
        Body::Commit => 26,
        Body::CommitDone => 27,
        Body::Unmet => 28,
        Body::UnmetDone => 29,
    }
}

/// What is left to read.
struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn u8(&mut self) -> Result<u8, DecodeError> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, DecodeError> {
        self.bytes().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(DecodeError::Unknown {
                what: "flag",
                value,
            }),
        }
    }

    fn optional_node(&mut self) -> Result<Option<u16>, DecodeError> {
        self.u16().map(|node| (node != NONE).then_some(node))
    }

    /// Out of range, a delay could overflow sums later: refused here, once.
    fn optional_delay(&mut self) -> Result<Option<Delay>, DecodeError> {
        match self.bytes().map(i64::from_le_bytes)? {
            -1 => Ok(None),
            steps => Delay::from_steps(steps)
                .map(Some)
                .ok_or(DecodeError::Delay(steps)),
        }
    }

    fn delay(&mut self) -> Result<Delay, DecodeError> {
        self.optional_delay()?.ok_or(DecodeError::Delay(-1))
    }

    fn list<T>(
        &mut self,
        entry: impl Fn(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let length = self.u16()?;
        (0..length).map(|_| entry(self)).collect()
    }

    fn epoch(&mut self) -> Result<Epoch, DecodeError> {
        Ok(Epoch {
            number: self.u32()?,
            initiator: self.u16()?,
        })
    }

    fn members(&mut self) -> Result<Members, DecodeError> {
        let length = usize::from(self.u16()?);
        let mut members = Members::with_capacity(length);
        while members.len() < length {
            let byte = self.u8()?;
            let bits = (0..8).map(|bit| byte >> bit & 1 == 1);
            members.extend(bits.take(length - members.len()));
        }
        Ok(members)
    }

    fn roll(&mut self) -> Result<Roll, DecodeError> {
        Ok(Roll {
            clients: self.members()?,
            servers: self.members()?,
        })
    }

    fn phase(&mut self) -> Result<Phase, DecodeError> {
        match self.u8()? {
            0 => Ok(Phase::Seat),
            1 => Ok(Phase::ZoomIn),
            2 => Ok(Phase::ZoomOut),
            value => Err(DecodeError::Unknown {
                what: "phase",
                value,
            }),
        }
    }

    fn turn(&mut self) -> Result<Turn, DecodeError> {
        Ok(Turn {
            number: self.u32()?,
            phase: self.phase()?,
            version: self.u32()?,
            present: self.optional_node()?,
            in_use: self.members()?,
            full: self.members()?,
        })
    }

    fn act(&mut self) -> Result<Act, DecodeError> {
        match self.u8()? {
            0 => Ok(Act::Pass),
            1 => Ok(Act::Stay),
            2 => Ok(Act::Go),
            3 => Ok(Act::Sit {
                server: self.u16()?,
                distance: self.delay()?,
            }),
            value => Err(DecodeError::Unknown { what: "act", value }),
        }
    }

    fn probe(&mut self) -> Result<Probe, DecodeError> {
        Ok(Probe {
            turn: self.u32()?,
            phase: self.phase()?,
            version: self.u32()?,
            client: self.u16()?,
            distance: self.delay()?,
        })
    }

    fn in_use(&mut self) -> Result<InUse, DecodeError> {
        Ok(InUse {
            server: self.u16()?,
            load: self.u16()?,
            farthest: self.u16()?,
            radius: self.delay()?,
            second: self.optional_delay()?,
        })
    }

    fn decision(&mut self) -> Result<Decision, DecodeError> {
        let (stale, version) = (self.flag()?, self.u32()?);
        Ok(match stale {
            false => Decision::Taken,
            true => Decision::Stale { version },
        })
    }

    fn places(&mut self) -> Result<Option<u32>, DecodeError> {
        let (limited, places) = (self.flag()?, self.u32()?);
        Ok(limited.then_some(places))
    }

    fn body(&mut self) -> Result<Body, DecodeError> {
        Ok(match self.u8()? {
            1 => Body::Beat,
            2 => Body::Alive,
            3 => Body::Census,
            4 => Body::Here {
                prepared: self.epoch()?,
                committed: self.epoch()?,
            },
            5 => Body::Settle {
                committed: self.epoch()?,
            },
            6 => Body::Ask,
            7 => Body::Distance(self.delay()?),
            8 => Body::Match(Bracket {
                roll: self.roll()?,
                first: self.u16()?,
                level: self.u8()?,
            }),
            9 => Body::Winner {
                server: self.u16()?,
                farthest: self.delay()?,
            },
            10 => Body::Lead(self.roll()?),
            11 => Body::Leading,
            12 => Body::Begin(self.list(Self::optional_delay)?),
            13 => Body::Began {
                places: self.places()?,
            },
            14 => Body::Turn(self.turn()?),
            15 => Body::TurnDone {
                turn: self.u32()?,
                act: self.act()?,
            },
            16 => Body::Probe(self.probe()?),
            17 => Body::Answer {
                turn: self.u32()?,
                accepted: self.flag()?,
            },
            18 => Body::Fetch {
                version: self.u32()?,
            },
            19 => Body::State(Seats {
                version: self.u32()?,
                in_use: self.list(Self::in_use)?,
            }),
            20 => Body::Propose {
                probe: self.probe()?,
            },
            21 => Body::Decision {
                turn: self.u32()?,
                decision: self.decision()?,
            },
            22 => Body::Check {
                version: self.u32()?,
            },
            23 => Body::Checked {
                version: self.u32()?,
                holds: self.flag()?,
            },
            24 => Body::Prepare {
                contacts: self.list(Self::optional_node)?,
            },
            25 => Body::Prepared,
            26 => Body::Commit,
            27 => Body::CommitDone,
            28 => Body::Unmet,
            29 => Body::UnmetDone,
            value => {
                return Err(DecodeError::Unknown {
                    what: "kind of message",
                    value,
                });
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: Body) -> Message {
        Message {
            epoch: Epoch {
                number: 7,
                initiator: 3,
            },
            body,
        }
    }

    fn delay(millis: f64) -> Delay {
        Delay::from_millis(millis).unwrap()
    }

    fn bodies() -> Vec<Body> {
        let epoch = Epoch {
            number: 2,
            initiator: 9,
        };
        let roll = Roll {
            clients: vec![true, false, true, true, false, true, true, true, true],
            servers: vec![false; 8],
        };
        let probe = Probe {
            turn: 4,
            phase: Phase::ZoomOut,
            version: 11,
            client: 2,
            distance: delay(1.5),
        };
        let seats = Seats {
            version: 5,
            in_use: vec![InUse {
                server: 1,
                load: 2,
                farthest: 8,
                radius: delay(3.25),
                second: None,
            }],
        };
        vec![
            Body::Beat,
            Body::Alive,
            Body::Census,
            Body::Here {
                prepared: epoch,
                committed: Epoch::NONE,
            },
            Body::Settle { committed: epoch },
            Body::Ask,
            Body::Distance(Delay::UNREACHABLE),
            Body::Match(Bracket {
                roll: roll.clone(),
                first: 4,
                level: 2,
            }),
            Body::Winner {
                server: 6,
                farthest: delay(9.0),
            },
            Body::Lead(roll),
            Body::Leading,
            Body::Begin(vec![Some(Delay::ZERO), None, Some(delay(2.0))]),
            Body::Began { places: Some(10) },
            Body::Began { places: None },
            Body::Turn(Turn {
                number: 12,
                phase: Phase::ZoomIn,
                version: 3,
                present: Some(1),
                in_use: vec![true, true, false],
                full: vec![],
            }),
            Body::TurnDone {
                turn: 12,
                act: Act::Sit {
                    server: 2,
                    distance: delay(0.5),
                },
            },
            Body::TurnDone {
                turn: 13,
                act: Act::Go,
            },
            Body::Probe(probe),
            Body::Answer {
                turn: 4,
                accepted: true,
            },
            Body::Fetch { version: 6 },
            Body::State(seats),
            Body::Propose { probe },
            Body::Decision {
                turn: 4,
                decision: Decision::Stale { version: 12 },
            },
            Body::Decision {
                turn: 4,
                decision: Decision::Taken,
            },
            Body::Check { version: 1 },
            Body::Checked {
                version: 1,
                holds: true,
            },
            Body::Prepare {
                contacts: vec![Some(0), None, Some(7)],
            },
            Body::Prepared,
            Body::Commit,
            Body::CommitDone,
            Body::Unmet,
            Body::UnmetDone,
        ]
    }

    #[test]
    fn every_message_reads_back_from_its_bytes() {
        for body in bodies() {
            let message = message(body);
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn every_cut_and_every_extra_byte_is_noticed() {
        for body in bodies() {
            let bytes = message(body).encode();
            for end in 0..bytes.len() {
                assert!(Message::decode(&bytes[..end]).is_err());
            }
            let longer = [&bytes[..], &[0]].concat();
            assert_eq!(Message::decode(&longer), Err(DecodeError::Long(1)));
        }
    }

    #[test]
    fn numbers_that_are_no_delays_are_refused() {
        let mut bytes = message(Body::Distance(Delay::ZERO)).encode();
        let start = bytes.len() - 8;
        bytes[start..].copy_from_slice(&i64::MAX.to_le_bytes());
        assert_eq!(Message::decode(&bytes), Err(DecodeError::Delay(i64::MAX)));
    }
}
