//! Datagrams that leave together. What a loop answers to one batch goes out in as few system calls
//! as the system offers: runs of equal size to one address as one segmented send (UDP_SEGMENT,
//! udp(7)), single ones by `sendmmsg(2)`.

use std::net::{IpAddr, SocketAddr};

/// Datagrams that wait to be sent from one port.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    waiting: Vec<Waiting>,
}

/// One datagram; its bytes end at `end` and begin where those before it end.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    to: SocketAddr,
    src_ip: Option<IpAddr>,
    end: usize,
}

/// Datagrams to one address from one address, all of one size but for a shorter last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run<'a> {
    pub(crate) to: SocketAddr,
    pub(crate) src_ip: Option<IpAddr>,
    pub(crate) bytes: &'a [u8],
    pub(crate) count: usize,
    /// The size of all but the last.
    pub(crate) stride: usize,
}

impl Outbox {
    /// Adds a datagram, to be sent from `src_ip` if given.
    pub fn push(&mut self, to: SocketAddr, payload: &[u8], src_ip: Option<IpAddr>) {
        self.bytes.extend_from_slice(payload);
        let end = self.bytes.len();
        self.waiting.push(Waiting { to, src_ip, end });
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The datagram, if it is the only one and may leave from any address.
    pub(crate) fn only(&self) -> Option<(SocketAddr, &[u8])> {
        match self.waiting.as_slice() {
            [one] if one.src_ip.is_none() => Some((one.to, &self.bytes)),
            _ => None,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.waiting.clear();
    }

    /// The datagrams in runs of at most `longest`, in order.
    pub(crate) fn runs(&self, longest: usize) -> impl Iterator<Item = Run<'_>> {
        let (mut next, mut start) = (0, 0);
        std::iter::from_fn(move || {
            let run = self.run(next, start, longest)?;
            next += run.count;
            start += run.bytes.len();
            Some(run)
        })
    }

    fn run(&self, next: usize, start: usize, longest: usize) -> Option<Run<'_>> {
        let first = self.waiting.get(next)?;
        let stride = first.end - start;
        let (mut count, mut end) = (1, first.end);
        for datagram in &self.waiting[next + 1..] {
            let length = datagram.end - end;
            let same_way = datagram.to == first.to && datagram.src_ip == first.src_ip;
            let fits = count < longest && datagram.end - start <= MOST_SEGMENTED;
            if !same_way || !fits || length > stride || length == 0 {
                break;
            }
            (count, end) = (count + 1, datagram.end);
            if length < stride {
                break;
            }
        }
        Some(Run {
            to: first.to,
            src_ip: first.src_ip,
            bytes: &self.bytes[start..end],
            count,
            stride,
        })
    }
}

/// A segmented send is one datagram to the kernel, with room for its headers.
const MOST_SEGMENTED: usize = 65_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox(datagrams: &[(u16, usize)]) -> Outbox {
        let mut outbox = Outbox::default();
        for (port, length) in datagrams {
            let to = SocketAddr::from(([127, 0, 0, 1], *port));
            outbox.push(to, &vec![*port as u8; *length], None);
        }
        outbox
    }

    fn shapes(outbox: &Outbox, longest: usize) -> Vec<(u16, usize, usize)> {
        let runs = outbox.runs(longest);
        runs.map(|run| (run.to.port(), run.count, run.bytes.len()))
            .collect()
    }

    #[test]
    fn equal_sizes_to_one_address_go_together_and_a_shorter_one_ends_the_run() {
        let outbox = outbox(&[(1, 10), (1, 10), (1, 4), (1, 10), (2, 10), (2, 12)]);
        let expected = [(1, 3, 24), (1, 1, 10), (2, 1, 10), (2, 1, 12)];
        assert_eq!(shapes(&outbox, 64), expected);
        let alone = [
            (1, 1, 10),
            (1, 1, 10),
            (1, 1, 4),
            (1, 1, 10),
            (2, 1, 10),
            (2, 1, 12),
        ];
        assert_eq!(shapes(&outbox, 1), alone);
    }

    #[test]
    fn no_run_is_longer_than_a_datagram_may_be() {
        let outbox = outbox(&[(1, 1400); 100]);
        let runs = shapes(&outbox, 64);
        assert!(runs.iter().all(|(_, _, bytes)| *bytes <= MOST_SEGMENTED));
        assert_eq!(runs.iter().map(|(_, count, _)| count).sum::<usize>(), 100);
    }
}
