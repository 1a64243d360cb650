//! Whether the cores that a plan names exist.

use barograph_model::Refusal;
use barograph_spec::{Cores, Plan};

use crate::deploy::{DRIVERS, cores_of_own_driver};

/// Kernel file that lists the cores online.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Cores of this machine; `None` if the kernel does not list them.
pub(super) fn of_machine() -> Option<Cores> {
    let text = std::fs::read_to_string(ONLINE).ok()?;
    Cores::read(text.trim()).filter(|cores| !cores.is_all())
}

/// Refuses the cores of a driver in this process if the system does not let it run on all of them.
pub(super) fn not_permitted(plan: &Plan, is_permitted: impl Fn(&[usize]) -> bool) -> Option<Refusal> {
    let cores = cores_of_own_driver(plan);
    if cores.is_all() || is_permitted(cores.numbers()) {
        return None;
    }
    let key = format!("deploy.{DRIVERS}_cores");
    Some(Refusal {
        place: plan.place(&key).to_owned(),
        key,
        value: format!("{:?}", cores.to_string()),
        allowed: "cores that this process may run on: its set of cores (`cpuset`) lacks some of these"
            .to_owned(),
        remedy: "name others, or leave it out for all".to_owned(),
    })
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
    fn cores_that_this_process_may_not_use_are_refused_for_a_driver_in_it() {
        let refused = |text: &str, permitted: &[usize]| {
            let text = format!("deploy.driver_cores = \"0-1\"\n{text}");
            let plan = barograph_spec::read(crate::testing::CATALOGUE, "p.toml", &text, &[]).unwrap();
            let is_permitted = |cores: &[usize]| cores.iter().all(|core| permitted.contains(core));
            not_permitted(&plan, is_permitted).map(|refusal| refusal.to_string())
        };
        assert_eq!(refused("", &[0, 1]), None);
        assert_eq!(refused("driver.place = \"unit\"", &[]), None);
        assert_eq!(
            refused("", &[0]).unwrap(),
            "p.toml:1: `deploy.driver_cores` = \"0-1\"\n  allowed: cores that this process may run on: its set of \
             cores (`cpuset`) lacks some of these\n  to do:   name others, or leave it out for all"
        );
    }

    #[test]
    fn this_machine_has_its_first_cores() {
        let there = of_machine().unwrap();
        assert!(!there.numbers().is_empty() && there.numbers().is_sorted());
    }
}
