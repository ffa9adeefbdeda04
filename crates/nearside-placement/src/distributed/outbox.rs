use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use nearside_types::Moment;

use super::message::{Epoch, Message, NodeId};
use super::{NodeEvent, Output, message::Body};

/// What a node has to say: things said once, and requests that are repeated until settled.
#[derive(Debug)]
pub(super) struct Outbox {
    retry: Duration,
    ready: VecDeque<Output>,
    requests: BTreeMap<Topic, Request>,
}

/// What a request is about. A new request about the same thing to the same node replaces the old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Topic {
    pub(super) to: NodeId,
    pub(super) subject: Subject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Census,
    Settle,
    Distance,
    Match,
    Lead,
    Begin,
    Turn,
    Probe,
    State,
    Propose(u32),
    Check,
    Prepare,
    Commit,
    Unmet,
}

#[derive(Debug)]
struct Request {
    message: Message,
    again: Moment,
    wait: Duration,
}

/// A request waits at most this many times its first wait.
const LONGEST_WAIT: u32 = 6;

impl Outbox {
    pub(super) fn new(retry: Duration) -> Self {
        Self {
            retry,
            ready: VecDeque::new(),
            requests: BTreeMap::new(),
        }
    }

    pub(super) fn send(&mut self, to: NodeId, epoch: Epoch, body: Body) {
        let message = Message { epoch, body };
        self.ready.push_back(Output::Send { to, message });
    }

    pub(super) fn event(&mut self, event: NodeEvent) {
        self.ready.push_back(Output::Event(event));
    }

    /// Sends now, and again until [`Outbox::settle`].
    pub(super) fn request(
        &mut self,
        now: Moment,
        subject: Subject,
        to: NodeId,
        epoch: Epoch,
        body: Body,
    ) {
        self.send(to, epoch, body.clone());
        let request = Request {
            message: Message { epoch, body },
            again: now + self.retry,
            wait: self.retry,
        };
        self.requests.insert(Topic { to, subject }, request);
    }

    /// The answer is here; whether it was still awaited.
    pub(super) fn settle(&mut self, to: NodeId, subject: Subject) -> bool {
        self.requests.remove(&Topic { to, subject }).is_some()
    }

    /// Whether this request is open.
    pub(super) fn is_open(&self, to: NodeId, subject: Subject) -> bool {
        self.requests.contains_key(&Topic { to, subject })
    }

    /// Whether any request of this kind is open.
    pub(super) fn awaits(&self, subject: Subject) -> bool {
        self.requests.keys().any(|topic| topic.subject == subject)
    }

    /// Forgets all requests: their epoch is over.
    pub(super) fn forget(&mut self) {
        self.requests.clear();
    }

    pub(super) fn repeat_due(&mut self, now: Moment) {
        for (topic, request) in &mut self.requests {
            if request.again > now {
                continue;
            }
            request.wait = (request.wait * 3 / 2).min(self.retry * LONGEST_WAIT);
            request.again = now + request.wait;
            self.ready.push_back(Output::Send {
                to: topic.to,
                message: request.message.clone(),
            });
        }
    }

    pub(super) fn next_repeat(&self) -> Option<Moment> {
        self.requests.values().map(|request| request.again).min()
    }

    pub(super) fn pop(&mut self) -> Option<Output> {
        self.ready.pop_front()
    }
}
