use std::fmt::Display;

use thiserror::Error;

use super::setup::{SessionSetup, SetupError};
use super::{Event, Session};

/// Everything that happened to a session, from its servers on. Replaying it gives the same session.
/// As text it is one JSON object a line: the set-up, then the events.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionLog {
    setup: SessionSetup,
    events: Vec<Event>,
}

/// Why text is not the log of a session.
#[derive(Debug, Error)]
pub enum LogError {
    /// There is not even a set-up.
    #[error("the log is empty: its first line should be the session's set-up")]
    Empty,
    /// The first line is not a set-up.
    #[error("line 1{}", of_one_line(.0))]
    Setup(#[from] SetupError),
    /// A line is not an event.
    #[error("line {line}{}", of_one_line(.source))]
    Event {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// What is wrong with a text that is a line of a longer one, to be put behind the line's number:
/// `, column 7: …`, or just `: …`. By itself the text has but a line 1.
pub fn of_one_line(error: &impl Display) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line 1 column ") {
        Some((what, column)) if column.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!(", column {column}: {what}")
        }
        _ => format!(": {text}"),
    }
}

impl SessionLog {
    /// Nothing has happened yet.
    pub fn new(setup: SessionSetup) -> Self {
        Self {
            setup,
            events: Vec::new(),
        }
    }

    /// Reads the text form; empty lines are skipped.
    ///
    /// # Errors
    /// The first line that does not belong there.
    pub fn from_lines<'t>(lines: impl IntoIterator<Item = &'t str>) -> Result<Self, LogError> {
        let lines = lines.into_iter().enumerate();
        let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
        let (_, first) = lines.next().ok_or(LogError::Empty)?;
        let setup = SessionSetup::from_json(first.as_bytes())?;
        let event = |(index, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|source| LogError::Event {
                line: index + 1,
                source,
            })
        };
        Ok(Self {
            setup,
            events: lines.map(event).collect::<Result<_, _>>()?,
        })
    }

    /// The text form, line by line.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let json = |event| serde_json::to_string(event).expect("events are plain data");
        std::iter::once(self.setup.to_json()).chain(self.events.iter().map(json))
    }

    /// Adds an event. Those that the session refuses may be left out: they change nothing.
    pub fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// What the session started from.
    pub const fn setup(&self) -> &SessionSetup {
        &self.setup
    }

    /// How many events there were.
    pub fn len(&self) -> u64 {
        self.events.len() as u64
    }

    /// Whether nothing has happened yet.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The events, first to last.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The session after all events.
    pub fn replay(&self) -> Session {
        let mut session = Session::new(self.setup.clone());
        for event in &self.events {
            session.handle(event);
        }
        session
    }
}
