//! The keys of the workload in plans: `[linpack]`.

use std::sync::Arc;

use barograph_matrix::{Instructions, leading_dimension, operations};
use barograph_model::words::count;
use barograph_model::{Level, MeasureSpec, Strategy};
use barograph_pages::PageSize;
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::measures::MEASURES;
use crate::seam::{Linpack, NAME};

/// The highest order: 320 GB.
const MOST_ORDER: u64 = 200_000;

/// Most threads.
const MOST_THREADS: u64 = 1_024;

/// The settings of the workload in a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LinpackPlan {
    /// Rows of the system.
    pub(crate) order: usize,
    /// Threads of a solution; 0 for one on each core of the driver.
    pub(crate) threads: usize,
    pub(crate) pages: PageSize,
}

impl LinpackPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> Self {
        *plan.settings().expect("a plan of this workload is read with its keys")
    }

    /// Bytes of the matrix.
    pub(crate) fn bytes(self) -> u64 {
        (leading_dimension(self.order) * self.order * size_of::<f64>()) as u64
    }

    /// The kind of pages in words.
    pub(crate) fn pages(self) -> &'static str {
        match self.pages {
            PageSize::Small => "small pages",
            PageSize::Huge => "pages of 2 MiB",
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
}

impl WorkloadKeys for Linpack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let order = g.number("linpack.order", 1..=MOST_ORDER, 4_000);
        let threads = g.number("linpack.threads", 0..=MOST_THREADS, 0);
        let pages = g.choice("linpack.pages", &["huge", "small"], "huge");
        Some(Arc::new(LinpackPlan {
            order: order? as usize,
            threads: threads? as usize,
            pages: if pages? == "huge" { PageSize::Huge } else { PageSize::Small },
        }))
    }
}

impl WorkloadSettings for LinpackPlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        if !matches!(plan.strategy, Strategy::Fixed { level, .. } if level == Level::from(1_u32)) {
            let (allowed, remedy) =
                ("1 user, who has all threads", "set it to 1, and linpack.threads to the number of threads");
            g.refuse("load.users", plan.strategy.most(), allowed, remedy);
        }
    }

    fn explain(&self, _: &Plan) -> Vec<String> {
        vec![
            format!(
                "system    {} equations, {:.2} GB, {:.1} billion operations to solve it",
                count(self.order as u64),
                self.bytes() as f64 / 1e9,
                operations(self.order) / 1e9
            ),
            format!(
                "solution  LU factorisation with partial pivoting, {} in {}; on this machine by {}",
                self.threads(),
                self.pages(),
                Instructions::widest()
            ),
            "check     residual by the formula of HPL, below 16, after every solution".to_owned(),
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
        let text = "workload = \"linpack\"\n[load]\nstrategy = \"fixed\"\nusers = 1\n";
        barograph_spec::read(Catalogue::of(&[&Linpack]), "a plan", text, &sets)
    }

    #[test]
    fn a_plan_says_what_will_be_solved() {
        let usual = plan(&[]).unwrap();
        let own = LinpackPlan::of(&usual);
        assert_eq!((own.order, own.threads, own.pages), (4_000, 0, PageSize::Huge));
        let lines = own.explain(&usual).join("\n");
        assert!(lines.contains("4,000 equations, 0.13 GB, 42.7 billion operations"), "{lines}");
        assert!(lines.contains("a thread on each core in pages of 2 MiB"), "{lines}");
        let other = plan(&["linpack.order=8000", "linpack.threads=1", "linpack.pages=small"]).unwrap();
        let lines = LinpackPlan::of(&other).explain(&other).join("\n");
        assert!(
            lines.contains("8,000 equations, 0.51 GB, 341.4 billion")
                && lines.contains("1 thread in small pages")
        );
    }

    #[test]
    fn other_loads_than_one_user_are_refused() {
        for set in ["load.users=2", "load.strategy=search"] {
            let sets = if set.ends_with("search") { vec![set, "load.max_users=9"] } else { vec![set] };
            let refused = plan(&sets).map(|_| ()).unwrap_err();
            let text = in_one_line(&refused);
            assert!(text.contains("load.users") && text.contains("1 user"), "{text}");
        }
    }
}
