//! One consistent view for the data checks.

use barograph_auction_store::{Audit, CLOCK_START_MS, ListingAudit, StoreError};

use crate::rows::{self, HIGH_BID};
use crate::sql::Sql;
use crate::value::{Row, Statement, values};

/// Sum of the credits of loaded users, in cents, and the number of negative credits.
const CREDIT: &str = "SELECT CAST(COALESCE(SUM(CASE WHEN id <= ? THEN credit_cents ELSE 0 END), 0) AS {int}), \
     CAST(COALESCE(SUM(CASE WHEN credit_cents < 0 THEN 1 ELSE 0 END), 0) AS {int}) FROM barograph_user";

impl Sql {
    pub(crate) async fn audit_all(&self) -> Result<Audit, StoreError> {
        let initial = self.initial();
        let offers = HIGH_BID.replace(" FROM ", ", h.preloaded, i.starting_bid_cents, i.state FROM ")
            + " JOIN barograph_item i ON i.id = h.item_id WHERE h.end_ms IS NULL OR h.end_ms >= ? \
               ORDER BY h.auction_id, h.round, h.id";
        let statements = vec![
            Statement::new(CREDIT, values![initial.last_user]),
            Statement::new(offers, values![CLOCK_START_MS]),
        ];
        let answers = self.snapshot("read what the checks need", statements).await?;
        let mut audit = Audit { initial, ..Audit::default() };
        if let [credit, offers] = answers.as_slice() {
            if let Some(row) = credit.rows.first() {
                audit.credit_cents = row.int(0)?;
                audit.below_zero = row.int(1)?;
            }
            audit.offers = offers.rows.iter().map(offered).collect::<Result<_, _>>()?;
        }
        Ok(audit)
    }
}

fn offered(row: &Row) -> Result<ListingAudit, StoreError> {
    Ok(ListingAudit {
        row: rows::high_bid(row)?,
        preloaded: row.int(13)? != 0,
        starting_bid: row.int(14)?,
        item_state: row.int(15)?,
    })
}
