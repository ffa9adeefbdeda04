//! Lists from the web: other nearside masters, Steam's Web API, JSON documents.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Result;
use nearside_master::upstream::{FetchError, Fetched, Place, SteamKey, fetch};
use nearside_net::Stop;
use nearside_registry::{Family, Followed, Text};

use super::Lists;
use crate::cli::SourceArgs;
use crate::commands::master::steam_key;
use crate::exit::WorldFailure;
use crate::games::{Game, Listing, steam_filter};

/// Adds what the web lists have of the game. One that fails is only noted while there are others. Who
/// is told to stop meanwhile adds no more.
pub(super) fn add(lists: &mut Lists, args: &SourceArgs, stop: &Stop) -> Result<()> {
    let key = match args.from.is_empty() {
        true => None,
        false => steam_key(args.steam_key_file.as_deref())?,
    };
    for place in &args.from {
        let place = for_game(place, args.game);
        let Some(fetched) = fetch_unless_stopped(place, key.clone(), stop) else {
            break;
        };
        match fetched {
            Ok(fetched) => {
                let wanted = fetched.servers.iter();
                let wanted = wanted.filter(|followed| is_of(args.game, followed));
                lists.servers.extend(wanted.map(|followed| followed.addr));
            }
            Err(error) if is_only(args) => return Err(WorldFailure(error.to_string()).into()),
            Err(error) => lists.notes.push(error.to_string()),
        }
    }
    Ok(())
}

/// Fetches on a thread of its own, since that takes up to half a minute: `None` if told to stop
/// before. The thread then ends with the process.
fn fetch_unless_stopped(
    place: Place,
    key: Option<SteamKey>,
    stop: &Stop,
) -> Option<Result<Fetched, FetchError>> {
    const LOOK_EVERY: Duration = Duration::from_millis(50);
    let (sender, receiver) = channel();
    let fetching = std::thread::spawn(move || {
        // Nobody listens any more after a stop.
        let _ = sender.send(fetch(&place, key.as_ref()));
    });
    while !stop.is_stopped() {
        match receiver.recv_timeout(LOOK_EVERY) {
            Ok(fetched) => return Some(fetched),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                std::panic::resume_unwind(fetching.join().expect_err("it ended without a result"))
            }
        }
    }
    None
}

fn is_only(args: &SourceArgs) -> bool {
    args.from.len() == 1 && args.master.is_empty() && args.file.is_empty()
}

/// Steam's Web API without a filter is asked for the game.
fn for_game(place: &Place, game: &Game) -> Place {
    match (place, game.listing) {
        (Place::SteamWeb { base, filter }, Listing::Steam { key, value }) if filter.is_empty() => {
            Place::SteamWeb {
                base: base.clone(),
                filter: steam_filter(key, value).emit().plain(),
            }
        }
        _ => place.clone(),
    }
}

/// Whether a server may be one of the game: what its list does not say does not speak against it.
fn is_of(game: &Game, followed: &Followed) -> bool {
    let facts = &followed.facts;
    let name = facts.text(Text::Game);
    let is_named = |wanted: &str| name.is_empty() || name.eq_ignore_ascii_case(wanted.as_bytes());
    match (game.listing, followed.family) {
        (
            Listing::Steam {
                key: "appid",
                value,
            },
            Family::Steam,
        ) => facts.app_id == 0 || value.parse() == Ok(facts.app_id),
        (Listing::Steam { value, .. }, Family::Steam) => is_named(value),
        (
            Listing::Quake3 {
                extended_game,
                protocol,
                ..
            },
            Family::Quake3,
        ) => {
            let is_version = facts.protocol == 0 || facts.protocol == protocol;
            is_version && is_named(extended_game)
        }
        // A bare address.
        (_, Family::Other) => name.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_registry::Facts;

    fn followed(family: Family, game: &str, protocol: u32, app_id: u32) -> Followed {
        let mut facts = Facts::of_texts(&[(Text::Game, game.as_bytes())]);
        (facts.protocol, facts.app_id) = (protocol, app_id);
        Followed {
            addr: "192.0.2.1:27960".parse().unwrap(),
            family,
            facts,
        }
    }

    #[test]
    fn only_servers_of_the_game_are_taken_and_bare_addresses_always() {
        let arena = Game::find("openarena").unwrap();
        let tf2 = Game::find("tf2").unwrap();
        assert!(is_of(
            arena,
            &followed(Family::Quake3, "Quake3Arena", 71, 0)
        ));
        assert!(!is_of(
            arena,
            &followed(Family::Quake3, "Quake3Arena", 68, 0)
        ));
        assert!(!is_of(arena, &followed(Family::Steam, "tf", 0, 440)));
        assert!(is_of(tf2, &followed(Family::Steam, "tf", 0, 440)));
        assert!(!is_of(tf2, &followed(Family::Steam, "cstrike", 0, 240)));
        assert!(is_of(tf2, &followed(Family::Other, "", 0, 0)));
        assert!(!is_of(tf2, &followed(Family::Other, "mygame", 0, 0)));
        let asked = for_game(&"steam-web:".parse().unwrap(), tf2);
        assert_eq!(asked.to_string(), r"steam-web:\appid\440");
    }
}
