//! The tables of the embedded stores: one SQLite file for relational data, one for events.
//!
//! Money is whole cents, time is milliseconds since 1970 on the application's clock, which starts at
//! [`CLOCK_START_MS`] whenever the application starts, so that a filled data set is the same on every day.

/// Where the application's clock stands when it starts, and the "present" of a fill: 2030-02-02T12:00:00Z.
pub(crate) const CLOCK_START_MS: i64 = 1_896_264_000_000;

/// Users, auctions, items, high bids. Applied by the fill before rows come; indices follow in [`RELATIONAL_INDICES`].
pub(crate) const RELATIONAL: &str = "
CREATE TABLE user (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, password TEXT NOT NULL, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
  credit_cents INTEGER NOT NULL, enabled INTEGER NOT NULL, token TEXT, version INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE auction (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, start_ms INTEGER NOT NULL, end_ms INTEGER,
  state INTEGER NOT NULL, auctioneer_id INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE item (
  id INTEGER PRIMARY KEY, auction_id INTEGER, auctioneer_id INTEGER NOT NULL, condition INTEGER NOT NULL,
  manufacturer TEXT NOT NULL, short_description TEXT NOT NULL, long_description TEXT NOT NULL,
  origin_ms INTEGER NOT NULL, starting_bid_cents INTEGER NOT NULL, state INTEGER NOT NULL,
  preloaded INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE high_bid (
  id INTEGER PRIMARY KEY, auction_id INTEGER NOT NULL, item_id INTEGER NOT NULL, bidder_id INTEGER NOT NULL,
  amount_cents INTEGER NOT NULL, state INTEGER NOT NULL, sequence INTEGER NOT NULL, start_ms INTEGER NOT NULL,
  end_ms INTEGER, bid_ms INTEGER NOT NULL, preloaded INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 0) STRICT;
";

/// Made after the rows, which is faster.
pub(crate) const RELATIONAL_INDICES: &str = "
CREATE UNIQUE INDEX user_name ON user(name);
CREATE INDEX user_token ON user(token) WHERE token IS NOT NULL;
CREATE INDEX auction_state ON auction(state, id);
CREATE INDEX item_auction ON item(auction_id, id);
CREATE INDEX item_auctioneer ON item(auctioneer_id, id);
CREATE INDEX high_bid_item ON high_bid(item_id);
CREATE INDEX high_bid_bidder ON high_bid(bidder_id, state, end_ms);
";

/// Bids, attendance and image metadata, clustered by who asks for them.
pub(crate) const EVENTS: &str = "
CREATE TABLE bid (
  bidder_id INTEGER NOT NULL, bid_ms INTEGER NOT NULL, id INTEGER NOT NULL, auction_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL, amount_cents INTEGER NOT NULL, state INTEGER NOT NULL, sequence INTEGER NOT NULL,
  preloaded INTEGER NOT NULL, PRIMARY KEY (bidder_id, bid_ms, id)) STRICT, WITHOUT ROWID;
CREATE TABLE attendance (
  user_id INTEGER NOT NULL, record_ms INTEGER NOT NULL, id INTEGER NOT NULL, auction_id INTEGER NOT NULL,
  auction_name TEXT NOT NULL, state INTEGER NOT NULL, preloaded INTEGER NOT NULL,
  PRIMARY KEY (user_id, record_ms, id)) STRICT, WITHOUT ROWID;
CREATE TABLE image (
  item_id INTEGER NOT NULL, number INTEGER NOT NULL, id INTEGER NOT NULL, sizes INTEGER NOT NULL,
  created_ms INTEGER NOT NULL, preloaded INTEGER NOT NULL, PRIMARY KEY (item_id, number)) STRICT, WITHOUT ROWID;
";
