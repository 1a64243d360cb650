//! Blocking calls of an engine, for callers that cannot await.

use std::io;

/// Runs `work` to its end on a thread with a runtime of its own, and waits for it: this blocks for as long as
/// the engine takes. Abilities of units such as pausing are called without a runtime.
pub(crate) fn at_once<T: Send>(work: impl Future<Output = T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let done = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            Ok(runtime.block_on(work))
        });
        match done.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_future_is_run_inside_of_a_runtime_too() {
        assert_eq!(at_once(async { 1 + 1 }).unwrap(), 2);
    }
}
