//! A close look at one server: what it says, who plays, its rules, and how good the path is.
//!
//! Driven like the prober: feed datagrams with [`Inspection::handle_datagram`], call
//! [`Inspection::poll_output`] until it waits or is done. Requests go out on ports 0 to 2 in turn,
//! so that replies of an A2S server, which carry no nonce, can be told apart.

use std::collections::VecDeque;
use std::time::Duration;

use nearside_types::{Moment, Rtt, quantile};
use nearside_wire::a2s::{self, Assembled, Challenge, PlayerList, Reassembler, RuleList};
use nearside_wire::quake3::{self, InfoString, StatusPlayer};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::prober::{MAX_TRIES, Protocol, RecentSends};

/// What to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InspectConfig {
    /// What the server speaks.
    pub protocol: Protocol,
    /// Whether to ask for players and rules too.
    pub details: bool,
    /// How many paced probes measure the path; none without a quality test.
    pub quality_probes: usize,
    /// The time between them. Servers answer about two queries a second for long: ioquake3 takes
    /// ten at once and one a second more, Source three a second.
    pub quality_gap: Duration,
    /// How long one request waits.
    pub timeout: Duration,
    /// Seed of the nonces.
    pub seed: u64,
}

impl InspectConfig {
    /// Info, players and rules; no quality test.
    pub const fn new(protocol: Protocol, seed: u64) -> Self {
        Self {
            protocol,
            details: true,
            quality_probes: 0,
            quality_gap: Duration::from_millis(550),
            timeout: Duration::from_millis(1500),
            seed,
        }
    }
}

/// What an inspection wants.
#[derive(Debug, Clone, PartialEq)]
pub enum InspectOutput {
    /// Send this from port number `port` (0 to 2).
    Transmit {
        /// The port.
        port: usize,
        /// The bytes.
        payload: Vec<u8>,
    },
    /// Nothing until then, or the next datagram.
    Wait(Moment),
    /// Everything asked for was answered or given up.
    Done,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The A2S_INFO reply.
    pub a2s: Option<Box<a2s::Info>>,
    /// The keys of the Quake 3 reply, status before info.
    pub quake3: Option<InfoString>,
    /// The A2S player list.
    pub players: Option<PlayerList>,
    /// The Quake 3 player list.
    pub status_players: Option<Vec<StatusPlayer>>,
    /// The A2S rules.
    pub rules: Option<RuleList>,
    /// RTT of every exchange that could be attributed.
    pub rtts: Vec<Rtt>,
    /// The quality test, probe by probe; `None` was lost.
    pub quality: Vec<Option<Rtt>>,
    /// Replies that do not parse.
    pub malformed: u32,
}

/// The quality test in a few numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// Probes sent.
    pub sent: usize,
    /// Probes lost.
    pub lost: usize,
    /// Mean difference between one RTT and the next, in milliseconds.
    pub jitter_ms: Option<f64>,
    /// Smallest, median, 90th and 99th percentile, and largest RTT in milliseconds.
    pub rtt_ms: Option<[f64; 5]>,
}

impl Findings {
    /// The lowest RTT seen.
    pub fn best_rtt(&self) -> Option<Rtt> {
        let quality = self.quality.iter().flatten();
        self.rtts.iter().chain(quality).min().copied()
    }

    /// Whether the server said anything at all.
    pub fn is_alive(&self) -> bool {
        self.best_rtt().is_some() || self.a2s.is_some() || self.quake3.is_some()
    }

    /// Loss, jitter and percentiles of the quality test.
    pub fn quality(&self) -> Quality {
        let answered: Vec<f64> = self
            .quality
            .iter()
            .flatten()
            .map(|rtt| rtt.as_millis_f64())
            .collect();
        let steps: Vec<f64> = answered.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
        let jitter_ms = (!steps.is_empty()).then(|| steps.iter().sum::<f64>() / steps.len() as f64);
        let mut sorted = answered.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |q| quantile(&sorted, q);
        let rtt_ms = at(0.0).map(|least| {
            [
                least,
                at(0.5).unwrap_or(least),
                at(0.9).unwrap_or(least),
                at(0.99).unwrap_or(least),
                at(1.0).unwrap_or(least),
            ]
        });
        Quality {
            sent: self.quality.len(),
            lost: self.quality.len() - answered.len(),
            jitter_ms,
            rtt_ms,
        }
    }
}

/// One question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Info,
    Players,
    Rules,
    Status,
    /// An info exchange that is only measured.
    Quality {
        index: usize,
    },
}

/// A question that is out.
#[derive(Debug)]
struct Open {
    question: Question,
    attempt: u32,
    challenges: u32,
    port: usize,
    nonce: u64,
    sent: Moment,
    until: Moment,
}

/// Asks one server question after question.
#[derive(Debug)]
pub struct Inspection {
    config: InspectConfig,
    rng: ChaCha8Rng,
    todo: VecDeque<Question>,
    open: Option<Open>,
    /// The present question is to be (re)sent.
    to_send: Option<(Question, u32)>,
    challenge: Option<Challenge>,
    reassembler: Reassembler,
    next_port: usize,
    not_before: Moment,
    recent: RecentSends,
    /// The open question is to be repeated with the server's challenge.
    leg_due: bool,
    findings: Findings,
}

/// How often a question is asked before it is given up; quality probes are asked once.
const ATTEMPTS: u32 = 3;
/// How often one question is repeated because the server wants its challenge.
const MAX_CHALLENGES: u32 = 3;

impl Inspection {
    /// An inspection that begins when it is first polled.
    pub fn new(config: InspectConfig) -> Self {
        let mut todo = VecDeque::from([Question::Info]);
        if config.details {
            match config.protocol {
                Protocol::A2s => todo.extend([Question::Players, Question::Rules]),
                Protocol::Quake3 => todo.push_back(Question::Status),
            }
        }
        todo.extend((0..config.quality_probes).map(|index| Question::Quality { index }));
        Self {
            rng: ChaCha8Rng::seed_from_u64(config.seed),
            todo,
            open: None,
            to_send: None,
            challenge: None,
            reassembler: Reassembler::new(),
            next_port: 0,
            not_before: Moment::EPOCH,
            recent: RecentSends::default(),
            leg_due: false,
            findings: Findings::default(),
            config,
        }
    }

    /// What was found so far.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Takes a datagram from the server that came in on `port`; `received` is `None` when its
    /// stamp cannot be trusted.
    pub fn handle_datagram(&mut self, port: usize, received: Option<Moment>, payload: &[u8]) {
        let asked_there = self.open.as_ref().is_some_and(|open| open.port == port);
        if !asked_there {
            return;
        }
        let outcome = match self.config.protocol {
            Protocol::A2s => self.handle_a2s(received, payload),
            Protocol::Quake3 => self.handle_quake3(received, payload),
        };
        if outcome.is_err() {
            self.findings.malformed += 1;
        }
    }

    /// The next thing to do.
    pub fn poll_output(&mut self, now: Moment) -> InspectOutput {
        let allowed = self.recent.next_allowed();
        if let Some(open) = &self.open {
            match self.leg_due {
                true if allowed <= now => return self.send_leg(now),
                true => return InspectOutput::Wait(allowed),
                false if open.until > now => return InspectOutput::Wait(open.until),
                false => self.handle_timeout(),
            }
        }
        if self.to_send.is_none() {
            self.to_send = self.todo.pop_front().map(|question| (question, 1));
        }
        match self.to_send {
            None => InspectOutput::Done,
            Some(_) if self.not_before.max(allowed) > now => {
                InspectOutput::Wait(self.not_before.max(allowed))
            }
            Some((question, attempt)) => self.ask(now, question, attempt),
        }
    }

    fn ask(&mut self, now: Moment, question: Question, attempt: u32) -> InspectOutput {
        self.to_send = None;
        // A server may answer a repeated question with the very same fragments.
        self.reassembler.clear();
        let port = self.next_port;
        self.next_port = (port + 1) % MAX_TRIES;
        let nonce = self.rng.next_u64();
        self.open = Some(Open {
            question,
            attempt,
            challenges: 0,
            port,
            nonce,
            sent: now,
            until: now + self.config.timeout,
        });
        self.recent.record(now);
        if let Question::Quality { .. } = question {
            self.not_before = now + self.config.quality_gap;
            self.findings.quality.push(None);
        }
        InspectOutput::Transmit {
            port,
            payload: self.request(question, nonce),
        }
    }

    fn request(&self, question: Question, nonce: u64) -> Vec<u8> {
        let challenge = self.challenge;
        match (self.config.protocol, question) {
            (Protocol::A2s, Question::Players) => a2s::Request::Players {
                challenge: challenge.unwrap_or(Challenge::NONE),
            }
            .emit(),
            (Protocol::A2s, Question::Rules) => a2s::Request::Rules {
                challenge: challenge.unwrap_or(Challenge::NONE),
            }
            .emit(),
            (Protocol::A2s, _) => a2s::Request::Info { challenge }.emit(),
            (Protocol::Quake3, Question::Status) => quake3::Request::GetStatus {
                challenge: Some(quake3::Challenge::from_random(nonce)),
            }
            .emit(),
            (Protocol::Quake3, _) => quake3::Request::GetInfo {
                challenge: Some(quake3::Challenge::from_random(nonce)),
            }
            .emit(),
        }
    }

    fn handle_timeout(&mut self) {
        let Some(open) = self.open.take() else { return };
        let measured_only = matches!(open.question, Question::Quality { .. });
        if !measured_only && open.attempt < ATTEMPTS {
            self.to_send = Some((open.question, open.attempt + 1));
        } else if open.question == Question::Info && !self.findings.is_alive() {
            // Nobody is there: the other questions would only wait in vain.
            self.todo.clear();
        }
    }

    /// The user stops here: a quality probe that is still under way is not a lost one.
    pub fn interrupt(&mut self) {
        let open = self.open.take().map(|open| open.question);
        if let Some(Question::Quality { index }) = open
            && self.findings.quality.get(index) == Some(&None)
        {
            self.findings.quality.pop();
        }
        self.to_send = None;
        self.todo.clear();
    }

    fn handle_a2s(
        &mut self,
        received: Option<Moment>,
        payload: &[u8],
    ) -> Result<(), nearside_wire::DecodeError> {
        let Assembled::Whole(message) = self.reassembler.push(payload)? else {
            return Ok(());
        };
        match a2s::Response::parse(&message)? {
            a2s::Response::Challenge(challenge) => self.handle_challenge(received, challenge),
            a2s::Response::Info(info) => {
                if self.close_if(received, is_info) {
                    self.findings.a2s = Some(info);
                }
            }
            a2s::Response::Players(players) => {
                if self.close_if(received, |question| question == Question::Players) {
                    self.findings.players = Some(players);
                }
            }
            a2s::Response::Rules(rules) => {
                if self.close_if(received, |question| question == Question::Rules) {
                    self.findings.rules = Some(rules);
                }
            }
        }
        Ok(())
    }

    fn handle_quake3(
        &mut self,
        received: Option<Moment>,
        payload: &[u8],
    ) -> Result<(), nearside_wire::DecodeError> {
        let response = quake3::Response::parse(payload)?;
        let expected = self
            .open
            .as_ref()
            .map(|open| quake3::Challenge::from_random(open.nonce));
        let genuine = expected
            .as_ref()
            .is_some_and(|challenge| response.challenge() == Some(challenge.as_bytes()));
        if !genuine {
            return Ok(());
        }
        match response {
            quake3::Response::Info(info) => {
                if self.close_if(received, is_info) {
                    self.findings.quake3.get_or_insert(info);
                }
            }
            quake3::Response::Status { info, players } => {
                if self.close_if(received, |question| question == Question::Status) {
                    self.findings.quake3 = Some(info);
                    self.findings.status_players = Some(players);
                }
            }
        }
        Ok(())
    }

    /// The second leg goes as soon as the server may be asked again. Its RTT is counted from its
    /// own send; the first leg's is a sample too.
    fn handle_challenge(&mut self, received: Option<Moment>, challenge: Challenge) {
        let Some(open) = &mut self.open else { return };
        // The challenge we already gave back: a duplicate in the network.
        if open.challenges == MAX_CHALLENGES
            || (open.challenges > 0 && self.challenge == Some(challenge))
        {
            return;
        }
        open.challenges += 1;
        let (question, sample) = (open.question, sample_since(open.sent, received));
        self.challenge = Some(challenge);
        self.leg_due = true;
        self.note(question, sample);
    }

    fn send_leg(&mut self, now: Moment) -> InspectOutput {
        self.leg_due = false;
        self.recent.record(now);
        let open = self
            .open
            .as_mut()
            .expect("a leg belongs to an open question");
        open.sent = now;
        open.until = now + self.config.timeout;
        let (question, port, nonce) = (open.question, open.port, open.nonce);
        InspectOutput::Transmit {
            port,
            payload: self.request(question, nonce),
        }
    }

    /// Closes the open question if `fits` accepts it, and keeps its RTT.
    fn close_if(&mut self, received: Option<Moment>, fits: impl Fn(Question) -> bool) -> bool {
        let Some(open) = self.open.take_if(|open| fits(open.question)) else {
            return false;
        };
        self.leg_due = false;
        self.note(open.question, sample_since(open.sent, received));
        true
    }

    /// The lower of the legs of one exchange counts.
    fn note(&mut self, question: Question, sample: Option<Rtt>) {
        let Some(rtt) = sample else { return };
        match question {
            Question::Quality { index } => {
                let slot = &mut self.findings.quality[index];
                *slot = Some(slot.map_or(rtt, |other| other.min(rtt)));
            }
            _ => self.findings.rtts.push(rtt),
        }
    }
}

fn is_info(question: Question) -> bool {
    matches!(question, Question::Info | Question::Quality { .. })
}

fn sample_since(sent: Moment, received: Option<Moment>) -> Option<Rtt> {
    received
        .filter(|&at| at > sent)
        .map(|at| Rtt::from_duration(at - sent))
}
