//! What other threads tell the loop that owns the engine.

use std::fmt;
use std::time::Duration;

use nearside_registry::{
    Bans, Claim, Claimed, FollowCounts, Followed, Master, Secret, Settings, SourceId, Wholeness,
};
use nearside_types::Moment;

use crate::keeper::{Change, Keeper};
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

/// What to do.
#[derive(Debug)]
pub enum Command {
    /// Take these bans in place of those before.
    SetBans(Bans),
    /// Take these settings in place of those before.
    SetSettings(Box<Settings>),
    /// Origins have changed.
    RefreshOrigins,
    /// Take a new key for cookies.
    ChangeSecret(Secret),
    /// Somebody wants to have a server listed.
    Claim(Box<Claim>, Reply<Claimed>),
    /// Another master's list, to be believed for so long.
    Follow {
        /// Whose.
        source: SourceId,
        /// The list.
        servers: Vec<Followed>,
        /// Whether it is all of it.
        wholeness: Wholeness,
        /// How long without another list these stay.
        lasting: Duration,
        /// What became of it.
        reply: Reply<FollowCounts>,
    },
    /// Take off what only this source lists.
    Unfollow(SourceId),
    /// What other front ends did, by the store that they share.
    News(News),
}

impl Command {
    pub(crate) fn carry_out(self, now: Moment, master: &mut Master, keeper: &Keeper) {
        match self {
            Self::SetBans(bans) => master.set_bans(bans),
            Self::SetSettings(settings) => master.set_settings(*settings),
            Self::RefreshOrigins => master.refresh_origins(),
            Self::ChangeSecret(secret) => master.change_secret(secret),
            Self::Claim(claim, Reply(reply)) => reply(master.claim(now, *claim)),
            Self::Follow {
                source,
                servers,
                wholeness,
                lasting,
                reply: Reply(reply),
            } => reply(master.follow(now, source, servers, wholeness, now + lasting)),
            Self::Unfollow(source) => {
                master.unfollow(source);
            }
            Self::News(news) => hear(news, now, master, keeper),
        }
    }
}

fn hear(news: News, now: Moment, master: &mut Master, keeper: &Keeper) {
    let servers = match news {
        News::Secret(secret) => return master.change_secret(secret),
        News::Servers(servers) => servers,
        News::Reloaded { parts, servers } => {
            for server in master.lacking(&servers, |addr| parts.has(addr)) {
                keeper.keep(Change::Put(Box::new(server)));
            }
            servers
        }
    };
    for server in servers {
        master.remember(now, server);
    }
}
