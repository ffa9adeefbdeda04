/// How a server is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerType {
    /// `d`: a dedicated server.
    Dedicated,
    /// `l`: a player's own game.
    Listen,
    /// `p`: a spectator relay.
    Proxy,
    /// A byte that no document names.
    Other(u8),
}

/// What a server runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Environment {
    /// `l`.
    Linux,
    /// `w`.
    Windows,
    /// `m`, or `o` in older games.
    Mac,
    /// A byte that no document names.
    Other(u8),
}

impl ServerType {
    /// The type a byte stands for; GoldSource writes capitals.
    pub const fn from_byte(byte: u8) -> Self {
        match byte {
            b'd' | b'D' => Self::Dedicated,
            b'l' | b'L' => Self::Listen,
            b'p' | b'P' => Self::Proxy,
            other => Self::Other(other),
        }
    }

    /// The byte that stands for this type.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Dedicated => b'd',
            Self::Listen => b'l',
            Self::Proxy => b'p',
            Self::Other(byte) => byte,
        }
    }
}

impl Environment {
    /// The environment a byte stands for; GoldSource writes capitals.
    pub const fn from_byte(byte: u8) -> Self {
        match byte {
            b'l' | b'L' => Self::Linux,
            b'w' | b'W' => Self::Windows,
            b'm' | b'M' | b'o' | b'O' => Self::Mac,
            other => Self::Other(other),
        }
    }

    /// The byte that stands for this environment.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Linux => b'l',
            Self::Windows => b'w',
            Self::Mac => b'm',
            Self::Other(byte) => byte,
        }
    }
}
