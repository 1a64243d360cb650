//! Engines: the sort of this program, and clusters that a run deploys.

use std::fmt;

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The external merge sort of this program.
    Embedded,
    /// A standalone cluster of Apache Spark.
    Spark,
    /// YARN of Apache Hadoop, with the TeraSort of its examples.
    Hadoop,
}

impl Engine {
    /// Names in plans.
    pub(crate) const NAMES: [&str; 3] = ["embedded", "spark", "hadoop"];

    /// Engine of a name.
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "spark" => Engine::Spark,
            "hadoop" => Engine::Hadoop,
            _ => Engine::Embedded,
        }
    }

    /// Whether the engine is a cluster.
    pub(crate) fn is_cluster(self) -> bool {
        self != Engine::Embedded
    }

    /// Memory of a sort where the plan does not state it, in MiB.
    pub(crate) fn usual_memory_mib(self) -> u64 {
        if self.is_cluster() { 2_048 } else { 64 }
    }

    /// Least memory of a task, in MiB: Java does not start tasks in less.
    pub(crate) fn least_task_mib(self) -> u64 {
        match self {
            Engine::Embedded => 0,
            // Of an executor, Spark reserves 300 MiB for itself and refuses less than one and a half times of that.
            Engine::Spark => 512,
            Engine::Hadoop => 384,
        }
    }

    /// Services of the manager and of a worker.
    pub(crate) fn services(self) -> [&'static str; 2] {
        match self {
            Engine::Hadoop => ["yarn", "yarn_node"],
            _ => ["spark", "spark_worker"],
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Embedded => "external merge sort of this program",
            Engine::Spark => "job on Apache Spark",
            Engine::Hadoop => "TeraSort on Apache Hadoop",
        })
    }
}
