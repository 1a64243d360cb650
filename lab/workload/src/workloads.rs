//! The list of workloads.

use std::sync::Arc;

use barograph_spec::{Catalogue, KnownKey, Plan, PlatformKind, Refusals, Setting, WorkloadKeys};

use crate::{LoadCommand, Program, SentFile, Verb, Workload, WorkloadFactory};

/// The workloads of a program, and the platforms for their plans.
#[derive(Clone, Copy)]
pub struct Workloads {
    /// The workloads; the first is the default of plans.
    pub all: &'static [&'static dyn WorkloadFactory],
    /// The platforms; the first is the default of plans. If empty, plans may name any.
    pub platforms: &'static [PlatformKind],
}

impl Workloads {
    /// Reads a plan; see [`barograph_spec::read`].
    ///
    /// # Errors
    /// If the plan is invalid.
    pub fn read(self, name: &str, text: &str, sets: &[String]) -> Result<Plan, Refusals> {
        barograph_spec::read(self.catalogue(&self.readers()), name, text, sets)
    }

    /// Reads a plan under the settings of a study; see [`barograph_spec::read_with`].
    ///
    /// # Errors
    /// If the plan is invalid.
    pub fn read_with(
        self,
        name: &str,
        text: &str,
        settings: &[Setting],
        sets: &[String],
    ) -> Result<Plan, Refusals> {
        barograph_spec::read_with(self.catalogue(&self.readers()), name, text, settings, sets)
    }

    /// Returns the names allowed in plans. `readers` are [`Workloads::readers`].
    #[must_use]
    pub fn catalogue<'a>(self, readers: &'a [&'a dyn WorkloadKeys]) -> Catalogue<'a> {
        Catalogue { workloads: readers, platforms: self.platforms }
    }

    /// Returns the reader of each workload's keys.
    #[must_use]
    pub fn readers(self) -> Vec<&'static dyn WorkloadKeys> {
        self.all.iter().map(|factory| *factory as &dyn WorkloadKeys).collect()
    }

    /// Returns every key of plans.
    #[must_use]
    pub fn keys(self) -> Vec<(String, KnownKey)> {
        barograph_spec::keys(self.catalogue(&self.readers()))
    }

    /// Makes the workload of a plan that was read with this list.
    ///
    /// # Errors
    /// If settings of the plan are impossible.
    pub fn of_plan(self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        self.factory(plan).of_plan(plan)
    }

    /// Makes the workload of a plan that was read with this list, from the files that the harness sent.
    ///
    /// # Errors
    /// If files are missing or invalid.
    pub fn of_files(self, plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refusals> {
        self.factory(plan).of_files(plan, files)
    }

    /// Returns the workloads that need no file.
    pub fn built_in(self) -> impl Iterator<Item = &'static dyn Workload> {
        self.all.iter().filter_map(|factory| factory.built_in())
    }

    /// Returns the load commands, each with the name of its workload.
    pub fn load_commands(self) -> impl Iterator<Item = (&'static str, &'static dyn LoadCommand)> {
        self.all.iter().filter_map(|factory| Some((factory.name(), factory.load_command()?)))
    }

    /// Returns the programs for a verb, each with the name of its workload.
    pub fn programs(self, verb: Verb) -> impl Iterator<Item = (&'static str, &'static dyn Program)> {
        self.all.iter().filter_map(move |factory| Some((factory.name(), factory.program(verb)?)))
    }

    fn factory(self, plan: &Plan) -> &'static dyn WorkloadFactory {
        let found = self.all.iter().find(|factory| factory.name() == plan.workload);
        *found.expect("plans that name another workload are refused when they are read")
    }
}
