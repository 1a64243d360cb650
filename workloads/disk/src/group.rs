//! Users that share a ring: each has a buffer of it and one operation in flight.

use std::sync::Arc;
use std::task::Context;

use barograph_engine::{Group, GroupFactory, Members, OpContext};
use barograph_model::words::in_one_line;
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_ring::{Buffers, Completion, Ring};

use crate::error::DiskError;
use crate::measures::{CALLS, SUBMISSION, SUBMITTED};
use crate::operation::OpKind;
use crate::program::Program;
use crate::user::{Request, User};

/// Makes the groups of one worker.
pub(crate) struct Rings {
    pub(crate) program: Arc<Program>,
    /// Users that share a ring.
    pub(crate) users: usize,
}

impl GroupFactory for Rings {
    type Group = RingGroup;

    fn size(&self) -> usize {
        self.users
    }

    fn group(&self) -> RingGroup {
        let ring = ring(&self.program, self.users).map_err(|why| in_one_line(&why));
        let members = std::iter::repeat_with(Member::default).take(self.users).collect();
        let (fresh, unable) = (Vec::with_capacity(self.users), Vec::with_capacity(self.users));
        RingGroup { program: Arc::clone(&self.program), ring, members, fresh, unable }
    }
}

fn ring(program: &Program, users: usize) -> Result<Ring, DiskError> {
    let opened = program.access.open(&program.path)?;
    let buffers = Buffers::new(users, program.plan.largest() as usize)?;
    Ok(Ring::new(opened.file.into(), buffers)?)
}

/// The users of one ring.
pub(crate) struct RingGroup {
    program: Arc<Program>,
    /// The ring, or why there is none.
    ring: Result<Ring, String>,
    members: Vec<Member>,
    /// Members whose operations the next call submits.
    fresh: Vec<usize>,
    /// Members whose operations cannot begin.
    unable: Vec<usize>,
}

/// One user. The kernel may still have an operation that the user has given up; the next one then waits for it, since both
/// use the same buffer.
#[derive(Default)]
struct Member {
    user: User,
    /// What the ring has.
    in_ring: Option<Request>,
    /// Whether the user waits for that.
    is_awaited: bool,
    /// What follows it.
    next: Option<Request>,
}

impl Group for RingGroup {
    fn join(&mut self, place: usize, _: UserId) {
        self.members[place].user = User::default();
    }

    fn begin(&mut self, place: usize, op: OpId, context: &mut OpContext) {
        let RingGroup { program, ring, members, fresh, unable } = self;
        let member = &mut members[place];
        let why = match ring {
            Err(why) => why.clone(),
            Ok(ring) => match member.user.request(op, program, &mut context.rng) {
                Err(why) => why.to_owned(),
                Ok(request) => {
                    context.sent();
                    if ring.is_in_flight(place) {
                        member.next = Some(request);
                    } else {
                        member.queue(place, request, (program, ring));
                        fresh.push(place);
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
        let Ok(ring) = &mut self.ring else { return };
        // Every completion from here on wakes the task.
        let _ = ring.poll_event(cx);
        if ring.has_work()
            && let Err(why) = submit(ring, &mut self.fresh, members)
        {
            self.ring = Err(format!("submit operations: {why}"));
            return self.lose(members);
        }
        while let Some(completion) = ring.completed() {
            let place = completion.buffer;
            self.members[place].end(completion, (&self.program, ring), members);
        }
        if ring.queued() > 0 {
            cx.waker().wake_by_ref();
        }
    }

    fn choose(&mut self, place: usize, _: ChooserId, context: &mut OpContext) -> usize {
        self.members[place].user.choose(&self.program, &mut context.rng)
    }
}

impl RingGroup {
    /// Ends all operations of a ring that does not work any more.
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
    /// Queues an operation in a ring whose buffer is free.
    fn queue(&mut self, place: usize, request: Request, (program, ring): (&Program, &mut Ring)) {
        let (offset, bytes) = (request.place.offset, request.place.bytes);
        match request.kind {
            OpKind::Read => ring.read(place, offset, bytes),
            OpKind::Write => {
                request.fill(program, ring.buffer_mut(place));
                ring.write(place, offset, bytes);
            }
            OpKind::Sync => ring.sync(place),
        }
        (self.in_ring, self.is_awaited) = (Some(request), true);
    }

    /// Ends an operation, and begins the one that waited for its buffer.
    fn end(&mut self, completion: Completion, (program, ring): (&Program, &mut Ring), members: &mut Members) {
        let Completion { buffer: place, result } = completion;
        let Some(request) = self.in_ring.take() else { return };
        if std::mem::take(&mut self.is_awaited) {
            let context = members.context(place);
            let outcome = request.end(program, result, (ring.buffer(place), Some(context)));
            members.end(place, outcome);
        } else {
            request.end(program, result, (&[], None));
        }
        if let Some(next) = self.next.take() {
            self.queue(place, next, (program, ring));
        }
    }
}

/// Submits what is queued. The time of the call is that of each operation that it submitted.
fn submit(ring: &mut Ring, fresh: &mut Vec<usize>, members: &mut Members) -> std::io::Result<()> {
    let Some(first) = fresh.first() else { return ring.enter() };
    let context = members.context(*first);
    let before = context.added(SUBMISSION);
    let entered = context.timed(SUBMISSION, || ring.enter());
    context.add(CALLS, 1);
    context.add(SUBMITTED, 1);
    let took = context.added(SUBMISSION) - before;
    for place in &fresh[1..] {
        let context = members.context(*place);
        context.add(SUBMISSION, took);
        context.add(SUBMITTED, 1);
    }
    fresh.clear();
    entered
}
