//! Repeated questions to one service over one connection.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::error::AskError;
use crate::link::{Link, LinkError};
use crate::sums::Sums;
use crate::{OpenStatements, Question, Sampled, Statistic, Statistics};

/// Longest wait for an answer, including the connection.
pub const WAIT: Duration = Duration::from_secs(1);

/// Asks one service. A connection that failed, or whose answer was late, is closed, and the next question
/// opens another. What the service denies to this user is not asked again.
#[derive(Debug)]
pub struct StatisticsClient {
    question: Question,
    values: Vec<Statistic>,
    place: String,
    way: Way,
    link: Option<Link>,
    /// The form that is asked of each statement; their number where all are denied.
    forms: Vec<usize>,
    /// The states that everybody may read are asked for.
    has_few_rights: bool,
    denied: Vec<String>,
}

/// How a connection is opened.
enum Way {
    Address(SocketAddr),
    Statements(OpenStatements),
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Way::Address(at) => at.fmt(f),
            Way::Statements(_) => f.write_str("statements"),
        }
    }
}

impl StatisticsClient {
    /// Makes an asker for a service at `at`, without a connection.
    #[must_use]
    pub fn new(statistics: &Statistics, at: SocketAddr) -> Self {
        StatisticsClient::by(statistics, at.to_string(), Way::Address(at))
    }

    /// Makes an asker for a service whose connections are opened by `open`. `place` is its name in errors.
    #[must_use]
    pub fn over(statistics: &Statistics, place: &str, open: OpenStatements) -> Self {
        StatisticsClient::by(statistics, place.to_owned(), Way::Statements(open))
    }

    fn by(statistics: &Statistics, place: String, way: Way) -> Self {
        StatisticsClient {
            question: statistics.ask.clone(),
            values: statistics.values.clone(),
            place,
            way,
            link: None,
            forms: vec![0; statistics.ask.statements().len()],
            has_few_rights: false,
            denied: Vec::new(),
        }
    }

    /// Asks for the current values, one per statistic; `None` for a statistic that the service does not
    /// report.
    ///
    /// # Errors
    /// If there is no usable answer within [`WAIT`].
    pub async fn ask(&mut self) -> Result<Vec<Option<f64>>, AskError> {
        let asked = async {
            let mut link = self.link().await?;
            let mut sums = Sums::new(&self.values);
            if self.forms.is_empty() {
                link.ask(&self.question, &mut sums).await?;
            }
            for (statement, form) in self.question.statements().iter().zip(&mut self.forms) {
                while let Some(sql) = statement.any_of.get(*form) {
                    let said = match link.state(&self.question, sql, &mut sums).await {
                        Err(LinkError::Denied(said)) => Some(said),
                        // Another form is for this version, unless it is the last one.
                        Err(LinkError::Unknown(said)) => {
                            Some(said).filter(|_| *form + 1 == statement.any_of.len())
                        }
                        asked => {
                            asked?;
                            break;
                        }
                    };
                    *form += 1;
                    // Two forms may want the same right.
                    if let Some(said) = said.filter(|said| !self.denied.contains(said)) {
                        self.denied.push(said);
                    }
                }
            }
            // A connection is reused only if its answer was read to the end.
            self.link = Some(link);
            Ok(sums.finish())
        };
        let answered = timeout(WAIT, asked).await;
        self.answer(answered)
    }

    /// Asks for the states at this instant, with the number in each.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn states(&mut self, sampled: &Sampled) -> Result<Vec<(String, f64)>, AskError> {
        let asked = async {
            let mut link = self.link().await?;
            let rows = match &sampled.otherwise {
                Some(otherwise) if self.has_few_rights => link.rows(&otherwise.rows).await?,
                Some(otherwise) => match link.rows(&sampled.rows).await {
                    Err(LinkError::Denied(said) | LinkError::Unknown(said)) => {
                        self.has_few_rights = true;
                        self.denied.push(format!("{}: {said}", otherwise.without));
                        link.rows(&otherwise.rows).await?
                    }
                    rows => rows?,
                },
                None => link.rows(&sampled.rows).await?,
            };
            self.link = Some(link);
            Ok(rows)
        };
        let answered = timeout(WAIT, asked).await;
        self.answer(answered)
    }

    /// What the service has denied since the last call, in words.
    pub fn take_denied(&mut self) -> Vec<String> {
        std::mem::take(&mut self.denied)
    }

    /// Takes the open connection, or opens one.
    async fn link(&mut self) -> Result<Link, LinkError> {
        match (self.link.take().filter(Link::is_open), &self.way) {
            (Some(link), _) => Ok(link),
            (None, Way::Address(at)) => Link::open(&self.question, *at).await,
            (None, Way::Statements(open)) => Ok(Link::Statements(open())),
        }
    }

    fn answer<T>(&self, answered: Result<Result<T, LinkError>, Elapsed>) -> Result<T, AskError> {
        let at = self.place.clone();
        match answered {
            Ok(Ok(values)) => Ok(values),
            Ok(Err(LinkError::Io(source))) => Err(AskError::Connection { at, source }),
            Ok(Err(LinkError::Refused(said) | LinkError::Denied(said) | LinkError::Unknown(said))) => {
                Err(AskError::Refused { at, said })
            }
            Ok(Err(LinkError::Unreadable(what))) => Err(AskError::Unreadable { at, what }),
            Err(_) => Err(AskError::Late { at }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::{StatementError, StatementFuture, Statements};

    /// A server that denies statements with certain words, does not know others, and notes all.
    #[derive(Debug, Clone, Default)]
    struct Guarded {
        denied: &'static [&'static str],
        unknown: &'static str,
        asked: Arc<Mutex<Vec<String>>>,
    }

    impl Statements for Guarded {
        fn rows<'a>(&'a mut self, sql: &'a str) -> StatementFuture<'a> {
            self.asked.lock().unwrap().push(sql.to_owned());
            let is_denied = self.denied.iter().any(|word| sql.contains(word));
            let answer = match sql {
                _ if is_denied => Err(StatementError::Denied("permission denied".to_owned())),
                _ if sql == self.unknown => Err(StatementError::Unknown("no such view".to_owned())),
                _ if sql.contains("states") => Ok(vec![("lock/row".to_owned(), "2".to_owned())]),
                _ => Ok(vec![("done".to_owned(), "7".to_owned()), ("open".to_owned(), "x".to_owned())]),
            };
            Box::pin(async { answer })
        }
    }

    const DESCRIBED: &str = r#"
        ask = { my_sql = { user = "u", statements = [{ any_of = ["new", "old"] }, { any_of = ["other"] }] } }
        values = [
            { name = "done", of = "done", kind = "counter", unit = "x" },
            { name = "open", of = "open", kind = "gauge", unit = "x" },
        ]
        sampled = { every_ms = 100, unit = "x", rows = "all states", otherwise = { rows = "own states", without = "others" } }
    "#;

    fn client(server: &Guarded) -> (StatisticsClient, Statistics) {
        let described: Statistics = toml::from_str(DESCRIBED).unwrap();
        let server = server.clone();
        let open: OpenStatements = Arc::new(move || Box::new(server.clone()));
        (StatisticsClient::over(&described, "there", open), described)
    }

    #[tokio::test]
    async fn what_is_denied_is_told_once_and_not_asked_again() {
        let server = Guarded { denied: &["other", "all"], unknown: "new", ..Guarded::default() };
        let (mut client, described) = client(&server);
        assert_eq!(client.ask().await.unwrap(), [Some(7.0), None]);
        assert_eq!(
            client.take_denied(),
            ["permission denied"],
            "of an unknown one with another form nothing"
        );
        assert_eq!(client.ask().await.unwrap(), [Some(7.0), None]);
        assert_eq!(client.take_denied(), Vec::<String>::new());
        let sampled = described.sampled.unwrap();
        for told in [vec!["others: permission denied".to_owned()], Vec::new()] {
            assert_eq!(client.states(&sampled).await.unwrap(), [("lock/row".to_owned(), 2.0)]);
            assert_eq!(client.take_denied(), told);
        }
        let asked = server.asked.lock().unwrap().clone();
        assert_eq!(asked, ["new", "old", "other", "old", "all states", "own states", "own states"]);
    }

    #[tokio::test]
    async fn a_lesser_form_for_want_of_a_right_is_told_too() {
        let server = Guarded { denied: &["new"], unknown: "other", ..Guarded::default() };
        let (mut client, _) = client(&server);
        assert_eq!(client.ask().await.unwrap(), [Some(7.0), None]);
        assert_eq!(client.take_denied(), ["permission denied", "no such view"]);
    }

    #[tokio::test]
    async fn a_user_with_all_rights_is_asked_for_the_first_forms() {
        let server = Guarded::default();
        let (mut client, described) = client(&server);
        assert_eq!(client.ask().await.unwrap(), [Some(14.0), None], "both statements are added up");
        client.states(&described.sampled.unwrap()).await.unwrap();
        assert_eq!(*server.asked.lock().unwrap(), ["new", "other", "all states"]);
        assert_eq!(client.take_denied(), Vec::<String>::new());
    }
}
