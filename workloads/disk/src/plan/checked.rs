//! Refusals of keys that do not go together, and of keys without effect, which would be taken for measured.

use barograph_data::Popularity;
use barograph_spec::{Plan, SettingsReader};

use super::{DiskPlan, Engine, Place, Sync, path_of};
use crate::operation::OpKind;
use crate::places::Pattern;
use crate::size::shown;
use crate::topology::TIER;

/// Most blocks in a load that verifies: each takes four bytes of memory.
const MOST_VERIFIED: u64 = 1 << 28;

/// Refuses what does not go together, and what has no effect in this plan.
pub(super) fn check(own: &DiskPlan, plan: &Plan, g: &mut SettingsReader) {
    match Place::of(plan) {
        Place::Path(_) | Place::Unit => paths(own, plan, g),
        place => exports(own, &place, g),
    }
    if Place::of(plan) != Place::Deployed {
        let allowed = "left out where no server is deployed";
        g.refuse_limits(TIER, allowed, "leave it out, or set deploy.server");
    }
    if let Some(block) = own.blocks.iter().find(|block| !own.size.is_multiple_of(block.bytes)) {
        let allowed = format!("a multiple of all blocks, such as {}", shown(block.bytes));
        g.refuse("disk.size", format!("{:?}", shown(own.size)), &allowed, "round it");
    }
    if own.rules.limit.is_none() {
        g.refuse_asked(
            "disk.quantile",
            "left out with disk.limit_ms = 0",
            "leave it out, or set disk.limit_ms",
        );
    }
    batch(own, plan, g);
    pattern(own.pattern, g);
    writes(own, g);
    verify(own, g);
}

fn paths(own: &DiskPlan, plan: &Plan, g: &mut SettingsReader) {
    if let Some(url) = plan.target.url.as_deref().filter(|url| path_of(url).is_none()) {
        let allowed = "a file or device by its whole path, as in file:///var/tmp/disk.data, or an export, as in nbd://HOST";
        g.refuse("target.url", format!("{url:?}"), allowed, "name a file, or leave it out");
    }
    let of_server = "left out with a file or device";
    if own.server.is_some() {
        g.refuse_asked("deploy.server", of_server, "leave it out, or leave target.url out");
    } else {
        g.refuse_asked("deploy.filters", of_server, "leave it out, or set deploy.server");
    }
}

fn exports(own: &DiskPlan, place: &Place, g: &mut SettingsReader) {
    let with = "left out with an export";
    for key in ["disk.direct", "disk.engine", "disk.verify", "disk.device_again"] {
        g.refuse_asked(key, with, "leave it out, or load a file or device");
    }
    if own.sync == Sync::Each {
        let allowed = "none or every with an export";
        g.refuse_asked("disk.sync", allowed, "set it to every, and disk.sync_every");
    }
    if *place == Place::Deployed {
        return;
    }
    let of_others = "left out with target.url";
    g.refuse_asked("deploy.server", of_others, "leave one of the two out");
    g.refuse_asked("deploy.filters", of_others, "leave it out");
    if own.writes() {
        let mix: Vec<&str> = own.mix.iter().map(|(kind, _)| kind.spec().name).collect();
        let allowed = "only Read: an export of others is not written to";
        g.refuse(
            "disk.mix",
            mix.join(", "),
            allowed,
            "set disk.mix.Read = 1, or deploy a server (deploy.server)",
        );
    }
}

fn batch(own: &DiskPlan, plan: &Plan, g: &mut SettingsReader) {
    if own.engine != Engine::IoUring || !Place::of(plan).is_file() {
        let allowed = "only with disk.engine = \"io_uring\", and a file or device";
        g.refuse_asked("disk.batch", allowed, "leave it out");
    }
    if plan.open.is_some() && own.batch > 1 {
        let allowed = "1 at a rate: operations begin when they are due";
        g.refuse("disk.batch", own.batch, allowed, "leave it out, or set load.unit = \"users\"");
    }
}

fn pattern(pattern: Pattern, g: &mut SettingsReader) {
    let is_zipf = matches!(pattern, Pattern::Random(Popularity::Zipf { .. }));
    let is_hot = matches!(pattern, Pattern::Random(Popularity::Hot { .. }));
    let needs = [
        ("disk.zipf_exponent", is_zipf, "zipf"),
        ("disk.hot_blocks", is_hot, "hot"),
        ("disk.hot_operations", is_hot, "hot"),
    ];
    for (key, is_used, kind) in needs {
        if !is_used {
            let allowed = format!("only with disk.pattern = {kind:?}");
            g.refuse_asked(key, &allowed, "leave it out, or set disk.pattern");
        }
    }
}

fn writes(own: &DiskPlan, g: &mut SettingsReader) {
    if !own.mix.iter().any(|(kind, _)| *kind == OpKind::Write) {
        for key in ["disk.sync", "disk.mix.Sync", "disk.device_again"] {
            let allowed = "left out without Write in disk.mix";
            g.refuse_asked(key, allowed, "leave it out, or add Write to disk.mix");
        }
    }
    if !matches!(own.sync, Sync::Every(_)) {
        let allowed = "only with disk.sync = \"every\"";
        g.refuse_asked("disk.sync_every", allowed, "leave it out, or set disk.sync");
    } else {
        let allowed = "left out with disk.sync = \"every\"";
        g.refuse_asked("disk.mix.Sync", allowed, "leave one of the two out");
    }
}

fn verify(own: &DiskPlan, g: &mut SettingsReader) {
    if !own.verify {
        return;
    }
    if own.blocks.len() > 1 {
        let allowed = "one size with disk.verify = true";
        g.refuse_asked("disk.block", allowed, "name one size, or leave disk.verify out");
    }
    if own.size / own.largest() > MOST_VERIFIED {
        let allowed = format!("at most {} blocks with disk.verify = true", MOST_VERIFIED);
        g.refuse("disk.size", format!("{:?}", shown(own.size)), &allowed, "lower it, or raise disk.block");
    }
}
