//! `barograph load`: a filled data set into database servers.

use anyhow::{Context, anyhow};
use barograph_auction::load::{Part, Servers, load as load_all};
use barograph_record::ExitCode;

use super::serve::{holds_data, servers, url};
use super::{Done, Failed};
use crate::args::LoadArgs;
use crate::terminal;

/// Loads.
pub(crate) fn load(args: &LoadArgs) -> Done {
    let refused = |why: anyhow::Error| Failed::new(ExitCode::Refused, why);
    let marker = holds_data(&args.data)?;
    let images = match &args.servers.images {
        Some(typed) => Some(
            url("--images", typed)
                .and_then(|u| u.0.parse().context("understand --images"))
                .map_err(refused)?,
        ),
        None => None,
    };
    let stores = servers(&args.servers)?;
    if stores.is_none() && images.is_none() {
        return Err(refused(anyhow!("load into what? Name --relational, --images or both")));
    }
    let servers = Servers { stores, images };
    let mut shown = None;
    let mut show = |part: Part, done: u64, total: u64| {
        let tenth = done * 10 / total.max(1);
        if shown != Some((part, tenth)) {
            shown = Some((part, tenth));
            terminal::say(&format!("{:<10} {done} of {total}", part.name()));
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("start the runtime")
        .map_err(|why| Failed::new(ExitCode::CannotWrite, why))?;
    let loaded = runtime.block_on(load_all(&args.data, &marker, &servers, &mut show));
    loaded.map_err(|why| Failed::new(ExitCode::TargetNotReady, why))?;
    terminal::result(&format!("loaded {} from {}", marker.describe(), args.data.display()));
    Ok(ExitCode::Fine)
}
