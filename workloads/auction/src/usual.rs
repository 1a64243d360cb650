//! Default size of the data: large enough that a search on this machine finds a limit before the data end it.

use barograph_auction::sizes::{self, Size};
use barograph_model::words::{count, users};
use barograph_spec::{DataPlan, Plan};
use barograph_workload::{DataSets, Machine, UsualSize};

/// Users for each core: twice the usual capacity of a core, driver and application together.
const USERS_PER_CORE: u64 = 20_000;

/// Bytes of memory per user in driver, application and kernel: four kept connections on both sides.
const BYTES_PER_USER: u64 = 100 << 10;

/// Divisor of the memory for users; the rest is for stores, pictures and other processes.
const SHARE_OF_MEMORY: u64 = 2;

/// The smallest size of runs that is large enough for the cores, or a smaller one if memory or disk require
/// it.
pub(crate) fn size(sets: &dyn DataSets, plan: &Plan, machine: &Machine) -> UsualSize {
    let wanted = USERS_PER_CORE * machine.cores as u64;
    let mut fitting = sizes::ALL.into_iter().filter(|size| size.is_of_runs()).peekable();
    let smallest = fitting.peek().copied().unwrap_or(sizes::ALL[0]);
    let (mut chosen, mut lacks) = (smallest, None);
    for size in fitting {
        lacks = lack(sets, plan, (machine, size));
        if lacks.is_some() {
            break;
        }
        chosen = size;
        if u64::from(size.max_users) >= wanted {
            break;
        }
    }
    let cores = match machine.cores {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    let why = lacks.map_or_else(String::new, |lack| format!("; {lack}"));
    UsualSize {
        name: chosen.name,
        why: format!(
            "data of size {} for {}, since a search on {cores} looks up to {} users where it can{why}",
            chosen.name,
            users(chosen.max_users),
            count(wanted)
        ),
    }
}

/// The resource that this machine lacks for a size.
fn lack(sets: &dyn DataSets, plan: &Plan, (machine, size): (&Machine, Size)) -> Option<String> {
    let needed = u64::from(size.max_users) * BYTES_PER_USER * SHARE_OF_MEMORY;
    if let Some(there) = machine.memory_bytes.filter(|there| *there < needed) {
        return Some(format!("{} has {:.1} GB of memory too few", size.name, (needed - there) as f64 / 1e9));
    }
    let data = sets.data(&DataPlan { size: size.name.to_owned(), ..plan.data.clone() }, plan.seed).ok()?;
    let free = machine.free_bytes.filter(|free| *free < data.bytes)?;
    let is_there = sets.is_filled(&data.dir_in(&plan.data.dir));
    (!is_there)
        .then(|| format!("{} needs {:.1} GB of disk more", size.name, (data.bytes - free) as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use barograph_spec::Catalogue;
    use barograph_workload::WorkloadFactory;

    use super::*;
    use crate::Auctions;

    const ROOMY: Machine = Machine { open_files: 20_000, free_bytes: None, memory_bytes: None, cores: 2 };

    fn usual(machine: Machine) -> UsualSize {
        let plan = barograph_spec::read(Catalogue::of(&[&Auctions]), "p.toml", "", &[]).unwrap();
        let workload = Auctions.of_plan(&plan).unwrap();
        size(workload.application().unwrap().data_sets().unwrap(), &plan, &machine)
    }

    #[test]
    fn the_size_grows_with_the_cores() {
        for (cores, name) in [(1, "run20k"), (2, "run40k"), (3, "run80k"), (16, "run320k"), (512, "run640k")]
        {
            assert_eq!(usual(Machine { cores, ..ROOMY }).name, name);
        }
        assert_eq!(
            usual(ROOMY).why,
            "data of size run40k for 40,000 users, since a search on 2 cores looks up to 40,000 users where it can"
        );
    }

    #[test]
    fn memory_and_disk_make_it_smaller() {
        let little = Machine { memory_bytes: Some(4 << 30), ..ROOMY };
        assert_eq!(
            usual(little),
            UsualSize {
                name: "run20k",
                why: "data of size run20k for 20,000 users, since a search on 2 cores looks up to 40,000 users where it can; \
                      run30k has 1.8 GB of memory too few"
                    .to_owned(),
            }
        );
        let full = usual(Machine { free_bytes: Some(1 << 20), ..ROOMY });
        assert_eq!(full.name, "run10k");
        assert!(full.why.contains("; run10k needs "), "{}", full.why);
    }
}
