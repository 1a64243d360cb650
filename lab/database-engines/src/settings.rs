//! The keys of plans that all workloads on databases have.

use std::time::Duration;

use barograph_spec::SettingsReader;

use crate::ServerParts;

/// Isolation levels of servers.
pub const ISOLATIONS: [&str; 3] = ["read-committed", "repeatable-read", "serializable"];

/// Durability of commits.
pub const DURABILITIES: [&str; 2] = ["full", "off"];

/// Settings of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSettings {
    /// The engine, where the plan has no address.
    pub database: &'static str,
    /// Commits wait for the disk.
    pub is_durable: bool,
    /// Writers wait in a fair queue, on SQLite.
    pub is_queued: bool,
    /// The isolation level of a server, words joined by hyphens.
    pub isolation: &'static str,
    /// Limit on the wait for a lock, after which a transaction is tried again.
    pub busy: Duration,
    /// The parts beside a deployed server.
    pub parts: ServerParts,
}

impl DatabaseSettings {
    /// Reads `deploy.database`, the parts beside it and the keys of a section; `None` if one is refused.
    pub fn read(g: &mut SettingsReader, section: &str) -> Option<Self> {
        let key = |name: &str| format!("{section}.{name}");
        let database = g.choice("deploy.database", &["sqlite", "postgres", "mariadb"], "sqlite");
        let parts = ServerParts::read(g);
        let durability = g.choice(&key("durability"), &DURABILITIES, DURABILITIES[0]);
        let write_lock = g.choice(&key("write_lock"), &["queue", "busy"], "queue");
        let isolation = g.choice(&key("isolation"), &ISOLATIONS, ISOLATIONS[0]);
        let busy_ms = g.number(&key("busy_ms"), 1..=600_000, 5_000);
        Some(DatabaseSettings {
            database: database?,
            is_durable: durability? == "full",
            is_queued: write_lock? == "queue",
            isolation: isolation?,
            busy: Duration::from_millis(busy_ms?),
            parts: parts?,
        })
    }
}
