//! Ids, one type for each kind, so that a user cannot be mistaken for an item.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An amount of money in whole cents.
pub type Cents = i64;

/// Milliseconds since 1970 on the application's clock.
pub type Millis = i64;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
        )]
        #[serde(transparent)]
        pub struct $name(
            /// The number on the wire and in the stores; at least 1.
            #[serde(deserialize_with = "crate::whole::required")]
            pub i64,
        );

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// Names a user of the application.
    UserId
);
id!(
    /// Names an auction.
    AuctionId
);
id!(
    /// Names an item.
    ItemId
);
id!(
    /// Names an image.
    ImageId
);
