//! Threads that ask other masters again and again and hand their lists to the engine.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nearside_net::Stop;
use nearside_registry::{FollowCounts, SourceId, Wholeness};

use super::web::STEAM_LIMIT;
use super::{FetchError, Fetched, Place, SteamKey, fetch_again};
use crate::command::{Command, Reply};
use crate::operator::SourceStatus;
use crate::service::ServiceHandle;

/// A master to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// What it is called on pages and in logs.
    pub name: String,
    /// Where its list is.
    pub place: Place,
    /// How often it is asked.
    pub interval: Duration,
    /// For Steam's Web API.
    pub key: Option<SteamKey>,
}

/// The threads, one for each master.
#[derive(Debug)]
pub struct Followers {
    states: Vec<Arc<Mutex<State>>>,
}

#[derive(Debug)]
struct State {
    status: SourceStatus,
    /// When the last good list came.
    good: Option<Instant>,
    /// The last list was cut.
    is_cut: bool,
}

/// Says what happened, for a log.
pub type Say = Arc<dyn Fn(String) + Send + Sync>;

/// How long a list is believed beyond the next ones that did not come.
const MISSED_LISTS: u32 = 3;

impl Followers {
    /// Begins to follow.
    pub fn start(upstreams: Vec<Upstream>, handle: &ServiceHandle, stop: &Stop, say: &Say) -> Self {
        let mut followers = Self { states: Vec::new() };
        for (number, upstream) in upstreams.into_iter().enumerate() {
            let state = Arc::new(Mutex::new(State {
                status: SourceStatus {
                    name: upstream.name.clone(),
                    kind: upstream.place.kind().to_owned(),
                    servers: 0,
                    taken: 0,
                    age_s: None,
                    error: None,
                },
                good: None,
                is_cut: false,
            }));
            let follower = Follower {
                source: SourceId(u16::try_from(number).unwrap_or(u16::MAX)),
                upstream,
                state: Arc::clone(&state),
                handle: handle.clone(),
                stop: stop.clone(),
                say: Arc::clone(say),
            };
            followers.states.push(state);
            // Ends with the stop; one that asks right now does not hold up the process.
            thread::spawn(move || follower.run());
        }
        followers
    }

    /// How each fares.
    pub fn status(&self) -> Vec<SourceStatus> {
        let states = self.states.iter();
        states
            .map(|state| {
                let state = lock(state);
                SourceStatus {
                    age_s: state.good.map(|good| good.elapsed().as_secs()),
                    ..state.status.clone()
                }
            })
            .collect()
    }
}

struct Follower {
    source: SourceId,
    upstream: Upstream,
    state: Arc<Mutex<State>>,
    handle: ServiceHandle,
    stop: Stop,
    say: Say,
}

impl Follower {
    fn run(&self) {
        let mut known = None;
        while !self.stop.is_stopped() {
            let Upstream { place, key, .. } = &self.upstream;
            match fetch_again(place, key.as_ref(), &mut known) {
                Ok(fetched) => self.take(fetched),
                Err(error) => self.miss(&error),
            }
            self.sleep();
        }
    }

    fn take(&self, fetched: Fetched) {
        let servers = fetched.servers.len();
        self.note_cut(servers, fetched.wholeness);
        let (state, say) = (Arc::clone(&self.state), Arc::clone(&self.say));
        let name = self.upstream.name.clone();
        let reply = Reply::to(move |counts: FollowCounts| {
            let mut state = lock(&state);
            let is_news = state.good.is_none() || state.status.error.is_some();
            state.status.servers = servers;
            state.status.taken = counts.taken;
            state.status.error = None;
            state.good = Some(Instant::now());
            drop(state);
            if is_news {
                say(format!(
                    "followed source={name:?} servers={servers} taken={} known={} left_out={}",
                    counts.taken, counts.known, counts.left_out
                ));
            }
        });
        // A list that is suddenly empty is rather that of a master which has just begun, or its
        // mistake; it is believed when the time of the last one is up.
        let wholeness = match servers {
            0 => Wholeness::Partial,
            _ => fetched.wholeness,
        };
        self.handle.tell(Command::Follow {
            source: self.source,
            servers: fetched.servers,
            wholeness,
            lasting: self.upstream.interval * (1 + MISSED_LISTS),
            reply,
        });
    }

    /// Says it once when lists begin to be cut.
    fn note_cut(&self, servers: usize, wholeness: Wholeness) {
        let is_cut = wholeness == Wholeness::Partial;
        let was_cut = std::mem::replace(&mut lock(&self.state).is_cut, is_cut);
        if is_cut && !was_cut {
            let hint = match self.upstream.place {
                Place::SteamWeb { .. } => {
                    format!("; Steam gives {STEAM_LIMIT} at most, so narrow the filter")
                }
                _ => String::new(),
            };
            (self.say)(format!(
                "cut source={:?} servers={servers} why=\"not all of its servers came: those that it \
                 lacks stay until their time is up{hint}\"",
                self.upstream.name
            ));
        }
    }

    fn miss(&self, error: &FetchError) {
        let mut state = lock(&self.state);
        let error = error.to_string();
        if state.status.error.as_ref() != Some(&error) {
            (self.say)(format!(
                "missed source={:?} why={error:?}",
                self.upstream.name
            ));
        }
        state.status.error = Some(error);
    }

    fn sleep(&self) {
        let until = Instant::now() + self.upstream.interval;
        while Instant::now() < until && !self.stop.is_stopped() {
            thread::sleep(Duration::from_millis(100).min(self.upstream.interval));
        }
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
