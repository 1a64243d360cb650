//! Users in groups: the same load as users that are tasks of their own, operation for operation.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use barograph_engine::sim::Simulation;
use barograph_engine::{Group, GroupFactory, Groups, Members, OpContext, Settings, Timer};
use barograph_model::{
    Arrivals, Behaviour, ChooserId, Distribution, MissedBeats, Nanos, NextOp, OpId, OpenLoop, Outcome, Pace,
    Share, StartOf, UserId, Vector, Waits,
};
use barograph_stats::Interval;

use crate::target::*;

/// Groups of users of the target.
pub(crate) struct TargetGroups {
    pub(crate) timer: Timer,
    pub(crate) script: Script,
    pub(crate) log: Log,
    pub(crate) size: usize,
}

pub(crate) struct TargetGroup {
    timer: Timer,
    script: Script,
    log: Log,
    users: Vec<u32>,
    in_flight: Vec<Option<Answer>>,
}

struct Answer {
    comes: Pin<Box<dyn Future<Output = ()>>>,
    outcome: Outcome,
    delay: Nanos,
}

impl GroupFactory for TargetGroups {
    type Group = TargetGroup;

    fn size(&self) -> usize {
        self.size
    }

    fn group(&self) -> TargetGroup {
        TargetGroup {
            timer: self.timer.clone(),
            script: Rc::clone(&self.script),
            log: Rc::clone(&self.log),
            users: vec![0; self.size],
            in_flight: (0..self.size).map(|_| None).collect(),
        }
    }
}

impl Group for TargetGroup {
    fn join(&mut self, place: usize, user: UserId) {
        self.users[place] = user.0;
    }

    fn begin(&mut self, place: usize, op: OpId, context: &mut OpContext) {
        self.log.borrow_mut().push((context.user.0, op.0));
        context.sent();
        context.add(ASKED, 1);
        let (delay, outcome) = (self.script)(self.timer.now(), op);
        let (timer, at) = (self.timer.clone(), self.timer.now() + delay);
        let comes = Box::pin(async move { timer.until(at).await });
        self.in_flight[place] = Some(Answer { comes, outcome, delay });
    }

    fn abandon(&mut self, place: usize) {
        self.in_flight[place] = None;
    }

    fn poll(&mut self, cx: &mut Context<'_>, members: &mut Members) {
        for (place, answer) in self.in_flight.iter_mut().enumerate() {
            let Some(Answer { comes, outcome, delay }) = answer else { continue };
            let (outcome, delay) = (*outcome, *delay);
            if comes.as_mut().poll(cx) == Poll::Ready(()) {
                members.context(place).add(WAITED_MS, delay.as_micros() / 1_000);
                if outcome == Outcome::Expired {
                    members.context(place).reset();
                }
                members.end(place, outcome);
                *answer = None;
            }
        }
    }

    fn choose(&mut self, place: usize, _: ChooserId, context: &mut OpContext) -> usize {
        assert_eq!(self.users[place], context.user.0);
        context.user.0 as usize % 2
    }
}

type Answers = fn(Nanos, OpId) -> (Nanos, Outcome);

/// Results of both kinds of users under the same settings: the log of operations started, and the intervals.
struct BothKinds {
    tasks: (Vec<(u32, u8)>, Vec<Interval>),
    groups: (Vec<(u32, u8)>, Vec<Interval>),
}

/// Steps of a load: level, duration of the change, and duration of the hold.
type Steps = [(u32, Nanos, Nanos)];

fn both(settings: &Settings, size: usize, answers: Answers, steps: &Steps) -> BothKinds {
    let (mut alone, log) = simulate(settings, answers);
    let mut tasks = Vec::new();
    for (level, over, stay) in steps {
        alone.ramp(*level, *over);
        tasks.push(alone.run(*stay));
    }
    let tasks = (log.take(), tasks);
    let log = Log::default();
    let script: Script = Rc::new(answers);
    let grouped =
        |timer| Groups::new(TargetGroups { timer, script: Rc::clone(&script), log: Rc::clone(&log), size });
    let mut together = Simulation::new(settings, grouped);
    let mut groups = Vec::new();
    for (level, over, stay) in steps {
        together.ramp(*level, *over);
        groups.push(together.run(*stay));
    }
    BothKinds { tasks, groups: (log.take(), groups) }
}

/// Checks that both kinds give the same results. Operations of one instant may begin in another order.
fn same(settings: &Settings, answers: Answers, steps: &Steps) -> Vec<Interval> {
    let mut shown = Vec::new();
    // Users of a group start together, those that are tasks one after another.
    let at_once: Vec<_> = steps.iter().map(|(level, _, stay)| (*level, Nanos::ZERO, *stay)).collect();
    for (size, steps) in [(1, steps), (3, &at_once[..]), (64, &at_once[..])] {
        let BothKinds { tasks, groups } = both(settings, size, answers, steps);
        let sorted = |mut log: Vec<(u32, u8)>| {
            log.sort_unstable();
            log
        };
        assert!(sorted(tasks.0) == sorted(groups.0), "groups of {size} start other operations");
        assert!(tasks.1.iter().map(|interval| interval.starts).sum::<u64>() > 20, "there was a load");
        for (alone, together) in tasks.1.iter().zip(&groups.1) {
            assert_eq!(figures(alone), figures(together), "groups of {size}");
        }
        shown = groups.1;
    }
    shown
}

/// All figures of an interval, without the rounding of sums in another order.
fn figures(interval: &Interval) -> Vec<String> {
    let ops = interval.ops.iter().map(|op| {
        let sums = [op.response_sum_s, op.service_sum_s, op.cancelled_sum_s].map(|sum| (sum * 1e6).round());
        let counts = (op.outcomes, op.over_limit, op.over_further, op.good_in_time, op.requests);
        let spread = [0.5, 0.9, 0.99, 1.0]
            .map(|q| (op.response.value_at_quantile(q), op.service.value_at_quantile(q)));
        format!("{counts:?} {sums:?} {spread:?}")
    });
    let i = interval;
    let counts = (i.starts, i.late, i.dropped, i.skipped, i.users);
    let sums = [i.in_flight_s, i.aged_s].map(|sum| (sum * 1e6).round());
    let all = format!("{:?} {counts:?} {sums:?} {:?} {}", (i.from, i.to), i.counters, i.lag.len());
    std::iter::once(all).chain(ops).collect()
}

fn good(now: Nanos, _: OpId) -> (Nanos, Outcome) {
    (ms(3 + now.0 / 1_000_000 % 17), Outcome::Good)
}

/// Sometimes fails, sometimes ends the session, and stalls between 2 s and 3.5 s.
fn uneven(now: Nanos, _: OpId) -> (Nanos, Outcome) {
    let at = now.0 / 1_000_000;
    let outcome = match at % 13 {
        0 => Outcome::Refused,
        1 => Outcome::Expired,
        _ => Outcome::Good,
    };
    let delay = if (2_000..3_500).contains(&at) { 3_500 - at } else { 1 + at % 7 };
    (ms(delay), outcome)
}

fn every_pace() -> [Pace; 6] {
    let uniform = Distribution::Uniform { min: ms(5), max: ms(60) };
    let beat = |missed| Pace::Beat { every: ms(40), missed };
    [
        Pace::AtOnce,
        Pace::Think(uniform.clone()),
        Pace::ByOperation(vec![Waits { before: ms(3), after: uniform.clone() }]),
        Pace::Cycle(uniform),
        beat(MissedBeats::CatchUp),
        beat(MissedBeats::Skip),
    ]
}

#[test]
fn a_closed_loop_is_the_same_at_every_pace() {
    let steps = [(7, ms(500), ms(2_000)), (11, ms(1_000), ms(3_000)), (4, ms(700), ms(2_000))];
    for pace in every_pace() {
        let all = same(&settings(plain(pace.clone()), 2), good, &steps);
        assert_eq!(all.last().unwrap().users, 4);
        same(&settings(plain(pace), 2), uneven, &steps);
    }
}

/// A choice by the user's number, a vector, and the end of a session.
fn sessions(pace: Pace) -> Vec<Behaviour> {
    let half = Share::percent(50.0);
    let vector = || NextOp::Vector(Vector::new(vec![(WORK, half), (WATCH, half)]).unwrap());
    let chosen = NextOp::Choose { chooser: ChooserId(0), branches: vec![vector(), NextOp::Op(WATCH)] };
    let over = NextOp::EndSession { first: WORK };
    let ended = NextOp::Choose { chooser: ChooserId(0), branches: vec![over, vector()] };
    let next = vec![Some(chosen), None, Some(ended)];
    vec![Behaviour { name: "main", first: WORK, next, pace }]
}

#[test]
fn choices_and_sessions_are_the_same() {
    let steps = [(9, ms(100), ms(4_000))];
    let all = same(&settings(sessions(Pace::Think(Distribution::Constant(ms(20)))), 1), uneven, &steps);
    assert!([WORK, WATCH].iter().all(|op| all[0].ops[op.index()].count() > 100), "both were chosen");
}

fn opened(start_of: StartOf, (most_users, most_waiting): (u32, u32), behaviours: Vec<Behaviour>) -> Settings {
    let mut all = settings(behaviours, 2);
    all.open = Some(OpenLoop { arrivals: Arrivals::Poisson, start_of, most_users, most_waiting });
    all
}

#[test]
fn an_open_loop_is_the_same_with_users_to_spare_and_without() {
    let steps = [(400, ms(500), ms(2_000)), (900, ms(500), ms(3_000)), (100, ms(500), ms(2_000))];
    for users in [(500, 0), (6, 10), (6, 100_000)] {
        for answers in [good, uneven as Answers] {
            let all = same(&opened(StartOf::Operation, users, plain(Pace::AtOnce)), answers, &steps);
            assert_eq!(all.iter().any(|interval| interval.late > 0), users.0 == 6);
        }
        let pace = Pace::Think(Distribution::Constant(ms(5)));
        same(&opened(StartOf::Session, users, sessions(pace)), good, &steps);
    }
}

#[test]
fn users_of_a_group_begin_together() {
    let script: Script = Rc::new(good);
    let grouped =
        |timer| Groups::new(TargetGroups { timer, script: Rc::clone(&script), log: Log::default(), size: 3 });
    let mut load = Simulation::new(&settings(plain(cycle(10_000)), 2), grouped);
    load.ramp(18, ms(1_800));
    // Blocks of three users on each of the two workers, at 0, 0.6 and 1.2 s.
    let users: Vec<u32> = (0..9).map(|_| load.run(ms(200)).users).collect();
    assert_eq!(users, [6, 6, 12, 12, 12, 18, 18, 18, 18]);
}

#[test]
fn operations_time_out_and_users_go_on() {
    fn slow(now: Nanos, _: OpId) -> (Nanos, Outcome) {
        let slow = (now.0 / 1_000_000).is_multiple_of(5);
        (if slow { ms(60_000) } else { ms(5) }, Outcome::Good)
    }
    let think = Distribution::Uniform { min: ms(5), max: ms(50) };
    let mut short = settings(plain(Pace::Think(think)), 1);
    short.timeout = ms(300);
    let all = same(&short, slow, &[(8, ms(50), ms(6_000)), (2, ms(0), ms(2_000))]);
    assert!(all[0].ops[0].outcomes[Outcome::TimedOut.index()] > 10);
}
