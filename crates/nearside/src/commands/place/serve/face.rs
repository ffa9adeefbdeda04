//! What there is to see of a session: texts made after each event, so that looking costs nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use nearside_placement::Session;
use nearside_placement::session::Report;
use tokio::sync::broadcast;

/// Reports that a stream which comes back can still get.
pub(super) const RECENT: usize = 256;

/// A session as readers see it.
#[derive(Clone)]
pub(super) struct Face {
    events: u64,
    pub(super) view: Arc<str>,
    pub(super) allocation: Arc<str>,
    recent: VecDeque<Arc<Told>>,
}

/// A report as streams send it.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) number: u64,
    pub(super) text: String,
}

/// What a stream starts with, and where the rest comes from.
pub(super) struct Subscription {
    /// The session as it is, for those who have seen nothing yet or missed too much.
    pub(super) view: Option<Told>,
    pub(super) missed: Vec<Arc<Told>>,
    pub(super) reports: broadcast::Receiver<Arc<Told>>,
}

impl Told {
    pub(super) fn new(report: &Report) -> Self {
        Self {
            number: report.number,
            text: serde_json::to_string(report).expect("a report is plain data"),
        }
    }
}

impl Face {
    pub(super) fn new(session: &Session) -> Self {
        let view = session.view();
        let text = serde_json::to_string(&view).expect("a view is plain data");
        let seats = view
            .clients
            .iter()
            .map(|client| (client.name, client.server));
        let seats: BTreeMap<_, _> = seats.collect();
        let allocation = serde_json::to_string(&seats).expect("seats are plain data");
        Self {
            events: session.events(),
            view: text.into(),
            allocation: allocation.into(),
            recent: VecDeque::new(),
        }
    }

    /// After an event.
    pub(super) fn turn(&mut self, session: &Session, told: Told) -> Arc<Told> {
        let told = Arc::new(told);
        let mut recent = std::mem::take(&mut self.recent);
        if recent.len() == RECENT {
            recent.pop_front();
        }
        recent.push_back(Arc::clone(&told));
        *self = Self {
            recent,
            ..Self::new(session)
        };
        told
    }

    /// For somebody who has seen the reports up to a number, or none. Where some of those in between
    /// are not kept any more, the whole view takes their place.
    pub(super) fn subscription(
        &self,
        seen: Option<u64>,
        reports: broadcast::Receiver<Arc<Told>>,
    ) -> Subscription {
        let oldest = self
            .recent
            .front()
            .map_or(self.events + 1, |told| told.number);
        let gapless = |seen: &u64| *seen <= self.events && seen + 1 >= oldest;
        let Some(seen) = seen.filter(gapless) else {
            return Subscription {
                view: Some(Told {
                    number: self.events,
                    text: self.view.to_string(),
                }),
                missed: Vec::new(),
                reports,
            };
        };
        let missed = self.recent.iter().filter(|told| told.number > seen);
        Subscription {
            view: None,
            missed: missed.cloned().collect(),
            reports,
        }
    }
}

#[cfg(test)]
mod tests {
    use nearside_placement::SessionSetup;
    use nearside_placement::session::Event;

    use super::*;

    fn after(events: u64) -> Face {
        let setup =
            br#"{"delay_bound_ms": 9, "servers": [{"name": "a"}], "server_server_ms": [[0]]}"#;
        let mut session = Session::new(SessionSetup::from_json(setup).unwrap());
        let mut face = Face::new(&session);
        for _ in 0..events {
            let report = session.handle(&Event::Bound { ms: 9.0 });
            face.turn(&session, Told::new(&report));
        }
        face
    }

    fn first(face: &Face, seen: Option<u64>) -> (bool, Vec<u64>) {
        let subscription = face.subscription(seen, broadcast::channel(1).1);
        let missed = subscription.missed.iter().map(|told| told.number);
        (subscription.view.is_some(), missed.collect())
    }

    #[test]
    fn who_comes_back_gets_what_was_missed_or_the_whole_view() {
        let face = after(RECENT as u64 + 10);
        assert_eq!(first(&face, None), (true, vec![]));
        assert_eq!(first(&face, Some(263)), (false, vec![264, 265, 266]));
        assert_eq!(first(&face, Some(266)), (false, vec![]));
        assert_eq!(
            first(&face, Some(10)).1.len(),
            RECENT,
            "11 is the oldest kept"
        );
        assert_eq!(
            first(&face, Some(9)),
            (true, vec![]),
            "10 is not kept any more"
        );
        assert_eq!(
            first(&face, Some(999)),
            (true, vec![]),
            "that has not happened"
        );
        assert_eq!(first(&face, Some(u64::MAX)), (true, vec![]));
    }

    #[test]
    fn a_session_in_which_nothing_happened_has_nothing_to_miss() {
        assert_eq!(first(&after(0), Some(0)), (false, vec![]));
        assert_eq!(first(&after(0), Some(1)), (true, vec![]));
    }
}
