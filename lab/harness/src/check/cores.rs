//! Whether the cores that a plan names exist.

use barograph_model::Refusal;
use barograph_spec::{Cores, Plan};

/// Kernel file that lists the cores online.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Cores of this machine; `None` if the kernel does not list them.
pub(super) fn of_machine() -> Option<Cores> {
    let text = std::fs::read_to_string(ONLINE).ok()?;
    Cores::read(text.trim()).filter(|cores| !cores.is_all())
}

/// Refuses every core set with a core that is not in `there`. This includes parts in virtual machines, which
/// run on the cores of this machine.
pub(super) fn missing(plan: &Plan, there: &Cores) -> Vec<Refusal> {
    let lacks = |cores: &Cores| cores.numbers().iter().any(|core| !there.numbers().contains(core));
    let wrong = plan.deploy.limits.iter().filter(|limits| lacks(&limits.cores));
    wrong
        .map(|limits| {
            let key = format!("deploy.{}_cores", limits.tier);
            Refusal {
                place: plan.place(&key).to_owned(),
                key,
                value: format!("{:?}", limits.cores.to_string()),
                allowed: format!("cores of this machine, which has {there}"),
                remedy: "name some of these, or leave it out for all".to_owned(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_that_are_not_there_are_refused_with_their_key() {
        let text = "[deploy]\nhosts = \"apart\"\napplication_cores = \"0-1\"\nrelational_cores = \"1-2\"\n";
        let plan = barograph_spec::read(crate::testing::CATALOGUE, "p.toml", text, &[]).unwrap();
        let refused = |there: &str| -> Vec<String> {
            missing(&plan, &Cores::read(there).unwrap()).iter().map(ToString::to_string).collect()
        };
        assert_eq!(refused("0-2"), Vec::<String>::new());
        assert_eq!(
            refused("0-1"),
            [
                "p.toml:4: `deploy.relational_cores` = \"1-2\"\n  allowed: cores of this machine, which has 0-1\n  to \
                 do:   name some of these, or leave it out for all"
            ]
        );
        assert_eq!(refused("0,2-3").len(), 2);
    }

    #[test]
    fn this_machine_has_its_first_cores() {
        let there = of_machine().unwrap();
        assert!(!there.numbers().is_empty() && there.numbers().is_sorted());
    }
}
