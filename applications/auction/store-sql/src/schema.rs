//! The tables. Their names have a prefix, so that they may share a database with others, and none is a
//! reserved word.
//!
//! Owners and assignments of auctions are in two narrow tables: every change of an auction locks its row of
//! `barograph_ownership`, without affecting readers of auctions or the leader that assigns them.
//!
//! Transactions that lock rows of several tables do so in this order, so that there is no deadlock: auction,
//! ownership, high bid, user, item; ownership, registry, assignment, node.

/// Removes the tables of an earlier load.
pub(crate) const DROP: &str = "
DROP TABLE IF EXISTS barograph_meta;
DROP TABLE IF EXISTS barograph_user;
DROP TABLE IF EXISTS barograph_auction;
DROP TABLE IF EXISTS barograph_item;
DROP TABLE IF EXISTS barograph_high_bid;
DROP TABLE IF EXISTS barograph_ownership;
DROP TABLE IF EXISTS barograph_assignment;
DROP TABLE IF EXISTS barograph_registry;
DROP TABLE IF EXISTS barograph_node";

/// Makes the tables. A removed user has no name. `search_words` is the result of [`crate::search`] for the
/// short description.
pub(crate) const CREATE: &str = "
CREATE TABLE barograph_user (
  id BIGINT NOT NULL PRIMARY KEY, name {name}, password {name} NOT NULL, first_name {name} NOT NULL,
  last_name {name} NOT NULL, credit_cents BIGINT NOT NULL, enabled BIGINT NOT NULL, token {name}) {table};
CREATE TABLE barograph_auction (
  id BIGINT NOT NULL PRIMARY KEY, name {name} NOT NULL, folded_name {name} NOT NULL, category {name} NOT NULL,
  start_ms BIGINT NOT NULL, end_ms BIGINT, state BIGINT NOT NULL, auctioneer_id BIGINT NOT NULL) {table};
CREATE TABLE barograph_item (
  id BIGINT NOT NULL PRIMARY KEY, auction_id BIGINT, auctioneer_id BIGINT NOT NULL, item_condition BIGINT NOT NULL,
  manufacturer {name} NOT NULL, short_description {name} NOT NULL, long_description {long} NOT NULL,
  origin_ms BIGINT NOT NULL, starting_bid_cents BIGINT NOT NULL, state BIGINT NOT NULL,
  search_words TEXT NOT NULL) {table};
CREATE TABLE barograph_high_bid (
  id BIGINT NOT NULL PRIMARY KEY, auction_id BIGINT NOT NULL, item_id BIGINT NOT NULL, bidder_id BIGINT NOT NULL,
  amount_cents BIGINT NOT NULL, state BIGINT NOT NULL, sequence BIGINT NOT NULL, start_ms BIGINT NOT NULL,
  end_ms BIGINT, bid_ms BIGINT NOT NULL, bid_id BIGINT NOT NULL, round BIGINT NOT NULL, fence BIGINT NOT NULL,
  preloaded BIGINT NOT NULL) {table};
CREATE TABLE barograph_ownership (
  auction_id BIGINT NOT NULL PRIMARY KEY, owner {name}, fence BIGINT NOT NULL) {table};
CREATE TABLE barograph_assignment (
  auction_id BIGINT NOT NULL PRIMARY KEY, node {name}) {table};
CREATE TABLE barograph_node (
  name {name} NOT NULL, number BIGINT NOT NULL, standing BIGINT NOT NULL, until_ms BIGINT NOT NULL,
  PRIMARY KEY (name)) {table};
CREATE TABLE barograph_registry (
  id BIGINT NOT NULL PRIMARY KEY, leader {name}, until_ms BIGINT NOT NULL, version BIGINT NOT NULL,
  last_number BIGINT NOT NULL, start_ms BIGINT) {table};
CREATE TABLE barograph_meta (
  id BIGINT NOT NULL PRIMARY KEY, format BIGINT NOT NULL, users BIGINT NOT NULL, last_user BIGINT NOT NULL,
  credit_cents BIGINT NOT NULL, stamp TEXT NOT NULL) {table}";

/// Indices common to the products. Made after the rows, which is faster.
pub(crate) const INDICES: &str = "
CREATE UNIQUE INDEX barograph_user_name ON barograph_user (name);
CREATE UNIQUE INDEX barograph_user_token ON barograph_user (token);
CREATE INDEX barograph_auction_state ON barograph_auction (state, id);
CREATE INDEX barograph_auction_start ON barograph_auction (state, start_ms);
CREATE INDEX barograph_item_auction ON barograph_item (auction_id, id);
CREATE INDEX barograph_item_auctioneer ON barograph_item (auctioneer_id, id);
CREATE INDEX barograph_high_bid_round ON barograph_high_bid (auction_id, round, id);
CREATE INDEX barograph_high_bid_bidder ON barograph_high_bid (bidder_id, state, end_ms, id)";

/// The index of words in PostgreSQL.
pub(crate) const POSTGRES_SEARCH: &str = "
CREATE INDEX barograph_item_words ON barograph_item
  USING gin (array_to_tsvector(string_to_array(search_words, ' ')))";

/// The index of words in MariaDB. The list of stop words is a setting of the session that makes the index.
pub(crate) const MARIA_SEARCH: &str = "
SET SESSION innodb_ft_enable_stopword = OFF;
CREATE FULLTEXT INDEX barograph_item_words ON barograph_item (search_words)";

/// Statistics for the planner, and a map of pages visible to all transactions, so that indices suffice for
/// counting.
pub(crate) const POSTGRES_ANALYZE: &str = "
VACUUM (ANALYZE) barograph_user, barograph_auction, barograph_item, barograph_high_bid,
  barograph_ownership, barograph_assignment";

/// Like [`POSTGRES_ANALYZE`].
pub(crate) const MARIA_ANALYZE: &str = "
ANALYZE TABLE barograph_user, barograph_auction, barograph_item, barograph_high_bid, barograph_ownership,
  barograph_assignment";

/// Version of the tables. It rises when they change, so that an old load is refused.
pub(crate) const FORMAT: i64 = 1;
