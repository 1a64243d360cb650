//! A page of a list with the length of the whole list, at one moment and in one exchange.

use barograph_auction_store::PageWindow;

use crate::value::{Statement, Value, values};

/// The list of a page.
pub(crate) struct List {
    /// Text after `FROM` for counting, with its condition.
    pub(crate) counted: String,
    /// Text after `FROM` for reading, with its condition.
    pub(crate) read: String,
    /// The values of the condition.
    pub(crate) values: Vec<Value>,
    /// The columns of an entry, the first of which is never null.
    pub(crate) columns: &'static str,
    /// The order, which ends with a unique column.
    pub(crate) order: &'static str,
    /// The same order, in the columns of the page.
    pub(crate) page_order: &'static str,
}

impl List {
    /// A list of one table.
    pub(crate) fn of(from: String, values: Vec<Value>, columns: &'static str) -> Self {
        List { counted: from.clone(), read: from, values, columns, order: "id", page_order: "p.id" }
    }

    /// The statement, whose answer [`crate::rows::page`] reads. The count is joined to the page, so that one
    /// statement sees both, and a page behind the end still has its count.
    pub(crate) fn page(self, window: PageWindow) -> Statement {
        let List { counted, read, values: mut all, columns, order, page_order } = self;
        let sql = format!(
            "SELECT t.total, p.* FROM (SELECT COUNT(*) AS total FROM {counted}) t LEFT JOIN \
             (SELECT {columns} FROM {read} ORDER BY {order} LIMIT ? OFFSET ?) p ON 1 = 1 ORDER BY {page_order}"
        );
        all.extend_from_within(..);
        all.extend(values![i64::from(window.size), window.offset()]);
        Statement::new(sql, all)
    }
}
