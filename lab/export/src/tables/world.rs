//! Surroundings of the load: deployed parts, stores of the application, data.

use barograph_record::{PartRecord, Run, SnapshotRecord, Tier, TopologyRecord};

use super::{Columns, TableSet, some};
use crate::ExportError;

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    parts(book, run)?;
    platform(book, run)?;
    snapshot(book, run)?;
    let columns = Columns::<&Tier>::new()
        .text("tier", |r| (&r.tier).into())
        .text("product", |r| (&r.product).into())
        .text("durability", |r| (&r.durability).into());
    book.table("tiers", &columns, run.tiers())?;
    fill(book, run)
}

fn parts(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = (&'a TopologyRecord, &'a PartRecord);
    let columns = Columns::<Row<'_>>::new()
        .text("part", |r| (&r.1.name).into())
        .text("load", |r| some(&r.1.load).into())
        .text("tier", |r| (&r.1.tier).into())
        .text("service", |r| (&r.1.service).into())
        .text("version", |r| some(&r.1.version).into())
        .text("platform", |r| (&r.0.platform).into())
        .text("host", |r| some(&r.1.host).into())
        .text("url", |r| some(&r.1.url).into())
        .text("uses", |r| Some(r.1.uses.join(" ")).filter(|uses| !uses.is_empty()).into())
        .truth("is_node", |r| r.1.node.into())
        .truth("is_front", |r| r.0.fronts().any(|front| front == r.1.name).into())
        .float("start_s", |r| r.1.start_s.into())
        .float("cpu_limit_cores", |r| r.1.cpus.into())
        .text("core_set", |r| some(&r.1.cores).into())
        .whole("memory_limit_bytes", |r| r.1.memory_bytes.into())
        .whole("disk_limit_bytes_s", |r| r.1.disk_bytes_s.into());
    let rows = run.topology().into_iter().flat_map(|t| t.parts.iter().map(move |part| (t, part)));
    book.table("parts", &columns, rows)
}

/// The platform's own description, the destination of the load, and the time to set up its site.
fn platform(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row = (String, String);
    let said = run.topology().map_or_else(Vec::new, |t| {
        let mut facts = t.facts.clone();
        facts.push(("the load went to".to_owned(), t.fronts().collect::<Vec<_>>().join(" ")));
        facts.extend(t.abilities.as_ref().map(|all| ("abilities".to_owned(), all.join(", "))));
        facts.push(("seconds until hosts were there".to_owned(), t.open_s.to_string()));
        facts.push(("seconds until the application answered".to_owned(), t.ready_s.to_string()));
        facts
    });
    let columns = Columns::<Row>::new().text("fact", |r| (&r.0).into()).text("value", |r| (&r.1).into());
    book.table("platform", &columns, said)
}

/// Treatment of snapshots of loaded stores; no row without snapshots.
fn snapshot(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let columns = Columns::<&SnapshotRecord>::new()
        .text("key", |r| (&r.key).into())
        .truth("reused", |r| r.reused.into())
        .text("made_by", |r| (&r.made_by).into())
        .text("parts", |r| r.parts.join(" ").into())
        .whole("snapshot_bytes", |r| r.bytes.into())
        .float("load_s", |r| r.load_s.into())
        .float("copy_s", |r| r.copy_s.into());
    book.table("snapshot", &columns, run.topology().and_then(|t| t.snapshot.as_ref()))
}

/// The data, a row per count; no row if they are not the run's.
fn fill(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    struct Row<'a> {
        fill: &'a barograph_record::Fill,
        of: &'static str,
        name: &'a str,
        value: f64,
    }
    let columns = Columns::<Row<'_>>::new()
        .text("size", |r| some(&r.fill.size).into())
        .text("stamp", |r| some(&r.fill.stamp).into())
        .truth("reused", |r| r.fill.reused.into())
        .float("fill_s", |r| r.fill.seconds.into())
        .whole("most_users", |r| Some(r.fill.max_users).filter(|users| *users > 0).into())
        .text("of", |r| r.of.into())
        .text("name", |r| r.name.into())
        .float("value", |r| r.value.into());
    let rows = run.fill().into_iter().flat_map(|fill| {
        // Exact up to 2^53, far above any count or size here.
        let row = move |of, name, value| Row { fill, of, name, value };
        fill.rows
            .iter()
            .map(move |c| row("rows", c.name.as_str(), c.count as f64))
            .chain(fill.bytes.iter().map(move |c| row("bytes", c.name.as_str(), c.count as f64)))
            .chain(fill.factors.iter().map(move |f| row("factor", f.name.as_str(), f.value)))
    });
    book.table("fill", &columns, rows)
}
