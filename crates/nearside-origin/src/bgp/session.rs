//! One session with one neighbour, from its connection to its end. It listens: no route is ever
//! announced, and the connection is the neighbour's to make.

use std::collections::VecDeque;
use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use nearside_types::{Asn, Moment};

use super::as_path::AsWidth;
use super::frame::{self, Framer, Message, MessageType};
use super::nlri::{Family, SAFI_UNICAST};
use super::notification::Notification;
use super::open::{HoldTime, Open};
use super::update::{Speaker, Update, UpdateOrMarker};

/// Who we are and whom we expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionConfig {
    /// Our AS.
    pub local_asn: Asn,
    /// Our BGP identifier: any number that no neighbour has, by custom an IPv4 address.
    pub router_id: Ipv4Addr,
    /// The neighbour's AS; an OPEN from another one is refused.
    pub peer_asn: Asn,
    /// Seconds of silence we offer to bear, the neighbour may ask for less. Default 240: GoBGP with a
    /// full table says nothing for 92 s after the session is up. Zero switches the timer off.
    pub hold_time: u16,
}

impl SessionConfig {
    /// Hold time offered when nobody sets another.
    pub const HOLD_TIME: u16 = 240;
}

/// What the session wants from its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Write these octets to the connection.
    Send(Vec<u8>),
    /// Something happened. After [`Event::Closed`] the connection is to be shut, once what was to be
    /// sent before it is sent.
    Event(Event),
    /// Nothing to do before this moment, or before bytes arrive.
    Wait(Option<Moment>),
}

/// What happens in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Both sides agreed; routes follow.
    Established(Established),
    /// Routes come or go.
    Update(Update),
    /// All routes the neighbour had at the start have been sent (RFC 4724).
    EndOfRib(Family),
    /// The end; nothing follows.
    Closed {
        /// Who ended it, and why.
        reason: CloseReason,
    },
}

/// What both sides agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Established {
    /// The neighbour's BGP identifier.
    pub peer_id: Ipv4Addr,
    /// Silence after which the session ends; `None` for never.
    pub hold_time: Option<Duration>,
    /// Families whose routes will come.
    pub families: Vec<Family>,
    /// Whether the neighbour will say when its first announcement is complete.
    pub sends_end_of_rib: bool,
}

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloseReason {
    /// The neighbour ended it with these words.
    Received(Notification),
    /// We ended it with these words: the neighbour broke a rule, kept silent or we were told to.
    Sent(Notification),
    /// The connection broke without a word.
    Disconnected,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Received(notification) => write!(f, "the neighbour closed: {notification}"),
            Self::Sent(notification) => write!(f, "closed by us: {notification}"),
            Self::Disconnected => write!(f, "the connection broke"),
        }
    }
}

/// The states of RFC 4271 section 8 that a side which is called on can be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    OpenSent,
    OpenConfirm,
    Established,
    Closed,
}

impl State {
    /// How RFC 6608 numbers the state that a message came too early or too late for.
    fn error_subcode(self) -> u8 {
        match self {
            Self::OpenSent => 1,
            Self::OpenConfirm => 2,
            Self::Established => 3,
            Self::Closed => 0,
        }
    }
}

/// A passive, receive-only BGP-4 session, without socket and clock.
///
/// The driver makes one for each connection it accepts, hands over what it reads, and after every
/// call drains [`Session::poll_output`] until it says [`Output::Wait`]. The same bytes give the same
/// events however they are cut. At most one incomplete message is kept.
#[derive(Debug)]
pub struct Session {
    config: SessionConfig,
    state: State,
    framer: Framer,
    /// The neighbour's OPEN, once it came.
    peer: Option<Open>,
    hold_time: Option<Duration>,
    hold_deadline: Option<Moment>,
    keep_alive_due: Option<Moment>,
    outputs: VecDeque<Output>,
}

/// Hold time until the neighbour's OPEN is there: "a large value", RFC 4271 section 8.2.2.
const OPEN_PATIENCE: Duration = Duration::from_secs(240);

impl Session {
    /// A session on a connection that was just accepted; our OPEN is the first output.
    pub fn new(config: SessionConfig, now: Moment) -> Self {
        let open = our_open(&config).emit();
        Self {
            config,
            state: State::OpenSent,
            framer: Framer::default(),
            peer: None,
            hold_time: None,
            hold_deadline: Some(now + OPEN_PATIENCE),
            keep_alive_due: None,
            outputs: VecDeque::from([Output::Send(open)]),
        }
    }

    /// What the neighbour sent, in pieces of any size. Ignored after the end.
    pub fn handle_bytes(&mut self, now: Moment, mut bytes: &[u8]) {
        let mut framer = std::mem::take(&mut self.framer);
        while self.state != State::Closed {
            match framer.next(&mut bytes) {
                Ok(Some(message)) => self.handle_message(now, message),
                Ok(None) => break,
                Err(notification) => self.close(notification),
            }
        }
        self.framer = framer;
    }

    /// The moment of [`Output::Wait`] has come; calling too early or too late does no harm.
    pub fn handle_timeout(&mut self, now: Moment) {
        if self.hold_deadline.is_some_and(|deadline| deadline <= now) {
            self.close(Notification::HOLD_TIMER_EXPIRED);
        }
        if self.keep_alive_due.is_some_and(|due| due <= now) {
            self.send_keep_alive(now);
        }
    }

    /// The connection is gone.
    pub fn handle_disconnect(&mut self) {
        self.end(CloseReason::Disconnected);
    }

    /// Ends the session with a word to the neighbour. Does nothing after the end.
    pub fn close(&mut self, notification: Notification) {
        if self.state != State::Closed {
            self.outputs.push_back(Output::Send(notification.emit()));
            self.end(CloseReason::Sent(notification));
        }
    }

    /// What to do next; call until it says [`Output::Wait`].
    pub fn poll_output(&mut self) -> Output {
        let waited_for = || self.hold_deadline.into_iter().chain(self.keep_alive_due);
        self.outputs
            .pop_front()
            .unwrap_or_else(|| Output::Wait(waited_for().min()))
    }

    /// Whether routes are coming.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Octets kept of a message that is not complete, below [`frame::MAX_MESSAGE`].
    pub fn buffered(&self) -> usize {
        self.framer.waiting()
    }

    fn handle_message(&mut self, now: Moment, message: Message<'_>) {
        let Message { kind, body } = message;
        match (self.state, kind) {
            (_, MessageType::Notification) => self.handle_notification(body),
            (State::OpenSent, MessageType::Open) => self.handle_open(now, body),
            (State::OpenConfirm, MessageType::KeepAlive) => self.establish(now),
            (State::Established, MessageType::KeepAlive) => self.hear(now),
            (State::Established, MessageType::Update) => self.handle_update(now, body),
            // A request for routes, and we have none to give.
            (State::Established, MessageType::RouteRefresh) => self.hear(now),
            (state, kind) => {
                self.close(Notification::unexpected(state.error_subcode(), kind));
            }
        }
    }

    fn handle_notification(&mut self, body: &[u8]) {
        match Notification::parse(body) {
            Some(notification) => self.end(CloseReason::Received(notification)),
            // The framer lets none pass that is too short; still, nobody answers a notification.
            None => self.end(CloseReason::Disconnected),
        }
    }

    fn handle_open(&mut self, now: Moment, body: &[u8]) {
        match Open::parse(body).and_then(|open| self.check_open(open)) {
            Ok(open) => self.confirm(now, open),
            Err(notification) => self.close(notification),
        }
    }

    fn check_open(&self, open: Open) -> Result<Open, Notification> {
        if open.asn != self.config.peer_asn {
            return Err(Notification::BAD_PEER_AS);
        }
        // Within one AS identifiers are unique (RFC 6286 section 2.2).
        if open.asn == self.config.local_asn && open.router_id == self.config.router_id {
            return Err(Notification::BAD_IDENTIFIER);
        }
        Ok(open)
    }

    fn confirm(&mut self, now: Moment, open: Open) {
        let agreed = HoldTime(self.config.hold_time).agree(open.hold_time);
        self.hold_time = agreed.duration();
        self.peer = Some(open);
        self.state = State::OpenConfirm;
        self.hear(now);
        self.send_keep_alive(now);
    }

    fn establish(&mut self, now: Moment) {
        self.state = State::Established;
        self.hear(now);
        let peer = self.peer.as_ref().expect("set before OpenConfirm");
        let families = families(peer);
        let markers = families.iter().map(|family| end_of_rib(*family));
        self.outputs.extend(markers.map(Output::Send));
        let established = Established {
            peer_id: peer.router_id,
            hold_time: self.hold_time,
            sends_end_of_rib: peer.graceful_restart,
            families,
        };
        self.emit(Event::Established(established));
    }

    fn handle_update(&mut self, now: Moment, body: &[u8]) {
        self.hear(now);
        match Update::parse(body, self.speaker()) {
            Ok(UpdateOrMarker::Update(update)) => self.emit(Event::Update(update)),
            Ok(UpdateOrMarker::EndOfRib(family)) => self.emit(Event::EndOfRib(family)),
            Err(notification) => self.close(notification),
        }
    }

    fn speaker(&self) -> Speaker {
        let four = self.peer.as_ref().is_some_and(|peer| peer.four_octet_as);
        Speaker {
            asn: self.config.peer_asn,
            width: if four { AsWidth::Four } else { AsWidth::Two },
        }
    }

    /// Any message restarts the hold timer (RFC 4271 section 8.2.2).
    fn hear(&mut self, now: Moment) {
        self.hold_deadline = self.hold_time.map(|hold_time| now + hold_time);
    }

    /// Three in each hold time, RFC 4271 section 4.4.
    fn send_keep_alive(&mut self, now: Moment) {
        let message = frame::emit(MessageType::KeepAlive, &[]);
        self.outputs.push_back(Output::Send(message));
        self.keep_alive_due = self.hold_time.map(|hold_time| now + hold_time / 3);
    }

    fn end(&mut self, reason: CloseReason) {
        if self.state != State::Closed {
            self.state = State::Closed;
            self.hold_deadline = None;
            self.keep_alive_due = None;
            self.emit(Event::Closed { reason });
        }
    }

    fn emit(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }
}

fn our_open(config: &SessionConfig) -> Open {
    Open {
        asn: config.local_asn,
        hold_time: HoldTime(config.hold_time),
        router_id: config.router_id,
        families: Family::ALL.to_vec(),
        four_octet_as: true,
        route_refresh: true,
        graceful_restart: true,
    }
}

/// A neighbour without the capability of RFC 4760 speaks IPv4 alone.
fn families(peer: &Open) -> Vec<Family> {
    if peer.families.is_empty() {
        vec![Family::V4]
    } else {
        peer.families.clone()
    }
}

/// All we have to say about our routes: that there are no more. A neighbour that restarts waits for
/// it before it settles on its own (RFC 4724 section 4.1).
fn end_of_rib(family: Family) -> Vec<u8> {
    match family {
        Family::V4 => frame::emit(MessageType::Update, &[0, 0, 0, 0]),
        Family::V6 => {
            let [high, low] = family.afi().to_be_bytes();
            let unreach = [0x80, 15, 3, high, low, SAFI_UNICAST];
            let length = u8::try_from(unreach.len()).expect("six octets");
            let body = [&[0, 0, 0, length], unreach.as_slice()].concat();
            frame::emit(MessageType::Update, &body)
        }
    }
}
