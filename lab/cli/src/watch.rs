//! Followers of a run while it goes on: the live page, and remote receivers.

use std::path::Path;
use std::sync::Arc;

use barograph_export::{Receiver, Sender};
use barograph_harness::{IntervalContext, Progress, Screen};
use barograph_live::{LiveError, Page};
use barograph_model::Phase;
use barograph_record::{ExitCode, Follower};
use barograph_stats::Interval;
use barograph_stats::search::SearchProgress;
use serde_json::{Value, json};

use crate::args::WatchArgs;
use crate::commands::CommandFailure;
use crate::terminal;

/// Live page and senders of one run.
pub(crate) struct Watch {
    page: Option<Arc<Page>>,
    senders: Vec<Arc<Sender>>,
    disclosed: Value,
}

impl Watch {
    /// Starts the requested followers and prints the address of the page. `title` names the load.
    pub(crate) fn start(args: &WatchArgs, title: &str) -> Result<Watch, CommandFailure> {
        Watch::with(page(args, title)?, &args.export_to)
    }

    /// Starts senders in addition to an existing page.
    pub(crate) fn with(page: Option<Arc<Page>>, export_to: &[Receiver]) -> Result<Watch, CommandFailure> {
        let mut senders = Vec::new();
        for receiver in export_to {
            let sender = Sender::start(receiver.clone());
            senders.push(Arc::new(sender.map_err(|why| CommandFailure::new(ExitCode::PlatformFault, why))?));
        }
        let receivers: Vec<String> = export_to.iter().map(ToString::to_string).collect();
        let disclosed = json!({ "live_page": page.is_some(), "export_to": receivers });
        Ok(Watch { page, senders, disclosed })
    }

    /// Disclosure for the record; `None` without followers.
    pub(crate) fn disclosed(&self) -> Option<Value> {
        (self.page.is_some() || !self.senders.is_empty()).then(|| self.disclosed.clone())
    }

    /// Returns all followers of the record.
    pub(crate) fn followers(&self) -> Vec<Arc<dyn Follower>> {
        let page = self.page.iter().map(|page| Arc::clone(page) as Arc<dyn Follower>);
        page.chain(self.senders.iter().map(|sender| Arc::clone(sender) as Arc<dyn Follower>)).collect()
    }

    /// Wraps a screen so that the page shows its output, too.
    pub(crate) fn beside<'s>(&self, screen: &'s mut dyn Screen) -> ScreenWithPage<'s> {
        ScreenWithPage { screen, page: self.page.clone() }
    }

    /// Shows on the page that the run has ended, with the paths of report and record.
    pub(crate) fn end(&self, report: Option<&Path>, record: Option<&Path>) {
        let Some(page) = &self.page else { return };
        let mut words: Vec<String> = [("report", report), ("record", record)]
            .into_iter()
            .filter_map(|(name, path)| Some(place(name, path?)))
            .collect();
        if words.is_empty() {
            words.push("The result is on the terminal; no record was kept.".to_owned());
        }
        page.end(&words);
    }
}

/// Serves the live page, if requested, and prints its address. `title` names the load.
pub(crate) fn page(args: &WatchArgs, title: &str) -> Result<Option<Arc<Page>>, CommandFailure> {
    let page = args.live.map(|address| Page::serve(address, title)).transpose().map_err(refused)?;
    if let Some(page) = &page {
        terminal::say(&format!("live      {}", page.url()));
    }
    Ok(page.map(Arc::new))
}

/// Absolute path of a file, as the page is read outside of any folder.
pub(crate) fn place(name: &str, path: &Path) -> String {
    format!("{name}  {}", std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display())
}

fn refused(why: LiveError) -> CommandFailure {
    CommandFailure::new(ExitCode::Refused, why)
}

/// A screen, and the page beside it.
pub(crate) struct ScreenWithPage<'s> {
    screen: &'s mut dyn Screen,
    page: Option<Arc<Page>>,
}

impl Screen for ScreenWithPage<'_> {
    fn phase(&mut self, phase: Phase, about: &str) {
        self.screen.phase(phase, about);
        if let Some(page) = &self.page {
            page.phase(phase, about);
        }
    }

    fn progress(&mut self, progress: &Progress) {
        self.screen.progress(progress);
        if let Some(page) = &self.page {
            page.progress(progress.done, progress.remaining);
        }
    }

    fn say(&mut self, line: &str) {
        self.screen.say(line);
        if let Some(page) = &self.page {
            page.say(line);
        }
    }

    fn so_far(&mut self, so_far: &SearchProgress) {
        self.screen.so_far(so_far);
        if let Some(page) = &self.page {
            page.so_far(so_far);
        }
    }

    fn interval(&mut self, interval: &Interval, live: &IntervalContext) {
        self.screen.interval(interval, live);
        if let Some(page) = &self.page {
            page.load(live.offered);
        }
    }
}
