//! The OpenAPI document, built from one table of endpoints and the types of this crate.

use utoipa::openapi::path::{HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, Info, Paths, Ref, Required, ResponseBuilder, ResponsesBuilder};
use utoipa::{OpenApi, ToSchema};

use crate::{
    AttendanceRecord, Auction, BidAccepted, BidRecord, BidRequest, BidUpdate, CheckReport, ErrorBody, Health,
    ImageSize, Item, JoinRequest, LoginRequest, LoginResponse, NewItem, NewUser, Page, Purchase,
    TOKEN_HEADER, User, UserUpdate, routes,
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
    ErrorBody,
    Health,
    ImageSize,
    Item,
    JoinRequest,
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

/// What a body is.
enum Body {
    Nothing,
    Json(String),
    Other(&'static str),
}

/// One verb of one resource.
struct Endpoint {
    verb: HttpMethod,
    path: &'static str,
    summary: &'static str,
    public: bool,
    query: &'static [&'static str],
    request: Option<String>,
    status: u16,
    answer: Body,
    errors: &'static [u16],
}

const PAGE: &[&str] = &["page", "pageSize"];
const SPAN: &[&str] = &["page", "pageSize", "fromDate", "toDate"];

fn name<T: ToSchema>() -> String {
    T::name().into_owned()
}

fn page_of<T: ToSchema>() -> Body {
    Body::Json(format!("Page_{}", T::name()))
}

fn json<T: ToSchema>() -> Body {
    Body::Json(name::<T>())
}

fn get(path: &'static str, summary: &'static str, answer: Body) -> Endpoint {
    Endpoint {
        verb: HttpMethod::Get,
        path,
        summary,
        public: false,
        query: &[],
        request: None,
        status: 200,
        answer,
        errors: &[400, 401],
    }
}

fn post<T: ToSchema>(path: &'static str, summary: &'static str, answer: Body) -> Endpoint {
    let request = Some(name::<T>());
    Endpoint {
        verb: HttpMethod::Post,
        request,
        status: 201,
        errors: &[400, 401, 413, 415, 503],
        ..get(path, summary, answer)
    }
}

fn sessions_and_users() -> Vec<Endpoint> {
    vec![
        Endpoint { public: true, errors: &[], ..get(routes::HOME, "Start page", Body::Other("text/html")) },
        Endpoint {
            public: true,
            ..post::<LoginRequest>(routes::LOGIN, "Log in and get a token", json::<LoginResponse>())
        },
        Endpoint {
            status: 204,
            errors: &[401, 503],
            ..get(
                routes::LOGOUT,
                "End the session and mark the caller's open attendances as left",
                Body::Nothing,
            )
        },
        Endpoint {
            public: true,
            errors: &[400, 409, 413, 415, 503],
            ..post::<NewUser>(routes::USERS, "Register", json::<User>())
        },
        Endpoint {
            errors: &[400, 401, 403, 404],
            ..get(routes::USER, "The caller's profile", json::<User>())
        },
        Endpoint {
            verb: HttpMethod::Put,
            request: Some(name::<UserUpdate>()),
            errors: &[400, 401, 403, 404, 409, 413, 415, 503],
            ..get(routes::USER, "Change the caller's profile", json::<User>())
        },
    ]
}

fn auctions_and_items() -> Vec<Endpoint> {
    vec![
        Endpoint {
            query: PAGE,
            ..get(routes::LIVE_AUCTIONS, "Auctions being held, by id", page_of::<Auction>())
        },
        Endpoint {
            errors: &[400, 401, 403, 404, 409, 410, 413, 415, 503],
            ..post::<JoinRequest>(routes::LIVE_AUCTIONS, "Join an auction", json::<AttendanceRecord>())
        },
        Endpoint {
            verb: HttpMethod::Delete,
            status: 204,
            errors: &[400, 401, 409, 503],
            ..get(routes::LIVE_AUCTION, "Leave an auction", Body::Nothing)
        },
        Endpoint { query: PAGE, ..get(routes::AUCTIONS, "All auctions, by id", page_of::<Auction>()) },
        Endpoint { errors: &[400, 401, 404], ..get(routes::AUCTION, "One auction", json::<Auction>()) },
        post::<NewItem>(routes::ITEMS, "Add an item of the caller that no auction lists yet", json::<Item>()),
        Endpoint { errors: &[400, 401, 404], ..get(routes::ITEM, "One item", json::<Item>()) },
        Endpoint {
            query: PAGE,
            errors: &[400, 401, 404],
            ..get(routes::AUCTION_ITEMS, "Items of an auction, by id", page_of::<Item>())
        },
        Endpoint {
            errors: &[400, 401, 404, 410, 503],
            ..get(
                routes::CURRENT_ITEM,
                "The item on sale now; waits up to 10 s between two items",
                json::<Item>(),
            )
        },
        Endpoint {
            query: SPAN,
            errors: &[400, 401, 403],
            ..get(routes::PURCHASES, "What the caller bought, latest first", page_of::<Purchase>())
        },
        Endpoint {
            query: &["size"],
            errors: &[400, 401, 404, 503],
            ..get(routes::IMAGE, "An image of the item", Body::Other("image/jpeg"))
        },
    ]
}

fn bids_and_operations() -> Vec<Endpoint> {
    vec![
        Endpoint {
            status: 202,
            errors: &[400, 401, 403, 404, 410, 413, 415, 503],
            ..post::<BidRequest>(
                routes::BIDS,
                "Place a bid; its result comes with the polls",
                json::<BidAccepted>(),
            )
        },
        Endpoint {
            errors: &[400, 401, 408, 410, 503],
            ..get(
                routes::NEXT_BID,
                "The state of the bidding once its sequence number exceeds count; held at most 45 s",
                json::<BidUpdate>(),
            )
        },
        Endpoint {
            query: PAGE,
            errors: &[400, 401, 403],
            ..get(routes::USER_BIDS, "The caller's accepted bids, latest first", page_of::<BidRecord>())
        },
        Endpoint {
            query: PAGE,
            errors: &[400, 401, 403],
            ..get(
                routes::USER_ATTENDANCE,
                "The caller's attendances, latest first",
                page_of::<AttendanceRecord>(),
            )
        },
        Endpoint {
            public: true,
            errors: &[503],
            ..get(routes::HEALTH, "Whether the application is ready", json::<Health>())
        },
        Endpoint {
            public: true,
            errors: &[503],
            ..get(routes::CHECK, "Check that the data are right", json::<CheckReport>())
        },
        Endpoint {
            public: true,
            errors: &[],
            ..get(routes::OPENAPI, "This document", Body::Other("application/json"))
        },
    ]
}

/// Builds the document.
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
    for endpoint in sessions_and_users().into_iter().chain(auctions_and_items()).chain(bids_and_operations())
    {
        let path = format!("{}{}", routes::BASE, endpoint.path);
        let verb = endpoint.verb.clone();
        paths.add_path_operation(path, vec![verb], operation(endpoint));
    }
    doc.paths = paths;
    let mut components = doc.components.take().unwrap_or_default();
    components
        .add_security_scheme("token", SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new(TOKEN_HEADER))));
    doc.components = Some(components);
    doc
}

/// The document as indented JSON with a line break at its end, as it is served and committed.
///
/// # Panics
/// Never: the document holds only strings, numbers and maps keyed by strings.
#[must_use]
pub fn openapi_json() -> String {
    let mut text = openapi().to_pretty_json().expect("a document of plain values serialises");
    text.push('\n');
    text
}

fn operation(endpoint: Endpoint) -> utoipa::openapi::path::Operation {
    let mut op = OperationBuilder::new().summary(Some(endpoint.summary));
    for part in endpoint.path.split('/').filter_map(|p| p.strip_prefix('{')?.strip_suffix('}')) {
        op = op.parameter(parameter(part, ParameterIn::Path));
    }
    for key in endpoint.query {
        op = op.parameter(parameter(key, ParameterIn::Query));
    }
    if let Some(schema) = endpoint.request {
        let body = RequestBodyBuilder::new().content("application/json", content(&schema));
        op = op.request_body(Some(body.required(Some(Required::True)).build()));
    }
    if !endpoint.public {
        op = op.security(SecurityRequirement::new("token", Vec::<String>::new()));
    }
    let answer = ResponseBuilder::new().description(endpoint.summary);
    let answer = match endpoint.answer {
        Body::Nothing => answer,
        Body::Json(schema) => answer.content("application/json", content(&schema)),
        Body::Other(mime) => answer.content(mime, Content::new(Some(Object::with_type(Type::String)))),
    };
    let mut responses = ResponsesBuilder::new().response(endpoint.status.to_string(), answer.build());
    for status in endpoint.errors {
        let error = ResponseBuilder::new().description("Refused; the body says why");
        let error = error.content("application/json", content("ErrorBody"));
        responses = responses.response(status.to_string(), error.build());
    }
    op.responses(responses.build()).build()
}

fn content(schema: &str) -> Content {
    Content::new(Some(Ref::from_schema_name(schema)))
}

fn parameter(name: &str, place: ParameterIn) -> Parameter {
    let required =
        if place == ParameterIn::Path || name == "size" { Required::True } else { Required::False };
    let parameter = ParameterBuilder::new().name(name).parameter_in(place).required(required);
    let parameter = if name == "size" {
        parameter.schema(Some(Ref::from_schema_name("ImageSize")))
    } else {
        parameter.schema(Some(ObjectBuilder::new().schema_type(Type::Integer)))
    };
    parameter.build()
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
        assert_eq!(doc["paths"].as_object().unwrap().len(), 22);
    }

    #[test]
    fn the_committed_document_is_up_to_date() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
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
