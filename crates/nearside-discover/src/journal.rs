//! A run on record: everything the prober was told, in order, so that the same engine can be fed
//! the same again and must do the same.
//!
//! The caller stores [`Entry`]s as it likes (the binary writes one JSON line each) and [`replay`]s
//! them later: to look into a bug report, or to prove that engine and shell agree.

use std::fmt::Write;
use std::net::SocketAddr;

use nearside_types::Moment;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::planner::{Listed, Memory, PlannerConfig, ServerId};
use crate::prober::{Input, Output, PortId, Prober, ProberConfig};

/// One thing that happened to the prober.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Entry {
    /// The run began.
    Start {
        /// When.
        at: Moment,
        /// The prober's settings.
        config: ProberConfig,
        /// The planner's settings.
        planner: Box<PlannerConfig>,
    },
    /// See [`Input::Listed`].
    Listed {
        /// When.
        at: Moment,
        /// The servers.
        servers: Vec<Listed>,
    },
    /// See [`Input::Remembered`].
    Remembered {
        /// When.
        at: Moment,
        /// What is remembered.
        memory: Memory,
    },
    /// See [`Input::Favourites`].
    Favourites {
        /// When.
        at: Moment,
        /// The servers.
        servers: Vec<ServerId>,
    },
    /// See [`Input::ListComplete`].
    ListComplete {
        /// When.
        at: Moment,
    },
    /// See [`Input::Datagram`].
    Datagram {
        /// When it was handled.
        at: Moment,
        /// The socket.
        port: PortId,
        /// The sender.
        from: SocketAddr,
        /// When it was received.
        received: Option<Moment>,
        /// Its bytes in hexadecimal.
        payload: String,
    },
    /// See [`Input::Unreachable`].
    Unreachable {
        /// When.
        at: Moment,
        /// Where.
        to: SocketAddr,
    },
    /// See [`Input::Interrupt`].
    Interrupt {
        /// When.
        at: Moment,
    },
    /// The prober was polled.
    Poll {
        /// When.
        at: Moment,
    },
    /// The run ended, having put out all this.
    End {
        /// Outputs so far.
        outputs: u64,
        /// A digest over all of them in order.
        digest: u64,
    },
}

/// Where entries go.
pub type Sink = Box<dyn FnMut(Entry) + Send>;

/// A prober that can be recorded. Drive it exactly like the [`Prober`] inside.
pub struct Recorded {
    prober: Prober,
    digest: Digest,
    sink: Option<Sink>,
}

impl Recorded {
    /// A prober whose inputs go to `sink`, if there is one.
    pub fn new(
        config: ProberConfig,
        planner: &PlannerConfig,
        now: Moment,
        mut sink: Option<Sink>,
    ) -> Self {
        if let Some(sink) = &mut sink {
            sink(Entry::Start {
                at: now,
                config: config.clone(),
                planner: Box::new(*planner),
            });
        }
        Self {
            prober: Prober::new(config, planner, now),
            digest: Digest::default(),
            sink,
        }
    }

    /// See [`Prober::handle_input`].
    pub fn handle_input(&mut self, now: Moment, input: Input<'_>) {
        if let Some(sink) = &mut self.sink {
            sink(entry_of(now, input));
        }
        self.prober.handle_input(now, input);
    }

    /// See [`Prober::poll_output`].
    pub fn poll_output(&mut self, now: Moment) -> Output {
        let output = self.prober.poll_output(now);
        if let Some(sink) = &mut self.sink {
            sink(Entry::Poll { at: now });
            self.digest.add(&output);
        }
        output
    }

    /// Writes the end of the record; call it once, after [`Output::Finished`].
    pub fn close(&mut self) {
        if let Some(sink) = &mut self.sink {
            sink(self.digest.end());
        }
    }

    /// The prober inside, to read from.
    pub fn prober(&self) -> &Prober {
        &self.prober
    }
}

/// What a replay shows.
#[derive(Debug)]
pub struct Replay {
    /// The prober as it was in the end.
    pub prober: Prober,
    /// Whether it put out exactly what was recorded; `None` if the record has no end.
    pub identical: Option<bool>,
}

/// Why a record cannot be replayed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ReplayError {
    /// It does not begin with its settings.
    #[error("the record does not begin with a `start` entry")]
    NoStart,
    /// A `start` in the middle.
    #[error("entry {0} starts another run; a record holds one")]
    SecondStart(usize),
    /// A payload that is not hexadecimal.
    #[error("the payload of entry {0} is not hexadecimal")]
    BadPayload(usize),
}

/// Feeds a record to a new prober.
pub fn replay(entries: impl IntoIterator<Item = Entry>) -> Result<Replay, ReplayError> {
    let mut entries = entries.into_iter();
    let Some(Entry::Start {
        at,
        config,
        planner,
    }) = entries.next()
    else {
        return Err(ReplayError::NoStart);
    };
    let mut prober = Prober::new(config, &planner, at);
    let mut digest = Digest::default();
    let mut identical = None;
    for (index, entry) in entries.enumerate() {
        match entry {
            Entry::End { .. } => identical = Some(entry == digest.end()),
            Entry::Poll { at } => digest.add(&prober.poll_output(at)),
            other => feed(&mut prober, index + 2, &other)?,
        }
    }
    Ok(Replay { prober, identical })
}

fn feed(prober: &mut Prober, index: usize, entry: &Entry) -> Result<(), ReplayError> {
    let decoded;
    let (at, input) = match entry {
        Entry::Listed { at, servers } => (at, Input::Listed(servers)),
        Entry::Remembered { at, memory } => (at, Input::Remembered(memory)),
        Entry::Favourites { at, servers } => (at, Input::Favourites(servers)),
        Entry::ListComplete { at } => (at, Input::ListComplete),
        Entry::Unreachable { at, to } => (at, Input::Unreachable { to: *to }),
        Entry::Interrupt { at } => (at, Input::Interrupt),
        Entry::Datagram {
            at,
            port,
            from,
            received,
            payload,
        } => {
            decoded = from_hex(payload).ok_or(ReplayError::BadPayload(index))?;
            let input = Input::Datagram {
                port: *port,
                from: *from,
                received: *received,
                payload: &decoded,
            };
            (at, input)
        }
        Entry::Start { .. } | Entry::Poll { .. } | Entry::End { .. } => {
            return Err(ReplayError::SecondStart(index));
        }
    };
    prober.handle_input(*at, input);
    Ok(())
}

fn entry_of(at: Moment, input: Input<'_>) -> Entry {
    match input {
        Input::Listed(servers) => Entry::Listed {
            at,
            servers: servers.to_vec(),
        },
        Input::Remembered(memory) => Entry::Remembered {
            at,
            memory: memory.clone(),
        },
        Input::Favourites(servers) => Entry::Favourites {
            at,
            servers: servers.to_vec(),
        },
        Input::ListComplete => Entry::ListComplete { at },
        Input::Datagram {
            port,
            from,
            received,
            payload,
        } => Entry::Datagram {
            at,
            port,
            from,
            received,
            payload: to_hex(payload),
        },
        Input::Unreachable { to } => Entry::Unreachable { at, to },
        Input::Interrupt => Entry::Interrupt { at },
    }
}

/// A running FNV-1a hash: enough to tell two runs apart, and stable across versions and machines.
#[derive(Debug, Clone, Copy)]
struct Digest {
    outputs: u64,
    hash: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Self {
            outputs: 0,
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }
}

impl Digest {
    fn add(&mut self, output: &Output) {
        self.outputs += 1;
        write!(self, "{output:?}").expect("hashing cannot fail");
    }

    fn end(&self) -> Entry {
        Entry::End {
            outputs: self.outputs,
            digest: self.hash,
        }
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks_exact(2)
        .map(|pair| {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            u8::try_from(high << 4 | low).ok()
        })
        .collect()
}
