//! The keys of the workload in plans: `[stream]`.

use std::sync::Arc;

use barograph_bandwidth::{Instructions, Stores};
use barograph_model::words::count;
use barograph_model::{Level, MeasureSpec, Strategy};
use barograph_pages::PageSize;
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::cache;
use crate::measures::MEASURES;
use crate::seam::{NAME, StreamMemory};

/// Most numbers of an array: 800 GB.
const MOST_ELEMENTS: u64 = 100_000_000_000;

/// Most threads.
const MOST_THREADS: u64 = 1_024;

/// The settings of the workload in a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StreamPlan {
    /// Numbers of each of the three arrays.
    pub(crate) elements: usize,
    /// Threads of a pass; 0 for one on each core of the driver.
    pub(crate) threads: usize,
    pub(crate) pages: PageSize,
    pub(crate) stores: Stores,
    /// The least size of an array, in multiples of the caches of the last level.
    pub(crate) caches: f64,
}

impl StreamPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> Self {
        *plan.settings().expect("a plan of this workload is read with its keys")
    }

    /// Bytes of an array.
    pub(crate) fn bytes(self) -> u64 {
        (self.elements * size_of::<f64>()) as u64
    }

    /// The kind of pages in words.
    pub(crate) fn pages(self) -> &'static str {
        match self.pages {
            PageSize::Small => "small pages",
            PageSize::Huge => "pages of 2 MiB",
        }
    }

    /// The kind of stores in words.
    pub(crate) fn stores(self) -> &'static str {
        match self.stores {
            Stores::Cached => "cached stores",
            Stores::Streaming => "streaming stores",
        }
    }

    /// The number of threads in words.
    pub(crate) fn threads(self) -> String {
        match self.threads {
            0 => "a thread on each core".to_owned(),
            1 => "1 thread".to_owned(),
            n => format!("{n} threads"),
        }
    }

    /// How an array compares with caches of this size, where it is too small.
    pub(crate) fn too_small(self, caches: Option<u64>) -> Option<String> {
        let (bytes, caches) = (self.bytes(), caches?);
        let least = caches as f64 * self.caches;
        ((bytes as f64) < least).then(|| {
            format!(
                "at least {} here: an array of {} times the {} MiB of the last caches",
                count((least / size_of::<f64>() as f64).ceil() as u64),
                self.caches,
                caches >> 20
            )
        })
    }
}

impl WorkloadKeys for StreamMemory {
    fn name(&self) -> &'static str {
        NAME
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let elements = g.number("stream.elements", 8..=MOST_ELEMENTS, 40_000_000);
        let threads = g.number("stream.threads", 0..=MOST_THREADS, 0);
        let pages = g.choice("stream.pages", &["huge", "small"], "huge");
        let stores = g.choice("stream.stores", &["cached", "streaming"], "cached");
        let caches = g.fraction("stream.caches", 0.0..=1_000.0, 4.0);
        Some(Arc::new(StreamPlan {
            elements: elements? as usize,
            threads: threads? as usize,
            pages: if pages? == "huge" { PageSize::Huge } else { PageSize::Small },
            stores: if stores? == "cached" { Stores::Cached } else { Stores::Streaming },
            caches: caches?,
        }))
    }
}

impl WorkloadSettings for StreamPlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        if !matches!(plan.strategy, Strategy::Fixed { level, .. } if level == Level::from(1_u32)) {
            let (allowed, remedy) =
                ("1 user, who has all threads", "set it to 1, and stream.threads to the number of threads");
            g.refuse("load.users", plan.strategy.most(), allowed, remedy);
        }
        if !Instructions::widest().can_store(self.stores) {
            let (allowed, remedy) = ("cached, on this processor", "set it to \"cached\"");
            g.refuse("stream.stores", "\"streaming\"", allowed, remedy);
        }
    }

    fn explain(&self, _: &Plan) -> Vec<String> {
        let caches = match cache::last_level_bytes() {
            Some(bytes) => {
                format!("{:.1} times the last caches of this machine", self.bytes() as f64 / bytes as f64)
            }
            None => "the caches of this machine are not known".to_owned(),
        };
        vec![
            format!(
                "arrays    3 of {} numbers, {:.2} GB each; {caches}",
                count(self.elements as u64),
                self.bytes() as f64 / 1e9
            ),
            format!(
                "passes    copy, scale, add, triad; {} with {} in {}; on this machine by {}",
                self.threads(),
                self.stores(),
                self.pages(),
                Instructions::fastest(self.stores)
            ),
            "check     all numbers against a replay, every tenth cycle".to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::words::in_one_line;
    use barograph_spec::{Catalogue, Refusals};

    use super::*;

    fn plan(sets: &[&str]) -> Result<Plan, Refusals> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let text = "workload = \"stream\"\n[load]\nstrategy = \"fixed\"\nusers = 1\n";
        barograph_spec::read(Catalogue::of(&[&StreamMemory]), "a plan", text, &sets)
    }

    #[test]
    fn a_plan_says_what_will_be_passed_over() {
        let usual = plan(&[]).unwrap();
        let lines = StreamPlan::of(&usual).explain(&usual).join("\n");
        assert!(lines.contains("3 of 40,000,000 numbers, 0.32 GB each"), "{lines}");
        assert!(lines.contains("a thread on each core with cached stores in pages of 2 MiB"), "{lines}");
        let other = plan(&["stream.threads=1", "stream.pages=small"]).unwrap();
        let lines = StreamPlan::of(&other).explain(&other).join("\n");
        assert!(lines.contains("1 thread with cached stores in small pages"), "{lines}");
    }

    #[test]
    fn small_arrays_are_told() {
        let own = StreamPlan::of(&plan(&["stream.elements=1000000"]).unwrap());
        let why = own.too_small(Some(4 << 20)).unwrap();
        assert_eq!(why, "at least 2,097,152 here: an array of 4 times the 4 MiB of the last caches");
        assert_eq!(own.too_small(Some(1 << 20)), None);
        assert_eq!(own.too_small(None), None);
    }

    #[test]
    fn other_loads_than_one_user_are_refused() {
        let refused = plan(&["load.users=2"]).map(|_| ()).unwrap_err();
        let text = in_one_line(&refused);
        assert!(text.contains("load.users") && text.contains("1 user"), "{text}");
    }
}
