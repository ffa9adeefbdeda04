//! What other threads tell the loop that owns the engine.

use std::fmt;

use nearside_detour::ClientId;
use nearside_tunnel::messages::Refusal;
use nearside_tunnel::service::{ClientView, Service, ServiceConfig, SessionView};
use nearside_types::Moment;

use crate::store::News;

/// Called with the outcome, on the loop's thread: it must not wait.
pub struct Reply<T>(Box<dyn FnOnce(T) + Send>);

impl<T> Reply<T> {
    /// A reply that goes to this function.
    pub fn to(reply: impl FnOnce(T) + Send + 'static) -> Self {
        Self(Box::new(reply))
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply(…)")
    }
}

/// Everybody and everything, for an operator.
#[derive(Debug, Clone)]
pub struct Lists {
    /// Clients.
    pub clients: Vec<ClientView>,
    /// Sessions.
    pub sessions: Vec<SessionView>,
}

/// What to do.
#[derive(Debug)]
pub enum Command {
    /// Take this configuration in place of the one before.
    SetConfig(Box<ServiceConfig>),
    /// Take in what others did who share the store.
    Hear(News),
    /// Say that the loop turns.
    Ping(Reply<()>),
    /// Tell who and what there is.
    List(Reply<Lists>),
    /// Introduce two on behalf of a lobby.
    Register {
        /// Who leads.
        source: ClientId,
        /// The other.
        target: ClientId,
        /// The session's number, or why there is none.
        reply: Reply<Result<u64, Refusal>>,
    },
    /// Send relays to the one who leads a session.
    Offer {
        /// The session.
        session: u64,
        /// How many.
        most: u8,
        /// How many were sent.
        reply: Reply<Result<usize, Refusal>>,
    },
}

impl Command {
    pub(crate) fn carry_out(self, now: Moment, engine: &mut Service) {
        match self {
            Self::SetConfig(config) => engine.set_config(*config),
            Self::Hear(News::Changes(changes)) => {
                changes.iter().for_each(|change| engine.hear(now, change));
            }
            Self::Hear(News::Everything(state)) => engine.catch_up(now, *state),
            Self::Ping(Reply(reply)) => reply(()),
            Self::List(Reply(reply)) => reply(Lists {
                clients: engine.clients().collect(),
                sessions: engine.sessions().collect(),
            }),
            Self::Register {
                source,
                target,
                reply: Reply(reply),
            } => reply(engine.register_session(now, source, target)),
            Self::Offer {
                session,
                most,
                reply: Reply(reply),
            } => reply(engine.offer_relays(now, session, most)),
        }
    }
}
