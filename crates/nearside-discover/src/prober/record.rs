//! What is known of one server while it is probed: its tries, the legs of each, and the samples
//! they gave.

use nearside_types::{Moment, Rtt};
use nearside_wire::a2s::Challenge;

use super::courtesy::RecentSends;
use super::exchange::ServerInfo;
use super::rounds::StretchId;
use crate::planner::Listed;

/// The most tries any configuration may ask for: each has a socket of its own.
pub const MAX_TRIES: usize = 3;

/// The most challenges one try answers: servers that go on asking are left alone (PROTOCOLS: "loop,
/// cap 3").
const MAX_CHALLENGES: usize = 3;

/// Where a server is on its way through discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Unprobed,
    Pending,
    Answered,
    Silent,
    Down,
}

/// One server.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) listed: Listed,
    pub(crate) state: State,
    pub(crate) tries: [Try; MAX_TRIES],
    /// Tries sent so far.
    pub(crate) tries_sent: usize,
    /// When the planner asked for it; the first try may wait for its turn at a busy address.
    pub(crate) chosen: Option<Moment>,
    pub(crate) stretch: StretchId,
    pub(crate) recent: RecentSends,
    /// The last challenge the server gave: the next try starts with it and saves a round trip.
    pub(crate) challenge: Option<Challenge>,
    pub(crate) info: Option<Box<ServerInfo>>,
    pub(crate) samples: Samples,
}

impl Record {
    pub(crate) fn new(listed: Listed) -> Self {
        Self {
            listed,
            state: State::Unprobed,
            tries: [Try::default(); MAX_TRIES],
            tries_sent: 0,
            chosen: None,
            stretch: 0,
            recent: RecentSends::default(),
            challenge: None,
            info: None,
            samples: Samples::default(),
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        !matches!(self.state, State::Unprobed | State::Pending)
    }
}

/// The RTT samples of one server.
///
/// The lowest sample stands for the server: delay is only ever added to a path, so the lower of two
/// legs is the better estimate, and legs are never summed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Samples {
    pub(crate) count: u32,
    clean: Option<Rtt>,
    unclean: Option<Rtt>,
}

impl Samples {
    pub(crate) fn add(&mut self, sample: LegSample) {
        self.count += 1;
        let best = match sample.attribution {
            Attribution::Clean => &mut self.clean,
            Attribution::Ambiguous => &mut self.unclean,
        };
        *best = Some(best.map_or(sample.rtt, |best| best.min(sample.rtt)));
    }

    /// The lowest clean sample, or the lowest of the others if none is clean.
    pub(crate) fn rtt(&self) -> Option<Rtt> {
        self.clean.or(self.unclean)
    }

    /// Whether [`rtt`](Self::rtt) is a clean sample.
    pub(crate) fn is_clean(&self) -> bool {
        self.clean.is_some()
    }
}

/// A measured leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LegSample {
    pub(crate) rtt: Rtt,
    pub(crate) attribution: Attribution,
}

/// Whether a reply can be told to answer one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribution {
    Clean,
    /// More than one request was unanswered; the RTT is counted from the earliest of them, so it
    /// is never too good.
    Ambiguous,
}

/// One try: the requests sent on its socket and not yet answered.
///
/// A try has one leg, or two where the server asks for a challenge. Only a repeated challenge (a
/// duplicate in the network looks just like it) leaves two requests of one try unanswered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Try {
    /// The nonce of a Quake 3 request.
    pub(crate) nonce: u64,
    /// The challenge the first request carried, then those the server gave.
    known: [Option<Challenge>; MAX_CHALLENGES + 1],
    challenges: usize,
    unanswered: u8,
    earliest_unanswered: Moment,
    was_sent: bool,
}

/// What to do with a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChallengeVerdict {
    /// Ask again with it.
    Answer(Option<LegSample>),
    /// Nothing was asked on this socket, or too often already.
    Ignore,
}

impl Try {
    /// Notes a request sent now.
    pub(crate) fn sent(&mut self, now: Moment, carried: Option<Challenge>) {
        if self.unanswered == 0 {
            self.earliest_unanswered = now;
        }
        self.unanswered += 1;
        if !self.was_sent {
            self.known[0] = carried;
        }
        self.was_sent = true;
    }

    /// Takes a final answer; `None` if no request is unanswered (a duplicate, or never asked).
    pub(crate) fn answered(&mut self, received: Option<Moment>) -> Option<Option<LegSample>> {
        if self.unanswered == 0 {
            return None;
        }
        let sample = self.sample(received);
        self.unanswered = 0;
        Some(sample)
    }

    /// Takes a challenge.
    pub(crate) fn challenged(
        &mut self,
        challenge: Challenge,
        received: Option<Moment>,
    ) -> ChallengeVerdict {
        if self.unanswered == 0 || self.challenges == MAX_CHALLENGES {
            return ChallengeVerdict::Ignore;
        }
        let repeated = self.known.contains(&Some(challenge));
        self.challenges += 1;
        self.known[self.challenges] = Some(challenge);
        if repeated {
            // Either a duplicate of the reply that gave us this challenge, or a server that wants
            // it twice. Asking again serves both; a sample would be far too small in the first.
            return ChallengeVerdict::Answer(None);
        }
        let sample = self.sample(received);
        self.unanswered = self.unanswered.saturating_sub(1);
        ChallengeVerdict::Answer(sample)
    }

    pub(crate) const fn was_sent(&self) -> bool {
        self.was_sent
    }

    fn sample(&self, received: Option<Moment>) -> Option<LegSample> {
        let attribution = if self.unanswered == 1 {
            Attribution::Clean
        } else {
            Attribution::Ambiguous
        };
        // A stamp before the send is a clock's fault: worthless.
        let received = received.filter(|&at| at > self.earliest_unanswered)?;
        Some(LegSample {
            rtt: Rtt::from_duration(received - self.earliest_unanswered),
            attribution,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C1: Challenge = Challenge([1; 4]);
    const C2: Challenge = Challenge([2; 4]);
    const C3: Challenge = Challenge([3; 4]);

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    fn clean(millis: u32) -> Option<LegSample> {
        Some(LegSample {
            rtt: Rtt::from_micros(millis * 1000),
            attribution: Attribution::Clean,
        })
    }

    #[test]
    fn challenge_and_info_are_two_samples_of_one_leg_each() {
        let mut attempt = Try::default();
        attempt.sent(at(0), None);
        assert_eq!(
            attempt.challenged(C1, Some(at(50))),
            ChallengeVerdict::Answer(clean(50))
        );
        attempt.sent(at(51), Some(C1));
        assert_eq!(attempt.answered(Some(at(99))), Some(clean(48)));
        assert_eq!(attempt.answered(Some(at(99))), None, "a duplicate");
    }

    #[test]
    fn a_duplicated_challenge_gives_no_tiny_sample_and_flags_what_follows() {
        let mut attempt = Try::default();
        attempt.sent(at(0), None);
        attempt.challenged(C1, Some(at(50)));
        attempt.sent(at(51), Some(C1));
        assert_eq!(
            attempt.challenged(C1, Some(at(52))),
            ChallengeVerdict::Answer(None)
        );
        attempt.sent(at(52), Some(C1));
        let sample = attempt.answered(Some(at(101))).unwrap().unwrap();
        assert_eq!(sample.attribution, Attribution::Ambiguous);
        assert_eq!(
            sample.rtt,
            Rtt::from_micros(50_000),
            "from the earliest request"
        );
    }

    #[test]
    fn a_server_may_repeat_its_challenge_three_times() {
        let mut attempt = Try::default();
        attempt.sent(at(0), None);
        for (round, challenge) in [C1, C2, C3].into_iter().enumerate() {
            let received = at(10 * (round as u64 + 1));
            assert!(matches!(
                attempt.challenged(challenge, Some(received)),
                ChallengeVerdict::Answer(Some(_))
            ));
            attempt.sent(received, Some(challenge));
        }
        assert_eq!(
            attempt.challenged(C2, Some(at(99))),
            ChallengeVerdict::Ignore
        );
    }

    #[test]
    fn a_reply_without_a_trustworthy_stamp_answers_but_measures_nothing() {
        let mut attempt = Try::default();
        attempt.sent(at(10), None);
        assert_eq!(attempt.answered(None), Some(None));
        attempt.sent(at(20), None);
        assert_eq!(
            attempt.answered(Some(at(19))),
            Some(None),
            "before it was sent"
        );
    }

    #[test]
    fn nothing_asked_is_nothing_answered() {
        let mut attempt = Try::default();
        assert_eq!(attempt.answered(Some(at(1))), None);
        assert_eq!(
            attempt.challenged(C1, Some(at(1))),
            ChallengeVerdict::Ignore
        );
    }

    #[test]
    fn the_lowest_clean_sample_wins_over_a_lower_ambiguous_one() {
        let mut samples = Samples::default();
        let sample = |millis: u32, attribution| LegSample {
            rtt: Rtt::from_micros(millis * 1000),
            attribution,
        };
        samples.add(sample(20, Attribution::Ambiguous));
        assert!(!samples.is_clean());
        samples.add(sample(50, Attribution::Clean));
        samples.add(sample(40, Attribution::Clean));
        assert_eq!(samples.rtt(), Some(Rtt::from_micros(40_000)));
        assert_eq!(samples.count, 3);
    }
}
