//! The bodies of the fuzz targets in `fuzz/`, also called by the property tests in
//! `tests/never_panics.rs`.

use std::time::Duration;

use nearside_types::Moment;

use crate::distributed::{ClientNode, ClusterConfig, Message, NodeId, Output, ServerNode};
use crate::session::{Event, SessionLog, Settlement};
use crate::solver::{Auto, Budget, Solver, Task};
use crate::{Delay, PlacementFile, Session, SessionSetup, explain, verify};

/// Instances larger than this are read, but not solved.
const SMALL: usize = 8;

/// Any bytes are an instance or an error with a place; what is read can be written, read again and
/// solved, and the answer passes the judge.
pub fn placement_file(bytes: &[u8]) {
    let Ok(file) = PlacementFile::from_json(bytes) else {
        return;
    };
    let mut written = Vec::new();
    file.write_json(&mut written)
        .expect("memory takes everything");
    let again = PlacementFile::from_json(&written).expect("we read what we write");
    assert_eq!(again, file);
    let instance = &file.instance;
    if instance.clients().len().max(instance.servers().len()) > SMALL {
        return;
    }
    let task = Task {
        instance,
        bound: file.bound.unwrap_or(Delay::LONGEST),
    };
    let budget = Budget::unlimited(0).with_steps(300);
    let outcome = Auto.solve(task, &budget);
    match &outcome.allocation {
        Some(allocation) => {
            let verdict = verify(instance, allocation, task.bound).expect("it is of this instance");
            assert_eq!(verdict.is_good(), outcome.is_within_bound());
        }
        None => drop(explain(task, &budget)),
    }
}

/// Any lines are the log of a session or an error with its line; any events leave a session that keeps
/// its bound or says why not, whose log replays, and that its snapshot restores. The same bytes may
/// also be a snapshot.
pub fn session(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    snapshot(&text);
    // Either the log of somebody, or events for a session of ours.
    let mut log = match SessionLog::from_lines(text.lines()) {
        Ok(log) if is_small(&log) => log,
        _ => SessionLog::new(setup()),
    };
    let mut session = log.replay();
    for event in text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .take(40)
    {
        keep_its_word(&mut session, &mut log, event);
    }
    let lines: Vec<String> = log.lines().collect();
    let log =
        SessionLog::from_lines(lines.iter().map(String::as_str)).expect("we read what we write");
    assert_eq!(log.replay(), session);
    let restored = Session::from_snapshot(&session.to_snapshot()).expect("we read what we write");
    assert_eq!(restored, session);
}

/// Any text is a snapshot or an error with its place; what is restored goes on.
fn snapshot(text: &str) {
    let Ok(mut session) = Session::from_snapshot(text) else {
        return;
    };
    assert_eq!(
        Session::from_snapshot(&session.to_snapshot()).ok(),
        Some(session.clone())
    );
    let setup = session.setup();
    if session.clients() <= SMALL && setup.servers().servers().len() <= SMALL && setup.steps < 1_000
    {
        session.handle(&Event::Consolidate { max_moves: 3 });
    }
}

fn is_small(log: &SessionLog) -> bool {
    let setup = log.setup();
    log.events().len() < SMALL && setup.servers().servers().len() <= SMALL && setup.steps < 1_000
}

fn keep_its_word(session: &mut Session, log: &mut SessionLog, event: Event) {
    if session.clients() >= SMALL && matches!(event, Event::Join { .. }) {
        return;
    }
    let report = session.handle(&event);
    if !report.is_refused() {
        log.push(event);
    }
    if let (Settlement::Kept, Some(allocation)) = (&report.settlement, session.allocation()) {
        let verdict = verify(session.instance(), &allocation, session.bound());
        assert!(verdict.is_ok_and(|verdict| verdict.is_good()));
    }
}

fn setup() -> SessionSetup {
    let text = br#"{"delay_bound_ms": 20, "steps": 300,
        "servers": [{"name": "a"}, {"name": "b", "capacity": 2}, {"name": "c", "cost": 0.5}],
        "server_server_ms": [[0, 3, 5], [3, 0, 4], [5, 4, 0]]}"#;
    SessionSetup::from_json(text).expect("a set-up of ours")
}

/// Any sequence of messages, well-formed or not, from anybody at any time, leaves a node that does not
/// panic, answers a bounded number of times and wants to be woken in the future.
pub fn distributed(bytes: &[u8]) {
    let config = ClusterConfig::new(3, 3, Delay::from_millis(20.0).expect("a delay"));
    let row = |near: f64| [near, 4.0, 6.0].map(|ms| Delay::from_millis(ms).expect("a delay"));
    let mut now = Moment::EPOCH;
    let mut client = ClientNode::new(1, config, row(2.0).to_vec());
    let mut server = ServerNode::new(0, config, row(0.0).to_vec(), Some(2), now);
    for step in steps(bytes) {
        now += step.wait;
        client.handle_timeout(now);
        server.handle_timeout(now);
        if let Ok(message) = Message::decode(&step.datagram) {
            assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message));
            client.handle_message(now, step.from, message.clone());
            server.handle_message(now, step.from, message);
        }
        rest(now, || client.poll_output(now));
        rest(now, || server.poll_output(now));
    }
}

/// Polls until the node waits.
fn rest(now: Moment, mut poll: impl FnMut() -> Output) {
    for _ in 0..2_000 {
        if let Output::Wait(until) = poll() {
            assert!(until + Duration::from_secs(3600) > now);
            return;
        }
    }
    panic!("more than 2,000 outputs at one moment");
}

struct Step {
    from: NodeId,
    wait: Duration,
    datagram: Vec<u8>,
}

/// Four bytes say who, when and what kind, then a length and that many bytes of fields.
fn steps(mut bytes: &[u8]) -> impl Iterator<Item = Step> {
    std::iter::from_fn(move || {
        let [who, wait, kind, epoch, length, rest @ ..] = bytes else {
            return None;
        };
        let (fields, remaining) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = remaining;
        let from = match who & 1 {
            0 => NodeId::Client(u16::from(who >> 1) % 5),
            _ => NodeId::Server(u16::from(who >> 1) % 5),
        };
        // Version 1, a small epoch number, initiator 0 to 3.
        let header = [1, epoch >> 2, 0, 0, 0, epoch & 3, 0, *kind];
        Some(Step {
            from,
            wait: Duration::from_millis(u64::from(*wait) * 10),
            datagram: [&header, fields].concat(),
        })
    })
}
