//! A list from a master of the Quake 3 family: one question, a burst of packets, then quiet.

use std::collections::VecDeque;
use std::time::Duration;

use nearside_types::Moment;
use nearside_wire::list::{ListPacket, OriginForm};
use nearside_wire::quake3::master::{ListReply, ListRequest};

use super::{
    Completeness, FIRST_TIMEOUT, MAX_COOKIES, OriginAnswer, Source, SourceOutput, SourceReport,
    markers_given, max_requests,
};

/// What to ask a Quake 3 master; its `origin` is asked for, and left out for a plain master.
pub type Quake3Query = ListRequest;

/// After the first packet the list is over when nothing came for this long. The end mark alone does
/// not do: old masters put one into every packet, and packets overtake each other.
const QUIET: Duration = Duration::from_millis(500);

/// Collects the packets of one list.
#[derive(Debug)]
pub struct Quake3Source {
    request: ListRequest,
    cookies: u32,
    attempts: u32,
    state: State,
    end_seen: bool,
    ready: VecDeque<SourceOutput>,
    report: SourceReport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ask,
    Asked { until: Moment },
    Listening { until: Moment },
    Done,
}

impl Quake3Source {
    /// A source that begins when it is first polled.
    pub fn new(query: Quake3Query) -> Self {
        Self {
            request: query,
            cookies: 0,
            attempts: 0,
            state: State::Ask,
            end_seen: false,
            ready: VecDeque::new(),
            report: SourceReport::start(),
        }
    }

    fn handle_packet(&mut self, now: Moment, packet: &ListPacket) {
        if origin_answer(self.request.origin, packet) == OriginAnswer::NotUnderstood {
            return self.ask_plainly();
        }
        self.end_seen |= packet.end;
        self.report.origin = self.request.origin;
        let servers = packet.servers().collect::<Vec<_>>();
        self.report.servers += servers.len();
        self.ready.push_back(SourceOutput::Servers(servers));
        self.state = State::Listening { until: now + QUIET };
    }

    fn ask_plainly(&mut self) {
        if self.report.servers == 0 {
            self.request.origin = None;
            self.attempts = 0;
            self.state = State::Ask;
        }
    }

    fn handle_silence(&mut self) {
        if self.attempts < max_requests(self.request.origin) {
            self.state = State::Ask;
        } else if self.report.servers > 0 {
            self.finish(Completeness::Truncated);
        } else if self.request.origin.is_some() {
            self.ask_plainly();
        } else {
            self.finish(Completeness::Silent);
        }
    }

    fn finish(&mut self, completeness: Completeness) {
        self.report.completeness = completeness;
        self.state = State::Done;
    }

    /// Without an end mark a packet was lost: the whole list is asked for again, a few times.
    fn handle_quiet(&mut self) {
        if self.end_seen {
            self.finish(Completeness::Whole);
        } else if self.attempts < max_requests(None) {
            self.state = State::Ask;
        } else {
            self.finish(Completeness::Truncated);
        }
    }

    fn send(&mut self, now: Moment) -> SourceOutput {
        let timeout = FIRST_TIMEOUT * 2u32.pow(self.attempts.min(5));
        self.attempts += 1;
        self.report.requests += 1;
        self.state = State::Asked {
            until: now + timeout,
        };
        SourceOutput::Transmit(self.request.emit())
    }
}

/// Whether a packet gives the origins that were asked for. A list without the country letters reads
/// the same, so only an empty one says that the question was not understood.
fn origin_answer(asked: Option<OriginForm>, packet: &ListPacket) -> OriginAnswer {
    match asked {
        None => OriginAnswer::Given,
        Some(OriginForm::As) => markers_given(packet),
        Some(OriginForm::Country) if packet.entries.is_empty() => OriginAnswer::NotUnderstood,
        Some(OriginForm::Country) => OriginAnswer::Given,
    }
}

impl Source for Quake3Source {
    fn handle_datagram(&mut self, now: Moment, payload: &[u8]) {
        if self.state == State::Done {
            return;
        }
        match ListReply::parse(payload, self.request.origin) {
            Ok(ListReply::Cookie(cookie)) => {
                self.report.replies += 1;
                if self.cookies < MAX_COOKIES {
                    self.cookies += 1;
                    self.request.challenge = Some(cookie);
                    self.state = State::Ask;
                }
            }
            Ok(ListReply::List(packet)) => {
                self.report.replies += 1;
                self.handle_packet(now, &packet);
            }
            Err(_) => self.report.malformed += 1,
        }
    }

    fn handle_unreachable(&mut self) {
        match self.state {
            State::Done => {}
            _ if self.report.servers == 0 => self.finish(Completeness::Silent),
            _ if self.end_seen => self.finish(Completeness::Whole),
            _ => self.finish(Completeness::Truncated),
        }
    }

    fn poll_output(&mut self, now: Moment) -> SourceOutput {
        if let Some(output) = self.ready.pop_front() {
            return output;
        }
        match self.state {
            State::Asked { until } | State::Listening { until } if until > now => {
                return SourceOutput::Wait(until);
            }
            State::Asked { .. } => self.handle_silence(),
            State::Listening { .. } => self.handle_quiet(),
            State::Ask | State::Done => {}
        }
        match self.state {
            State::Done => SourceOutput::Done(self.report),
            _ => self.send(now),
        }
    }
}
