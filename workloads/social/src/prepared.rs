//! A load prepared for its site; shared by all workers.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex};

use barograph_http::{Policy, ResolvedTarget};
use barograph_social::{FileMaker, STATICS, STATICS_OF_EVENT, Size};
use barograph_workload::Reasons;

use crate::ask;
use crate::ledger::Ledger;
use crate::plan::SocialPlan;

/// Path of static files.
const STATIC: &str = "/static/";

/// A load prepared for its site.
pub(crate) struct PreparedLoad {
    pub(crate) target: ResolvedTarget,
    pub(crate) size: Size,
    pub(crate) people_each: u32,
    /// Tells the people of this load from those of others at the same site.
    pub(crate) run: u32,
    /// Fields of conditional requests by path, as learned from an earlier visit.
    pub(crate) tags: HashMap<String, Vec<u8>>,
    pub(crate) maker: FileMaker,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

impl PreparedLoad {
    /// Visits the site for its static files. Blocks.
    ///
    /// # Errors
    /// The site does not answer.
    pub(crate) fn new(
        (plan, seed, run): (&SocialPlan, u64, u32),
        (url, policy): (&str, Policy),
        (ledger, reasons): (&Arc<Ledger>, &Arc<Mutex<Reasons>>),
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let target = ask::target(url, policy)?;
        let mut tags = HashMap::new();
        for name in STATICS.into_iter().chain(STATICS_OF_EVENT) {
            let path = format!("{STATIC}{name}");
            let tag = ask::tag(&target, &path)?;
            tags.insert(path, tag);
        }
        Ok(PreparedLoad {
            target,
            size: plan.order(seed).size(),
            people_each: plan.people_each,
            run,
            tags,
            maker: FileMaker::new(seed, plan.file_scale),
            ledger: Arc::clone(ledger),
            reasons: Arc::clone(reasons),
        })
    }
}
