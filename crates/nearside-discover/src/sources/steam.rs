//! A list from a master that speaks Steam's `0x31` query: page after page over one socket.

use std::collections::VecDeque;
use std::time::Duration;

use nearside_types::{Moment, ServerAddr};
use nearside_wire::list::{ListPacket, OriginForm};
use nearside_wire::steam::{Filter, ListReply, ListRequest, Region};

use super::{
    Completeness, FIRST_TIMEOUT, MAX_COOKIES, OriginAnswer, Source, SourceOutput, SourceReport,
    markers_given, max_requests,
};

/// What to ask a Steam master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteamQuery {
    /// Where the servers should be.
    pub region: Region,
    /// Which servers.
    pub filter: Filter,
    /// Which origins to ask for; a master that does not know them is asked again without.
    pub origin: Option<OriginForm>,
    /// Requests a minute after the first burst of as many; Valve's masters fell silent above 30.
    /// `None`: one request for each reply, as fast as they come.
    pub per_minute: Option<u32>,
}

/// Pages through the list.
#[derive(Debug)]
pub struct SteamSource {
    query: SteamQuery,
    request: ListRequest,
    origin: Option<OriginForm>,
    cookie: Option<[u8; 4]>,
    cookies: u32,
    attempts: u32,
    budget: Budget,
    state: State,
    ready: VecDeque<SourceOutput>,
    report: SourceReport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A request is to be sent.
    Ask,
    /// A request is out until then.
    Asked {
        until: Moment,
    },
    Done,
}

impl SteamSource {
    /// A source that begins when it is first polled.
    pub fn new(query: SteamQuery) -> Self {
        let mut request = ListRequest::new(query.filter.clone());
        request.region = query.region;
        Self {
            request,
            origin: query.origin,
            cookie: None,
            cookies: 0,
            attempts: 0,
            budget: Budget::new(query.per_minute),
            state: State::Ask,
            ready: VecDeque::new(),
            report: SourceReport::start(),
            query,
        }
    }

    /// The datagram for the present page, with origin and cookie as they stand.
    fn datagram(&self) -> Vec<u8> {
        let mut request = self.request.clone();
        if let Some(form) = self.origin {
            request.filter = request.filter.with_origin(form);
        }
        if let Some(cookie) = self.cookie {
            request.filter = request.filter.with_challenge(cookie);
        }
        request.emit()
    }

    fn handle_page(&mut self, packet: &ListPacket, answer: OriginAnswer) {
        if self.origin.is_some() && answer == OriginAnswer::NotUnderstood {
            return self.ask_plainly();
        }
        if self.is_repetition(packet) {
            return;
        }
        self.report.origin = self.origin;
        let servers = packet.servers().collect::<Vec<_>>();
        self.report.servers += servers.len();
        self.ready.push_back(SourceOutput::Servers(servers));
        match self.request.next_page(packet) {
            _ if packet.end => self.finish(Completeness::Whole),
            Some(next) => self.ask(next),
            // Neither an end nor a server to go on from.
            None => self.finish(Completeness::Truncated),
        }
    }

    /// A late copy of the page before: its last server is where the present page starts.
    fn is_repetition(&self, packet: &ListPacket) -> bool {
        let last = packet.last_server().map(ServerAddr::socket);
        last == Some(self.request.seed.into())
    }

    fn ask(&mut self, request: ListRequest) {
        self.request = request;
        self.attempts = 0;
        self.cookies = 0;
        self.state = State::Ask;
    }

    fn ask_plainly(&mut self) {
        self.origin = None;
        let mut request = ListRequest::new(self.query.filter.clone());
        request.region = self.query.region;
        self.ask(request);
    }

    fn handle_cookie(&mut self, cookie: [u8; 4]) {
        if self.cookies < MAX_COOKIES {
            self.cookies += 1;
            self.cookie = Some(cookie);
            self.state = State::Ask;
        }
    }

    fn handle_silence(&mut self) {
        let nothing_yet = self.report.replies == 0;
        if self.attempts < max_requests(self.origin.filter(|_| nothing_yet)) {
            self.state = State::Ask;
        } else if nothing_yet && self.origin.is_some() {
            self.ask_plainly();
        } else {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.finish(match self.report.replies {
            0 => Completeness::Silent,
            _ => Completeness::Truncated,
        });
    }

    fn finish(&mut self, completeness: Completeness) {
        self.report.completeness = completeness;
        self.state = State::Done;
    }

    fn send(&mut self, now: Moment) -> SourceOutput {
        let timeout = FIRST_TIMEOUT * 2u32.pow(self.attempts.min(5));
        self.budget.take(now);
        self.attempts += 1;
        self.report.requests += 1;
        self.state = State::Asked {
            until: now + timeout,
        };
        SourceOutput::Transmit(self.datagram())
    }
}

impl Source for SteamSource {
    fn handle_datagram(&mut self, _now: Moment, payload: &[u8]) {
        if self.state == State::Done {
            return;
        }
        match ListReply::parse(payload, self.origin) {
            Ok(reply) => {
                self.report.replies += 1;
                match reply {
                    ListReply::Cookie(cookie) => self.handle_cookie(cookie),
                    ListReply::Countries(packet) => {
                        self.handle_page(&packet, OriginAnswer::Given);
                    }
                    ListReply::List(packet) => {
                        let answer = match self.origin {
                            Some(OriginForm::As) => markers_given(&packet),
                            _ => OriginAnswer::NotUnderstood,
                        };
                        self.handle_page(&packet, answer);
                    }
                }
            }
            Err(_) => self.report.malformed += 1,
        }
    }

    fn handle_unreachable(&mut self) {
        if self.state != State::Done {
            self.give_up();
        }
    }

    fn poll_output(&mut self, now: Moment) -> SourceOutput {
        if let Some(output) = self.ready.pop_front() {
            return output;
        }
        if let State::Asked { until } = self.state {
            if until > now {
                return SourceOutput::Wait(until);
            }
            self.handle_silence();
        }
        match self.state {
            State::Done => SourceOutput::Done(self.report),
            State::Ask if self.budget.free_at(now) > now => {
                SourceOutput::Wait(self.budget.free_at(now))
            }
            State::Ask | State::Asked { .. } => self.send(now),
        }
    }
}

/// Requests a minute: a bucket that starts full.
#[derive(Debug)]
struct Budget {
    per_minute: Option<u32>,
    sent: VecDeque<Moment>,
}

impl Budget {
    fn new(per_minute: Option<u32>) -> Self {
        Self {
            per_minute: per_minute.map(|most| most.max(1)),
            sent: VecDeque::new(),
        }
    }

    fn free_at(&self, now: Moment) -> Moment {
        match self.per_minute {
            Some(most) if self.sent.len() >= most as usize => {
                self.sent[0] + Duration::from_secs(60)
            }
            _ => now,
        }
    }

    fn take(&mut self, now: Moment) {
        let Some(most) = self.per_minute else { return };
        self.sent.push_back(now);
        while self.sent.len() > most as usize {
            self.sent.pop_front();
        }
    }
}
