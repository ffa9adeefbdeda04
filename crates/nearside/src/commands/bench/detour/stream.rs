//! Packets like a game's, numbered and checked: sent at a pace, or as fast as they come back.

use std::time::Duration;

use anyhow::Result;
use nearside_types::Moment;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::end::{End, Times};
use crate::commands::bench::child::processor_s;

/// What asks whether anybody answers; shorter than any packet.
pub(super) const KNOCK: &[u8] = b"?";

/// How fast packets are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// So many each second.
    PerSecond(u32),
    /// As many under way as fit into [`WINDOW`].
    Full,
}

impl Pace {
    /// A game's, a busy server's, and the utmost.
    pub(super) const ALL: [Self; 3] = [Self::PerSecond(60), Self::PerSecond(1_000), Self::Full];
}

/// Packets under way at full rate: enough that nobody waits for the other end, and few enough for the
/// smallest socket buffer among the forwarders (some 200 KiB).
const WINDOW: usize = 64;

/// At full rate, what is not back after this long is lost.
const PATIENCE: Duration = Duration::from_millis(50);
/// The last packets have this long to come back.
const STRAGGLERS: Duration = Duration::from_millis(200);

/// Payloads of 25 to 100 bytes (the paper's games), drawn once: with 28 bytes of headers and 60 packets
/// a second that is 43 kbit/s.
#[derive(Debug, Clone)]
pub(super) struct Payloads(Vec<Vec<u8>>);

impl Payloads {
    pub(super) fn draw(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut one = || {
            let length = random.random_range(25..=100);
            (0..length).map(|_| random.random()).collect()
        };
        Self((0..1_024).map(|_| one()).collect())
    }

    fn of(&self, number: u32) -> &[u8] {
        &self.0[number as usize % self.0.len()]
    }

    /// The number first, then what was drawn.
    fn write(&self, number: u32, packet: &mut Vec<u8>) {
        packet.clear();
        packet.extend_from_slice(&number.to_be_bytes());
        packet.extend_from_slice(&self.of(number)[4..]);
    }

    /// The number of a packet that is as it was sent.
    fn read(&self, packet: &[u8]) -> Option<u32> {
        let (number, rest) = packet.split_first_chunk()?;
        let number = u32::from_be_bytes(*number);
        (self.of(number)[4..] == *rest).then_some(number)
    }
}

/// What became of the packets of one measurement.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) sent: usize,
    pub(super) received: usize,
    pub(super) corrupted: usize,
    /// Round trips in microseconds, in ascending order.
    pub(super) round_trips: Vec<f64>,
    pub(super) wall_s: f64,
    /// Of all forwarders; `None` where there is none.
    pub(super) cpu_s: Option<f64>,
}

impl Tally {
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let last = self.round_trips.len().checked_sub(1)?;
        let rank = (share * last as f64).round() as usize;
        self.round_trips.get(rank).copied()
    }

    /// Packets that were forwarded: there and back again.
    pub(super) fn forwarded(&self) -> f64 {
        2.0 * self.received as f64
    }

    pub(super) fn per_second(&self) -> f64 {
        self.forwarded() / self.wall_s
    }

    pub(super) fn per_cpu_second(&self) -> Option<f64> {
        self.cpu_s.map(|cpu_s| self.forwarded() / cpu_s)
    }

    pub(super) fn cpu_us_each(&self) -> Option<f64> {
        self.cpu_s.map(|cpu_s| cpu_s * 1e6 / self.forwarded())
    }
}

/// One stream through one lane, over all its measurements: numbers go on, so that a packet that comes
/// much too late is not taken for another.
pub(super) struct Stream {
    payloads: Payloads,
    times: Times,
    /// Whose processor time counts.
    forwarders: Vec<u32>,
    next: u32,
    packet: Vec<u8>,
}

/// The packets of one measurement.
struct Run<'a> {
    payloads: &'a Payloads,
    first: u32,
    sent: Vec<Moment>,
    back: Vec<bool>,
    tally: Tally,
}

impl Run<'_> {
    fn take(&mut self, now: Moment, packet: &[u8]) {
        if packet == KNOCK {
            return;
        }
        let Some(number) = self.payloads.read(packet) else {
            self.tally.corrupted += 1;
            return;
        };
        let place = number.wrapping_sub(self.first) as usize;
        if let Some(back) = self.back.get_mut(place).filter(|back| !**back) {
            *back = true;
            self.tally.received += 1;
            let took = now.since(self.sent[place]);
            self.tally.round_trips.push(took.as_secs_f64() * 1e6);
        }
    }
}

impl Stream {
    pub(super) fn new(payloads: Payloads, times: Times, forwarders: Vec<u32>) -> Self {
        Self {
            payloads,
            times,
            forwarders,
            next: 0,
            packet: Vec::new(),
        }
    }

    /// Sends for some time, after a warm-up that is not counted.
    pub(super) fn measure(
        &mut self,
        end: &mut dyn End,
        pace: Pace,
        time: Duration,
    ) -> Result<Tally> {
        self.send_for(end, pace, WARM_UP.min(time))?;
        let (cpu, began) = (self.cpu_s()?, self.times.now());
        let mut tally = self.send_for(end, pace, time)?;
        tally.wall_s = self.times.now().since(began).as_secs_f64();
        tally.cpu_s = cpu.zip(self.cpu_s()?).map(|(before, after)| after - before);
        tally.round_trips.sort_unstable_by(f64::total_cmp);
        Ok(tally)
    }

    fn cpu_s(&self) -> Result<Option<f64>> {
        if self.forwarders.is_empty() {
            return Ok(None);
        }
        let each = self.forwarders.iter().map(|pid| processor_s(*pid));
        each.sum::<Result<f64>>().map(Some)
    }

    fn send_for(&mut self, end: &mut dyn End, pace: Pace, time: Duration) -> Result<Tally> {
        let payloads = self.payloads.clone();
        let mut run = Run {
            payloads: &payloads,
            first: self.next,
            sent: Vec::new(),
            back: Vec::new(),
            tally: Tally::default(),
        };
        match pace {
            Pace::PerSecond(rate) => self.at_a_pace(end, &mut run, rate, time)?,
            Pace::Full => self.at_full_rate(end, &mut run, time)?,
        }
        self.gather(end, &mut run)?;
        run.tally.sent = run.sent.len();
        Ok(run.tally)
    }

    fn at_a_pace(
        &mut self,
        end: &mut dyn End,
        run: &mut Run<'_>,
        rate: u32,
        time: Duration,
    ) -> Result<()> {
        let interval = Duration::from_secs(1) / rate;
        let until = self.times.now() + time;
        let mut due = self.times.now();
        while due < until && !self.times.is_over() {
            let now = self.times.now();
            if now >= due {
                self.send_one(end, run);
                end.flush();
                // Whoever was late does not catch up: that would be a burst.
                due = (due + interval).max(now);
            }
            self.hear(end, run, due.min(until))?;
        }
        Ok(())
    }

    /// Waits for the last ones.
    fn gather(&self, end: &mut dyn End, run: &mut Run<'_>) -> Result<()> {
        let until = self.times.now() + STRAGGLERS;
        while run.tally.received < run.sent.len() && self.times.now() < until {
            self.hear(end, run, until)?;
        }
        Ok(())
    }

    fn at_full_rate(&mut self, end: &mut dyn End, run: &mut Run<'_>, time: Duration) -> Result<()> {
        let until = self.times.now() + time;
        let (mut under_way, mut heard) = (0, self.times.now());
        while self.times.now() < until && !self.times.is_over() {
            for _ in under_way..WINDOW {
                self.send_one(end, run);
            }
            under_way = WINDOW;
            end.flush();
            let before = run.tally.received;
            self.hear(end, run, heard + PATIENCE)?;
            let (now, came) = (self.times.now(), run.tally.received - before);
            under_way = under_way.saturating_sub(came);
            if came > 0 {
                heard = now;
            } else if now >= heard + PATIENCE {
                // All of them are lost; begin anew.
                (under_way, heard) = (0, now);
            }
        }
        Ok(())
    }

    fn send_one(&mut self, end: &mut dyn End, run: &mut Run<'_>) {
        run.payloads.write(self.next, &mut self.packet);
        self.next = self.next.wrapping_add(1);
        run.sent.push(self.times.now());
        run.back.push(false);
        end.send(&self.packet);
    }

    fn hear(&self, end: &mut dyn End, run: &mut Run<'_>, until: Moment) -> Result<()> {
        let times = &self.times;
        end.hear(until, &mut |packet| run.take(times.now(), packet))
    }
}

/// Before each measurement: a lane that was idle has to wake up.
const WARM_UP: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_the_sizes_of_a_games_and_any_change_is_seen() {
        let payloads = Payloads::draw(7);
        let mut packet = Vec::new();
        for number in [0, 1, 1_023, 1_024, u32::MAX] {
            payloads.write(number, &mut packet);
            assert!((25..=100).contains(&packet.len()));
            assert_eq!(payloads.read(&packet), Some(number));
            packet[10] ^= 1;
            assert_eq!(payloads.read(&packet), None);
            packet[10] ^= 1;
            packet.pop();
            assert_eq!(payloads.read(&packet), None);
        }
        assert_eq!(payloads.read(b"abc"), None);
    }

    #[test]
    fn a_packet_counts_once_and_only_in_its_own_measurement() {
        let payloads = Payloads::draw(7);
        let mut run = Run {
            payloads: &payloads,
            first: 10,
            sent: vec![Moment::EPOCH; 2],
            back: vec![false; 2],
            tally: Tally::default(),
        };
        let mut packet = Vec::new();
        for number in [9, 10, 10, 12, 11] {
            payloads.write(number, &mut packet);
            run.take(Moment::EPOCH + Duration::from_micros(70), &packet);
        }
        run.take(Moment::EPOCH, b"something else");
        run.take(Moment::EPOCH, KNOCK);
        assert_eq!((run.tally.received, run.tally.corrupted), (2, 1));
        assert_eq!(run.tally.quantile(0.5), Some(70.0));
    }
}
