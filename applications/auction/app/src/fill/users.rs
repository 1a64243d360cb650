//! Rows of users: the numbered ones, and the few extra accounts.

use super::CREDIT_CENTS;
use crate::auth;
use barograph_auction_rules::UNSOLD;
use barograph_auction_store::UserRow;
use barograph_data::{Streams, names};
use rand::Rng;
use std::ops::Range;

fn password(streams: Streams, id: u64) -> String {
    let mut salt = [0; 16];
    streams.stream("salt", id).fill_bytes(&mut salt);
    auth::hash(auth::PASSWORD, salt)
}

/// The users with these ids, each with its own salt.
pub(super) fn numbered(streams: Streams, ids: Range<u64>) -> Vec<UserRow> {
    let user = |id: u64| {
        let draw = streams.stream("user", id).next_u64();
        UserRow {
            id: id as i64,
            name: names::user_name(u32::try_from(id).expect("user ids are five times a u32 below 200,000")),
            password: password(streams, id),
            first_name: names::first_name(draw).into(),
            last_name: names::last_name(draw >> 8).into(),
            credit_cents: CREDIT_CENTS,
            enabled: true,
        }
    };
    ids.map(user).collect()
}

/// Unsold, guest and admin. Guest and admin have the ids after the last numbered user.
pub(super) fn extra(streams: Streams, users: u64) -> Vec<UserRow> {
    let account = |id: i64, name: &str, enabled| UserRow {
        id,
        name: format!("{name}@auction.example"),
        password: password(streams, id as u64),
        first_name: "Auction".into(),
        last_name: "House".into(),
        credit_cents: CREDIT_CENTS,
        enabled,
    };
    let after = users as i64 + 1;
    vec![account(UNSOLD.0, "unsold", false), account(after, "guest", true), account(after + 1, "admin", true)]
}
