//! A server's description: product, version, and durability settings.

use barograph_auction_store::{StoreDescription, StoreError};

use crate::text::Flavour;
use crate::value::{Row, Statement};

/// The query, whose answer [`described`] reads.
pub(crate) fn question(flavour: Flavour) -> Statement {
    Statement::plain(match flavour {
        Flavour::Postgres => {
            "SELECT current_setting('server_version'), current_setting('fsync'), \
             current_setting('synchronous_commit'), current_setting('full_page_writes')"
        }
        Flavour::MariaDb | Flavour::MySql => {
            "SELECT VERSION(), CAST(@@innodb_flush_log_at_trx_commit AS CHAR), CAST(@@innodb_doublewrite AS CHAR), \
             CAST(@@log_bin AS CHAR), CAST(@@sync_binlog AS CHAR)"
        }
    })
}

/// The settings in words.
pub(crate) fn described(row: &Row, flavour: Flavour) -> Result<StoreDescription, StoreError> {
    let version = row.text(0)?;
    Ok(match flavour {
        Flavour::Postgres => StoreDescription {
            product: format!("PostgreSQL {}", version.split(' ').next().unwrap_or_default()),
            durability: postgres([&row.text(1)?, &row.text(2)?, &row.text(3)?]),
        },
        Flavour::MariaDb | Flavour::MySql => {
            let name = if flavour == Flavour::MariaDb { "MariaDB" } else { "MySQL" };
            StoreDescription {
                product: format!("{name} {}", version.split('-').next().unwrap_or_default()),
                durability: maria([&row.text(1)?, &row.text(2)?, &row.text(3)?, &row.text(4)?]),
            }
        }
    })
}

fn postgres([fsync, synchronous, full_pages]: [&str; 3]) -> String {
    let machine = match (fsync, synchronous) {
        ("off", _) => "a commit may be lost, and the data damaged, when the machine stops",
        (_, "off") => "the commits of the last moments may be lost when the server or the machine stops",
        _ => "a commit survives the end of the server and of the machine",
    };
    let pages =
        if full_pages == "off" { "; a page half written when the machine stops stays damaged" } else { "" };
    format!(
        "{machine}{pages} (fsync={fsync}, synchronous_commit={synchronous}, full_page_writes={full_pages})"
    )
}

fn maria([flush, doublewrite, log_bin, sync_binlog]: [&str; 4]) -> String {
    let commit = match flush {
        "1" | "3" => "a commit survives the end of the server and of the machine",
        "2" => "a commit survives the end of the server; the last second may be lost when the machine stops",
        _ => "the last second of commits may be lost when the server or the machine stops",
    };
    let pages = match doublewrite {
        "0" | "OFF" => "; a page half written when the machine stops stays damaged",
        _ => "",
    };
    let binlog = match (log_bin, sync_binlog) {
        ("0" | "OFF", _) => "no binary log".to_owned(),
        (_, "1") => "binary log written through with every commit, sync_binlog=1".to_owned(),
        (_, other) => format!("binary log not written through with every commit, sync_binlog={other}"),
    };
    format!(
        "{commit}{pages} (innodb_flush_log_at_trx_commit={flush}, innodb_doublewrite={doublewrite}, {binlog})"
    )
}
