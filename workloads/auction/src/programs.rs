//! The programs of the auction: `barograph serve auction`, `fill auction` and `load auction`.

mod arguments;
mod fill;
mod load;
mod serve;

use std::path::Path;

use barograph_auction::fill::Marker;
use barograph_auction::{PictureLocation, Secret};
use barograph_workload::{Cause, CommandError, Program, Verb};

use arguments::ServerArgs;

/// The program for a verb.
pub(crate) fn of(verb: Verb) -> &'static dyn Program {
    match verb {
        Verb::Serve => &serve::Serve,
        Verb::Fill => &fill::Fill,
        Verb::Load => &load::Load,
    }
}

/// The error of a failed attempt.
fn attempted(what: impl Into<String>, why: impl Into<Cause>) -> CommandError {
    CommandError::refused(why).while_doing(what)
}

/// The two database servers, if they are given.
fn servers(args: &ServerArgs) -> Result<Option<(Secret, Secret)>, CommandError> {
    let Some(relational) = &args.relational else { return Ok(None) };
    let relational = url("--relational", relational)?;
    let events = match &args.events {
        Some(events) => url("--events", events)?,
        None if relational.0.starts_with("postgres") => relational.clone(),
        None => {
            let why = "--relational is no PostgreSQL, so --events must say where bids and attendance are: \
                       postgres://... or mongodb://...";
            return Err(CommandError::refused(why));
        }
    };
    Ok(Some((relational, events)))
}

/// Parses the place of pictures.
fn place(images: &str) -> Result<PictureLocation, CommandError> {
    url("--images", images)?.0.parse().map_err(|why| attempted("understand --images", why))
}

/// A URL from an argument, or from the file in `@FILE`.
fn url(option: &str, typed: &str) -> Result<Secret, CommandError> {
    let Some(file) = typed.strip_prefix('@') else { return Ok(Secret(typed.to_owned())) };
    let reading = format!("read the URL of {option} from `{file}`");
    let text = std::fs::read_to_string(file).map_err(|why| attempted(reading.clone(), why))?;
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        return Err(CommandError::refused(format!("{reading}: its first line is empty")));
    }
    Ok(Secret(line.to_owned()))
}

/// Refuses a folder without a whole data set, with the command that makes one.
fn holds_data(data: &Path) -> Result<Marker, CommandError> {
    let serving = format!("serve the data in `{}`", data.display());
    let make = format!("`barograph fill auction --data {} --size nano` makes one", data.display());
    match Marker::read(data) {
        Ok(Some(marker)) => Ok(marker),
        Ok(None) => Err(CommandError::refused(format!("{serving}: it holds no whole data set; {make}"))),
        Err(why) => Err(attempted(format!("{serving}; {make}"), why)),
    }
}
