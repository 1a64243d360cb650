//! Forms: login, new people, new events, and what they change.

use axum::extract::Multipart;
use uuid::Uuid;

use crate::cache::Subject;
use crate::check;
use crate::files::FileKind;
use crate::fill::{event_row, number, password_hash, person_row};
use crate::form::{self, FormError, FormFiles};
use crate::geocoder::Place;
use crate::html::{Frame, escaped, put};
use crate::made::{Address, EventText, PersonText};
use crate::schema::{ADD_EVENTS, ADD_PEOPLE, EVENT_COLUMNS, PEOPLE_COLUMNS};
use crate::site::{Filled, Site};
use crate::store::{Statement, StoreError, Value, values};

use super::{Page, PageError};

/// A field of a form: name, label, most characters, and what a browser may fill in.
type Field = (&'static str, &'static str, u32, &'static str);

/// Fields of an address.
const ADDRESS: [Field; 4] = [
    ("street", "Street", 80, "address-line1"),
    ("city", "City", 40, "address-level2"),
    ("zip", "Postal code", 10, "postal-code"),
    ("country", "Country", 40, "country-name"),
];

fn fields(content: &mut String, fields: &[Field]) {
    for (name, label, most, known) in fields {
        let kind = match *name {
            "password" => "password",
            "email" => "email",
            "day" => "number",
            _ => "text",
        };
        if *most >= 400 {
            put!(
                content,
                "<label>{label} <textarea name=\"{name}\" maxlength=\"{most}\" rows=\"4\" required></textarea></label>\n"
            );
        } else {
            put!(
                content,
                "<label>{label} <input type=\"{kind}\" name=\"{name}\" maxlength=\"{most}\" autocomplete=\"{known}\" required></label>\n"
            );
        }
    }
}

fn file_fields(content: &mut String, kinds: &[FileKind]) {
    for kind in kinds {
        let (name, accept) = (kind.field(), kind.media_type());
        put!(
            content,
            "<label>{name} <input type=\"file\" name=\"{name}\" accept=\"{accept}\" required></label>\n"
        );
    }
}

/// The form of a login.
pub(crate) fn login_form(visitor: Option<i64>) -> String {
    let mut content = String::from("<form method=\"post\" action=\"/login\">\n");
    fields(
        &mut content,
        &[("name", "Name", 64, "username"), ("password", "Password", 64, "current-password")],
    );
    content.push_str("<button>Log in</button></form>\n");
    Frame { title: "Log in", visitor, has_map: false }.around(&content)
}

/// The person with this name and password.
pub(crate) async fn log_in(site: &Site, name: &str, password: &str) -> Result<Option<i64>, PageError> {
    let sql = "SELECT id FROM people WHERE name = ? AND password = ?";
    let found = site.store.read(sql, &values![name, password_hash(name, password)]).await?;
    Ok(Some(number(&found)).filter(|person| *person > 0))
}

/// The page after a login.
pub(crate) fn welcome(person: i64) -> String {
    let content = format!(
        "<p>You are logged in. <a href=\"/\">Look for events</a>, or see <a href=\"/people/{person}\">your page</a>.</p>\n"
    );
    Frame { title: "Welcome", visitor: Some(person), has_map: false }.around(&content)
}

/// The form of a new person.
pub(crate) fn new_person(visitor: Option<i64>) -> String {
    let mut content =
        String::from("<form method=\"post\" action=\"/people\" enctype=\"multipart/form-data\">\n");
    fields(
        &mut content,
        &[
            ("name", "Name", 64, "username"),
            ("password", "Password", 64, "new-password"),
            ("first_name", "First name", 40, "given-name"),
            ("last_name", "Last name", 40, "family-name"),
            ("email", "E-mail", 100, "email"),
            ("phone", "Phone", 24, "tel"),
        ],
    );
    fields(&mut content, &ADDRESS);
    fields(&mut content, &[("summary", "About you", 2_600, "off")]);
    file_fields(&mut content, &FileKind::OF_PERSON);
    content.push_str("<button>Join</button></form>\n");
    Frame { title: "Join", visitor, has_map: false }.around(&content)
}

/// The form of a new event.
pub(crate) fn new_event(visitor: Option<i64>) -> Page {
    let visitor = Some(visitor.ok_or(PageError::Login)?);
    let mut content =
        String::from("<form method=\"post\" action=\"/events\" enctype=\"multipart/form-data\">\n");
    fields(
        &mut content,
        &[
            ("title", "Title", 100, "off"),
            ("summary", "Summary", 399, "off"),
            ("description", "Description", 1_000, "off"),
            ("phone", "Phone", 24, "tel"),
        ],
    );
    fields(&mut content, &ADDRESS);
    fields(&mut content, &[("day", "Day", 3, "off"), ("tags", "Tags, from one to seven", 300, "off")]);
    file_fields(&mut content, &FileKind::OF_EVENT);
    content.push_str("<button>Post</button></form>\n");
    Ok(Frame { title: "New event", visitor, has_map: false }.around(&content))
}

fn of_form(why: &FormError) -> PageError {
    PageError::Form(match why {
        FormError::Body(why) => why.body_text(),
        FormError::Missing(file) => format!("the file `{file}` is missing"),
    })
}

/// Refuses a text that is missing, or longer than its column; summaries have `summary` characters at the most.
fn checked<'t>(
    fields: impl IntoIterator<Item = (&'static str, &'t str)>,
    summary: usize,
) -> Result<(), PageError> {
    for (name, text) in fields {
        let most = match name {
            "summary" => summary,
            "description" => 1_000,
            "tags" => 300,
            "title" | "email" => 100,
            "street" => 80,
            "name" | "password" => 64,
            "phone" => 24,
            "zip" => 10,
            _ => 40,
        };
        if text.is_empty() || text.chars().count() > most {
            return Err(PageError::Form(format!("the field `{name}` has from 1 to {most} characters")));
        }
    }
    Ok(())
}

async fn located(site: &Site, address: &Address) -> Result<Place, PageError> {
    site.geocoder.locate(address).await.map_err(|why| PageError::Geocoder(why.to_string()))
}

/// Keeps the files of a new row. Returns the name that begins theirs. They are there before the row, so no page
/// names a missing file.
async fn keep(site: &Site, files: FormFiles) -> Result<String, PageError> {
    let owner = Uuid::new_v4().simple().to_string();
    for (kind, bytes) in files {
        let written = site.files.write(&owner, kind, bytes).await;
        written.map_err(|why| PageError::Store(StoreError::Refused(why.into())))?;
    }
    Ok(owner)
}

/// Adds a person. Returns its number.
pub(crate) async fn add_person(site: &Site, body: Multipart) -> Result<i64, PageError> {
    let mut text = PersonText::default();
    let set = |name: &str, value| {
        if let Some(place) = text.field(name) {
            *place = value;
        }
    };
    let files = form::read(body, &FileKind::OF_PERSON, set).await.map_err(|why| of_form(&why))?;
    checked(text.fields(), 2_600)?;
    // Most names that are taken are found before files are written and a number is drawn.
    if !check::is_free(site, &text.name).await? {
        return Err(StoreError::Taken.into());
    }
    let place = located(site, &text.address).await?;
    let row = person_row(&text, place, keep(site, files).await?);
    let add = Statement::rows(ADD_PEOPLE, PEOPLE_COLUMNS, row);
    let add = Statement { sql: format!("{} RETURNING id", add.sql).into(), ..add };
    Ok(site.store.change(vec![add]).await?.new)
}

/// A new event: number and title.
pub(crate) struct AddedEvent {
    pub(crate) id: i64,
    pub(crate) title: String,
}

impl AddedEvent {
    /// The page after it.
    pub(crate) fn page(&self, visitor: Option<i64>) -> String {
        let title = escaped(&self.title);
        let content = format!("<p>Your event is posted: <a href=\"/events/{}\">{title}</a>.</p>\n", self.id);
        Frame { title: "Posted", visitor, has_map: false }.around(&content)
    }
}

/// Adds an event of the visitor, with its tags.
pub(crate) async fn add_event(
    site: &Site,
    (visitor, filled): (Option<i64>, &Filled),
    body: Multipart,
) -> Result<AddedEvent, PageError> {
    let creator = visitor.ok_or(PageError::Login)?;
    let mut text = EventText::default();
    let set = |name: &str, value| {
        if let Some(place) = text.field(name) {
            *place = value;
        }
    };
    let files = form::read(body, &FileKind::OF_EVENT, set).await.map_err(|why| of_form(&why))?;
    checked(text.fields(), 400)?;
    let mut tags: Vec<&str> = text.tags.split_whitespace().collect();
    // All transactions take the rows of tags in one order, which rules out deadlocks.
    tags.sort_unstable();
    tags.dedup();
    if tags.is_empty()
        || tags.len() > 7
        || tags.iter().any(|tag| tag.len() > 40 || !tag.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    {
        return Err(PageError::Form("an event has from 1 to 7 tags of letters and digits".to_owned()));
    }
    let place = located(site, &text.address).await?;
    let zones = filled.order.size().zones;
    let row = event_row(Value::Int(creator), &text, (place, zones), keep(site, files).await?);
    let statements = event_statements(row, &tags);
    let mut tries = tags.len();
    let id = loop {
        match site.store.change(statements.clone()).await {
            // Another event has brought one of the tags meanwhile, so it is there in the next try.
            Err(StoreError::Taken) if tries > 0 => tries -= 1,
            changed => break changed?.new,
        }
    };
    let mut subjects = vec![Subject::Zone(place.zone(zones)), Subject::Tags, Subject::Event(id)];
    subjects.extend(tags.iter().map(|tag| Subject::Tag(tag)));
    site.changed(&subjects).await;
    Ok(AddedEvent { id, title: text.title })
}

/// The statements that add an event with its tags.
fn event_statements(row: Vec<Value>, tags: &[&str]) -> Vec<Statement> {
    let add = Statement::rows(ADD_EVENTS, EVENT_COLUMNS, row);
    let mut statements = vec![Statement { sql: format!("{} RETURNING id", add.sql).into(), ..add }];
    for tag in tags {
        statements.extend([
            Statement::new(
                "INSERT INTO tags (name, uses) SELECT name, uses FROM (SELECT ? AS name, 0 AS uses) one \
                 WHERE NOT EXISTS (SELECT 1 FROM tags WHERE name = ?)",
                values![*tag, *tag],
            ),
            Statement::new("UPDATE tags SET uses = uses + 1 WHERE name = ?", values![*tag]),
            Statement::new(
                "INSERT INTO event_tags (tag, event) SELECT tags.id, events.id FROM tags, events \
                 WHERE tags.name = ? AND events.id = ?",
                vec![Value::from(*tag), Value::New],
            ),
        ]);
    }
    statements
}
