//! Users that share a queue, usually a ring: each has a buffer of it and one operation in flight.

use std::io;
use std::sync::Arc;
use std::task::Context;

use barograph_engine::{Group, GroupFactory, Members, OpContext};
use barograph_model::words::in_one_line;
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_ring::{Buffers, Completion, Ring};

use crate::access::Opening;
use crate::error::DiskError;
use crate::measures::{CALLS, SUBMISSION, SUBMITTED};
use crate::operation::OpKind;
use crate::program::Program;
use crate::queue::Queue;
use crate::user::{Request, User};

/// Makes the groups of one worker.
pub(crate) struct Rings {
    pub(crate) program: Arc<Program>,
    pub(crate) opening: Opening,
    /// Users that share a ring.
    pub(crate) users: usize,
}

impl GroupFactory for Rings {
    type Group = QueueGroup<Ring>;

    fn size(&self) -> usize {
        self.users
    }

    fn group(&self) -> QueueGroup<Ring> {
        let ring = self.ring().map_err(|why| in_one_line(&why));
        QueueGroup::new(&self.program, ring, self.users)
    }
}

impl Rings {
    fn ring(&self) -> Result<Ring, DiskError> {
        let opened = self.opening.open()?;
        let buffers = Buffers::new(self.users, self.program.plan.largest() as usize)?;
        let mut ring = Ring::new(opened.file.into(), buffers)?;
        ring.set_batch(self.program.plan.batch);
        Ok(ring)
    }
}

/// The users of one queue.
pub(crate) struct QueueGroup<Q> {
    program: Arc<Program>,
    /// The queue, or why there is none.
    queue: Result<Q, String>,
    members: Vec<Member>,
    /// Members whose operations the next call submits.
    fresh: Vec<usize>,
    /// Members whose operations cannot begin.
    unable: Vec<usize>,
}

/// One user. The queue may still have an operation that the user has given up; the next one then waits for it, since both
/// use the same buffer.
#[derive(Default)]
struct Member {
    user: User,
    /// What the queue has.
    in_queue: Option<Request>,
    /// Whether the user waits for that.
    is_awaited: bool,
    /// What follows it.
    next: Option<Request>,
}

impl<Q: Queue> Group for QueueGroup<Q> {
    fn join(&mut self, place: usize, _: UserId) {
        self.members[place].user = User::default();
    }

    fn begin(&mut self, place: usize, op: OpId, context: &mut OpContext) {
        let QueueGroup { program, queue, members, fresh, unable } = self;
        let member = &mut members[place];
        let why = match queue {
            Err(why) => why.clone(),
            Ok(queue) => match member.user.request(op, program, &mut context.rng) {
                Err(why) => why.to_owned(),
                Ok(request) => {
                    context.sent();
                    if queue.is_in_flight(place) {
                        member.next = Some(request);
                    } else {
                        member.queue(place, request, (program, queue));
                        fresh.push(place);
                        // The disk works on these while the buffers of others are filled.
                        if fresh.len() >= queue.together()
                            && let Err(why) = submit(queue, fresh, context)
                        {
                            self.queue = Err(refusal(&why));
                        }
                    }
                    return;
                }
            },
        };
        program.failed(op, Outcome::DriverFault, why);
        unable.push(place);
    }

    fn abandon(&mut self, place: usize) {
        let member = &mut self.members[place];
        match member.next.take() {
            Some(next) => next.give_up(&self.program),
            None => member.is_awaited = false,
        }
        self.fresh.retain(|other| *other != place);
        self.unable.retain(|other| *other != place);
    }

    fn poll(&mut self, cx: &mut Context<'_>, members: &mut Members) {
        self.unable.drain(..).for_each(|place| members.end(place, Outcome::DriverFault));
        let Ok(queue) = &mut self.queue else { return self.lose(members) };
        if queue.poll_work(cx)
            && let Err(why) = submit_all(queue, &mut self.fresh, members)
        {
            self.queue = Err(refusal(&why));
            return self.lose(members);
        }
        while let Some(completion) = queue.completed() {
            let place = completion.buffer;
            self.members[place].end(completion, (&self.program, queue), members);
        }
        if queue.queued() > 0 {
            cx.waker().wake_by_ref();
        }
    }

    fn choose(&mut self, place: usize, _: ChooserId, context: &mut OpContext) -> usize {
        self.members[place].user.choose(&self.program, &mut context.rng)
    }
}

impl<Q> QueueGroup<Q> {
    /// An empty group with a queue that has a buffer for each of its users, or the reason why there is none.
    pub(crate) fn new(program: &Arc<Program>, queue: Result<Q, String>, users: usize) -> Self {
        let members = std::iter::repeat_with(Member::default).take(users).collect();
        let (fresh, unable) = (Vec::with_capacity(users), Vec::with_capacity(users));
        QueueGroup { program: Arc::clone(program), queue, members, fresh, unable }
    }

    /// Ends all operations of a queue that does not work any more.
    fn lose(&mut self, members: &mut Members) {
        for (place, member) in self.members.iter_mut().enumerate() {
            let is_waiting = member.is_awaited || member.next.is_some();
            *member = Member { user: member.user, ..Member::default() };
            if is_waiting {
                members.end(place, Outcome::DriverFault);
            }
        }
    }
}

impl Member {
    /// Queues an operation whose buffer is free.
    fn queue(&mut self, place: usize, request: Request, (program, queue): (&Program, &mut impl Queue)) {
        let (offset, bytes) = (request.place.offset, request.place.bytes);
        match request.kind {
            OpKind::Read => queue.read(place, offset, bytes),
            OpKind::Write => {
                request.fill(program, queue.buffer_mut(place));
                queue.write(place, offset, bytes);
            }
            OpKind::Sync => queue.sync(place),
        }
        (self.in_queue, self.is_awaited) = (Some(request), true);
    }

    /// Ends an operation, and begins the one that waited for its buffer.
    fn end(
        &mut self,
        completion: Completion,
        (program, queue): (&Program, &mut impl Queue),
        members: &mut Members,
    ) {
        let Completion { buffer: place, result } = completion;
        let Some(request) = self.in_queue.take() else { return };
        if std::mem::take(&mut self.is_awaited) {
            let context = members.context(place);
            let outcome = request.end(program, result, (queue.buffer(place), Some(context)));
            members.end(place, outcome);
        } else {
            request.end(program, result, (&[], None));
        }
        if let Some(next) = self.next.take() {
            self.queue(place, next, (program, queue));
        }
    }
}

/// Submits what is queued and takes completions.
fn submit_all(queue: &mut impl Queue, fresh: &mut Vec<usize>, members: &mut Members) -> io::Result<()> {
    if fresh.is_empty() {
        return queue.enter();
    }
    while let Some(first) = fresh.first() {
        submit(queue, fresh, members.context(*first))?;
    }
    Ok(())
}

/// Submits the operations of one call and counts it for one of them. The time of a call is that of each operation that it
/// submitted.
fn submit(queue: &mut impl Queue, fresh: &mut Vec<usize>, context: &mut OpContext) -> io::Result<()> {
    let submitted = fresh.len().min(queue.together());
    let before = context.added(SUBMISSION);
    let entered = context.timed(SUBMISSION, || queue.enter());
    let took = context.added(SUBMISSION) - before;
    context.add(SUBMISSION, took * (submitted as u64 - 1));
    context.add(SUBMITTED, submitted as u64);
    context.add(CALLS, 1);
    fresh.drain(..submitted);
    entered
}

fn refusal(why: &io::Error) -> String {
    format!("submit operations: {why}")
}
