//! The auction's part of a plan in words.

use barograph_spec::{Ability, Plan, SettingsReader, WorkloadSettings, placed, there};

use super::{AuctionPlan, checked};

impl WorkloadSettings for AuctionPlan {
    fn check(&self, plan: &Plan, given: &mut SettingsReader) {
        checked::check(self, plan, given);
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        if let Some(url) = &plan.target.url {
            return vec![there(url, "nothing is deployed or filled, and its data are verified afterwards")];
        }
        let mut lines = vec![format!("data      size {}, in {}", plan.data.size, plan.data.dir.display())];
        if self.deploy.is_embedded() && !plan.deploy.has(Ability::Hosts) {
            let port = match plan.target.port {
                0 => " on a free port".to_owned(),
                port => format!(":{port}"),
            };
            lines.push(format!("target    the application as a process of its own on 127.0.0.1{port}"));
            return lines;
        }
        let (like, placed) = (self.deploy.like, placed(&plan.deploy));
        lines.push(format!("target    the application deployed like {like:?} {placed}"));
        if self.deploy.sql_durability == "off" {
            let what = "          PostgreSQL is not durable: a commit waits for no disk and may be lost, data may be damaged";
            lines.push(what.to_owned());
        }
        lines
    }
}
