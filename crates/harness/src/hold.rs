//! The two strategies: a fixed number of users, or a search for the most that pass.

use barograph_model::{Nanos, Phase, SearchBounds, WindowVerdict};
use barograph_record::{Entry, Purpose, Trial};
use barograph_stats::judge::{DriverLimits, WindowInput, judge_window};
use barograph_stats::{Interval, Part, search};

use crate::HarnessError;
use crate::drive::{Drive, Held};
use crate::words::users;

/// The first ramp has failed when in so many intervals running …
const RAMP_BAD_INTERVALS: u32 = 3;
/// … more than this part of the operations were over their limit or failed, …
const RAMP_BAD_SHARE: f64 = 0.05;
/// … or fewer than this part of the operations that these users should do came to an end. Below so many users chance
/// alone can do that.
const RAMP_CARRIED_SHARE: f64 = 0.5;
const RAMP_JUDGED_FROM_USERS: u32 = 100;

/// Holds a constant number of users for one or more windows.
pub(crate) async fn fixed(drive: &mut Drive<'_, '_>, users: u32, windows: u32) -> Result<Held, HarnessError> {
    let d = drive.run.plan.durations;
    drive.phase(Phase::Ramp, d.ramp, &format!("to {users} users"))?;
    drive.engine.ramp(users, d.ramp).await?;
    drive.pass(d.ramp).await?;
    drive.run.done()?;
    drive.phase(Phase::WarmUp, d.warm_up, "kept but not counted")?;
    drive.pass(d.warm_up).await?;
    drive.run.done()?;
    for _ in 0..windows {
        trial(drive, (users, Purpose::Fixed), d.window).await?;
    }
    Ok(Held { trials: std::mem::take(&mut drive.trials), answer: None })
}

/// Looks for the most users that pass.
pub(crate) async fn search(drive: &mut Drive<'_, '_>, bounds: SearchBounds) -> Result<Held, HarnessError> {
    let d = drive.run.plan.durations;
    let mut search = search::Search::new(bounds);
    let (reached, failed) = first_ramp(drive, bounds.max_users).await?;
    search.ramp_ended(reached, failed);
    let answer = loop {
        let (users, purpose) = match search.next() {
            search::Step::Done(answer) => break answer,
            search::Step::Trial { users, purpose } => (users, purpose),
        };
        let first = drive.trials.is_empty();
        if first {
            settle_first(drive, users).await?;
        } else if users != drive.engine.users() {
            step_to(drive, users).await?;
        }
        let (purpose, span) = match purpose {
            search::Purpose::Search => (Purpose::Search, d.window),
            search::Purpose::Confirm => (Purpose::Confirm, d.confirm),
        };
        let verdict = trial(drive, (users, purpose), span).await?;
        search.tell(users, verdict.result());
    };
    Ok(Held { trials: std::mem::take(&mut drive.trials), answer: Some(answer) })
}

/// Users come evenly until all are there or the application gives way. Says how many there were, and whether it failed.
async fn first_ramp(drive: &mut Drive<'_, '_>, most: u32) -> Result<(u32, bool), HarnessError> {
    let span = drive.run.plan.durations.ramp;
    drive.phase(Phase::Ramp, span, &format!("towards {most} users, until it gives way"))?;
    drive.engine.ramp(most, span).await?;
    let end = drive.engine.now() + span;
    let mut bad = 0;
    let mut reached = 0;
    while drive.reached < end && bad < RAMP_BAD_INTERVALS {
        let interval = drive.next().await?;
        reached = interval.users.max(reached);
        bad = if gives_way(drive, &interval) { bad + 1 } else { 0 };
    }
    drive.run.done()?;
    let failed = bad >= RAMP_BAD_INTERVALS;
    if failed {
        drive.engine.ramp(reached, Nanos::ZERO).await?;
        drive.run.note(format!(
            "the first ramp ended at {}: too many operations were late or failed, or too few came to an end",
            users(reached)
        ))?;
    }
    Ok((if failed { reached } else { most }, failed))
}

/// Does this interval of the ramp look like too much load?
fn gives_way(drive: &Drive<'_, '_>, interval: &Interval) -> bool {
    let part = Part::of(interval, &drive.profile.rules);
    if interval.users < RAMP_JUDGED_FROM_USERS {
        return false;
    }
    let timed_mix: f64 = drive.profile.rules.iter().filter(|r| r.limit.is_some()).map(|r| r.mix.get()).sum();
    let expected =
        f64::from(interval.users) * drive.profile.derived.ops_per_user_s * timed_mix * part.seconds;
    let carried = part.timed as f64;
    carried < expected * RAMP_CARRIED_SHARE || part.timed_bad as f64 > carried * RAMP_BAD_SHARE
}

/// Before the first window: down from where the ramp failed, and long enough that users are spread over their
/// sessions even when the ramp was cut short.
async fn settle_first(drive: &mut Drive<'_, '_>, users: u32) -> Result<(), HarnessError> {
    let d = drive.run.plan.durations;
    let spread_at = d.ramp + d.warm_up;
    let span = (spread_at - drive.engine.now()).max(d.warm_up);
    drive.phase(Phase::WarmUp, span, &format!("{users} users, kept but not counted"))?;
    if users != drive.engine.users() {
        drive.engine.ramp(users, d.step).await?;
    }
    drive.pass(span).await?;
    drive.run.done()
}

/// From one level to the next.
async fn step_to(drive: &mut Drive<'_, '_>, users: u32) -> Result<(), HarnessError> {
    let d = drive.run.plan.durations;
    drive.phase(Phase::Ramp, d.step, &format!("to {users} users"))?;
    drive.engine.ramp(users, d.step).await?;
    drive.pass(d.step).await?;
    drive.run.done()?;
    drive.phase(Phase::WarmUp, d.settle, "settling, kept but not counted")?;
    drive.pass(d.settle).await?;
    drive.run.done()
}

/// One measured window, judged and recorded.
async fn trial(
    drive: &mut Drive<'_, '_>,
    (users, purpose): (u32, Purpose),
    span: Nanos,
) -> Result<WindowVerdict, HarnessError> {
    drive.phase(Phase::Hold, span, &format!("{users} users, measured"))?;
    let before = drive.probes.mark();
    let wall_before = drive.run.clock.wall_ahead_s();
    let (joined, parts) = drive.collect(span).await?;
    let verdict = judge_window(&WindowInput {
        joined: &joined,
        parts: &parts,
        profile: &drive.profile,
        ops: drive.run.world.kind.ops(),
        users,
        driver: DriverLimits::default(),
        clock_jump_s: drive.run.clock.wall_ahead_s() - wall_before,
    });
    let resources = drive.probes.resources(&before, users);
    let kept = Trial::keep(drive.trials.len() as u32 + 1, purpose, &verdict);
    drive.run.record.append(&Entry::Trial(Box::new(kept.clone())))?;
    drive.run.done()?;
    drive.run.say(&line(&kept, &verdict));
    drive.trials.push((kept, resources));
    Ok(verdict)
}

/// A trial in a line.
fn line(trial: &Trial, verdict: &WindowVerdict) -> String {
    let worst = verdict
        .ops
        .iter()
        .filter(|op| op.judged)
        .filter_map(|op| op.limit_ms.map(|limit| (op.judged_ms / limit, op)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let worst = worst.map_or_else(String::new, |(share, op)| {
        format!(", closest to its limit {} with {:.0} ms ({:.0} %)", op.op, op.judged_ms, share * 100.0)
    });
    format!(
        "trial {} ({}): {} users {} at {:.0} ops/s{worst}",
        trial.n,
        trial.purpose.name(),
        trial.users,
        trial.result.name(),
        verdict.throughput
    )
}
