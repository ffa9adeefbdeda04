use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{BoxedCryptoResolver, CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use zeroize::Zeroizing;

/// The only source of chance: keys and nonces of a run come from one seed. A program takes the seed
/// from the operating system, a simulation from its command line.
#[derive(Debug, Clone)]
pub struct Chance {
    random: ChaCha20Rng,
}

impl Chance {
    /// Everything that follows is determined by these bytes; keep them secret where keys matter.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self {
            random: ChaCha20Rng::from_seed(seed),
        }
    }

    /// For simulations and tests.
    pub fn from_number(seed: u64) -> Self {
        Self {
            random: ChaCha20Rng::seed_from_u64(seed),
        }
    }

    /// Fresh bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.random.fill_bytes(&mut bytes);
        // From here on nobody can work out what was drawn before, even with all of our memory: keys of
        // sessions that are over stay secret.
        let mut next = Zeroizing::new([0; 32]);
        self.random.fill_bytes(&mut *next);
        self.random = ChaCha20Rng::from_seed(*next);
        bytes
    }

    /// A fresh number.
    pub fn number(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// The primitives of Noise, with ephemeral keys from here.
    pub(super) fn resolver(&mut self) -> BoxedCryptoResolver {
        Box::new(Seeded(self.bytes()))
    }
}

/// `snow` asks for its source of chance when a handshake is built; the default one would go past us
/// to the operating system.
struct Seeded([u8; 32]);

impl CryptoResolver for Seeded {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Ephemeral(ChaCha20Rng::from_seed(self.0))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

struct Ephemeral(ChaCha20Rng);

impl Random for Ephemeral {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), snow::Error> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}
