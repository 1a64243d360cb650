//! The tables. `{id}` stands for the type of a number that the store gives.

/// The statements that make the tables and their indices.
pub(crate) const STATEMENTS: &[&str] = &[
    "CREATE TABLE site (name VARCHAR(40) PRIMARY KEY, value VARCHAR(200) NOT NULL)",
    "CREATE TABLE people (id {id}, name VARCHAR(64) NOT NULL UNIQUE, password VARCHAR(64) NOT NULL, \
     first_name VARCHAR(40) NOT NULL, last_name VARCHAR(40) NOT NULL, email VARCHAR(100) NOT NULL, \
     phone VARCHAR(24) NOT NULL, street VARCHAR(80) NOT NULL, city VARCHAR(40) NOT NULL, zip VARCHAR(10) NOT NULL, \
     country VARCHAR(40) NOT NULL, summary VARCHAR(2600) NOT NULL, latitude BIGINT NOT NULL, \
     longitude BIGINT NOT NULL, files VARCHAR(40) NOT NULL)",
    "CREATE TABLE friends (person BIGINT NOT NULL, friend BIGINT NOT NULL, accepted BIGINT NOT NULL, \
     PRIMARY KEY (person, friend))",
    "CREATE INDEX friends_of ON friends (friend, accepted)",
    "CREATE TABLE tags (id {id}, name VARCHAR(40) NOT NULL UNIQUE, uses BIGINT NOT NULL)",
    "CREATE INDEX tags_by_use ON tags (uses, id)",
    "CREATE TABLE events (id {id}, creator BIGINT NOT NULL, title VARCHAR(100) NOT NULL, \
     summary VARCHAR(400) NOT NULL, description VARCHAR(1000) NOT NULL, phone VARCHAR(24) NOT NULL, \
     street VARCHAR(80) NOT NULL, city VARCHAR(40) NOT NULL, zip VARCHAR(10) NOT NULL, country VARCHAR(40) NOT NULL, \
     day BIGINT NOT NULL, latitude BIGINT NOT NULL, longitude BIGINT NOT NULL, zone BIGINT NOT NULL, \
     files VARCHAR(40) NOT NULL)",
    "CREATE INDEX events_near ON events (zone, day, id)",
    "CREATE INDEX events_by ON events (creator, id)",
    "CREATE TABLE event_tags (tag BIGINT NOT NULL, event BIGINT NOT NULL, PRIMARY KEY (tag, event))",
    "CREATE INDEX tags_of ON event_tags (event)",
    "CREATE TABLE attendees (event BIGINT NOT NULL, person BIGINT NOT NULL, PRIMARY KEY (event, person))",
    "CREATE TABLE comments (id {id}, event BIGINT NOT NULL, author BIGINT NOT NULL, rating BIGINT NOT NULL, \
     body VARCHAR(1000) NOT NULL)",
    "CREATE INDEX comments_on ON comments (event, id)",
];

/// Columns of a new person.
pub(crate) const ADD_PEOPLE: &str = "INSERT INTO people (name, password, first_name, last_name, email, phone, street, \
     city, zip, country, summary, latitude, longitude, files)";

/// Number of the columns of [`ADD_PEOPLE`].
pub(crate) const PEOPLE_COLUMNS: usize = 14;

/// Columns of a new event.
pub(crate) const ADD_EVENTS: &str = "INSERT INTO events (creator, title, summary, description, phone, street, city, \
     zip, country, day, latitude, longitude, zone, files)";

/// Number of the columns of [`ADD_EVENTS`].
pub(crate) const EVENT_COLUMNS: usize = 14;
