//! Limits of texts and numbers. The document states them, the server enforces them.

use crate::{Cents, Millis};

/// The greatest amount, and the greatest id: 2^53 - 1, the limit of exact integers in browsers.
pub const MAX_INTEGER: i64 = 9_007_199_254_740_991;
/// The greatest amount of money, in cents. See [`MAX_INTEGER`].
pub const MAX_CENTS: Cents = MAX_INTEGER;
/// The latest time, and negated the earliest: the range of dates in browsers, 100 million days around 1970.
pub const MAX_MILLIS: Millis = 8_640_000_000_000_000;
/// Most characters of a user name: the limit of an e-mail address.
pub const MAX_NAME: usize = 254;
/// Most characters of a password: hashing takes time by the byte.
pub const MAX_PASSWORD: usize = 128;
/// Most characters of a first or last name.
pub const MAX_PERSON: usize = 100;
/// Most characters of a manufacturer's name.
pub const MAX_MANUFACTURER: usize = 100;
/// Most characters of a short description.
pub const MAX_SHORT: usize = 127;
/// Most characters of a long description.
pub const MAX_LONG: usize = 1024;
/// Most characters of a search text.
pub const MAX_SEARCH: usize = 200;
/// Most characters of a category.
pub const MAX_CATEGORY: usize = 40;
/// The last page that may be requested: beyond any data set, and far from the limits of a store's numbers.
pub const MAX_PAGE: u32 = 10_000_000;
/// Most bytes of an upload's body: 16 MB less 2 KB, so that a document store takes the picture in one
/// document.
pub const MAX_UPLOAD_BYTES: usize = 16 * 1024 * 1024 - 2 * 1024;
/// Most images of one item: every list of items carries the links to all of them.
pub const MAX_IMAGES: usize = 20;
/// Pattern of all texts: without the zero character, which not every store keeps.
pub const TEXT_PATTERN: &str = "^[^\\u0000]*$";
