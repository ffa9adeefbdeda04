//! The driver of a close look at one server.

use std::net::SocketAddr;

use nearside_discover::inspect::{Findings, InspectConfig, InspectOutput, Inspection};
use nearside_discover::prober::MAX_TRIES;

use crate::buffers::RecvBuffers;
use crate::clock::MonotonicClock;
use crate::error::NetError;
use crate::poll::{Stop, sharpen_timers, wait};
use crate::udp::{PortConfig, UdpPort};

/// Asks one server everything `config` wants to know; ends early, with what was found, on `stop`
/// or when the network says that nothing listens there. `progress` is told after every step.
pub fn inspect(
    server: SocketAddr,
    config: InspectConfig,
    clock: &MonotonicClock,
    stop: &Stop,
    mut progress: impl FnMut(&Findings),
) -> Result<Findings, NetError> {
    sharpen_timers();
    let port_config = if server.is_ipv6() {
        PortConfig::ephemeral_v6()
    } else {
        PortConfig::ephemeral_v4()
    };
    let mut ports = (0..MAX_TRIES)
        .map(|_| UdpPort::bind(port_config, clock))
        .collect::<Result<Vec<_>, _>>()?;
    let mut buffers = RecvBuffers::new();
    let mut inspection = Inspection::new(config);
    let mut unreachable = false;
    loop {
        match inspection.poll_output(clock.now()) {
            InspectOutput::Done => break,
            InspectOutput::Transmit { port, payload } => {
                ports[port].send(server, &payload, None)?;
            }
            InspectOutput::Wait(until) => {
                let ready = wait(&ports, stop, Some(until), clock)?;
                if ready.stopped {
                    inspection.interrupt();
                    break;
                }
                for index in ready.ports {
                    let port = &mut ports[index];
                    port.drain_errors(|error| unreachable |= error.to == server)?;
                    let deliver = |datagram: crate::Datagram<'_>| {
                        if datagram.from == server {
                            let received = datagram.received.moment();
                            inspection.handle_datagram(index, received, datagram.payload);
                        }
                    };
                    receive_all(port, &mut buffers, clock, deliver)?;
                }
                progress(inspection.findings());
            }
        }
        if unreachable && !inspection.findings().is_alive() {
            break;
        }
    }
    Ok(inspection.findings().clone())
}

fn receive_all(
    port: &mut UdpPort,
    buffers: &mut RecvBuffers,
    clock: &MonotonicClock,
    mut deliver: impl FnMut(crate::Datagram<'_>),
) -> Result<(), NetError> {
    while port.recv_batch(buffers, clock, &mut deliver)? > 0 {}
    Ok(())
}
