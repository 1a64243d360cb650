//! Users of the web tier: the operations of visitors as requests over an HTTP connection each.

use std::borrow::Cow;
use std::io::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use barograph_database::measures::WRITES;
use barograph_database::{Access, Terminal as _, Transacts, Value};
use barograph_database_engines::Sessions;
use barograph_engine::OpContext;
use barograph_http::{Client, Connections, Draft, JSON, Method, ResolvedTarget};
use barograph_model::words::in_one_line;
use barograph_model::{OpId, Outcome};

use super::contract::{
    Answer, CUSTOMERS, CustomerField, LOGIN, LoginForm, ORDERS, OrderForm, PRODUCTS, RETRIES,
};
use crate::operations::End;
use crate::user::{InputBuffers, Operation, Visitor};

/// The connections of the users of one worker, who are spread over the fronts.
pub(crate) struct WebSessions(Vec<Rc<Client>>);

impl WebSessions {
    pub(crate) fn new(fronts: &[ResolvedTarget]) -> Self {
        WebSessions(fronts.iter().map(Client::new).collect())
    }
}

impl Sessions for WebSessions {
    type Session = WebSession;

    async fn open(&self, number: u32) -> Result<WebSession, (Outcome, String)> {
        Ok(WebSession(self.0[number as usize % self.0.len()].user(number)))
    }
}

/// The connection of a user.
pub(crate) struct WebSession(Connections);

/// A request without a good answer.
struct WebFailure {
    outcome: Outcome,
    why: String,
    /// The answer says that nothing was committed.
    is_undone: bool,
}

impl WebFailure {
    fn wrong(why: &str) -> Self {
        WebFailure { outcome: Outcome::WrongAnswer, why: why.to_owned(), is_undone: false }
    }
}

impl WebSession {
    /// Sends the request of an operation, and reads its answer.
    async fn ask(&self, operation: Operation, input: &InputBuffers) -> Result<Answer<()>, WebFailure> {
        let draft = self.draft(operation, input).map_err(|why| WebFailure::wrong(&in_one_line(&why)))?;
        let answer = self.0.send_draft(draft).await.map_err(|fault| WebFailure {
            outcome: fault.outcome(),
            why: in_one_line(&fault),
            is_undone: false,
        })?;
        match answer.status {
            200 => {}
            status => {
                let said = String::from_utf8_lossy(&answer.body()[..answer.body().len().min(LONGEST)]);
                let why = format!("status {status}: {}", said.lines().next().unwrap_or_default());
                return Err(WebFailure {
                    outcome: Outcome::Refused,
                    why,
                    is_undone: (400..500).contains(&status),
                });
            }
        }
        let Ok(Answer { end, retries, rows }) = serde_json::from_slice::<Answer<&str>>(answer.body()) else {
            return Err(WebFailure::wrong("an answer in another form"));
        };
        match end {
            End::Search(found) if found != rows.len() as i64 => {
                Err(WebFailure::wrong("another number of rows than the answer says"))
            }
            _ => Ok(Answer { end, retries, rows: Vec::new() }),
        }
    }

    fn draft(&self, operation: Operation, input: &InputBuffers) -> serde_json::Result<Draft> {
        let InputBuffers { login, row, category, search, order, .. } = input;
        let post = |path: &str| {
            let mut draft = self.0.draft(Method::POST);
            draft.path().extend_from_slice(path.as_bytes());
            draft.header(JSON.0).extend_from_slice(JSON.1.as_bytes());
            draft
        };
        let get = |query: std::fmt::Arguments<'_>| {
            let mut draft = self.0.draft(Method::GET);
            draft.path().write_fmt(query).expect("writing to memory cannot fail");
            draft
        };
        Ok(match operation {
            Operation::Login => {
                let mut draft = post(LOGIN);
                let form = LoginForm { name: (&*login.name).into(), password: (&*login.password).into() };
                serde_json::to_writer(draft.body(), &form)?;
                draft
            }
            Operation::NewCustomer => {
                let mut draft = post(CUSTOMERS);
                let fields: Vec<CustomerField<'_>> = row.iter().map(field).collect();
                serde_json::to_writer(draft.body(), &fields)?;
                draft
            }
            Operation::BrowseByCategory => {
                let (category, most) = category;
                get(format_args!("{PRODUCTS}?category={category}&most={most}"))
            }
            Operation::BrowseByTitle | Operation::BrowseByActor => {
                let ([first, second], most) = search.asked();
                let by = if operation == Operation::BrowseByTitle { "title" } else { "actor" };
                get(format_args!("{PRODUCTS}?{by}={first}+{second}&most={most}"))
            }
            Operation::Purchase => {
                let mut draft = post(ORDERS);
                let form = OrderForm { customer: order.customer, lines: Cow::Borrowed(&order.lines) };
                serde_json::to_writer(draft.body(), &form)?;
                draft
            }
        })
    }
}

/// Bytes of a reason at the most.
const LONGEST: usize = 120;

fn field(value: &Value) -> CustomerField<'_> {
    match value {
        Value::Int(number) => CustomerField::Number(*number),
        Value::Text(text) => CustomerField::Text(text.into()),
        Value::Null => CustomerField::Text("".into()),
    }
}

impl Transacts<WebSession> for Visitor {
    /// From its request to the answer an operation that writes is in doubt. An answer that is wrong leaves it so.
    async fn act(&mut self, session: &mut WebSession, op: OpId, context: &mut OpContext) -> Outcome {
        let operation = Operation::ALL[op.index()];
        self.ask(operation, context);
        let (tally, most) = (Arc::clone(&self.shared.tally), self.most(operation));
        if operation.access() == Access::Write {
            context.add(WRITES, 1);
        }
        tally.asked(most);
        context.sent();
        let answer = session.ask(operation, &self.room).await;
        let judged = answer.and_then(|answer| match self.judge(operation, answer.end) {
            Ok(()) => Ok(answer),
            Err(why) => Err(WebFailure::wrong(why)),
        });
        match judged {
            Ok(Answer { end, retries, .. }) => {
                tally.answered(most, Ok(end));
                if operation.access() == Access::Write && !matches!(end, End::Shortage) {
                    tally.gaps.committed(context.watch()());
                }
                for (kind, count) in RETRIES.into_iter().zip(retries) {
                    context.add(kind, count);
                }
                self.count(operation, end, context)
            }
            Err(WebFailure { outcome, why, is_undone }) => {
                if is_undone {
                    tally.undone(most);
                }
                self.failed(op, outcome, why)
            }
        }
    }
}
