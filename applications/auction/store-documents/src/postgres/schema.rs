//! Tables and indices. A row has its key columns, and the document.

use barograph_auction_store::codes;

// The numbers in the SQL below and in the statements of this module's neighbours.
const _: () = assert!(codes::bid::PROPOSED == 2 && codes::bid::VOID == 3);
const _: () = assert!(codes::attendance::ATTENDING == 0 && codes::attendance::LEFT == 1);

/// Empties the store and makes its tables, without indices, which would slow loading down. The following rows
/// count as loaded.
pub(super) const EMPTY: &str = "
    DROP SCHEMA IF EXISTS auction_events CASCADE;
    CREATE SCHEMA auction_events;
    CREATE TABLE auction_events.bid (
        bidder bigint NOT NULL,
        ms bigint NOT NULL,
        id bigint NOT NULL,
        auction bigint NOT NULL,
        loaded boolean NOT NULL DEFAULT true,
        doc jsonb NOT NULL);
    CREATE TABLE auction_events.attendance (
        user_id bigint NOT NULL,
        ms bigint NOT NULL,
        id bigint NOT NULL,
        auction bigint NOT NULL,
        loaded boolean NOT NULL DEFAULT true,
        doc jsonb NOT NULL);
    CREATE TABLE auction_events.image (
        item bigint NOT NULL,
        number bigint NOT NULL,
        id bigint NOT NULL,
        doc jsonb NOT NULL);
    CREATE TABLE auction_events.meta (stamp text NOT NULL)";

/// Statements after loading. The partial indices hold few rows at any time: unsettled bids, open attendance,
/// and rows of the run. The unique one decides between two concurrent joins; loaded rows are left out of it,
/// so that faults in them fail the data checks and not the loading.
pub(super) const FINISH: [&str; 10] = [
    "ALTER TABLE auction_events.bid ADD PRIMARY KEY (bidder, ms, id)",
    "ALTER TABLE auction_events.attendance ADD PRIMARY KEY (user_id, ms, id)",
    "ALTER TABLE auction_events.image ADD PRIMARY KEY (item, id)",
    "ALTER TABLE auction_events.bid ALTER COLUMN loaded SET DEFAULT false",
    "ALTER TABLE auction_events.attendance ALTER COLUMN loaded SET DEFAULT false",
    "CREATE INDEX bid_unsettled ON auction_events.bid (auction) WHERE doc->>'state' = '2'",
    "CREATE INDEX bid_run ON auction_events.bid (id) WHERE NOT loaded",
    "CREATE INDEX attendance_open ON auction_events.attendance (user_id, auction) WHERE doc->>'state' = '0'",
    "CREATE UNIQUE INDEX attendance_once ON auction_events.attendance (user_id, auction)
         WHERE doc->>'state' = '0' AND NOT loaded",
    "ANALYZE auction_events.bid, auction_events.attendance, auction_events.image",
];

/// Stores the name of the loaded data.
pub(super) const STAMP: &str = "INSERT INTO auction_events.meta (stamp) VALUES ($1)";
