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

/// A node some of whose messages are never sent: real networks with a bad day.
#[derive(Debug)]
pub struct Lossy<N> {
    node: N,
    loss: f64,
    rng: ChaCha8Rng,
}

impl<N> Lossy<N> {
    /// Loses this share of messages, between 0 and 1.
    pub fn new(node: N, loss: f64, seed: u64) -> Self {
        Self {
            node,
            loss: loss.clamp(0.0, 1.0),
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }
}

impl<N: Node> Node for Lossy<N> {
    fn handle_message(&mut self, now: Moment, from: NodeId, message: Message) {
        self.node.handle_message(now, from, message);
    }

    fn handle_timeout(&mut self, now: Moment) {
        self.node.handle_timeout(now);
    }

    fn poll_output(&mut self, now: Moment) -> Output {
        loop {
            let output = self.node.poll_output(now);
            let is_message = matches!(output, Output::Send { .. });
            if !(is_message && self.rng.random_bool(self.loss)) {
                return output;
            }
        }
    }
}
