//! The key-value part of a plan in words.

use barograph_data::Popularity;
use barograph_model::words::{count, span};
use barograph_spec::{Plan, SettingsReader, WorkloadSettings, placed, there};

use super::{KvPlan, checked};
use crate::values::Size;

impl WorkloadSettings for KvPlan {
    fn check(&self, plan: &Plan, given: &mut SettingsReader) {
        checked::check(self, plan, given);
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let mut lines = vec![self.commands(), self.data()];
        if self.pipeline > 1 {
            lines.push(format!(
                "          up to {} users share a connection, each with one command in flight",
                self.pipeline
            ));
        }
        if self.verify {
            lines.push("          values that come back are compared with what was written".to_owned());
        }
        lines.push(match &plan.target.url {
            Some(url) => there(url, "nothing is deployed; its keys are filled and stay"),
            None => format!("target    {} {}", self.deployed(), placed(&plan.deploy)),
        });
        lines
    }
}

impl KvPlan {
    /// Users with the weights of their commands.
    fn commands(&self) -> String {
        let all: u32 = self.mix.iter().map(|(_, weight)| weight).sum();
        let share = |weight: u32| f64::from(weight) / f64::from(all.max(1)) * 100.0;
        let each =
            self.mix.iter().map(|(verb, weight)| format!("{} {:.1} %", verb.spec().name, share(*weight)));
        let think = match self.think.0 {
            0 => "each as soon as the reply to the one before is there".to_owned(),
            _ => format!("{} after the reply to the one before", span(self.think)),
        };
        format!("commands  {}; {think}", each.collect::<Vec<_>>().join(", "))
    }

    fn data(&self) -> String {
        let popularity = match self.popularity {
            Popularity::Uniform => "all alike".to_owned(),
            Popularity::Zipf { exponent } => format!("by Zipf's law with exponent {exponent}"),
            Popularity::Hot { numbers, draws } => {
                format!("{:.1} % of the commands to {:.1} % of them", draws * 100.0, numbers * 100.0)
            }
            Popularity::Sequential => "one after the other".to_owned(),
        };
        let Size { least, most } = self.value;
        let bytes = match (least, most) {
            (1, 1) => "1 byte".to_owned(),
            (least, most) if least == most => format!("{} bytes", count(least.into())),
            _ => format!("{} to {} bytes", count(least.into()), count(most.into())),
        };
        let fill = match self.fill.get() {
            0.0 => "none of them filled before".to_owned(),
            1.0 => "all filled before".to_owned(),
            part => format!("{:.1} % filled before", part * 100.0),
        };
        format!("data      {} keys ({popularity}), values of {bytes}, {fill}", count(self.keys))
    }

    /// The deployed parts, from the users to the stores.
    fn deployed(&self) -> String {
        let parts = &self.deploy;
        let several = |n: u32, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} x {one}") };
        let mut all = Vec::new();
        if parts.balancer != "none" {
            all.push(parts.balancer.to_owned());
        }
        if parts.proxies > 0 {
            all.push(several(parts.proxies, parts.proxy));
        }
        let store = match (parts.store, parts.append_only) {
            ("embedded", _) => "store of this program".to_owned(),
            (store, "none") => format!("{store} without a log"),
            (store, log) => format!("{store} with its log on disk {log}"),
        };
        all.push(several(parts.stores, &store));
        all.join(" in front of ")
    }
}
