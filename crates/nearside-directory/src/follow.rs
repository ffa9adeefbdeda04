//! Brings what other directories write to the engine's thread. While the store is away it keeps trying,
//! and the engine answers from what it has.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nearside_net::Stop;

use crate::command::Command;
use crate::store::Watch;

/// Why others are not heard of; nothing while they are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Following {
    error: Arc<Mutex<Option<String>>>,
}

impl Following {
    pub(crate) fn error(&self) -> Option<String> {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.clone()
    }

    fn note(&self, error: Option<String>) {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

/// Between two looks: players who are introduced wait for it.
const LOOK: Duration = Duration::from_millis(50);
/// After a failure.
const PAUSE: Duration = Duration::from_millis(500);

/// Follows until stopped.
pub(crate) fn follow(
    mut watch: Box<dyn Watch>,
    commands: Sender<Command>,
    stop: Stop,
    following: Following,
) -> io::Result<()> {
    let run = move || {
        while !stop.is_stopped() {
            let pause = match watch.next() {
                Ok(news) => {
                    following.note(None);
                    // An engine that has ended needs no news.
                    let _ended = commands.send(Command::Hear(news));
                    LOOK
                }
                Err(error) => {
                    following.note(Some(error.to_string()));
                    PAUSE
                }
            };
            thread::sleep(pause);
        }
    };
    let builder = thread::Builder::new().name("follow".to_owned());
    builder.spawn(run)?;
    Ok(())
}
