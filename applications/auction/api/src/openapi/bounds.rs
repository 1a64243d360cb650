//! Bounds of values in requests: the same for query strings, path parts and fields of bodies.

use utoipa::openapi::schema::{KnownFormat, Object, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};

use crate::limits::{
    MAX_CENTS, MAX_INTEGER, MAX_LONG, MAX_MANUFACTURER, MAX_MILLIS, MAX_NAME, MAX_PAGE, MAX_PASSWORD,
    MAX_PERSON, MAX_SHORT, TEXT_PATTERN,
};
use crate::page::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};

/// Bound of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    /// A text with a least and a greatest number of characters.
    Text(usize, usize),
    /// A whole number in a range.
    Integer(i64, i64),
    /// Number of a page.
    Page,
    /// Entries per page.
    PageSize,
    /// One of the words of a schema.
    Word(&'static str),
}

/// An amount of money.
pub(super) const CENTS: Bound = Bound::Integer(0, MAX_CENTS);
/// A time.
pub(super) const MILLIS: Bound = Bound::Integer(-MAX_MILLIS, MAX_MILLIS);
/// An id.
pub(super) const ID: Bound = Bound::Integer(1, MAX_INTEGER);
/// A sequence number.
pub(super) const COUNT: Bound = Bound::Integer(0, u32::MAX as i64);

/// A field of a body with a bound narrower than its type.
pub(super) struct Field {
    /// The schema of the body.
    pub(super) schema: &'static str,
    /// The field's name on the wire.
    pub(super) name: &'static str,
    /// Its bound.
    pub(super) bound: Bound,
}

const fn field(schema: &'static str, name: &'static str, bound: Bound) -> Field {
    Field { schema, name, bound }
}

/// Bound of a user's name.
const NAME: Bound = Bound::Text(1, MAX_NAME);
/// Bound of a password.
const PASSWORD: Bound = Bound::Text(1, MAX_PASSWORD);
/// Bound of a first or last name.
const PERSON: Bound = Bound::Text(1, MAX_PERSON);
/// Bound of a manufacturer.
const MANUFACTURER: Bound = Bound::Text(1, MAX_MANUFACTURER);
/// Bound of a short description.
const SHORT: Bound = Bound::Text(1, MAX_SHORT);
/// Bound of a long description.
const LONG: Bound = Bound::Text(1, MAX_LONG);

/// All bounded fields of all bodies.
pub(super) const FIELDS: &[Field] = &[
    field("BidRequest", "amountCents", Bound::Integer(1, MAX_CENTS)),
    field("BidRequest", "auctionId", ID),
    field("BidRequest", "itemId", ID),
    field("BidRequest", "userId", ID),
    field("ItemUpdate", "longDescription", LONG),
    field("ItemUpdate", "manufacturer", MANUFACTURER),
    field("ItemUpdate", "originMs", MILLIS),
    field("ItemUpdate", "shortDescription", SHORT),
    field("ItemUpdate", "startingBidCents", CENTS),
    field("JoinRequest", "auctionId", ID),
    field("JoinRequest", "userId", ID),
    field("LoginRequest", "name", NAME),
    field("LoginRequest", "password", PASSWORD),
    field("NewItem", "longDescription", LONG),
    field("NewItem", "manufacturer", MANUFACTURER),
    field("NewItem", "originMs", MILLIS),
    field("NewItem", "shortDescription", SHORT),
    field("NewItem", "startingBidCents", CENTS),
    field("NewUser", "firstName", PERSON),
    field("NewUser", "lastName", PERSON),
    field("NewUser", "name", NAME),
    field("NewUser", "password", PASSWORD),
    field("UserUpdate", "firstName", PERSON),
    field("UserUpdate", "lastName", PERSON),
    field("UserUpdate", "name", NAME),
    field("UserUpdate", "password", PASSWORD),
];

impl Bound {
    /// The schema of such a value.
    pub(super) fn schema(self) -> RefOr<Schema> {
        match self {
            Bound::Text(least, most) => text(least, most).into(),
            Bound::Integer(least, most) => integer(least, most).into(),
            Bound::Page => default(integer(0, i64::from(MAX_PAGE)), 0).into(),
            Bound::PageSize => default(integer(1, i64::from(MAX_PAGE_SIZE)), DEFAULT_PAGE_SIZE).into(),
            Bound::Word(schema) => Ref::from_schema_name(schema).into(),
        }
    }
}

/// Puts a bound of [`FIELDS`] into the schema of a body. Descriptions and optional fields stay.
///
/// # Panics
/// If the schema or the field does not exist: the table above is wrong, which a test finds.
pub(super) fn apply(schema: &mut RefOr<Schema>, field: &Field) {
    let RefOr::T(Schema::Object(body)) = schema else { panic!("{} is no object", field.schema) };
    let optional = !body.required.iter().any(|name| name == field.name);
    let place = body.properties.get_mut(field.name);
    let place = place.unwrap_or_else(|| panic!("{} has no {}", field.schema, field.name));
    let description = described(place);
    let mut bounded = field.bound.schema();
    if let RefOr::T(Schema::Object(object)) = &mut bounded {
        object.description = description;
        if optional && let SchemaType::Type(kind) = object.schema_type.clone() {
            object.schema_type = SchemaType::Array(vec![kind, Type::Null]);
        }
    }
    *place = bounded;
}

/// The description of a schema; of alternatives, the first description.
fn described(schema: &RefOr<Schema>) -> Option<String> {
    match schema {
        RefOr::T(Schema::Object(object)) => object.description.clone(),
        RefOr::T(Schema::OneOf(either)) => {
            either.description.clone().or_else(|| either.items.iter().find_map(described))
        }
        RefOr::Ref(reference) => Some(reference.description.clone()).filter(|text| !text.is_empty()),
        RefOr::T(_) => None,
    }
}

fn text(least: usize, most: usize) -> Object {
    let text = ObjectBuilder::new().schema_type(Type::String).max_length(Some(most));
    text.min_length((least > 0).then_some(least)).pattern(Some(TEXT_PATTERN)).build()
}

fn integer(least: i64, most: i64) -> Object {
    let format = Some(SchemaFormat::KnownFormat(KnownFormat::Int64));
    let integer = ObjectBuilder::new().schema_type(Type::Integer).format(format);
    integer.minimum(Some(least)).maximum(Some(most)).build()
}

fn default(mut object: Object, value: u32) -> Object {
    object.default = Some(value.into());
    object
}
