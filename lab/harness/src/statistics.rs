//! Statistics that services report about themselves, requested at the end of every interval.
//!
//! A task for each part asks over a connection of its own, and its answer is taken an interval later: a
//! stalled service delays nothing and has no values for that time. A target that is there already is asked in the
//! same way, with the rights of the user whom its address names.

use std::net::SocketAddr;
use std::sync::Arc;

use barograph_model::Nanos;
use barograph_record::StatisticRow;
use barograph_service_metrics::{AskError, Series, Statistic, Statistics as Asked, StatisticsClient};
use barograph_workload::TargetStatistics;
use barograph_workload::topology::PartWork;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

use crate::clock::RunClock;
use crate::deploy::{Deployment, StartedPart};
use crate::fleet::NamedGauge;
use crate::run::{CheckedLoad, Run};
use crate::states::PartStates;

/// An answer and its time, between question and arrival.
struct Reply {
    at: Nanos,
    values: Result<Vec<Option<f64>>, AskError>,
    /// What the service denied, in words.
    denied: Vec<String>,
}

/// Bound of the queue of answers; there is at most one open question.
const WAITING: usize = 2;

/// All parts that report statistics.
pub(crate) struct Statistics {
    parts: Vec<PartStatistics>,
}

/// One part.
struct PartStatistics {
    name: String,
    list: Arc<[Statistic]>,
    series: Series,
    questions: Sender<()>,
    replies: Receiver<Reply>,
    asking: JoinHandle<()>,
    states: Option<PartStates>,
    /// Whether its silence was reported; it is reported once.
    told: bool,
    /// Place of the value that counts what may not be read, until that was reported.
    unreadable: Option<usize>,
}

impl Drop for PartStatistics {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

impl Statistics {
    /// Starts to ask every service of a deployment that reports statistics, and every target that is there already.
    pub(crate) fn of(run: &Run<'_>, app: Option<&Deployment>, urls: &[String]) -> Self {
        if !run.plan.deploy.statistics {
            return Statistics { parts: Vec::new() };
        }
        let there = run.loads.iter().zip(urls).enumerate();
        let there = there.filter(|(at, _)| run.application_of(*at).is_none());
        let targets = there.filter_map(|(_, (load, url))| PartStatistics::of_target(load, url, &run.clock));
        let services = app.into_iter().flat_map(Deployment::services);
        let services = services.filter_map(|part| {
            let (_, asked) = asker(part)?;
            let asker = || asker(part).map(|(asker, _)| asker);
            PartStatistics::with_states(&part.name, asked, asker, &run.clock)
        });
        Statistics { parts: services.chain(targets).collect() }
    }

    /// Asks every part without an open question, and returns the answers since the last call, with a note for
    /// each part that failed to answer for the first time.
    pub(crate) fn next(&mut self) -> (Vec<StatisticRow>, Vec<String>) {
        let (mut rows, mut notes) = (Vec::new(), Vec::new());
        for part in &mut self.parts {
            while let Ok(Reply { at, values, denied }) = part.replies.try_recv() {
                notes.extend(denied.iter().map(|what| part.denied(what)));
                match values {
                    Ok(values) => {
                        notes.extend(part.unreadable(&values));
                        rows.extend(part.rows(at, &values));
                    }
                    Err(why) => {
                        // The next counts may belong to another life of the service.
                        part.series.forget();
                        notes.extend(part.silent(&why));
                    }
                }
            }
            if let Some((states, denied, failed)) = part.states.as_ref().map(|states| states.next(&part.name))
            {
                rows.extend(states);
                notes.extend(denied.iter().map(|what| part.denied(what)));
                notes.extend(failed.and_then(|why| part.silent(&why)));
            }
            // A part that still works on a question is not asked again.
            let _ = part.questions.try_send(());
        }
        (rows, notes)
    }
}

/// The figures of loads at the end of an interval, each after those of its driver that is another process. Their part is the
/// driver, or the load where there are several.
pub(crate) fn of_loads<'l>(
    loads: impl Iterator<Item = (Vec<NamedGauge>, &'l CheckedLoad)>,
    at: Nanos,
) -> Vec<StatisticRow> {
    loads.flat_map(|(driver, load)| of_load(driver, load, at)).collect()
}

fn of_load(driver: Vec<NamedGauge>, load: &CheckedLoad, at: Nanos) -> Vec<StatisticRow> {
    let name = &load.checked.plan.load;
    let part = if name.is_empty() { "driver" } else { name };
    let row = |gauge: NamedGauge| StatisticRow {
        at_s: at.as_secs_f64(),
        part: part.to_owned(),
        statistic: gauge.name,
        kind: "gauge".to_owned(),
        unit: gauge.unit,
        value: gauge.value,
    };
    driver.into_iter().chain(load.workload.gauges().into_iter().map(NamedGauge::from)).map(row).collect()
}

/// What asks a part, and for what; `None` for one that tells nothing.
pub(crate) fn asker(part: &StartedPart) -> Option<(StatisticsClient, &'static Asked)> {
    let PartWork::Service(service) = part.work else { return None };
    let asked = service.statistics()?;
    let port = part.endpoint.ports.get(asked.port.as_deref()?)?;
    Some((StatisticsClient::new(asked, SocketAddr::new(part.endpoint.address, *port)), asked))
}

impl PartStatistics {
    /// Starts to ask the target at `url` of a load; `None` if it does not tell of itself.
    fn of_target(load: &CheckedLoad, url: &str, clock: &RunClock) -> Option<Self> {
        let TargetStatistics { part, asked, open } = load.workload.application()?.statistics(url)?;
        let name = match load.checked.plan.load.as_str() {
            "" => part.to_owned(),
            load => format!("{load}-{part}"),
        };
        let asker = || Some(StatisticsClient::over(asked, part, Arc::clone(&open)));
        PartStatistics::with_states(&name, asked, asker, clock)
    }

    /// Starts to ask for statistics, and for states where there are some; `None` without an asker.
    fn with_states(
        name: &str,
        asked: &Asked,
        asker: impl Fn() -> Option<StatisticsClient>,
        clock: &RunClock,
    ) -> Option<Self> {
        let list = Arc::from(&asked.values[..]);
        let mut statistics = PartStatistics::begin(name, asker()?, list, clock.clone());
        statistics.unreadable = asked.unreadable_at();
        if let Some(sampled) = &asked.sampled {
            statistics.states = Some(PartStates::begin(asker()?, sampled.clone(), clock.clone()));
        }
        Some(statistics)
    }

    fn begin(name: &str, mut asker: StatisticsClient, list: Arc<[Statistic]>, clock: RunClock) -> Self {
        let (questions, mut asked) = mpsc::channel(1);
        // Counters have a rate from the second answer on, so the first question precedes the first interval.
        let _ = questions.try_send(());
        let (answered, replies) = mpsc::channel(WAITING);
        let asking = tokio::spawn(async move {
            while asked.recv().await.is_some() {
                let begun = clock.now();
                let values = asker.ask().await;
                let at = Nanos(begun.0.midpoint(clock.now().0));
                let reply = Reply { at, values, denied: asker.take_denied() };
                if answered.send(reply).await.is_err() {
                    return;
                }
            }
        });
        let series = Series::new(Arc::clone(&list));
        let name = name.to_owned();
        let (states, told, unreadable) = (None, false, None);
        PartStatistics { name, list, series, questions, replies, asking, states, told, unreadable }
    }

    /// The note on what the service denied.
    fn denied(&self, what: &str) -> String {
        format!("{} does not tell everything to this user: {what}", self.name)
    }

    /// The note on values that may not be read, once.
    fn unreadable(&mut self, values: &[Option<f64>]) -> Option<String> {
        let at = self.unreadable?;
        let number = values.get(at).copied().flatten().filter(|number| *number > 0.0)?;
        self.unreadable = None;
        let Statistic { name, what, .. } = &self.list[at];
        let what = if what.is_empty() { name } else { what };
        Some(self.denied(&format!("{number} {what}")))
    }

    fn rows(&mut self, at: Nanos, values: &[Option<f64>]) -> Vec<StatisticRow> {
        let at_s = at.as_secs_f64();
        let kept = self.series.take(at_s, values);
        let row = |(statistic, value): (&Statistic, Option<f64>)| {
            Some(StatisticRow {
                at_s,
                part: self.name.clone(),
                statistic: statistic.name.clone(),
                kind: statistic.kind.kept_as().to_owned(),
                unit: statistic.unit.clone(),
                value: value?,
            })
        };
        self.list.iter().zip(kept).filter_map(row).collect()
    }

    fn silent(&mut self, why: &AskError) -> Option<String> {
        if std::mem::replace(&mut self.told, true) {
            return None;
        }
        let cause = std::error::Error::source(why).map_or_else(String::new, |cause| format!(": {cause}"));
        Some(format!("{} has no statistics as long as this lasts: {why}{cause}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use barograph_service_metrics::{Question, StatisticKind};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn asked() -> Asked {
        let value = Statistic {
            name: "gets".to_owned(),
            of: "cmd_get".to_owned().try_into().unwrap(),
            kind: StatisticKind::Counter,
            unit: "keys".to_owned(),
            what: String::new(),
        };
        Asked {
            ask: Question::Memcached,
            port: None,
            left_out: None,
            unreadable: None,
            values: vec![value],
            sampled: None,
        }
    }

    fn watched(name: &str, at: SocketAddr) -> PartStatistics {
        let asked = asked();
        PartStatistics::begin(
            name,
            StatisticsClient::new(&asked, at),
            Arc::from(&asked.values[..]),
            RunClock::start(),
        )
    }

    /// Waits until there is an answer or a note.
    async fn some(all: &mut Statistics) -> (Vec<StatisticRow>, Vec<String>) {
        loop {
            let (rows, notes) = all.next();
            if !rows.is_empty() || !notes.is_empty() {
                return (rows, notes);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Answers every question, each time with ten more. On a stalled machine an answer may come too late, and
    /// the next question over another connection.
    async fn answer(good: TcpListener) {
        let mut gets = 0;
        loop {
            let (mut stream, _) = good.accept().await.unwrap();
            let mut question = [0; 7];
            while stream.read_exact(&mut question).await.is_ok() {
                gets += 10;
                let said = format!("STAT pid 1\r\nSTAT cmd_get {gets}\r\nEND\r\n");
                // The client may have given up.
                let _ = stream.write_all(said.as_bytes()).await;
            }
        }
    }

    /// Notes on the silent part. There must be none on the other, except that the machine stood still.
    fn of_the_dead(notes: Vec<String>) -> Vec<String> {
        let (dead, good): (Vec<String>, Vec<String>) =
            notes.into_iter().partition(|note| note.starts_with("dead-1"));
        assert!(good.iter().all(|note| note.contains("within 1 s")), "{good:?}");
        dead
    }

    #[tokio::test]
    async fn a_part_that_stands_still_is_told_once_and_keeps_nobody_waiting() {
        let (dead, good) = (
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        );
        let at = good.local_addr().unwrap();
        tokio::spawn(answer(good));
        // A service that accepts connections and sends nothing.
        let parts = vec![watched("dead-1", dead.local_addr().unwrap()), watched("good-1", at)];
        let mut all = Statistics { parts };
        let mut seen = (0, Vec::new());
        while seen.0 < 3 || seen.1.is_empty() {
            let (rows, notes) = some(&mut all).await;
            assert!(rows.iter().all(|row| row.part == "good-1" && row.kind == "rate" && row.value > 0.0));
            seen.0 += rows.len();
            seen.1.extend(of_the_dead(notes));
        }
        let told = &seen.1[0];
        assert!(told.starts_with("dead-1 has no statistics") && told.contains("within 1 s"), "{told}");
        assert_eq!(seen.1.len(), 1);
        drop(dead);
        // Now refused, and not reported again; the following answers are from the other part.
        assert_eq!(of_the_dead(some(&mut all).await.1), Vec::<String>::new());
    }

    #[tokio::test]
    async fn what_may_not_be_read_is_told_once() {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut part = watched("database", closed.local_addr().unwrap());
        assert_eq!(part.unreadable(&[Some(3.0)]), None, "no value counts what may not be read");
        part.unreadable = Some(0);
        assert_eq!(part.unreadable(&[Some(0.0)]), None);
        assert_eq!(part.unreadable(&[None]), None);
        let told = "database does not tell everything to this user: 3 gets".to_owned();
        assert_eq!(part.unreadable(&[Some(3.0)]), Some(told));
        assert_eq!(part.unreadable(&[Some(3.0)]), None);
    }
}
