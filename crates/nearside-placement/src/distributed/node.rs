use std::collections::BTreeMap;
use std::time::Duration;

use nearside_types::Moment;
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{ClientNode, Message, NodeId, Output, ServerNode};

/// What drivers need of a node, whichever it is.
pub trait Node {
    /// Takes a message that has come from another node.
    fn handle_message(&mut self, now: Moment, from: NodeId, message: Message);
    /// The moment that was waited for has come.
    fn handle_timeout(&mut self, now: Moment);
    /// What to do next; to be asked until it is [`Output::Wait`].
    fn poll_output(&mut self, now: Moment) -> Output;
}

impl Node for ClientNode {
    fn handle_message(&mut self, now: Moment, from: NodeId, message: Message) {
        Self::handle_message(self, now, from, message);
    }

    fn handle_timeout(&mut self, now: Moment) {
        Self::handle_timeout(self, now);
    }

    fn poll_output(&mut self, now: Moment) -> Output {
        Self::poll_output(self, now)
    }
}

impl Node for ServerNode {
    fn handle_message(&mut self, now: Moment, from: NodeId, message: Message) {
        Self::handle_message(self, now, from, message);
    }

    fn handle_timeout(&mut self, now: Moment) {
        Self::handle_timeout(self, now);
    }

    fn poll_output(&mut self, now: Moment) -> Output {
        Self::poll_output(self, now)
    }
}

impl Node for Box<dyn Node + Send> {
    fn handle_message(&mut self, now: Moment, from: NodeId, message: Message) {
        (**self).handle_message(now, from, message);
    }

    fn handle_timeout(&mut self, now: Moment) {
        (**self).handle_timeout(now);
    }

    fn poll_output(&mut self, now: Moment) -> Output {
        (**self).poll_output(now)
    }
}

/// How rough the ways from a node are.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Roughness {
    /// Share of messages that are lost, 0 to 1.
    pub loss: f64,
    /// Share of messages that are sent twice, 0 to 1.
    pub duplicates: f64,
    /// The longest that a message may be late, which reorders messages.
    pub jitter: Duration,
}

/// A node whose messages are lost, doubled and late: real networks on a bad day. What is done to a
/// message depends on the seed and on how many were sent before it, never on the driver.
#[derive(Debug)]
pub struct Rough<N> {
    node: N,
    roughness: Roughness,
    rng: ChaCha8Rng,
    /// Messages on their way, by the moment they are sent and by number.
    late: BTreeMap<(Moment, u64), Output>,
    copies: u64,
}

impl<N> Rough<N> {
    /// Shares beyond 0 and 1 are taken for these.
    pub fn new(node: N, roughness: Roughness, seed: u64) -> Self {
        Self {
            node,
            roughness: Roughness {
                loss: roughness.loss.clamp(0.0, 1.0),
                duplicates: roughness.duplicates.clamp(0.0, 1.0),
                ..roughness
            },
            rng: ChaCha8Rng::seed_from_u64(seed),
            late: BTreeMap::new(),
            copies: 0,
        }
    }

    /// Lays a message aside until it is to be sent: not at all, once or twice.
    fn hold(&mut self, now: Moment, message: &Output) {
        if self.rng.random_bool(self.roughness.loss) {
            return;
        }
        let copies = 1 + u64::from(self.rng.random_bool(self.roughness.duplicates));
        for _ in 0..copies {
            let late = self.roughness.jitter.mul_f64(self.rng.random());
            self.copies += 1;
            self.late.insert((now + late, self.copies), message.clone());
        }
    }

    fn due(&mut self, now: Moment) -> Option<Output> {
        let first = self.late.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

impl<N: Node> Node for Rough<N> {
    fn handle_message(&mut self, now: Moment, from: NodeId, message: Message) {
        self.node.handle_message(now, from, message);
    }

    fn handle_timeout(&mut self, now: Moment) {
        self.node.handle_timeout(now);
    }

    fn poll_output(&mut self, now: Moment) -> Output {
        loop {
            if let Some(message) = self.due(now) {
                return message;
            }
            match self.node.poll_output(now) {
                message @ Output::Send { .. } => self.hold(now, &message),
                Output::Wait(until) => {
                    let next = self.late.first_key_value().map(|((at, _), _)| *at);
                    return Output::Wait(next.map_or(until, |next| next.min(until)));
                }
                event @ Output::Event(_) => return event,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::{Body, Epoch};
    use super::*;

    /// Says 1,000 things at once, then nothing.
    struct Talker(u32);

    impl Node for Talker {
        fn handle_message(&mut self, _: Moment, _: NodeId, _: Message) {}

        fn handle_timeout(&mut self, _: Moment) {}

        fn poll_output(&mut self, now: Moment) -> Output {
            if self.0 == 1_000 {
                return Output::Wait(now + Duration::from_secs(9));
            }
            self.0 += 1;
            let epoch = Epoch {
                number: self.0,
                initiator: 0,
            };
            Output::Send {
                to: NodeId::Server(0),
                message: Message {
                    epoch,
                    body: Body::Census,
                },
            }
        }
    }

    /// What comes out, with the moments it comes at.
    fn sent(roughness: Roughness, seed: u64) -> Vec<(Moment, u32)> {
        let mut node = Rough::new(Talker(0), roughness, seed);
        let (mut now, mut sent) = (Moment::EPOCH, Vec::new());
        while now < Moment::EPOCH + Duration::from_secs(9) {
            match node.poll_output(now) {
                Output::Send { message, .. } => sent.push((now, message.epoch.number)),
                Output::Wait(until) => now = until,
                Output::Event(_) => {}
            }
        }
        sent
    }

    #[test]
    fn a_smooth_way_changes_nothing() {
        let numbers: Vec<u32> = sent(Roughness::default(), 1)
            .iter()
            .map(|(_, n)| *n)
            .collect();
        assert_eq!(numbers, (1..=1_000).collect::<Vec<u32>>());
    }

    #[test]
    fn messages_are_lost_doubled_and_late_by_seed() {
        let rough = Roughness {
            loss: 0.2,
            duplicates: 0.3,
            jitter: Duration::from_millis(40),
        };
        let messages = sent(rough, 1);
        assert_eq!(messages, sent(rough, 1));
        assert_ne!(messages, sent(rough, 2));
        // 800 of 1,000 survive, and 240 of them come twice.
        assert!((980..1_100).contains(&messages.len()), "{}", messages.len());
        assert!(messages.windows(2).any(|pair| pair[0].1 > pair[1].1));
        assert!(
            messages
                .iter()
                .all(|(at, _)| *at < Moment::EPOCH + Duration::from_millis(40))
        );
    }
}
