//! The game session module of section 5.1: emulated players who join and leave games.

use std::time::Duration;

use nearside_types::Moment;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::points::PlayerCounts;

/// Some clients play on the computer of one of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Session {
    pub(super) start: Moment,
    pub(super) end: Moment,
    pub(super) host: usize,
    /// The others.
    pub(super) players: Vec<usize>,
}

/// Seconds between the starts of two sessions, and minutes that one lasts (section 5.1).
const GAP_S: (f64, f64) = (15.0, 60.0);
const LENGTH_MIN: (f64, f64) = (3.0, 10.0);

/// Who plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// As many as the distribution of players says.
    Usual,
    /// Two, as in sections 5.4 and 6.2.
    Pairs,
}

/// Random sessions, a new one every 15 to 60 s, from `from` on. Who is in a game plays no other one until
/// it has ended; while fewer than two are free, no game begins.
pub(super) fn sessions(
    nodes: usize,
    company: Company,
    from: Duration,
    until: Duration,
    seed: u64,
) -> Vec<Session> {
    let mut random = stream(seed);
    let counts = PlayerCounts::assumed();
    let mut sessions: Vec<Session> = Vec::new();
    let mut playing_until: Vec<Option<Moment>> = vec![None; nodes];
    let mut start = Moment::EPOCH + from;
    loop {
        let gap = random.random_range(GAP_S.0..GAP_S.1);
        start += Duration::from_secs_f64(gap);
        if start.since_epoch() >= until {
            return sessions;
        }
        let wanted = match company {
            Company::Usual => counts.draw(&mut random),
            Company::Pairs => 2,
        };
        let is_free = |node: &usize| playing_until[*node].is_none_or(|end| end < start);
        let free: Vec<usize> = (0..nodes).filter(is_free).collect();
        if free.len() < 2 {
            continue;
        }
        let mut players = draw(&free, wanted, &mut random);
        let minutes = random.random_range(LENGTH_MIN.0..LENGTH_MIN.1);
        let end = start + Duration::from_secs_f64(minutes * 60.0);
        for player in &players {
            playing_until[*player] = Some(end);
        }
        let host = players.pop().expect("at least two play");
        sessions.push(Session {
            start,
            end,
            host,
            players,
        });
    }
}

/// `count` random pairs at the end of every minute (the paper's ping mode takes one).
pub(super) fn pairs_each_minute(
    nodes: usize,
    count: usize,
    from: Duration,
    until: Duration,
    seed: u64,
) -> Vec<Session> {
    let mut random = stream(seed);
    let minutes = from.as_secs() / 60..until.as_secs() / 60;
    let everybody: Vec<usize> = (0..nodes).collect();
    let mut sessions = Vec::new();
    for minute in minutes {
        let at = Moment::EPOCH + Duration::from_secs(minute * 60 + 59);
        for _ in 0..count {
            let players = draw(&everybody, 2, &mut random);
            sessions.push(Session {
                start: at,
                end: at,
                host: players[1],
                players: vec![players[0]],
            });
        }
    }
    sessions
}

/// Another stream than that of neighbours and starts: who plays must not depend on how detours are
/// looked for.
fn stream(seed: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(2);
    random
}

/// Different ones of these clients, at least two, at most all.
fn draw(clients: &[usize], wanted: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let wanted = wanted.clamp(2, clients.len());
    let mut drawn: Vec<usize> = Vec::with_capacity(wanted);
    while drawn.len() < wanted {
        let node = clients[random.random_range(0..clients.len())];
        if !drawn.contains(&node) {
            drawn.push(node);
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_start_and_last_as_the_paper_says() {
        let day = Duration::from_secs(24 * 3600);
        // So many that somebody is always free.
        let all = sessions(500, Company::Usual, Duration::ZERO, day, 0);
        // 24 h at one every 37.5 s on average.
        assert!((2_200..2_400).contains(&all.len()), "{}", all.len());
        for pair in all.windows(2) {
            let gap = pair[1].start.since(pair[0].start).as_secs_f64();
            assert!((15.0..=60.0).contains(&gap));
        }
        for session in &all {
            let minutes = session.end.since(session.start).as_secs_f64() / 60.0;
            assert!((3.0..=10.0).contains(&minutes));
            assert!(!session.players.contains(&session.host));
            assert!((1..=15).contains(&session.players.len()));
        }
    }

    #[test]
    fn nobody_plays_in_two_games_at_a_time() {
        let day = Duration::from_secs(24 * 3600);
        for company in [Company::Usual, Company::Pairs] {
            let all = sessions(12, company, Duration::ZERO, day, 3);
            assert!(all.len() > 300, "{}", all.len());
            let mut until = [Moment::EPOCH; 12];
            for session in &all {
                for player in session.players.iter().chain([&session.host]) {
                    assert!(until[*player] < session.start, "{session:?}");
                    until[*player] = session.end;
                }
            }
        }
    }

    #[test]
    fn nobody_plays_twice_in_a_session_even_if_few_are_there() {
        let hour = Duration::from_secs(3600);
        for session in sessions(3, Company::Usual, Duration::ZERO, hour, 1) {
            let mut players = session.players.clone();
            players.push(session.host);
            players.sort_unstable();
            players.dedup();
            assert_eq!(players.len(), session.players.len() + 1);
        }
    }
}
