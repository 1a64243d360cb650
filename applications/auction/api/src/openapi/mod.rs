//! The OpenAPI document, built from one table of endpoints and the types of this crate.

mod bounds;
mod endpoint;
mod endpoints;

use utoipa::OpenApi;
use utoipa::openapi::encoding::EncodingBuilder;
use utoipa::openapi::path::{Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{
    AdditionalProperties, KnownFormat, Object, ObjectBuilder, Schema, SchemaFormat, Type,
};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Content, ContentBuilder, Info, Paths, Ref, Required, Response, ResponseBuilder, ResponsesBuilder,
};

use self::bounds::{Bound, FIELDS};
use self::endpoint::{Access, Body, Endpoint, Request, SIZE_NAME, path_bound};
use crate::{
    AttendanceRecord, Auction, BidAccepted, BidRecord, BidRequest, BidUpdate, CheckReport, ClusterView,
    Drain, ErrorBody, Health, ImageAccepted, ImageSize, Item, ItemUpdate, JoinRequest, Leadership,
    LoginRequest, LoginResponse, NewItem, NewUser, Page, Purchase, TOKEN_HEADER, User, UserUpdate, routes,
};

#[derive(OpenApi)]
#[openapi(components(schemas(
    AttendanceRecord,
    Auction,
    BidAccepted,
    BidRecord,
    BidRequest,
    BidUpdate,
    CheckReport,
    ClusterView,
    Drain,
    ErrorBody,
    Health,
    ImageAccepted,
    ImageSize,
    Item,
    ItemUpdate,
    JoinRequest,
    Leadership,
    LoginRequest,
    LoginResponse,
    NewItem,
    NewUser,
    Page<AttendanceRecord>,
    Page<Auction>,
    Page<BidRecord>,
    Page<Item>,
    Page<Purchase>,
    Purchase,
    User,
    UserUpdate
)))]
struct Schemas;

/// Builds the document.
///
/// # Panics
/// Never: it is built from constant tables, and a test builds it.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut doc = Schemas::openapi();
    let mut info = Info::new("Barograph auction", "1");
    info.description = Some(
        "The auction benchmark application. Money is whole cents, time is milliseconds since 1970 on the \
         application's clock. Every answer of status 400 and above is an ErrorBody."
            .to_owned(),
    );
    doc.info = info;
    let mut paths = Paths::new();
    for endpoint in endpoints::all() {
        let path = format!("{}{}", routes::BASE, endpoint.path);
        let verb = endpoint.verb.clone();
        paths.add_path_operation(path, vec![verb], operation(endpoint));
    }
    doc.paths = paths;
    let mut components = doc.components.take().unwrap_or_default();
    for field in FIELDS {
        let schema = components.schemas.get_mut(field.schema);
        bounds::apply(schema.unwrap_or_else(|| panic!("no schema {}", field.schema)), field);
    }
    components
        .add_security_scheme("token", SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new(TOKEN_HEADER))));
    doc.components = Some(components);
    doc
}

/// The document as indented JSON with a line break at its end, in the form that is served and committed.
///
/// # Panics
/// Never: the document holds only strings, numbers and maps keyed by strings.
#[must_use]
pub fn openapi_json() -> String {
    let mut text = openapi().to_pretty_json().expect("a document of plain values serialises");
    text.push('\n');
    text
}

fn operation(endpoint: Endpoint) -> Operation {
    let mut op = OperationBuilder::new().summary(Some(endpoint.summary));
    for part in endpoint.path.split('/').filter_map(|p| p.strip_prefix('{')?.strip_suffix('}')) {
        op = op.parameter(parameter(part, ParameterIn::Path, path_bound(part)));
    }
    for (name, bound) in endpoint.query {
        op = op.parameter(parameter(name, ParameterIn::Query, *bound));
    }
    if endpoint.access == Access::Token {
        op = op.security(SecurityRequirement::new("token", Vec::<String>::new()));
    }
    let answer = answer(&endpoint);
    let mut responses = ResponsesBuilder::new();
    for status in endpoint.also {
        let also = if *status == 304 { described("Not changed: there is no body") } else { answer.clone() };
        responses = responses.response(status.to_string(), also);
    }
    responses = responses.response(endpoint.status.to_string(), answer);
    for status in endpoint.errors {
        let error = ResponseBuilder::new().description("Refused; the body says why");
        let error = error.content("application/json", content("ErrorBody"));
        responses = responses.response(status.to_string(), error.build());
    }
    op.request_body(request(endpoint.request)).responses(responses.build()).build()
}

fn described(text: &str) -> Response {
    ResponseBuilder::new().description(text).build()
}

fn answer(endpoint: &Endpoint) -> Response {
    let answer = ResponseBuilder::new().description(endpoint.summary);
    match &endpoint.answer {
        Body::Nothing => answer,
        Body::Json(schema) => answer.content("application/json", content(schema)),
        // A full description of the document within itself would be longer than the rest.
        Body::Text("application/json") => {
            answer.content("application/json", Content::new(Some(Object::with_type(Type::Object))))
        }
        Body::Text(kind) => answer.content(*kind, Content::new(Some(Object::with_type(Type::String)))),
        Body::Picture => {
            PICTURES.iter().fold(answer, |answer, kind| answer.content(*kind, Content::new(Some(binary()))))
        }
    }
    .build()
}

/// Content types of pictures.
const PICTURES: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];

/// Bytes as they are.
fn binary() -> Object {
    let format = Some(SchemaFormat::KnownFormat(KnownFormat::Binary));
    ObjectBuilder::new().schema_type(Type::String).format(format).build()
}

fn request(request: Request) -> Option<RequestBody> {
    let body = RequestBodyBuilder::new().required(Some(Required::True));
    let body = match request {
        Request::Nothing => return None,
        Request::Json(schema) => body.content("application/json", content(&schema)),
        Request::Upload => {
            let form = ObjectBuilder::new().property("image", binary()).required("image");
            let form =
                form.additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false))).build();
            let kinds = EncodingBuilder::new().content_type(Some(PICTURES.join(", "))).build();
            body.content(
                "multipart/form-data",
                ContentBuilder::new().schema(Some(form)).encoding("image", kinds).build(),
            )
        }
    };
    Some(body.build())
}

fn content(schema: &str) -> Content {
    Content::new(Some(Ref::from_schema_name(schema)))
}

fn parameter(name: &str, place: ParameterIn, bound: Bound) -> Parameter {
    let must = place == ParameterIn::Path || name == SIZE_NAME;
    let required = if must { Required::True } else { Required::False };
    let parameter = ParameterBuilder::new().name(name).parameter_in(place).required(required);
    parameter.schema(Some(bound.schema())).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_points_to_a_schema() {
        let text = openapi_json();
        let doc: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut seen = 0;
        for reference in text.split("\"$ref\": \"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(doc["components"]["schemas"][name].is_object(), "no schema {name}");
            seen += 1;
        }
        assert!(seen > 50, "only {seen} references");
        assert_eq!(doc["paths"].as_object().unwrap().len(), 32);
    }

    #[test]
    fn every_number_and_text_of_a_body_has_bounds() {
        let doc: serde_json::Value = serde_json::from_str(&openapi_json()).unwrap();
        let mut bounded = 0;
        for endpoint in endpoints::all() {
            let Request::Json(name) = endpoint.request else { continue };
            for (field, schema) in doc["components"]["schemas"][&name]["properties"].as_object().unwrap() {
                let text = schema.to_string();
                let is_word = text.contains("Condition");
                assert!(
                    is_word || text.contains("maxLength") || text.contains("maximum"),
                    "{name}.{field}: {text}"
                );
                bounded += 1;
            }
        }
        assert_eq!(bounded, FIELDS.len() + 2, "a field is bounded twice or a body is gone");
    }

    #[test]
    fn parameters_say_what_they_take() {
        let doc: serde_json::Value = serde_json::from_str(&openapi_json()).unwrap();
        let search = &doc["paths"]["/auction/item"]["get"]["parameters"];
        let schema = |name: &str| {
            let found = search.as_array().unwrap().iter().find(|p| p["name"] == name);
            found.unwrap()["schema"].clone()
        };
        let size = serde_json::json!(
            {"type": "integer", "format": "int64", "default": 10, "minimum": 1, "maximum": 100}
        );
        assert_eq!(schema("pageSize"), size);
        assert_eq!(schema("state")["$ref"], "#/components/schemas/ItemState");
        assert_eq!(schema("text")["maxLength"], 200);
        let update = &doc["components"]["schemas"]["ItemUpdate"]["properties"]["manufacturer"];
        assert_eq!(update["type"], serde_json::json!(["string", "null"]));
        assert_eq!(update["pattern"], "^[^\\u0000]*$");
    }

    #[test]
    fn the_committed_document_is_up_to_date() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
        let committed = std::fs::read_to_string(format!("{root}/docs/openapi/auction.json"));
        let text = openapi_json();
        if committed.as_deref().ok() != Some(text.as_str()) {
            std::fs::write(format!("{root}/target/auction-openapi.json"), text).unwrap();
            panic!(
                "docs/openapi/auction.json is out of date: cp target/auction-openapi.json docs/openapi/auction.json"
            );
        }
    }

    #[test]
    fn wire_names_are_camel_case() {
        let update = BidUpdate {
            auction_id: crate::AuctionId(1),
            item_id: crate::ItemId(2),
            bidder_id: crate::UserId(3),
            amount_cents: 400,
            sequence: 5,
            state: crate::BidState::LastCall,
        };
        let text = serde_json::to_string(&update).unwrap();
        let expected =
            r#"{"auctionId":1,"itemId":2,"bidderId":3,"amountCents":400,"sequence":5,"state":"lastCall"}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<BidUpdate>(&text).unwrap(), update);
    }
}
