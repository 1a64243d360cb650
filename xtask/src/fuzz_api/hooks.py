"""What schemathesis cannot know about the auction application: how to log in, which numbers name something, what a
picture is, and which questions do not end. Read by `cargo xtask fuzz-api`."""

import json
import os
import threading
import urllib.error
import urllib.request

import schemathesis
from hypothesis import strategies as st

BASE = os.environ["BAROGRAPH_TARGET"] + "/auction"
# How many users, auctions and items the small data set has at least.
USERS, AUCTIONS, ITEMS = 20, 4, 40
# Nobody ever has a number as great as this; it is within what the document allows.
NOBODY = 2**50
# Stands for a user who is made for one request.
OWN = 2**51

lock = threading.Lock()
session = None
fresh = 0


def post(path, body):
    request = urllib.request.Request(
        BASE + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def register():
    """A user of its own, whom a request may log out or remove."""
    global fresh
    with lock:
        fresh += 1
        name = f"fuzz-{os.getpid()}-{fresh}"
    user = {"name": name, "password": "fuzz", "firstName": "F", "lastName": "Z"}
    post("/user", user)
    login = post("/login", {"name": name, "password": "fuzz"})
    return login["userId"], login["token"]


def shared():
    """The user who asks everything that does not end its session, and the items it sells."""
    global session
    with lock:
        found = session
    if found is None:
        found = register()
        with lock:
            session = found
    return found


def ends_session(case):
    path = case.operation.path
    return path.endswith("/logout") or (path.endswith("/user/{id}") and case.method.upper() == "DELETE")


@schemathesis.auth(refresh_interval=None)
class Token:
    def get(self, case, context):
        if not ends_session(case):
            return shared()[1]
        user, token = register()
        parts = case.path_parameters or {}
        if positive(case) and parts.get("id") == OWN:
            parts["id"] = user
        return token

    def set(self, case, data, context):
        case.headers["API_TOKEN"] = data


def positive(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


@schemathesis.hook
def map_case(context, case):
    """Most numbers are nobody's. Where good data are asked for, every other number becomes one that names something."""
    if not positive(case):
        return case
    parts = case.path_parameters or {}
    path = case.operation.path
    # A whole number is a whole number in JSON however it is written, but paths and queries are text.
    for texts in (parts, case.query or {}):
        for name, value in list(texts.items()):
            if isinstance(value, float) and value.is_integer():
                texts[name] = int(value)
    for name, value in list(parts.items()):
        if not isinstance(value, int) or value % 2:
            continue
        if path.endswith("/user/{id}") and ends_session(case):
            parts[name] = OWN
        elif name == "userId" or path.endswith("/user/{id}"):
            parts[name] = shared()[0]
        elif name == "auctionId" or path.endswith("/auction/auction/{id}"):
            parts[name] = 1 + value % AUCTIONS
        elif name in ("id", "itemId"):
            parts[name] = 1 + value % ITEMS
        elif name == "imageId":
            parts[name] = 1 + value % (4 * ITEMS)
    body = case.body
    if isinstance(body, dict):
        for name, most in (("auctionId", AUCTIONS), ("itemId", ITEMS)):
            if isinstance(body.get(name), int) and body[name] % 2 == 0:
                body[name] = 1 + body[name] % most
        if isinstance(body.get("userId"), int) and body["userId"] % 2 == 0:
            body["userId"] = shared()[0]
    return case


@schemathesis.hook
def before_call(context, case, kwargs):
    """A stream of events does not end, and a poll may wait for 45 s: those that would wait ask about nobody's auction."""
    path = case.operation.path
    if not (path.endswith("/events") or "/count/" in path):
        return
    value = (case.path_parameters or {}).get("auctionId")
    try:
        number = int(value)
    except (TypeError, ValueError):
        return
    if 0 < number < NOBODY and (path.endswith("/events") or str(case.path_parameters.get("count")) != "0"):
        case.path_parameters["auctionId"] = NOBODY + number % 1000


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """What was just made is not found where the hook above asks about nobody's auction."""
    path = case.operation.path
    asked_elsewhere = path.endswith("/events") or "/count/" in path
    return not (asked_elsewhere and type(failure).__name__ == "EnsureResourceAvailability")


# The first bytes say what a picture is; the rest is not looked at.
HEADS = {
    "image/jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00",
    "image/png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR",
    "image/webp": b"RIFF\x24\x00\x00\x00WEBPVP8 ",
}
for kind, head in HEADS.items():
    schemathesis.openapi.media_type(kind, st.binary(max_size=200).map(lambda rest, head=head: head + rest))
