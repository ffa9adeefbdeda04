//! What looking for servers may cost. One thread does everything, so whoever makes it look makes all
//! others wait: each network has an allowance, and all together have one too.
//!
//! The unit is some ten nanoseconds of one core: a server looked at takes [`SERVER`] of them, each
//! condition tested on it what `Test::cost` says. Measured on 60,000 servers (release build, processor
//! time, 2026-11-17): 26 to 130 ns for a server, 5 for a flag, 43 for a text, 60 for a tag, 58 to 107
//! for a pattern.

use std::net::IpAddr;

use nearside_types::Moment;

use crate::budget::{Allowance, Budgets};
use crate::cookie::Secret;

/// A question that needs a look at servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scan {
    /// What it takes at worst.
    pub(crate) cost: usize,
    pub(crate) purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Nobody asked this lately.
    New,
    /// What was found before has grown old; or a list of a whole game, of which there are so many as
    /// there are games.
    Usual,
}

/// Who wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// Somebody who repeats a cookie; its network's allowance counts.
    Proven(IpAddr),
    /// The same in a network without caps.
    Uncapped,
    /// A client without cookie, whose address may be forged: whatever is charged to its network would
    /// be missing there for those who have proven theirs.
    Unproven,
}

/// A server that is looked at.
pub(crate) const SERVER: usize = 8;
/// Any question at all: it is read, and what it selects is kept.
pub(crate) const QUESTION: usize = 1_000;
/// A step from one group of servers to the next: some 0.15 µs where groups are many and lie apart.
pub(crate) const STEP: usize = 15;

/// A twenty-fifth of one core for each /24 or /48. Ten seconds' worth can be saved up: a question
/// about four million servers, or a hundred new ones about 30,000.
const PER_NETWORK: u32 = 4_000_000;
/// What a quiet network has: two questions about 30,000 servers in ten seconds. A larger one may owe.
const QUIET: u32 = 100_000;
/// No question takes longer than this, some 0.4 s.
const LONGEST: f64 = 40_000_000.0;

/// The allowances.
#[derive(Debug)]
pub(crate) struct Scans {
    networks: Budgets,
    /// For all together. What many ask is looked for first, so a crowd with new questions takes a
    /// tenth of the time, and lists that others use stay fresh.
    news: Allowance,
    usual: Allowance,
    unproven: Allowance,
    /// A question now and then of each network, and another tenth of the time for all of these: beside
    /// a crowd that goes on asking, somebody who has just come is heard too.
    quiet: Budgets,
    quiet_news: Allowance,
}

impl Scans {
    pub(crate) fn new(key: Secret) -> Self {
        Self {
            networks: Budgets::new(key, PER_NETWORK),
            news: Allowance::new(10_000_000.0, LONGEST),
            usual: Allowance::new(20_000_000.0, LONGEST),
            unproven: Allowance::new(5_000_000.0, LONGEST / 2.0),
            quiet: Budgets::new(key, QUIET),
            quiet_news: Allowance::new(10_000_000.0, LONGEST),
        }
    }

    /// Whether somebody may look now, which is then charged.
    pub(crate) fn take(&mut self, now: Moment, asker: Asker, scan: Scan) -> bool {
        let all = match (asker, scan.purpose) {
            (Asker::Unproven, _) => &mut self.unproven,
            (_, Purpose::New) => &mut self.news,
            (_, Purpose::Usual) => &mut self.usual,
        };
        let its_own = |networks: &mut Budgets| match asker {
            Asker::Proven(ip) => networks.take_proven(now, ip, scan.cost),
            Asker::Uncapped | Asker::Unproven => true,
        };
        if all.has(now, scan.cost) {
            return its_own(&mut self.networks) && all.take(now, scan.cost);
        }
        match asker {
            Asker::Proven(ip) if self.quiet_news.has(now, scan.cost) => {
                self.quiet.owe(now, ip, scan.cost) && self.quiet_news.take(now, scan.cost)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const START: Moment = Moment::from_nanos(1_000_000_000_000);

    fn scan(cost: usize, purpose: Purpose) -> Scan {
        Scan { cost, purpose }
    }

    fn proven(network: u8) -> Asker {
        Asker::Proven([192, 0, network, 1].into())
    }

    #[test]
    fn a_crowd_with_new_questions_leaves_time_for_known_ones_and_forgers_for_both() {
        let mut scans = Scans::new(Secret([3; 16]));
        let mut spend = |asker: fn(u8) -> Asker, purpose| {
            let asked =
                (0..=255).filter(|n| scans.take(START, asker(*n), scan(1_000_000, purpose)));
            asked.count()
        };
        assert_eq!(spend(|_| Asker::Unproven, Purpose::Usual), 20);
        assert_eq!(spend(|_| Asker::Uncapped, Purpose::New), 40);
        assert_eq!(spend(|_| Asker::Uncapped, Purpose::New), 0);
        assert_eq!(spend(|_| Asker::Uncapped, Purpose::Usual), 40);
        let later = START + Duration::from_secs(1);
        assert!(scans.take(later, proven(1), scan(10_000_000, Purpose::New)));
        assert!(!scans.take(later, Asker::Uncapped, scan(10_000_000, Purpose::New)));
    }

    #[test]
    fn who_has_just_come_is_heard_beside_a_crowd_that_goes_on() {
        let mut scans = Scans::new(Secret([3; 16]));
        let question = scan(400_000, Purpose::New);
        let mut granted = 0;
        for millisecond in 0..6_000_u64 {
            let now = START + Duration::from_millis(millisecond);
            let crowd = proven((millisecond % 15) as u8);
            granted += usize::from(scans.take(now, crowd, question));
        }
        // 100 and 60 in the tenth of a core for all, and five or so of each network.
        assert!((250..350).contains(&granted), "{granted} of 6,000");
        let now = START + Duration::from_secs(6);
        // Nothing is left for the crowd.
        while scans.take(now, proven(3), question) {}
        assert!(scans.take(now, proven(200), question), "somebody else");
        assert!(scans.take(now, proven(201), scan(20_000_000, Purpose::New)));
        assert!(!scans.take(now, proven(201), question), "it owes");
    }

    #[test]
    fn one_network_cannot_take_what_all_have_and_pays_nothing_for_what_it_does_not_get() {
        let mut scans = Scans::new(Secret([3; 16]));
        let whole = scan(40_000_000, Purpose::New);
        assert!(scans.take(START, proven(1), whole));
        let later = START + Duration::from_secs(1);
        let asks = |scans: &mut Scans, network| {
            (0..100)
                .filter(|_| scans.take(later, proven(network), scan(500_000, Purpose::New)))
                .count()
        };
        assert_eq!(
            asks(&mut scans, 1),
            16,
            "4,000,000 in a second, and a reserve"
        );
        assert_eq!(
            asks(&mut scans, 2),
            6,
            "what is left, and as one who is quiet"
        );
        let much_later = START + Duration::from_secs(60);
        assert!(
            scans.take(much_later, proven(2), whole),
            "it paid for little"
        );
        assert!(!scans.take(much_later, proven(3), scan(40_000_001, Purpose::New)));
    }
}
