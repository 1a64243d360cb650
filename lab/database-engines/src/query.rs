//! The statements of a workload on a server, which each session prepares once.

/// A statement of a workload: a variant of an enum without values.
pub trait Query: Copy + 'static {
    /// All statements by their numbers, with their SQL.
    const ALL: &'static [(Self, &'static str)];

    /// Its place in the list.
    fn number(self) -> usize;
}

/// The SQL of all statements.
pub(crate) fn texts<Q: Query>() -> Vec<String> {
    Q::ALL.iter().map(|(_, sql)| (*sql).to_owned()).collect()
}
