//! Kernel receive stamps, which are wall clock, as moments of the monotonic clock.
//!
//! A stamp is converted with the offset between the two clocks at the time it is read. That is wrong
//! if the wall clock was set, or the machine slept, after the datagram came in: such a stamp cannot
//! be trusted, and neither can an RTT made from it.

use std::time::Duration;

use nearside_types::Moment;

/// The monotonic and the wall clock at one point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// The monotonic clock.
    pub moment: Moment,
    /// The wall clock, since 1970.
    pub wall: Duration,
}

impl ClockReading {
    /// Wall minus monotonic clock in nanoseconds; wide, since a wall clock may hold anything.
    fn offset(self) -> i128 {
        self.wall.as_nanos() as i128 - i128::from(self.moment.as_nanos())
    }
}

/// The clocks around one receive call: before it was made and after it returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadSpan {
    /// Right before the call.
    pub began: ClockReading,
    /// Right after it.
    pub ended: ClockReading,
}

/// When a datagram arrived, and how well that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceivedAt {
    /// The kernel stamped it on arrival: exact to microseconds.
    Kernel(Moment),
    /// The time it was read, late by however long it waited: this platform has no kernel stamps, or
    /// the kernel had none yet.
    UserSpace(Moment),
    /// The clocks moved against each other around the arrival. A sample made from this datagram must
    /// be discarded; its content is still good.
    Suspect,
}

impl ReceivedAt {
    /// The arrival, unless it is [`ReceivedAt::Suspect`].
    pub fn moment(self) -> Option<Moment> {
        match self {
            Self::Kernel(moment) | Self::UserSpace(moment) => Some(moment),
            Self::Suspect => None,
        }
    }
}

/// Converts the stamps of one socket, which it follows by being told whenever the socket was empty.
///
/// A datagram read now came in after the socket was last seen empty. If the clocks kept their offset
/// from then to now, the stamp was made under that same offset; if not, nobody can tell under which.
/// (A step forth and back between two reads escapes the offset; the bounds on the converted moment
/// catch what then lies outside the interval.)
#[derive(Debug, Clone)]
pub struct StampConverter {
    emptied: ClockReading,
}

impl StampConverter {
    /// A converter for a socket that is empty at `opened`.
    pub fn new(opened: ClockReading) -> Self {
        Self { emptied: opened }
    }

    /// The socket had nothing to read; `before` was taken before asking it.
    pub fn handle_empty(&mut self, before: ClockReading) {
        self.emptied = before;
    }

    /// The arrival of a datagram with this stamp, which was received in this call.
    pub fn convert(&self, read: ReadSpan, stamp: Option<Duration>) -> ReceivedAt {
        let Some(stamp) = stamp else {
            return ReceivedAt::UserSpace(read.ended.moment);
        };
        if self.stepped_by(read.ended) > OFFSET_TOLERANCE.as_nanos() {
            return ReceivedAt::Suspect;
        }
        match self.checked(read.ended, stamp) {
            // Linux switches stamping on some time after the first socket asks for it, and until
            // then stamps datagrams when they are read (`__sock_recv_timestamp`, net/socket.c). A
            // stamp made during the call may be one of these.
            Some(moment) if stamp >= read.began.wall => ReceivedAt::UserSpace(moment),
            Some(moment) => ReceivedAt::Kernel(moment),
            None => ReceivedAt::Suspect,
        }
    }

    fn stepped_by(&self, ended: ClockReading) -> u128 {
        (ended.offset() - self.emptied.offset()).unsigned_abs()
    }

    /// The moment of the stamp, if it lies between the last empty read and the end of this one.
    fn checked(&self, ended: ClockReading, stamp: Duration) -> Option<Moment> {
        let nanos = stamp.as_nanos() as i128 - ended.offset();
        let moment = Moment::from_nanos(u64::try_from(nanos).ok()?);
        let earliest = self.emptied.moment.saturating_sub(QUEUEING_ALLOWANCE);
        let latest = ended.moment + OFFSET_TOLERANCE;
        (earliest..=latest)
            .contains(&moment)
            .then(|| moment.min(ended.moment))
    }
}

/// How far the clocks may move against each other between two reads. On Linux slewing (adjtime, NTP)
/// moves both alike, so any move is a step or a sleep; 1 ms leaves room for an interrupted reading.
const OFFSET_TOLERANCE: Duration = Duration::from_millis(1);

/// The kernel stamps a datagram when the interface hands it over and queues it on the socket a
/// little later, so a stamp may precede the last empty read. On a busy virtual machine "a little" is
/// milliseconds.
const QUEUEING_ALLOWANCE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MILLISECOND: i64 = 1_000_000;

    /// Both clocks at `nanos` of monotonic time, the wall clock being `offset` ahead of 2023.
    fn reading(nanos: i64, offset: i64) -> ClockReading {
        ClockReading {
            moment: Moment::from_nanos(nanos as u64),
            wall: wall(nanos, offset),
        }
    }

    /// A receive call that began and ended at this reading.
    fn read_at(nanos: i64, offset: i64) -> ReadSpan {
        ReadSpan {
            began: reading(nanos, offset),
            ended: reading(nanos, offset),
        }
    }

    fn wall(nanos: i64, offset: i64) -> Duration {
        Duration::from_nanos((1_700_000_000_000_000_000 + nanos + offset) as u64)
    }

    fn kernel(nanos: i64) -> ReceivedAt {
        ReceivedAt::Kernel(Moment::from_nanos(nanos as u64))
    }

    #[test]
    fn steady_clocks_give_the_exact_moment_of_arrival() {
        let converter = StampConverter::new(reading(100 * MILLISECOND, 0));
        let read = read_at(150 * MILLISECOND, 0);
        let received = converter.convert(read, Some(wall(123_456_789, 0)));
        assert_eq!(received, kernel(123_456_789));
    }

    #[test]
    fn without_a_stamp_the_time_of_the_read_stands_in() {
        let converter = StampConverter::new(reading(0, 0));
        let read = read_at(7 * MILLISECOND, 0);
        let expected = ReceivedAt::UserSpace(read.ended.moment);
        assert_eq!(converter.convert(read, None), expected);
        assert_eq!(expected.moment(), Some(read.ended.moment));
    }

    #[test]
    fn a_step_in_either_direction_makes_the_stamp_suspect() {
        for step in [-3_600_000 * MILLISECOND, -2 * MILLISECOND, 2 * MILLISECOND] {
            let converter = StampConverter::new(reading(100 * MILLISECOND, 0));
            let read = read_at(150 * MILLISECOND, step);
            for stamped_under in [0, step] {
                let stamp = wall(120 * MILLISECOND, stamped_under);
                assert_eq!(converter.convert(read, Some(stamp)), ReceivedAt::Suspect);
            }
        }
    }

    #[test]
    fn a_suspend_looks_like_a_step_since_only_the_wall_clock_runs_on() {
        let converter = StampConverter::new(reading(100 * MILLISECOND, 0));
        let slept = 30_000 * MILLISECOND;
        let read = read_at(110 * MILLISECOND, slept);
        let stamp = wall(109 * MILLISECOND, slept);
        assert_eq!(converter.convert(read, Some(stamp)), ReceivedAt::Suspect);
    }

    #[test]
    fn stamps_stay_suspect_until_the_socket_was_seen_empty_after_the_step() {
        let step = 50 * MILLISECOND;
        let mut converter = StampConverter::new(reading(0, 0));
        for at in [10, 11, 12] {
            let stamp = wall(at * MILLISECOND, step);
            let read = read_at(at * MILLISECOND, step);
            assert_eq!(converter.convert(read, Some(stamp)), ReceivedAt::Suspect);
        }
        converter.handle_empty(reading(13 * MILLISECOND, step));
        let read = read_at(20 * MILLISECOND, step);
        let received = converter.convert(read, Some(wall(15 * MILLISECOND, step)));
        assert_eq!(received, kernel(15 * MILLISECOND));
    }

    #[test]
    fn a_stamp_made_during_the_read_is_not_passed_off_as_the_arrival() {
        let converter = StampConverter::new(reading(0, 0));
        let read = ReadSpan {
            began: reading(20 * MILLISECOND, 0),
            ended: reading(20 * MILLISECOND + 30_000, 0),
        };
        let filled_in = converter.convert(read, Some(wall(20 * MILLISECOND + 10_000, 0)));
        let moment = Moment::from_nanos(20_010_000);
        assert_eq!(filled_in, ReceivedAt::UserSpace(moment));
    }

    #[test]
    fn a_slew_below_the_tolerance_passes() {
        let converter = StampConverter::new(reading(0, 0));
        let read = read_at(1_000 * MILLISECOND, 500_000);
        let received = converter.convert(read, Some(wall(900 * MILLISECOND, 450_000)));
        assert_eq!(received, kernel(900 * MILLISECOND - 50_000));
    }

    #[test]
    fn stamps_from_the_future_or_from_before_the_last_empty_read_are_suspect() {
        let converter = StampConverter::new(reading(100 * MILLISECOND, 0));
        let read = read_at(150 * MILLISECOND, 0);
        for at in [79, 152, -5_000] {
            let stamp = wall(at * MILLISECOND, 0);
            assert_eq!(converter.convert(read, Some(stamp)), ReceivedAt::Suspect);
        }
        let barely_early = converter.convert(read, Some(wall(81 * MILLISECOND, 0)));
        assert_eq!(barely_early, kernel(81 * MILLISECOND));
        let barely_ahead = converter.convert(read, Some(wall(150 * MILLISECOND + 9, 0)));
        assert_eq!(barely_ahead.moment(), Some(read.ended.moment));
    }

    proptest! {
        /// One step of any size at any time between two reads: what is not suspect is right.
        #[test]
        fn a_trusted_stamp_is_never_off_by_more_than_the_tolerance(
            emptied in 0i64..1_000_000_000,
            until_arrival in 0i64..500_000_000,
            until_read in 1i64..500_000_000,
            step_at in 0i64..2_000_000_000,
            step in -100_000_000_000i64..100_000_000_000,
        ) {
            let offset_at = |at: i64| if at >= step_at { step } else { 0 };
            let arrival = emptied + until_arrival;
            let read = arrival + until_read;
            let converter = StampConverter::new(reading(emptied, offset_at(emptied)));
            let stamp = wall(arrival, offset_at(arrival));
            let received = converter.convert(read_at(read, offset_at(read)), Some(stamp));
            let stepped = offset_at(emptied) != offset_at(read);
            match received {
                ReceivedAt::Kernel(moment) | ReceivedAt::UserSpace(moment) => {
                    let error = moment.as_nanos().abs_diff(arrival as u64);
                    prop_assert!(error <= OFFSET_TOLERANCE.as_nanos() as u64);
                }
                ReceivedAt::Suspect => prop_assert!(stepped, "steady clocks must be trusted"),
            }
        }

        #[test]
        fn no_stamp_whatsoever_panics_or_lies_in_the_future(
            moments in (0u64.., 0u64..),
            seconds in (0u64.., 0u64.., 0u64..),
        ) {
            let at = |moment, wall| ClockReading {
                moment: Moment::from_nanos(moment),
                wall: Duration::from_secs(wall),
            };
            let converter = StampConverter::new(at(moments.0, seconds.0));
            let now = at(moments.1, seconds.1);
            let read = ReadSpan { began: now, ended: now };
            if let Some(moment) = converter.convert(read, Some(Duration::from_secs(seconds.2))).moment() {
                prop_assert!(moment <= now.moment);
            }
        }
    }
}
