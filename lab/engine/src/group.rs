//! Users that share connections, driven together by one task.
//!
//! A task for each user costs more than a command of a pipeline: a wake, a place in the queue and two
//! readings of the clock. In a group the operations in flight are entries of a list. Operations answered in
//! one read end at one reading of the clock, and their successors are sent in one write.

mod crew;

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Waker};

use barograph_model::{ChooserId, CounterId, Counters, OpId, Outcome, UserId};

use self::crew::{Crew, Member, Seat};
use crate::OpContext;
use crate::activity::ActiveUser;
use crate::core::WaitSlots;
use crate::population::Population;
use crate::recorder::Batch;
use crate::worker::{UserEntry, Worker};

/// Makes the groups of one workload. One value per worker; nothing in it is shared.
pub trait GroupFactory: 'static {
    /// Users driven by one task.
    type Group: Group;

    /// Largest number of users in a group, at least 1. In a ramp they become active together.
    fn size(&self) -> usize;

    /// Makes an empty group.
    fn group(&self) -> Self::Group;
}

/// Users that share connections. A member is identified by its place, from 0. It has its main behaviour only:
/// requests of its [`OpContext`] to start or stop other activities are ignored.
pub trait Group: 'static {
    /// Adds a user at a place.
    fn join(&mut self, place: usize, user: UserId);

    /// Begins an operation of a member. It ends in [`Group::poll`].
    fn begin(&mut self, place: usize, op: OpId, context: &mut OpContext);

    /// Abandons the operation of a member, which timed out or was cancelled.
    fn abandon(&mut self, place: usize);

    /// Sends the begun operations, and ends those whose answers have arrived. If none has ended, it registers
    /// the task to be woken.
    fn poll(&mut self, cx: &mut Context<'_>, members: &mut Members);

    /// Answers a question about a member's state with the index of a branch. Never called if behaviours have
    /// no choosers.
    fn choose(&mut self, place: usize, chooser: ChooserId, context: &mut OpContext) -> usize {
        let _ = (place, chooser, context);
        0
    }

    /// Forgets the state of a member's session; connections stay.
    fn end_session(&mut self, place: usize) {
        let _ = place;
    }
}

/// Operations of the members of a group.
#[derive(Default)]
pub struct Members {
    pub(crate) places: Vec<Option<Member>>,
    pub(crate) ends: Vec<(u32, Outcome)>,
    /// Additions of ended operations.
    pub(crate) counters: Counters,
}

impl Members {
    /// Returns the turn of the member at a place: its random numbers and counters.
    ///
    /// # Panics
    /// If the place is empty.
    pub fn context(&mut self, place: usize) -> &mut OpContext {
        &mut self.at(place).context
    }

    /// Adds to a counter of the workload for an operation that ends in this poll. It costs less than the
    /// counters of the member's own turn.
    ///
    /// # Panics
    /// If the index is too large for any workload.
    #[inline]
    pub fn add(&mut self, counter: CounterId, count: u64) {
        self.counters.raise(counter, count);
    }

    /// Ends the operation of the member at a place.
    #[inline]
    pub fn end(&mut self, place: usize, outcome: Outcome) {
        self.ends.push((place as u32, outcome));
    }

    /// Loads the members of `ends` into the caches. In a loop of its own the misses of many members overlap;
    /// between the work on each member they would add up.
    fn fetch(&self, ends: &[(u32, Outcome)]) {
        let members = ends.iter().filter_map(|(place, _)| self.places[*place as usize].as_ref());
        std::hint::black_box(members.fold(0, |all, member| all ^ member.some_bits()));
    }

    #[inline]
    pub(crate) fn at(&mut self, place: usize) -> &mut Member {
        self.places[place].as_mut().expect("operations are those of members")
    }
}

/// Users of a worker in groups.
pub struct Groups<F> {
    factory: F,
    /// Groups with room for further members.
    open: RefCell<Vec<Rc<EntryQueue>>>,
    /// Lists for the group that is polled.
    lists: RefCell<Lists>,
}

/// Lists that are empty between two polls of a group. All groups of a worker use the same, which stay in the
/// caches.
#[derive(Default)]
struct Lists {
    /// Members whose operations begin next.
    ready: Vec<u32>,
    /// Members whose operations ended, with their outcomes.
    ends: Vec<(u32, Outcome)>,
    /// Operations that ended and are not recorded.
    batch: Batch,
}

/// Entry to a group.
pub(crate) struct EntryQueue {
    inbox: Rc<Inbox>,
    coming: RefCell<Vec<Member>>,
    /// Empty places.
    free: RefCell<Vec<u32>>,
    size: usize,
}

impl<F: GroupFactory> Groups<F> {
    /// Starts without groups.
    pub fn new(factory: F) -> Self {
        Groups { factory, open: RefCell::default(), lists: RefCell::default() }
    }

    /// Returns the group to fill next, and starts a task if it is new.
    fn door(worker: &Rc<Worker<Self>>) -> Rc<EntryQueue> {
        let Groups { factory, open, .. } = &worker.population;
        if let Some(door) = open.borrow().last() {
            return Rc::clone(door);
        }
        let size = worker.population.together();
        let free = RefCell::new((0..size as u32).rev().collect());
        let door =
            Rc::new(EntryQueue { inbox: Rc::new(Inbox::new(size)), coming: RefCell::default(), free, size });
        open.borrow_mut().push(Rc::clone(&door));
        let mut crew = Crew::new(worker, &door, factory.group());
        worker.spawn(std::future::poll_fn(move |cx| crew.poll(cx)));
        door
    }

    /// Frees a place of a group.
    fn vacate(&self, door: &Rc<EntryQueue>, place: u32) {
        let mut free = door.free.borrow_mut();
        let mut open = self.open.borrow_mut();
        if free.is_empty() {
            open.push(Rc::clone(door));
        }
        free.push(place);
        if free.len() == door.size {
            open.retain(|other| !Rc::ptr_eq(other, door));
        }
    }
}

impl<F: GroupFactory> Population for Groups<F> {
    type User = ();

    fn together(&self) -> usize {
        self.factory.size().max(1)
    }

    fn enter(worker: &Rc<Worker<Self>>, entering: UserEntry) -> Rc<ActiveUser<()>> {
        let door = Self::door(worker);
        let place = {
            let mut free = door.free.borrow_mut();
            let place = free.pop().expect("an open group has room");
            if free.is_empty() {
                worker.population.open.borrow_mut().pop();
            }
            place
        };
        let seat = Rc::new(ActiveUser::new(entering.id, (), entering.life));
        let slot = WaitSlots::slot_of_member(&worker.core, &door.inbox, place);
        seat.main.set(Some(slot.key));
        let stream = crate::draw::stream(worker.settings.seed, seat.id.0, seat.next_stream());
        let context = OpContext::new(seat.id, 0, stream, Some(Rc::clone(&worker.core)));
        let member = Member::new(Seat { user: Rc::clone(&seat), slot, place }, context, entering.at);
        door.coming.borrow_mut().push(member);
        door.inbox.wake();
        seat
    }
}

impl EntryQueue {
    fn is_empty(&self) -> bool {
        self.free.borrow().len() == self.size
    }
}

/// Places of members that have a signal.
pub(crate) struct Inbox {
    places: RefCell<Vec<u32>>,
    waker: RefCell<Option<Waker>>,
}

impl Inbox {
    /// Makes room for two signals to each of `size` members: due, and end.
    fn new(size: usize) -> Self {
        Inbox { places: RefCell::new(Vec::with_capacity(2 * size + 1)), waker: RefCell::default() }
    }

    /// Wakes the group: the member at a place has a signal in its slot.
    pub(crate) fn notify(&self, place: u32) {
        self.places.borrow_mut().push(place);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    fn listen(&self, cx: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
    }

    fn take(&self) -> Option<u32> {
        self.places.borrow_mut().pop()
    }
}
