//! The list of workloads.

use std::sync::Arc;

use barograph_spec::{Catalogue, Known, Plan, PlatformKind, Refused, Setting, WorkloadKeys};

use crate::{LoadCommand, Program, SentFile, Verb, Workload, WorkloadFactory};

/// The workloads of a program, and the platforms that their plans can name.
#[derive(Clone, Copy)]
pub struct Workloads {
    /// The workloads, the default of plans first.
    pub all: &'static [&'static dyn WorkloadFactory],
    /// The platforms, the default of plans first; without any, plans may name any.
    pub platforms: &'static [PlatformKind],
}

impl Workloads {
    /// Reads a plan; see [`barograph_spec::read`].
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(self, name: &str, text: &str, sets: &[String]) -> Result<Plan, Refused> {
        barograph_spec::read(self.catalogue(&self.readers()), name, text, sets)
    }

    /// Reads a plan under the settings of a study; see [`barograph_spec::read_with`].
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read_with(
        self,
        name: &str,
        text: &str,
        settings: &[Setting],
        sets: &[String],
    ) -> Result<Plan, Refused> {
        barograph_spec::read_with(self.catalogue(&self.readers()), name, text, settings, sets)
    }

    /// What a plan can name. `readers` are [`Workloads::readers`].
    #[must_use]
    pub fn catalogue<'a>(self, readers: &'a [&'a dyn WorkloadKeys]) -> Catalogue<'a> {
        Catalogue { workloads: readers, platforms: self.platforms }
    }

    /// What reads the keys of each workload.
    #[must_use]
    pub fn readers(self) -> Vec<&'static dyn WorkloadKeys> {
        self.all.iter().map(|factory| *factory as &dyn WorkloadKeys).collect()
    }

    /// Every key a plan may have.
    #[must_use]
    pub fn keys(self) -> Vec<(String, Known)> {
        barograph_spec::keys(self.catalogue(&self.readers()))
    }

    /// The workload of a plan that was read with this list.
    ///
    /// # Errors
    /// Settings of the plan that are not possible.
    pub fn of_plan(self, plan: &Plan) -> Result<Arc<dyn Workload>, Refused> {
        self.factory(plan).of_plan(plan)
    }

    /// The workload of a plan that was read with this list, from the files that the harness sent.
    ///
    /// # Errors
    /// Files that are missing or not possible.
    pub fn of_files(self, plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refused> {
        self.factory(plan).of_files(plan, files)
    }

    /// Workloads that need no file.
    pub fn built_in(self) -> impl Iterator<Item = &'static dyn Workload> {
        self.all.iter().filter_map(|factory| factory.built_in())
    }

    /// The commands of one line, each with the name of its workload.
    pub fn load_commands(self) -> impl Iterator<Item = (&'static str, &'static dyn LoadCommand)> {
        self.all.iter().filter_map(|factory| Some((factory.name(), factory.load_command()?)))
    }

    /// The programs that do this, each with the name of its workload.
    pub fn programs(self, verb: Verb) -> impl Iterator<Item = (&'static str, &'static dyn Program)> {
        self.all.iter().filter_map(move |factory| Some((factory.name(), factory.program(verb)?)))
    }

    fn factory(self, plan: &Plan) -> &'static dyn WorkloadFactory {
        let found = self.all.iter().find(|factory| factory.name() == plan.workload);
        *found.expect("plans that name another workload are refused when they are read")
    }
}
