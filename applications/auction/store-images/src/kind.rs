//! Kinds of pictures, recognised by their first bytes.

/// A kind of picture accepted by the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PictureKind {
    /// JPEG, the kind of the fill.
    Jpeg,
    /// PNG.
    Png,
    /// WebP.
    Webp,
}

impl PictureKind {
    /// The content type.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            PictureKind::Jpeg => "image/jpeg",
            PictureKind::Png => "image/png",
            PictureKind::Webp => "image/webp",
        }
    }
}

/// The kind of a picture; `None` for any other beginning. Only the beginning is read, so a picture that is
/// broken further on has a kind too.
#[must_use]
pub fn kind(bytes: &[u8]) -> Option<PictureKind> {
    if bytes.starts_with(&[0xFF, 0xD8, 0xFF]) {
        Some(PictureKind::Jpeg)
    } else if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(PictureKind::Png)
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some(PictureKind::Webp)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_tells_the_kind() {
        for (bytes, expected) in [
            (&b"\xFF\xD8\xFF\xE0\x00\x10JFIF"[..], Some("image/jpeg")),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Some("image/png")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x24\0\0\0WAVEfmt ", None),
            (b"RIFF\x24\0\0\0WEB", None),
            (b"\xFF\xD8", None),
            (b"GIF89a", None),
            (b"<svg", None),
            (b"", None),
        ] {
            assert_eq!(kind(bytes).map(PictureKind::content_type), expected, "{bytes:?}");
        }
    }
}
