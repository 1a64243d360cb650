//! The tables of the two files: one for relational data, one for events.
//!
//! Money is whole cents, time is milliseconds since 1970 on the application's clock. Partial indices name
//! their state as a number, because SQLite uses one only for a query with the same number; a test compares
//! them with [`barograph_auction_store::codes`].

/// Users, auctions, items, listings. Made before the rows; indices follow in [`RELATIONAL_INDICES`].
pub(crate) const RELATIONAL: &str = "
CREATE TABLE user (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, password TEXT NOT NULL, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
  credit_cents INTEGER NOT NULL, enabled INTEGER NOT NULL, token TEXT, removed INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE auction (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, start_ms INTEGER NOT NULL, end_ms INTEGER,
  state INTEGER NOT NULL, auctioneer_id INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE item (
  id INTEGER PRIMARY KEY, auction_id INTEGER, auctioneer_id INTEGER NOT NULL, condition INTEGER NOT NULL,
  manufacturer TEXT NOT NULL, short_description TEXT NOT NULL, long_description TEXT NOT NULL,
  origin_ms INTEGER NOT NULL, starting_bid_cents INTEGER NOT NULL, state INTEGER NOT NULL,
  preloaded INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE high_bid (
  id INTEGER PRIMARY KEY, auction_id INTEGER NOT NULL, item_id INTEGER NOT NULL, bidder_id INTEGER NOT NULL,
  amount_cents INTEGER NOT NULL, state INTEGER NOT NULL, sequence INTEGER NOT NULL, start_ms INTEGER NOT NULL,
  end_ms INTEGER, bid_ms INTEGER NOT NULL, bid_id INTEGER NOT NULL, round INTEGER NOT NULL, fence INTEGER NOT NULL,
  preloaded INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE meta (name TEXT PRIMARY KEY, number INTEGER, text TEXT) STRICT, WITHOUT ROWID;
";

/// Made after the rows, which is faster. `high_bid_bought` changes only with sales, so that bids stay cheap;
/// `item_filter` answers counts without reading descriptions. The search index holds no copy of the texts.
pub(crate) const RELATIONAL_INDICES: &str = "
CREATE UNIQUE INDEX user_name ON user(name) WHERE removed = 0;
CREATE INDEX user_token ON user(token) WHERE token IS NOT NULL;
CREATE INDEX auction_state ON auction(state, id);
CREATE INDEX item_auction ON item(auction_id, id);
CREATE INDEX item_auctioneer ON item(auctioneer_id, id);
CREATE INDEX item_filter ON item(state, condition, starting_bid_cents);
CREATE INDEX high_bid_auction ON high_bid(auction_id, round);
CREATE INDEX high_bid_bought ON high_bid(bidder_id, end_ms, id) WHERE state = 2;
CREATE VIRTUAL TABLE item_text USING fts5(
  short_description, content='item', content_rowid='id', tokenize='unicode61 remove_diacritics 0');
INSERT INTO item_text(item_text) VALUES ('rebuild');
INSERT INTO meta (name, number) SELECT 'users', COUNT(*) FROM user;
INSERT INTO meta (name, number) SELECT 'last_user', coalesce(MAX(id), 0) FROM user;
INSERT INTO meta (name, number) SELECT 'credit_cents', coalesce(SUM(credit_cents), 0) FROM user;
";

/// Bids, attendance and image metadata, clustered by the key of their queries.
pub(crate) const EVENTS: &str = "
CREATE TABLE bid (
  bidder_id INTEGER NOT NULL, bid_ms INTEGER NOT NULL, id INTEGER NOT NULL, auction_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL, listing INTEGER NOT NULL, amount_cents INTEGER NOT NULL, state INTEGER NOT NULL,
  sequence INTEGER NOT NULL, fence INTEGER NOT NULL, preloaded INTEGER NOT NULL,
  PRIMARY KEY (bidder_id, bid_ms, id)) STRICT, WITHOUT ROWID;
CREATE TABLE attendance (
  user_id INTEGER NOT NULL, record_ms INTEGER NOT NULL, id INTEGER NOT NULL, auction_id INTEGER NOT NULL,
  auction_name TEXT NOT NULL, state INTEGER NOT NULL, preloaded INTEGER NOT NULL,
  PRIMARY KEY (user_id, record_ms, id)) STRICT, WITHOUT ROWID;
CREATE TABLE image (
  item_id INTEGER NOT NULL, number INTEGER NOT NULL, id INTEGER NOT NULL, sizes INTEGER NOT NULL,
  created_ms INTEGER NOT NULL, preloaded INTEGER NOT NULL,
  PRIMARY KEY (item_id, number, id)) STRICT, WITHOUT ROWID;
CREATE TABLE meta (name TEXT PRIMARY KEY, number INTEGER, text TEXT) STRICT, WITHOUT ROWID;
";

/// Indices of events. None of them holds loaded rows, except for open attendance.
pub(crate) const EVENT_INDICES: &str = "
CREATE INDEX bid_unsettled ON bid(auction_id, id) WHERE state = 2;
CREATE INDEX bid_run ON bid(listing, sequence, id) WHERE preloaded = 0;
CREATE INDEX attendance_open ON attendance(user_id, auction_id) WHERE state = 0;
";

/// Stores the name of the data set, in both files.
pub(crate) const STAMP: &str = "INSERT INTO meta (name, text) VALUES ('stamp', ?1)";
