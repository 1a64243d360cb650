//! Real-time scheduling of worker threads.

use std::thread;

use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

/// Whether the system lets this process have threads with real-time scheduling. On Linux that takes
/// `CAP_SYS_NICE` or a limit `RLIMIT_RTPRIO` above 0.
#[must_use]
pub fn realtime_is_permitted() -> bool {
    thread::spawn(schedule_in_real_time).join().unwrap_or(false)
}

/// Schedules this thread ahead of all that are not real-time, at the lowest real-time priority, in turns with
/// others of it (`SCHED_RR`). Returns whether the system permitted it.
pub(crate) fn schedule_in_real_time() -> bool {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_for_the_process_is_that_for_a_thread_of_it() {
        let permitted = realtime_is_permitted();
        let policy = thread::spawn(|| {
            schedule_in_real_time();
            thread_priority::thread_schedule_policy().unwrap()
        });
        let realtime = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
        assert_eq!(policy.join().unwrap() == realtime, permitted);
        assert_ne!(thread_priority::thread_schedule_policy().unwrap(), realtime, "this thread is as it was");
    }
}
