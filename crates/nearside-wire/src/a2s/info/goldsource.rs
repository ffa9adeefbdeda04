use crate::cursor::{Cursor, put_text};
use crate::{DecodeError, GameText};

/// The fields of the GoldSource reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GoldSourceInfo {
    /// The server's own idea of its address.
    pub address: GameText,
    /// The modification being played, if it is not the plain game.
    pub modification: Option<Modification>,
}

/// A Half-Life modification, as a GoldSource server describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Modification {
    /// The mod's home page.
    pub link: GameText,
    /// Where to download it.
    pub download: GameText,
    /// The mod's version.
    pub version: i32,
    /// Its size in bytes.
    pub size: i32,
    /// Whether it is for multiplayer only.
    pub multiplayer_only: bool,
    /// Whether it has a game library of its own instead of Half-Life's.
    pub own_library: bool,
}

impl Modification {
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let link = cursor.text("mod link")?;
        let download = cursor.text("mod download link")?;
        cursor.u8("mod separator")?;
        Ok(Self {
            link,
            download,
            version: cursor.i32_le("mod version")?,
            size: cursor.i32_le("mod size")?,
            multiplayer_only: cursor.u8("mod type")? != 0,
            own_library: cursor.u8("mod library")? != 0,
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        put_text(out, &self.link);
        put_text(out, &self.download);
        out.push(0);
        out.extend(self.version.to_le_bytes());
        out.extend(self.size.to_le_bytes());
        out.extend([u8::from(self.multiplayer_only), u8::from(self.own_library)]);
    }
}
