//! The disk part of a plan in words.

use barograph_data::Popularity;
use barograph_model::words::span;
use barograph_spec::{Plan, SettingsReader, WorkloadSettings};

use super::{DiskPlan, Engine, Place, Sync, checked};
use crate::contents::Contents;
use crate::places::Pattern;
use crate::size::shown;

impl WorkloadSettings for DiskPlan {
    fn check(&self, plan: &Plan, given: &mut SettingsReader) {
        checked::check(self, plan, given);
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let place = Place::of(plan);
        let mut lines = vec![self.operations(), self.places(), format!("way       {}", self.ways(&place))];
        if self.verify {
            lines.push(
                "          blocks are filled before the load, and what is read is compared with what was written"
                    .to_owned(),
            );
        }
        lines.push(match place {
            Place::Path(path) => format!("target    {}", path.display()),
            Place::Unit => {
                "target    a file in the folder of the driver, on its host; removed with it".to_owned()
            }
            Place::Export(url) => format!("target    {url}"),
            Place::Deployed => format!("target    memory of nbdkit behind {}", self.filters()),
        });
        lines
    }
}

impl DiskPlan {
    /// The chain of filters in words.
    fn filters(&self) -> String {
        let filters = self.server.iter().flat_map(|server| &server.filters);
        let each: Vec<String> = filters.map(|(name, count)| format!("{count} {name}")).collect();
        if each.is_empty() { "no filter".to_owned() } else { each.join(", ") }
    }

    fn operations(&self) -> String {
        let all: u32 = self.mix.iter().map(|(_, weight)| weight).sum();
        let share = |weight: u32| f64::from(weight) / f64::from(all.max(1)) * 100.0;
        let each =
            self.mix.iter().map(|(kind, weight)| format!("{} {:.1} %", kind.spec().name, share(*weight)));
        let sync = match self.sync {
            Sync::Every(writes) => format!("; a Sync after {writes} writes of a user"),
            Sync::None | Sync::Each => String::new(),
        };
        let think = match self.think.0 {
            0 => "each as soon as the one before is done".to_owned(),
            _ => format!("{} after the one before", span(self.think)),
        };
        format!("work      {}{sync}; {think}", each.collect::<Vec<_>>().join(", "))
    }

    fn places(&self) -> String {
        let blocks = self.blocks.iter().map(|block| match self.blocks.len() {
            1 => shown(block.bytes),
            _ => format!("{} ({})", shown(block.bytes), block.weight),
        });
        let order = match self.pattern {
            Pattern::Sequential => "one after the other".to_owned(),
            Pattern::Random(Popularity::Zipf { exponent }) => {
                format!("at random by Zipf's law with exponent {exponent}")
            }
            Pattern::Random(Popularity::Hot { numbers, draws }) => {
                format!("at random, {:.1} % of them in {:.1} % of the place", draws * 100.0, numbers * 100.0)
            }
            Pattern::Random(_) => "at random".to_owned(),
        };
        let blocks = blocks.collect::<Vec<_>>().join(", ");
        let entropy = Contents::new(self.entropy).entropy() * 100.0;
        format!(
            "data      blocks of {blocks} in {}, {order}; {entropy:.0} % of the bytes random",
            shown(self.size)
        )
    }

    /// How operations are done, in words.
    pub(crate) fn ways(&self, place: &Place) -> String {
        if !place.is_file() {
            return "NBD, a connection of each worker".to_owned();
        }
        let cache = if self.direct { "past the page cache" } else { "through the page cache" };
        let engine = match self.engine {
            Engine::IoUring => "io_uring",
            Engine::Threads => "a thread of each user",
        };
        let durable = if self.sync == Sync::Each { ", each write on the disk before it is done" } else { "" };
        let batches = match self.batch {
            1 => String::new(),
            batch => format!(" in batches of {batch}"),
        };
        format!("{engine}{batches}, {cache}{durable}")
    }
}
