//! Full heartbeat cycles: heartbeat, challenge, answer.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use nearside_net::Stop;
use nearside_types::{Moment, quantile};

use super::echo::Echo;
use super::process::Measured;
use super::{Counted, Traffic};
use crate::fleet::Fleet;

/// Datagrams of a cycle: in, out, in.
const PER_CYCLE: f64 = 3.0;

/// Cycles against the echo.
pub(super) fn of_echo(stop: &Stop, cycles: u32) -> Result<Counted> {
    let echo = Measured::echo(Echo::Cycles)?;
    of(&mut Fleet::open()?, &echo, stop, 100_000, cycles)
}

/// Cycles of a master's servers, in turn. The first of each registers it; later on one server in ten
/// has other players than in the round before.
pub(super) fn of(
    fleet: &mut Fleet,
    measured: &Measured,
    stop: &Stop,
    servers: u32,
    cycles: u32,
) -> Result<Counted> {
    let before = measured.cpu_s()?;
    let run = run(fleet, measured.addr, stop, servers, cycles)?;
    // The last answers are on their way, and the store has its group to write.
    std::thread::sleep(Duration::from_millis(700));
    let cycles = f64::from(cycles);
    let traffic = Traffic {
        datagrams: PER_CYCLE * cycles,
        cpu_s: measured.cpu_s()? - before,
        ..run
    };
    Ok((cycles, traffic))
}

/// Cycles that are under way at a time.
const WINDOW: u32 = 256;

/// Runs cycles of all servers in turn, as fast as they are answered.
fn run(
    fleet: &mut Fleet,
    master: SocketAddr,
    stop: &Stop,
    servers: u32,
    cycles: u32,
) -> Result<Traffic> {
    let mut sent_at = vec![Moment::EPOCH; servers as usize];
    let mut latencies = Vec::with_capacity(cycles as usize);
    let (mut sent, mut done, mut lost) = (0_u32, 0_u32, 0_u32);
    let began = Instant::now();
    while done < cycles && !stop.is_stopped() {
        let now = fleet.clock().now();
        while sent - done - lost < WINDOW && sent < cycles + lost {
            let number = sent % servers;
            if number == 0 {
                fleet.next_round();
            }
            sent_at[number as usize] = now;
            fleet.heartbeat(number, master);
            sent += 1;
        }
        fleet.flush();
        let until = fleet.clock().now() + Duration::from_millis(500);
        let clock = *fleet.clock();
        let answered = fleet.answer(until, stop, |number, _| {
            let passed = clock.now() - sent_at[number as usize];
            latencies.push(passed.as_secs_f64() * 1e3);
        })?;
        done += answered as u32;
        // What came may be no challenge; only silence means that some got lost.
        if answered == 0 && clock.now() >= until {
            lost = sent - done;
        }
        if lost > cycles / 100 + WINDOW {
            bail!("{lost} of {sent} heartbeats were not answered");
        }
    }
    latencies.sort_unstable_by(f64::total_cmp);
    Ok(Traffic {
        wall_s: began.elapsed().as_secs_f64(),
        p50_ms: quantile(&latencies, 0.5).unwrap_or_default(),
        p99_ms: quantile(&latencies, 0.99).unwrap_or_default(),
        ..Traffic::default()
    })
}
