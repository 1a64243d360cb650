//! The way back to the loaded state: everything that was added after the fill is removed.

use crate::files::FileKind;
use crate::fill::FillError;
use crate::schema::COUNT_USES;
use crate::site::Site;
use crate::size::Size;
use crate::store::{Statement, Value};

/// Removes what was added to a site of this size after its fill.
pub(crate) async fn reset(site: &Site, size: Size) -> Result<(), FillError> {
    let owners = [
        (("SELECT files FROM people WHERE id > ?", size.people), &FileKind::OF_PERSON[..]),
        (("SELECT files FROM events WHERE id > ?", size.events), &FileKind::OF_EVENT),
    ];
    let mut files = Vec::new();
    for ((sql, last), kinds) in owners {
        for row in site.store.read(sql, &[Value::from(last)]).await? {
            files.extend(kinds.iter().map(|kind| (row.text(0).to_owned(), *kind)));
        }
    }
    let removed = [
        ("DELETE FROM attendees WHERE added = ?", 1),
        ("DELETE FROM event_tags WHERE event > ?", size.events),
        ("DELETE FROM events WHERE id > ?", size.events),
        ("DELETE FROM people WHERE id > ?", size.people),
        ("DELETE FROM tags WHERE id > ?", size.tags),
    ];
    let mut statements: Vec<Statement> =
        removed.into_iter().map(|(sql, last)| Statement::new(sql, vec![Value::from(last)])).collect();
    statements.push(Statement::new(COUNT_USES, Vec::new()));
    site.store.change(statements).await?;
    number_anew(site, size).await?;
    if let Some(cache) = &site.cache {
        cache.clear().await;
    }
    for (owner, kind) in files {
        site.files.remove(&owner, kind).await?;
    }
    Ok(())
}

/// Lets new rows have the numbers after those of the fill.
pub(crate) async fn number_anew(site: &Site, size: Size) -> Result<(), FillError> {
    for (table, last) in [("people", size.people), ("tags", size.tags), ("events", size.events)] {
        if let Some(statement) = site.store.dialect().numbers_after(table, last) {
            site.store.change(vec![statement]).await?;
        }
    }
    Ok(())
}
