//! Brings what other front ends write to the engine's thread. While the store is away it keeps
//! trying, and the engine answers from what it has.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nearside_net::Stop;

use crate::command::Command;
use crate::service::ServiceError;
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

/// Between two looks; a list is up to a second old anyway.
const LOOK: Duration = Duration::from_millis(100);
/// After a failure.
const PAUSE: Duration = Duration::from_millis(500);

/// Follows until stopped.
pub(crate) fn follow(
    mut watch: Box<dyn Watch>,
    commands: Sender<Command>,
    stop: Stop,
    following: Following,
) -> Result<(), ServiceError> {
    let run = move || {
        while !stop.is_stopped() {
            match watch.next() {
                Ok(news) => {
                    following.note(watch.trouble());
                    for news in news {
                        // An engine that has ended needs no news.
                        let _ended = commands.send(Command::News(news));
                    }
                    thread::sleep(LOOK);
                }
                Err(error) => {
                    following.note(Some(error.to_string()));
                    thread::sleep(PAUSE);
                }
            }
        }
    };
    let builder = thread::Builder::new().name("follow".to_owned());
    builder.spawn(run).map_err(ServiceError::Thread)?;
    Ok(())
}
