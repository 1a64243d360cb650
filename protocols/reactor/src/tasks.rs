//! The tasks of a thread and the queue of ready ones.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

use slab::Slab;

type TaskFuture = Pin<Box<dyn Future<Output = ()>>>;

/// Ready tasks, in the order of their wakes. Wakers must be `Send`, hence the lock; it is never contended,
/// since tasks are woken by their own thread.
pub(crate) struct ReadyQueue(Mutex<VecDeque<usize>>);

/// Initial capacity of the queue, so that a few tasks never make it grow.
const ROOM: usize = 256;

impl Default for ReadyQueue {
    fn default() -> Self {
        ReadyQueue(Mutex::new(VecDeque::with_capacity(ROOM)))
    }
}

impl ReadyQueue {
    fn push(&self, key: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(key);
    }

    fn pop(&self) -> Option<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Puts its task into the queue, once until the task has run.
struct TaskWaker {
    key: usize,
    queued: AtomicBool,
    ready: Arc<ReadyQueue>,
}

impl TaskWaker {
    fn queue(&self) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.ready.push(self.key);
        }
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.queue();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.queue();
    }
}

struct Task {
    work: TaskFuture,
    waker: Waker,
    flag: Arc<TaskWaker>,
}

/// Slot of a task. Empty while the task runs.
type TaskSlot = Option<Task>;

#[derive(Default)]
pub(crate) struct Tasks {
    places: RefCell<Slab<TaskSlot>>,
    pub(crate) ready: Arc<ReadyQueue>,
}

impl Tasks {
    /// Adds a task; it runs in the next turn.
    pub(crate) fn add(&self, work: TaskFuture) {
        let mut places = self.places.borrow_mut();
        let entry = places.vacant_entry();
        let ready = Arc::clone(&self.ready);
        let flag = Arc::new(TaskWaker { key: entry.key(), queued: AtomicBool::new(false), ready });
        flag.queue();
        entry.insert(Some(Task { work, waker: Waker::from(Arc::clone(&flag)), flag }));
    }

    /// Runs one ready task; false if there is none.
    pub(crate) fn run_one(&self) -> bool {
        let Some(key) = self.ready.pop() else { return false };
        // A wake may outlive its task: the slot is empty, or has a new task, which is then polled once too
        // often.
        let Some(mut task) = self.places.borrow_mut().get_mut(key).and_then(Option::take) else {
            return true;
        };
        task.flag.queued.store(false, Ordering::Release);
        let ended = task.work.as_mut().poll(&mut Context::from_waker(&task.waker)).is_ready();
        let mut places = self.places.borrow_mut();
        if ended {
            places.remove(key);
            drop(places);
            // Its contents may wake or spawn other tasks while they are dropped.
            drop(task);
        } else {
            places[key] = Some(task);
        }
        true
    }

    /// Drops every task.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.places.borrow_mut());
        drop(all);
    }
}
