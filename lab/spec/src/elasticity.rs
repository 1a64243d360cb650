//! The keys of `[elasticity]`: the tier whose nodes are the supply, the curve of the demand, and a rule that
//! scales the tier.

use std::path::PathBuf;

use barograph_model::Nanos;

use crate::settings_reader::SettingsReader;

/// Elasticity of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElasticityPlan {
    /// Tier whose nodes are counted as the supply; empty if elasticity is not measured.
    pub tier: String,
    /// File of the demand curve.
    pub demand: Option<PathBuf>,
    /// Nodes that run when the load begins; 0 means all that are deployed.
    pub first_nodes: u32,
    /// Rule that scales the tier.
    pub scaler: Option<ScalerPlan>,
}

/// A rule that scales a tier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalerPlan {
    /// The value that it looks at.
    pub by: ScaledBy,
    /// The value of each node that it aims at: a share of its cores, or a level of load.
    pub target: f64,
    /// Relative distance from the target within which nothing changes; the autoscaler of a platform has its own.
    pub tolerance: f64,
    /// Time between two looks; the autoscaler of a platform has its own.
    pub every: Nanos,
    /// Time for which fewer nodes must be enough before any goes.
    pub settle: Nanos,
    /// Fewest nodes.
    pub least_nodes: u32,
    /// Most nodes; 0 means all that are deployed.
    pub most_nodes: u32,
}

/// The value that a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaledBy {
    /// Share of its cores that each node uses.
    Cpu,
    /// Level of the load for each node.
    Load,
    /// Share of its cores that each node uses, by the autoscaler of the platform.
    Platform,
}

/// Most nodes of a tier.
const MOST_NODES: u64 = 1_000;

/// Longest time of a rule: an hour.
const LONGEST_S: f64 = 3_600.0;

/// Share of its cores that a node should use, unless the plan says another.
const CPU_TARGET: f64 = 0.6;

/// Largest target: the most load of a run.
const MOST_TARGET: f64 = 10_000_000.0;

/// Keys that belong to a tier.
const OF_A_TIER: [&str; 3] = ["elasticity.demand", "elasticity.first_nodes", "elasticity.scaler"];

/// Keys that belong to a rule.
const OF_A_RULE: [&str; 6] = [
    "elasticity.target",
    "elasticity.tolerance",
    "elasticity.every_s",
    "elasticity.settle_s",
    "elasticity.least_nodes",
    "elasticity.most_nodes",
];

pub(crate) fn elasticity(g: &mut SettingsReader) -> Option<ElasticityPlan> {
    let tier = g.word("elasticity.tier", &[], "");
    let is_measured = tier.as_ref().is_none_or(|tier| !tier.is_empty());
    for key in OF_A_TIER {
        g.only_with(key, is_measured, "elasticity.tier, a tier of several nodes");
    }
    let demand = g.optional_word("elasticity.demand", "a file of `barograph demand`");
    let first = g.number("elasticity.first_nodes", 0..=MOST_NODES, 0);
    let scaler = g.choice("elasticity.scaler", &["none", "cpu", "load", "platform"], "none");
    let by = match scaler {
        Some("cpu") => Some(ScaledBy::Cpu),
        Some("load") => Some(ScaledBy::Load),
        Some("platform") => Some(ScaledBy::Platform),
        _ => None,
    };
    for key in OF_A_RULE {
        let belongs = by.is_some() || scaler.is_none();
        g.only_with(key, belongs, "elasticity.scaler = \"cpu\", \"load\" or \"platform\"");
    }
    let rule = rule(g, by);
    scaler?;
    Some(ElasticityPlan {
        tier: tier?,
        demand: demand?.map(PathBuf::from),
        first_nodes: first? as u32,
        scaler: rule?,
    })
}

/// The rule; `Some(None)` without one.
fn rule(g: &mut SettingsReader, by: Option<ScaledBy>) -> Option<Option<ScalerPlan>> {
    let target = g.fraction("elasticity.target", 0.0..=MOST_TARGET, 0.0);
    let tolerance = g.fraction("elasticity.tolerance", 0.0..=1.0, 0.1);
    let every = g.time("elasticity.every_s", 0.1..=LONGEST_S, 15.0);
    let settle = g.time("elasticity.settle_s", 0.0..=LONGEST_S, 300.0);
    let least = g.number("elasticity.least_nodes", 1..=MOST_NODES, 1);
    let most = g.number("elasticity.most_nodes", 0..=MOST_NODES, 0);
    let (target, least, most) = (target?, least?, most?);
    let target = match by {
        Some(ScaledBy::Cpu | ScaledBy::Platform) if target == 0.0 => CPU_TARGET,
        Some(ScaledBy::Cpu | ScaledBy::Platform) if target > 1.0 => {
            let allowed =
                "above 0 and at most 1, unless elasticity.scaler = \"load\": a share of a node's cores";
            g.refuse("elasticity.target", target, allowed, "give a share, as in 0.6");
            return None;
        }
        Some(ScaledBy::Load) if target == 0.0 => {
            let allowed = "above 0 with elasticity.scaler = \"load\": the load that each node should have";
            g.refuse(
                "elasticity.target",
                "nothing",
                allowed,
                "give the load of a node, in the unit of the run",
            );
            return None;
        }
        _ => target,
    };
    if most != 0 && least > most {
        let allowed = format!("at most elasticity.most_nodes = {most}");
        g.refuse("elasticity.least_nodes", least, &allowed, "lower it, or raise elasticity.most_nodes");
        return None;
    }
    let (tolerance, every, settle) = (tolerance?, every?, settle?);
    Some(by.map(|by| ScalerPlan {
        by,
        target,
        tolerance,
        every,
        settle,
        least_nodes: least as u32,
        most_nodes: most as u32,
    }))
}

impl ScalerPlan {
    /// Most nodes, of a tier with this many.
    #[must_use]
    pub fn most_of(&self, deployed: u32) -> u32 {
        let most = if self.most_nodes == 0 { deployed } else { self.most_nodes };
        most.max(self.least_nodes)
    }
}

impl ElasticityPlan {
    /// Whether elasticity is measured.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        !self.tier.is_empty()
    }

    /// Whether the autoscaler of the platform decides how many nodes run.
    #[must_use]
    pub fn follows_platform(&self) -> bool {
        self.scaler.is_some_and(|rule| rule.by == ScaledBy::Platform)
    }

    /// Lines of the explanation of a plan.
    pub(crate) fn explain(&self) -> Vec<String> {
        if !self.is_measured() {
            return Vec::new();
        }
        let demand = match &self.demand {
            Some(file) => format!(", held against the demand curve in {}", file.display()),
            None => ", without a demand curve: only nodes, their cost and QoS are recorded".to_owned(),
        };
        let first = match self.first_nodes {
            0 => String::new(),
            nodes => format!(", {nodes} at the start"),
        };
        let supply = format!("elastic   nodes of {}{first}{demand}", self.tier);
        let rule = self.scaler.map(|rule| {
            let of = match rule.by {
                ScaledBy::Cpu | ScaledBy::Platform => {
                    format!("{} % of its cores in use", rule.target * 100.0)
                }
                ScaledBy::Load => format!("a load of {}", rule.target),
            };
            let (every, settle) = (rule.every.as_secs_f64(), rule.settle.as_secs_f64());
            let most = match rule.most_nodes {
                0 => "all".to_owned(),
                most => most.to_string(),
            };
            let looks = match rule.by {
                ScaledBy::Platform => "by the autoscaler of the platform".to_owned(),
                ScaledBy::Cpu | ScaledBy::Load => format!("looked at every {every} s"),
            };
            format!(
                "elastic   {} to {most} nodes, each with {of}: {looks}, fewer after {settle} s",
                rule.least_nodes
            )
        });
        std::iter::once(supply).chain(rule).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    fn read(text: &str) -> Result<ElasticityPlan, String> {
        let text = format!("[elasticity]\n{text}");
        let plan = crate::read(Catalogue::default(), "p.toml", &text, &[]);
        plan.map(|plan| plan.elasticity).map_err(|refusals| refusals.to_string())
    }

    #[test]
    fn a_rule_has_the_defaults_of_the_published_one() {
        assert_eq!(read("").unwrap(), ElasticityPlan::default());
        let plan = read("tier = \"application\"\nfirst_nodes = 2\nscaler = \"cpu\"").unwrap();
        let rule = plan.scaler.unwrap();
        assert_eq!((plan.tier.as_str(), plan.first_nodes, rule.by), ("application", 2, ScaledBy::Cpu));
        assert_eq!((rule.target, rule.tolerance, rule.least_nodes, rule.most_nodes), (0.6, 0.1, 1, 0));
        assert_eq!((rule.every, rule.settle), (Nanos::from_secs(15), Nanos::from_secs(300)));
        let lines = [
            "elastic   nodes of application, 2 at the start, without a demand curve: only nodes, their cost and QoS are \
             recorded",
            "elastic   1 to all nodes, each with 60 % of its cores in use: looked at every 15 s, fewer after 300 s",
        ];
        assert_eq!(plan.explain(), lines);
    }

    #[test]
    fn the_autoscaler_of_a_platform_has_its_own_interval() {
        let plan = read("tier = \"application\"\nscaler = \"platform\"\nsettle_s = 30").unwrap();
        assert!(plan.follows_platform() && !read("").unwrap().follows_platform());
        let line = "elastic   1 to all nodes, each with 60 % of its cores in use: by the autoscaler of the \
                    platform, fewer after 30 s";
        assert_eq!(plan.explain()[1], line);
    }

    #[test]
    fn what_was_resolved_reads_back() {
        let text =
            "[elasticity]\ntier = \"application\"\ndemand = \"d.toml\"\nscaler = \"load\"\ntarget = 12.5\n";
        let plan = crate::read(Catalogue::default(), "p", text, &[]).unwrap();
        let again = crate::read(Catalogue::default(), "p", &plan.resolved, &[]).unwrap();
        assert_eq!((again.resolved, again.elasticity), (plan.resolved, plan.elasticity));
    }

    #[test]
    fn keys_without_effect_and_impossible_values_are_refused() {
        for (text, key) in [
            ("demand = \"d.toml\"", "`elasticity.demand` = \"d.toml\"\n  allowed: only with elasticity.tier"),
            ("first_nodes = 2", "`elasticity.first_nodes`"),
            ("scaler = \"cpu\"", "`elasticity.scaler`"),
            (
                "tier = \"a\"\ntarget = 0.5",
                "`elasticity.target` = 0.5\n  allowed: only with elasticity.scaler",
            ),
            ("tier = \"a\"\nscaler = \"cpu\"\ntarget = 1.5", "`elasticity.target` = 1.5"),
            ("tier = \"a\"\nscaler = \"load\"", "`elasticity.target` = nothing"),
            ("tier = \"a\"\nscaler = \"magic\"", "`elasticity.scaler` = \"magic\""),
            (
                "tier = \"a\"\nscaler = \"cpu\"\nleast_nodes = 3\nmost_nodes = 2",
                "`elasticity.least_nodes` = 3",
            ),
            ("tier = \"a\"\nscaler = \"platform\"\ntarget = 30", "`elasticity.target` = 30"),
            ("tier = \"a\"\nscaler = \"cpu\"\nevery_s = 0", "`elasticity.every_s` = 0"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(key), "{text}: {refused}");
        }
    }
}
