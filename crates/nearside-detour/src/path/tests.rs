use std::time::Duration;

use super::*;

const NEAR: ClientId = ClientId(1);
const NEXT: ClientId = ClientId(2);

const fn ms(millis: u32) -> Rtt {
    Rtt::from_micros(millis * 1000)
}

fn at(seconds: u64) -> Moment {
    Moment::EPOCH + Duration::from_secs(seconds)
}

/// Drives a session until a moment in a world where paths take what `rtt` says.
fn run(
    session: &mut PathSession,
    from: Moment,
    until: Moment,
    rtt: impl Fn(Moment, Route) -> Option<Rtt>,
) -> Vec<Event> {
    let mut events = Vec::new();
    let mut now = from;
    while now < until {
        match session.poll_output(now) {
            Output::Measure(route) => session.handle_rtt(now, route, rtt(now, route)),
            Output::Event(event) => events.push(event),
            Output::Wait(next) => {
                assert!(next > now, "a wait leads forward");
                now = next;
            }
        }
    }
    events
}

fn switches(events: &[Event]) -> Vec<(Route, Reason)> {
    let switch = |event: &Event| match event {
        Event::Switched { to, reason, .. } => Some((*to, *reason)),
        Event::Vetoed { .. } => None,
    };
    events.iter().filter_map(switch).collect()
}

fn session() -> PathSession {
    let mut session = PathSession::new(PathConfig::default(), Moment::EPOCH);
    session.handle_candidates(Moment::EPOCH, [NEAR, NEXT]);
    session
}

/// 180 ms directly, 90 and 110 by way of relays: Figure 1 of the paper, and a backup.
fn figure_1(_: Moment, route: Route) -> Option<Rtt> {
    Some(match route {
        Route::Direct => ms(180),
        Route::Via(NEAR) => ms(90),
        Route::Via(_) => ms(110),
    })
}

#[test]
fn the_quickest_detour_is_used_and_the_others_stand_by() {
    let mut session = session();
    let events = run(&mut session, at(0), at(30), figure_1);
    assert_eq!(session.active(), Route::Via(NEAR));
    assert_eq!(session.backups(), [Route::Via(NEXT), Route::Direct]);
    let last = events.last().unwrap();
    assert!(matches!(
        last,
        Event::Switched {
            reason: Reason::QuickerDetour,
            ..
        }
    ));
}

#[test]
fn a_gain_below_the_margin_is_no_reason_to_switch() {
    let mut session = session();
    let events = run(&mut session, at(0), at(120), |_, route| {
        Some(if route == Route::Direct {
            ms(100)
        } else {
            ms(92)
        })
    });
    assert_eq!(events, []);
    assert_eq!(session.active(), Route::Direct);
}

#[test]
fn jitter_does_not_make_a_session_wander() {
    let mut session = session();
    // Two relays that take turns at being a little quicker.
    let events = run(&mut session, at(0), at(600), |now, route| {
        let turn = now.as_nanos() / 1_000_000_000 % 14;
        Some(match route {
            Route::Direct => ms(180),
            Route::Via(NEAR) => ms(90 + u32::try_from(turn).unwrap() / 2),
            Route::Via(_) => ms(97 - u32::try_from(turn).unwrap() / 2),
        })
    });
    assert!(switches(&events).len() <= 2, "{events:?}");
}

#[test]
fn a_reported_lag_falls_to_the_backup_and_vetoes_the_relay() {
    let mut session = session();
    run(&mut session, at(0), at(30), figure_1);
    session.report_lag(at(30));
    assert_eq!(session.active(), Route::Via(NEXT));
    session.handle_candidates(at(31), [NEAR]);
    let events = run(&mut session, at(31), at(200), figure_1);
    assert!(events.contains(&Event::Vetoed {
        relay: NEAR,
        until: at(330)
    }));
    assert_eq!(session.active(), Route::Via(NEXT), "the veto holds");
    session.handle_candidates(at(331), [NEAR]);
    run(&mut session, at(331), at(400), figure_1);
    assert_eq!(session.active(), Route::Via(NEAR), "and ends");
}

#[test]
fn a_path_that_becomes_slow_is_left_without_being_told() {
    let mut session = session();
    run(&mut session, at(0), at(60), figure_1);
    assert_eq!(session.active(), Route::Via(NEAR));
    let slow = |now: Moment, route| match route {
        Route::Via(NEAR) => Some(ms(300)),
        _ => figure_1(now, route),
    };
    let events = run(&mut session, at(60), at(75), slow);
    assert_eq!(session.active(), Route::Via(NEXT));
    let left = events.iter().find_map(|event| match event {
        Event::Switched { at, .. } => Some(*at),
        Event::Vetoed { .. } => None,
    });
    assert!(left.unwrap() <= at(65), "{events:?}");
}

#[test]
fn a_relay_that_vanishes_is_left_after_three_losses() {
    let mut session = session();
    run(&mut session, at(0), at(60), figure_1);
    let dead = |now: Moment, route| match route {
        Route::Via(NEAR) => None,
        _ => figure_1(now, route),
    };
    let events = run(&mut session, at(60), at(70), dead);
    let (to, _) = switches(&events)[0];
    assert_eq!(to, Route::Via(NEXT));
}

#[test]
fn a_relay_that_says_goodbye_is_left_at_once() {
    let mut session = session();
    run(&mut session, at(0), at(30), figure_1);
    session.handle_relay_failed(at(30), NEAR);
    assert_eq!(session.active(), Route::Via(NEXT));
    session.handle_relay_failed(at(30), NEXT);
    assert_eq!(session.active(), Route::Direct);
    let events = run(&mut session, at(30), at(31), figure_1);
    let reasons: Vec<Reason> = switches(&events)
        .iter()
        .map(|(_, reason)| *reason)
        .collect();
    assert_eq!(reasons, [Reason::RelayFailed; 2]);
}

#[test]
fn a_direct_path_that_recovers_is_taken_back() {
    let mut session = session();
    run(&mut session, at(0), at(30), figure_1);
    let recovered = |_: Moment, route| {
        Some(match route {
            Route::Direct => ms(93),
            Route::Via(NEAR) => ms(90),
            Route::Via(_) => ms(110),
        })
    };
    let events = run(&mut session, at(30), at(90), recovered);
    assert_eq!(session.active(), Route::Direct);
    assert_eq!(switches(&events), [(Route::Direct, Reason::DirectIsGood)]);
}

#[test]
fn a_round_trip_of_no_time_makes_no_path_quick() {
    let mut session = session();
    run(&mut session, at(0), at(60), |now, route| match route {
        Route::Via(NEAR) => Some(ms(0)),
        _ => figure_1(now, route),
    });
    assert_eq!(session.active(), Route::Via(NEXT));
}

#[test]
fn a_lag_of_the_direct_path_without_detours_changes_nothing() {
    let mut session = PathSession::new(PathConfig::default(), Moment::EPOCH);
    session.report_lag(at(1));
    assert_eq!(session.active(), Route::Direct);
    let events = run(&mut session, at(1), at(5), figure_1);
    assert_eq!(events, []);
}

#[test]
fn a_relay_that_slows_down_a_little_is_kept_where_nothing_is_better() {
    let mut session = PathSession::new(PathConfig::default(), at(0));
    session.handle_candidates(at(0), [NEAR]);
    let slower = |now: Moment, route| match route {
        Route::Direct => Some(ms(200)),
        Route::Via(_) => Some(if now < at(60) { ms(45) } else { ms(60) }),
    };
    let events = run(&mut session, at(0), at(120), slower);
    assert_eq!(session.active(), Route::Via(NEAR), "{events:?}");
    assert_eq!(switches(&events).len(), 1);
}

#[test]
fn an_outage_of_ones_own_line_vetoes_nobody() {
    let mut session = session();
    run(&mut session, at(0), at(60), figure_1);
    let events = run(&mut session, at(60), at(90), |_, _| None);
    assert_eq!(events, []);
    let events = run(&mut session, at(90), at(140), figure_1);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Vetoed { .. })),
        "{events:?}"
    );
    assert_eq!(session.active(), Route::Via(NEAR));
}

#[test]
fn silence_moves_at_once_and_the_old_path_has_to_prove_itself_anew() {
    let mut session = session();
    run(&mut session, at(0), at(60), figure_1);
    session.fail_over(at(60), Route::Via(NEXT));
    assert_eq!(session.active(), Route::Via(NEXT));
    let dead = |now: Moment, route| match route {
        Route::Via(NEAR) => None,
        _ => figure_1(now, route),
    };
    run(&mut session, at(60), at(90), dead);
    assert_eq!(session.active(), Route::Via(NEXT));
    run(&mut session, at(90), at(200), figure_1);
    assert_eq!(session.active(), Route::Via(NEAR), "and may");
}

#[test]
fn late_packets_move_the_session_only_to_what_is_not_slower() {
    let mut session = session();
    run(&mut session, at(0), at(60), figure_1);
    assert!(!session.handle_late(at(60), ms(15)), "NEXT is 20 ms slower");
    assert!(session.handle_late(at(60), ms(25)));
    assert_eq!(session.active(), Route::Via(NEXT));
}

#[test]
fn a_session_without_a_direct_path_stays_on_its_only_one() {
    let mut session = PathSession::on(Route::Via(NEAR), PathConfig::default(), at(0));
    session.report_lag(at(1));
    assert_eq!(session.active(), Route::Via(NEAR));
    session.handle_direct(at(2));
    run(&mut session, at(2), at(30), |_, route| {
        Some(if route == Route::Direct {
            ms(40)
        } else {
            ms(90)
        })
    });
    assert_eq!(session.active(), Route::Direct);
}

#[test]
fn two_lost_probes_are_no_reason_to_take_a_slower_path() {
    let mut session = PathSession::new(PathConfig::default(), at(0));
    session.handle_candidates(at(0), [NEAR]);
    let events = run(&mut session, at(0), at(120), |now, route| match route {
        Route::Direct if now == at(40) || now == at(43) => None,
        Route::Direct => Some(ms(50)),
        Route::Via(_) => Some(ms(62)),
    });
    assert_eq!(events, []);
}

#[test]
fn a_game_that_is_too_fast_for_relays_stays_direct_until_it_is_not() {
    let mut session = session();
    run(&mut session, at(0), at(30), figure_1);
    assert!(session.handle_pace(at(30), true));
    assert_eq!(session.active(), Route::Direct);
    let events = run(&mut session, at(30), at(60), figure_1);
    assert_eq!(switches(&events), [(Route::Direct, Reason::TooFast)]);
    assert!(
        session.vetoed(at(60)).next().is_none(),
        "no relay is to blame"
    );
    assert!(session.handle_pace(at(60), false));
    let events = run(&mut session, at(60), at(70), figure_1);
    let back = (Route::Via(NEAR), Reason::QuickerDetour);
    assert_eq!(switches(&events), [back]);
}

/// As [`run`], but an answer takes the time it takes, and silence is noticed after two seconds.
fn run_in_time(
    session: &mut PathSession,
    until: Moment,
    rtt: impl Fn(Moment, Route) -> Option<Rtt>,
) -> Vec<Event> {
    let mut events = Vec::new();
    let mut answers: Vec<(Moment, Route, Option<Rtt>)> = Vec::new();
    let mut now = at(0);
    while now < until {
        let next = match session.poll_output(now) {
            Output::Measure(route) => {
                let rtt = rtt(now, route).filter(|rtt| rtt.as_duration() < Duration::from_secs(2));
                let takes = rtt.map_or(Duration::from_secs(2), Rtt::as_duration);
                answers.push((now + takes, route, rtt));
                continue;
            }
            Output::Event(event) => {
                events.push(event);
                continue;
            }
            Output::Wait(next) => next,
        };
        answers.sort();
        match answers.first().is_some_and(|(when, ..)| *when <= next) {
            true => {
                let (when, route, rtt) = answers.remove(0);
                now = when;
                session.handle_rtt(now, route, rtt);
            }
            false => now = next,
        }
    }
    events
}

#[test]
fn a_direct_path_that_never_answers_is_left_even_for_a_detour_that_is_known_late() {
    // The candidates answer for the first time long after the third loss of the direct path.
    let mut session = session();
    let late = |now: Moment, route| match route {
        Route::Direct => None,
        Route::Via(_) if now < at(20) => None,
        Route::Via(_) => figure_1(now, route),
    };
    let events = run_in_time(&mut session, at(30), late);
    let to_near = (Route::Via(NEAR), Reason::Silent);
    assert_eq!(switches(&events), [to_near]);
    assert!(session.vetoed(at(30)).next().is_none());
}

#[test]
fn a_slow_direct_path_is_left_however_slow_it_is() {
    for slow in [400, 900, 920, 1200, 1900, 2500] {
        let mut session = session();
        run_in_time(&mut session, at(12), |now, route| match route {
            Route::Direct => Some(ms(slow)),
            Route::Via(_) => figure_1(now, route),
        });
        assert_eq!(session.active(), Route::Via(NEAR), "{slow} ms directly");
    }
}

#[test]
fn a_detour_that_is_slow_is_better_than_a_direct_path_that_is_silent() {
    let mut session = session();
    let events = run_in_time(&mut session, at(120), |now, route| match route {
        Route::Direct if now > at(0) => None,
        Route::Direct => Some(ms(100)),
        Route::Via(NEAR) => Some(ms(1500)),
        Route::Via(_) => Some(ms(1700)),
    });
    assert_eq!(session.active(), Route::Via(NEAR), "{events:?}");
    assert_eq!(switches(&events).len(), 1, "{events:?}");
}
