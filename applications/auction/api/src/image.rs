//! Images of items.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ImageId;

/// One image of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageLink {
    /// Names the image.
    pub id: ImageId,
    /// Path to the image; add `?size=` with one of `sizes`. The same picture without a token, for a browser, is at
    /// `/auction/image/{id}/{size}`.
    pub href: String,
    /// The sizes this image exists in.
    pub sizes: Vec<ImageSize>,
}

/// How large a copy of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ImageSize {
    /// Fits in 100 x 100.
    Thumbnail,
    /// Fits in 350 x 350.
    Preview,
    /// As taken.
    Full,
}

impl ImageSize {
    /// All sizes, smallest first.
    pub const ALL: [ImageSize; 3] = [ImageSize::Thumbnail, ImageSize::Preview, ImageSize::Full];

    /// The name on the wire and in the image store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ImageSize::Thumbnail => "thumbnail",
            ImageSize::Preview => "preview",
            ImageSize::Full => "full",
        }
    }
}

/// Query of an image resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageQuery {
    /// Which size.
    pub size: ImageSize,
}

/// Answer to `POST /item/{id}/image` (202): the image waits to be written, and can be asked for already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageAccepted {
    /// Names the image.
    pub id: ImageId,
    /// As [`ImageLink::href`]. It exists in full size.
    pub href: String,
}
