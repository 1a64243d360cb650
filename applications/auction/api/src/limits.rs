//! How long texts and how large numbers may be. The document says so, the server holds to it.

use crate::{Cents, Millis};

/// The greatest amount, and the greatest id: what a browser's number holds exactly, 2^53 - 1.
pub const MAX_INTEGER: i64 = 9_007_199_254_740_991;
/// The greatest amount of money, in cents. See [`MAX_INTEGER`].
pub const MAX_CENTS: Cents = MAX_INTEGER;
/// The latest moment, and negated the earliest: what a browser's date holds, 100 million days around 1970.
pub const MAX_MILLIS: Millis = 8_640_000_000_000_000;
/// Characters of a user name, at most: an e-mail address has no more.
pub const MAX_NAME: usize = 254;
/// Characters of a password, at most: hashing takes time by the byte.
pub const MAX_PASSWORD: usize = 128;
/// Characters of a first or last name, at most.
pub const MAX_PERSON: usize = 100;
/// Characters of a manufacturer's name, at most.
pub const MAX_MANUFACTURER: usize = 100;
/// Characters of a short description, at most.
pub const MAX_SHORT: usize = 127;
/// Characters of a long description, at most.
pub const MAX_LONG: usize = 1024;
/// Characters of what is searched for, at most.
pub const MAX_SEARCH: usize = 200;
/// Characters of a category, at most.
pub const MAX_CATEGORY: usize = 40;
/// The last page that may be asked for: beyond what any data set has, and far from where a store's numbers end.
pub const MAX_PAGE: u32 = 10_000_000;
/// Bytes that the body of an upload may have: 16 MB less 2 KB, so that a document store takes the picture as one.
pub const MAX_UPLOAD_BYTES: usize = 16 * 1024 * 1024 - 2 * 1024;
/// Images of one item, at most: every list of items carries the links to all of them.
pub const MAX_IMAGES: usize = 20;
/// What no text may have: a zero character, which not every store keeps.
pub const TEXT_PATTERN: &str = "^[^\\u0000]*$";
