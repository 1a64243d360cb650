//! Forms of new people and events: texts and files of a multipart body.

use axum::extract::Multipart;
use axum::extract::multipart::MultipartError;
use bytes::Bytes;

use crate::files::FileKind;

/// Files of a form, with their kinds.
pub(crate) type FormFiles = Vec<(FileKind, Bytes)>;

/// A form that cannot be used.
#[derive(Debug)]
pub(crate) enum FormError {
    /// The body is no form, or too large.
    Body(MultipartError),
    /// A field or a file is missing.
    Missing(&'static str),
}

impl From<MultipartError> for FormError {
    fn from(why: MultipartError) -> Self {
        FormError::Body(why)
    }
}

/// Reads a form: `set` takes each text with the name of its field. All files of the kinds must be there.
pub(crate) async fn read(
    mut body: Multipart,
    kinds: &[FileKind],
    mut set: impl FnMut(&str, String),
) -> Result<FormFiles, FormError> {
    let mut files = FormFiles::new();
    while let Some(field) = body.next_field().await? {
        let Some(name) = field.name().map(str::to_owned) else { continue };
        match kinds.iter().find(|kind| kind.field() == name) {
            Some(kind) => files.push((*kind, field.bytes().await?)),
            None => set(&name, field.text().await?),
        }
    }
    let missing =
        kinds.iter().find(|kind| !files.iter().any(|(known, bytes)| known == *kind && !bytes.is_empty()));
    match missing {
        Some(kind) => Err(FormError::Missing(kind.field())),
        None => Ok(files),
    }
}
