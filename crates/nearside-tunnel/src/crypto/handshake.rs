//! Noise IK (revision 34, section 7.5): the initiator knows whom it wants to speak to, and both know
//! each other's key after one round trip. The initiator's number of the connection is part of the
//! prologue, the responder's of the sealed answer: neither can be changed on the way.

use nearside_wire::detour::VERSION;
use snow::{Builder, HandshakeState};
use thiserror::Error;
use zeroize::Zeroizing;

use super::{Chance, Identity, Opener, PublicKey, Sealer};

/// X25519, ChaCha20-Poly1305 and BLAKE2s: the choice of WireGuard.
const PATTERN: &str = "Noise_IK_25519_ChaChaPoly_BLAKE2s";

/// No message of a handshake is longer: keys, seals, and what is said along.
const LONGEST: usize = 1_024;

/// The keys of a finished handshake, one for each direction.
#[derive(Debug)]
pub struct Keys {
    /// Who the other is, proven.
    pub peer: PublicKey,
    /// Seals what we send.
    pub sealer: Sealer,
    /// Opens what we get.
    pub opener: Opener,
}

/// A message that is no part of this handshake, or was changed on the way.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[error("a handshake that cannot be understood")]
pub struct NotUnderstood;

/// A handshake that waits for its answer.
#[derive(Debug)]
pub struct Dialling {
    index: u32,
    peer: PublicKey,
    state: Box<HandshakeState>,
    message: Vec<u8>,
}

impl Dialling {
    /// Begins one; `said` is readable by the peer alone.
    ///
    /// # Errors
    /// If the peer's key is none, or too much is said.
    pub fn new(
        own: &Identity,
        peer: PublicKey,
        index: u32,
        said: &[u8],
        chance: &mut Chance,
    ) -> Result<Self, NotUnderstood> {
        let builder = builder(own, chance)?;
        let prologue = prologue(index);
        let mut state = builder
            .remote_public_key(&peer.0)
            .and_then(|builder| builder.prologue(&prologue))
            .and_then(Builder::build_initiator)
            .map_err(|_| NotUnderstood)?;
        let message = write(&mut state, said)?;
        Ok(Self {
            index,
            peer,
            state: Box::new(state),
            message,
        })
    }

    /// Our number of the connection.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Whom it is for.
    pub fn peer(&self) -> PublicKey {
        self.peer
    }

    /// The first message; it may be sent as often as needed.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// Takes the answer: the keys, and what was said along. A wrong answer leaves the handshake as it
    /// was, since anybody can send one.
    ///
    /// # Errors
    /// If it is not the answer.
    pub fn finish(&mut self, answer: &[u8]) -> Result<(Keys, Vec<u8>), NotUnderstood> {
        let said = read(&mut self.state, answer)?;
        let (number, said) = said.split_first_chunk().ok_or(NotUnderstood)?;
        let keys = keys(&mut self.state, u32::from_be_bytes(*number), self.index)?;
        Ok((keys, said.to_vec()))
    }
}

/// A handshake that was answered.
#[derive(Debug)]
pub struct Accepted {
    /// The keys.
    pub keys: Keys,
    /// What the initiator said along.
    pub said: Vec<u8>,
    /// What to send back.
    pub answer: Vec<u8>,
}

/// Reads a first message and answers it at once. `answer` gives what to say along, or `None` to say
/// nothing at all to this initiator.
///
/// # Errors
/// If the message is no handshake with us, or is not to be answered.
pub fn accept(
    own: &Identity,
    (theirs, ours): (u32, u32),
    message: &[u8],
    chance: &mut Chance,
    answer: impl FnOnce(PublicKey, &[u8]) -> Option<Vec<u8>>,
) -> Result<Accepted, NotUnderstood> {
    let prologue = prologue(theirs);
    let builder = builder(own, chance)?;
    let mut state = builder
        .prologue(&prologue)
        .and_then(Builder::build_responder)
        .map_err(|_| NotUnderstood)?;
    let said = read(&mut state, message)?;
    let peer = remote(&state)?;
    let reply = answer(peer, &said).ok_or(NotUnderstood)?;
    let reply = [ours.to_be_bytes().as_slice(), &reply].concat();
    let answer = write(&mut state, &reply)?;
    let keys = keys(&mut state, theirs, ours)?;
    Ok(Accepted { keys, said, answer })
}

fn builder<'a>(own: &'a Identity, chance: &mut Chance) -> Result<Builder<'a>, NotUnderstood> {
    let pattern = PATTERN.parse().expect("a pattern of the specification");
    Builder::with_resolver(pattern, chance.resolver())
        .local_private_key(own.secret())
        .map_err(|_| NotUnderstood)
}

fn prologue(index: u32) -> [u8; 5] {
    let [a, b, c, d] = index.to_be_bytes();
    [VERSION, a, b, c, d]
}

fn write(state: &mut HandshakeState, said: &[u8]) -> Result<Vec<u8>, NotUnderstood> {
    let mut message = vec![0; LONGEST];
    let length = state
        .write_message(said, &mut message)
        .map_err(|_| NotUnderstood)?;
    message.truncate(length);
    Ok(message)
}

fn read(state: &mut HandshakeState, message: &[u8]) -> Result<Vec<u8>, NotUnderstood> {
    let mut said = vec![0; LONGEST];
    if message.len() > LONGEST {
        return Err(NotUnderstood);
    }
    let length = state
        .read_message(message, &mut said)
        .map_err(|_| NotUnderstood)?;
    said.truncate(length);
    Ok(said)
}

fn remote(state: &HandshakeState) -> Result<PublicKey, NotUnderstood> {
    let key = state.get_remote_static().ok_or(NotUnderstood)?;
    Ok(PublicKey(key.try_into().map_err(|_| NotUnderstood)?))
}

/// Both keys of the split (section 5.2), sealed by `ring` from here on: it takes a tenth of the time.
fn keys(state: &mut HandshakeState, theirs: u32, ours: u32) -> Result<Keys, NotUnderstood> {
    let (forth, back) = state.dangerously_get_raw_split();
    let (forth, back) = (Zeroizing::new(forth), Zeroizing::new(back));
    let (out, into) = match state.is_initiator() {
        true => (&forth, &back),
        false => (&back, &forth),
    };
    Ok(Keys {
        peer: remote(state)?,
        sealer: Sealer::new(out, theirs),
        opener: Opener::new(into, ours),
    })
}
