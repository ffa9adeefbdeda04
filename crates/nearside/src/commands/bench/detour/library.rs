//! Ends that are games with the library inside: a player's thread each, asked by its API.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use nearside_player::{Happening, LinkId, Player, Role, Settings};
use nearside_tunnel::crypto::{Chance, Identity, PublicKey};
use nearside_tunnel::node::{DirectoryAddress, NodeConfig};
use nearside_types::Moment;

use super::cores::{self, Cores};
use super::end::{End, Times};

/// A game.
pub(super) struct Library {
    player: Player,
    link: Option<LinkId>,
    times: Times,
}

impl Library {
    fn start(
        times: &Times,
        directory: DirectoryAddress,
        chance: &mut Chance,
    ) -> Result<(Self, PublicKey)> {
        let identity = Identity::generate(chance);
        let key = identity.public();
        let player = Player::start(Settings {
            node: NodeConfig {
                directories: vec![directory],
                detours: false,
                ..NodeConfig::default()
            },
            identity,
            seed: chance.bytes(),
            listen: ([127, 0, 0, 1], 0).into(),
            listen_v6: None,
            role: Role::Library,
        })?;
        let library = Self {
            player,
            link: None,
            times: times.clone(),
        };
        library.expect("a welcome", |happening| match happening {
            Happening::Joined(_) => Some(()),
            _ => None,
        })?;
        Ok((library, key))
    }

    /// Waits for something to happen.
    fn expect<T>(&self, what: &str, wanted: impl Fn(&Happening) -> Option<T>) -> Result<T> {
        let until = Instant::now() + Duration::from_secs(30);
        while Instant::now() < until && !self.times.is_over() {
            let happening = self.player.wait(Duration::from_millis(100));
            if let Some(found) = happening.as_ref().and_then(&wanted) {
                return Ok(found);
            }
        }
        bail!("{what} never came to a player");
    }

    fn expect_link(&mut self) -> Result<()> {
        let link = self.expect("a link", |happening| match happening {
            Happening::Connected { link, .. } => Some(*link),
            _ => None,
        })?;
        self.link = Some(link);
        Ok(())
    }
}

impl End for Library {
    fn send(&mut self, payload: &[u8]) {
        if let Some(link) = self.link {
            self.player.send(link, payload);
        }
    }

    fn flush(&mut self) {}

    fn hear(&mut self, until: Moment, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        // Short enough that the end of the bench is noticed.
        let longest = Duration::from_millis(200);
        let mut left = until.since(self.times.now()).min(longest);
        while let Some(happening) = self.player.wait(left) {
            left = Duration::ZERO;
            if let Happening::Delivered { payload, .. } = happening {
                take(&payload);
            }
        }
        Ok(())
    }
}

/// Two games with a link between them.
pub(super) fn pair(
    times: &Times,
    directory: DirectoryAddress,
    cores: Option<Cores>,
    chance: &mut Chance,
) -> Result<(Library, Library)> {
    let (mut near, _) = Library::start(times, directory, chance)?;
    let (mut far, key) = cores::far(cores, || Library::start(times, directory, chance))??;
    near.player.connect(key);
    near.expect_link()?;
    far.expect_link()?;
    Ok((near, far))
}
