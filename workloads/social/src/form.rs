//! Multipart bodies of forms.

use barograph_social::{FileKind, FileMaker};

/// The line between the parts. It is longer than any line of the texts, and random bytes do not have it.
const BOUNDARY: &str = "----barograph-social-6f1c2f6f0a3c4b5d";

/// The media type of the bodies.
pub(crate) fn media_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// Writes a form with its texts, and with files made by a number.
pub(crate) fn write(
    fields: &[(&str, &str)],
    (kinds, maker, number): (&[FileKind], &FileMaker, u64),
    out: &mut Vec<u8>,
) {
    for (name, value) in fields {
        let head =
            format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        out.extend_from_slice(head.as_bytes());
    }
    let mut file = Vec::new();
    for kind in kinds {
        let (name, media_type) = (kind.field(), kind.media_type());
        let head = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"{name}{}\"\r\ncontent-type: {media_type}\r\n\r\n",
            kind.suffix()
        );
        out.extend_from_slice(head.as_bytes());
        maker.make(*kind, number, &mut file);
        out.extend_from_slice(&file);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
}
