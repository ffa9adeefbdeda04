//! A small tank game for two computer players, after the emulator behind the paper's Table 1: each
//! sees the other by dead reckoning from updates that come late, and shoots at what it sees. The
//! constants are of our own choosing, in the manner of BZFlag; nothing of that game's code is here.

use std::f64::consts::{PI, TAU};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a game showed of both players together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Game {
    /// Shots that hit, in per cent.
    pub(super) hit_fraction: f64,
    /// The mean distance between where a tank is and where the other sees it, in metres.
    pub(super) deviation: f64,
}

/// Metres, seconds, radians.
const ARENA: f64 = 200.0;
const SPEED: f64 = 25.0;
const TURN: f64 = PI / 4.0;
const SHOT_SPEED: f64 = 100.0;
const SHOT_RANGE: f64 = 350.0;
const RELOAD: f64 = 3.5;
const RADIUS: f64 = 3.0;
const STEP: f64 = 0.02;

/// An update is sent when the other's extrapolation is off by this, or after a second.
const TOLERANCE: f64 = 0.5;
const SILENCE: f64 = 1.0;

/// Plays for so many seconds; `rtt_ms` tells the round-trip time at a time, in milliseconds.
pub(super) fn play(seconds: f64, seed: u64, rtt_ms: impl Fn(f64) -> f64) -> Game {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut players = [0.25, 0.75].map(|share| Player::new(share * ARENA));
    let mut tally = Tally::default();
    let steps = (seconds / STEP) as usize;
    for step in 0..steps {
        let now = step as f64 * STEP;
        for player in &mut players {
            player.drive(now, &mut random);
            player.tell(now, rtt_ms(now) / 2000.0);
        }
        let [one, two] = &mut players;
        tally.see(one, now);
        tally.see(two, now);
        one.shoot(two, now);
        two.shoot(one, now);
        tally.count(one.fly(two.place));
        tally.count(two.fly(one.place));
    }
    tally.game()
}

type Metres = [f64; 2];

/// Where a tank was and how it moved, as the other is told.
#[derive(Debug, Clone, Copy)]
struct Update {
    sent: f64,
    arrives: f64,
    place: Metres,
    velocity: Metres,
}

#[derive(Debug)]
struct Player {
    place: Metres,
    heading: f64,
    speed: f64,
    turn: f64,
    next_whim: f64,
    loaded: f64,
    /// What was sent, oldest first; the other sees the newest that arrived.
    sent: Vec<Update>,
    shots: Vec<Shot>,
}

#[derive(Debug)]
struct Shot {
    place: Metres,
    velocity: Metres,
    left: f64,
}

/// How a shot ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Hit,
    Missed,
}

impl Player {
    fn new(x: f64) -> Self {
        Self {
            place: [x, ARENA / 2.0],
            heading: 0.0,
            speed: SPEED,
            turn: 0.0,
            next_whim: 0.0,
            loaded: RELOAD,
            sent: Vec::new(),
            shots: Vec::new(),
        }
    }

    fn velocity(&self) -> Metres {
        [
            self.speed * self.heading.cos(),
            self.speed * self.heading.sin(),
        ]
    }

    /// Drives on, with a new whim now and then; turns back at the walls.
    fn drive(&mut self, now: f64, random: &mut ChaCha8Rng) {
        if now >= self.next_whim {
            self.turn = TURN * f64::from(random.random_range(-1..=1));
            self.speed = SPEED * [1.0, 1.0, 0.5][random.random_range(0..3)];
            self.next_whim = now + random.random_range(0.5..2.5);
        }
        self.heading = (self.heading + self.turn * STEP) % TAU;
        let [x, y] = self.velocity();
        let next = [self.place[0] + x * STEP, self.place[1] + y * STEP];
        self.place = next.map(|along| along.clamp(0.0, ARENA));
        if self.place != next {
            let centre = [ARENA / 2.0 - self.place[0], ARENA / 2.0 - self.place[1]];
            self.heading = centre[1].atan2(centre[0]);
        }
    }

    /// Sends an update when the other would see it too far off.
    fn tell(&mut self, now: f64, one_way: f64) {
        let due = self.sent.last().is_none_or(|last| {
            let seen = last.extrapolated(now - last.sent);
            distance(seen, self.place) > TOLERANCE || now - last.sent >= SILENCE
        });
        if due {
            self.sent.push(Update {
                sent: now,
                arrives: now + one_way,
                place: self.place,
                velocity: self.velocity(),
            });
        }
        // Only what may still be under way, or is shown, is kept.
        let shown = self.sent.iter().rposition(|update| update.arrives <= now);
        self.sent.drain(..shown.unwrap_or(0));
    }

    /// What the other sees: clocks are not one, so an update counts from its arrival on.
    fn seen(&self, now: f64) -> Option<(Metres, Metres)> {
        let newest = self
            .sent
            .iter()
            .rev()
            .find(|update| update.arrives <= now)?;
        Some((newest.extrapolated(now - newest.arrives), newest.velocity))
    }

    /// Shoots at where it sees the other going, if it is loaded.
    fn shoot(&mut self, other: &Self, now: f64) {
        let Some((place, velocity)) = other.seen(now).filter(|_| now >= self.loaded) else {
            return;
        };
        let flight = distance(place, self.place) / SHOT_SPEED;
        let target = [
            place[0] + velocity[0] * flight,
            place[1] + velocity[1] * flight,
        ];
        let direction = (target[1] - self.place[1]).atan2(target[0] - self.place[0]);
        self.loaded = now + RELOAD;
        self.shots.push(Shot {
            place: self.place,
            velocity: [SHOT_SPEED * direction.cos(), SHOT_SPEED * direction.sin()],
            left: SHOT_RANGE,
        });
    }

    /// Moves the shots, and tells how those ended that did. Hits are on the tank itself, not on what
    /// was seen of it.
    fn fly(&mut self, target: Metres) -> Vec<End> {
        let mut ends = Vec::new();
        self.shots.retain_mut(|shot| {
            shot.place[0] += shot.velocity[0] * STEP;
            shot.place[1] += shot.velocity[1] * STEP;
            shot.left -= SHOT_SPEED * STEP;
            let end = match () {
                () if distance(shot.place, target) < RADIUS => Some(End::Hit),
                () if shot.left <= 0.0 => Some(End::Missed),
                () => None,
            };
            ends.extend(end);
            end.is_none()
        });
        ends
    }
}

impl Update {
    fn extrapolated(&self, by: f64) -> Metres {
        [
            self.place[0] + self.velocity[0] * by,
            self.place[1] + self.velocity[1] * by,
        ]
    }
}

fn distance(a: Metres, b: Metres) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[derive(Debug, Default)]
struct Tally {
    hits: f64,
    shots: f64,
    deviation: f64,
    looks: f64,
}

impl Tally {
    fn see(&mut self, tank: &Player, now: f64) {
        if let Some((seen, _)) = tank.seen(now) {
            self.deviation += distance(seen, tank.place);
            self.looks += 1.0;
        }
    }

    fn count(&mut self, ends: Vec<End>) {
        for end in ends {
            self.shots += 1.0;
            self.hits += f64::from(u8::from(end == End::Hit));
        }
    }

    fn game(&self) -> Game {
        Game {
            hit_fraction: 100.0 * self.hits / self.shots.max(1.0),
            deviation: self.deviation / self.looks.max(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_costs_hits_and_puts_tanks_elsewhere_than_they_are() {
        let at = |rtt: f64| play(1800.0, 0, move |_| rtt);
        let (near, far) = (at(20.0), at(300.0));
        assert!(near.hit_fraction > far.hit_fraction, "{near:?} {far:?}");
        assert!(near.deviation < far.deviation);
        // A tank does at most 25 m/s, so 150 ms one way are at most 3.75 m plus the tolerance.
        assert!((1.5..4.5).contains(&far.deviation), "{far:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_game() {
        let game = || play(120.0, 7, |now| 100.0 + now % 10.0);
        assert_eq!(game(), game());
    }
}
