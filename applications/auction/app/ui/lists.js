// Lists: active auctions, one auction with its items, search, and the histories.

import { get, getPage, me, query } from "./api.js";
import { join } from "./bidding.js";
import {
  AUCTION_STATES, CONDITIONS, ITEM_STATES, amount, cents, count, empty, field, form, h, input, moment, money, pager, picture,
  pill, select, title,
} from "./dom.js";

/** A link with the thing's name, or with its number when the name cannot be had. */
async function named(kind, id, signal) {
  const thing = await get(`/${kind}/${id}`, signal).catch(() => ({}));
  return h("a", { href: `#/${kind}/${id}` }, thing.shortDescription ?? thing.name ?? `${kind} ${id}`);
}

/** A button that joins, with the refusal beside it. */
function joinButton(auction) {
  const error = h("p", { class: "error", role: "alert" });
  const button = h("button", {
    class: "main",
    "aria-label": `Join ${auction.name}`,
    onclick: async () => {
      button.disabled = true;
      error.textContent = "";
      await join(auction).catch((e) => { error.textContent = e.message; });
      button.disabled = false;
    },
  }, "Join");
  return [button, error];
}

const auctionCard = (auction) => h("li", { class: "card" },
  h("h2", null, h("a", { href: `#/auction/${auction.id}` }, auction.name)),
  h("p", { class: "meta" }, auction.category, " · ", AUCTION_STATES[auction.state]),
  h("p", { class: "meta" }, auction.state === "future" ? "Begins " : "Since ", moment(auction.startMs)),
  auction.state === "running" && joinButton(auction));

const auctionCards = (page) => h("ul", { class: "tiles" }, page.items.map(auctionCard));

const listed = (page, list, none) => (page.items.length ? list(page) : empty(none));

export async function active(asked) {
  const page = await getPage("/live/auction", asked);
  return [
    title("Active auctions", h("p", null, count(page.totalRecords, "auction", "auctions"))),
    listed(page, auctionCards, "No auction is running at the moment."),
    pager(page, "#/"),
  ];
}

const itemRow = (item) => h("li", null, h("a", { class: "row", href: `#/item/${item.id}` },
  picture(item.images, "thumbnail", ""),
  h("span", { class: "row-words" },
    h("strong", null, item.shortDescription),
    h("span", { class: "meta" }, `${CONDITIONS[item.condition]} · ${item.manufacturer}`),
    h("span", null, "from ", h("span", { class: "money" }, money(item.startingBidCents)))),
  pill(ITEM_STATES[item.state], item.state === "active" && "open")));

export const itemRows = (page) => h("ul", { class: "rows" }, page.items.map(itemRow));

export async function auctionPage(asked) {
  const [id] = asked.parts;
  const [auction, page] = await Promise.all([get(`/auction/${id}`, asked.signal), getPage(`/item/auction/${id}`, asked)]);
  return [
    title(auction.name, pill(AUCTION_STATES[auction.state], auction.state === "running" && "open")),
    h("p", { class: "meta" }, auction.category, " · began ", moment(auction.startMs),
      auction.endMs && [" · ended ", moment(auction.endMs)]),
    auction.state === "running" && h("p", { class: "actions" }, joinButton(auction)),
    h("h2", null, count(page.totalRecords, "item", "items")),
    listed(page, itemRows, "This auction has no items."),
    pager(page, `#/auction/${id}`),
  ];
}

const tabs = (all, chosen) => h("nav", { class: "tabs", "aria-label": "Kinds" },
  all.map(([href, words, value]) => h("a", { href, "aria-current": value === chosen && "page" }, words)));

function itemFilters(search) {
  const amount = (name) => input(name, { inputmode: "decimal", autocomplete: "off", value: search.get(name) });
  return [
    field("Condition", select("condition", CONDITIONS, search.get("condition"), "Any")),
    field("State", select("state", ITEM_STATES, search.get("state"), "Any")),
    field("From $", amount("from")), field("To $", amount("to")),
  ];
}

const auctionFilters = (search) => [
  field("Category", input("category", { value: search.get("category") ?? "", maxlength: 40 })),
  field("State", select("state", AUCTION_STATES, search.get("state"), "Any")),
];

export async function search(asked) {
  const { search } = asked;
  const { for: what = "items", page: _, from, to, ...values } = Object.fromEntries(search);
  const text = input("text", { type: "search", value: search.get("text") ?? "", "data-first": !search.has("text"), maxlength: 100 });
  const filters = form([field("Words", text), what === "items" ? itemFilters(search) : auctionFilters(search)],
    "Search", (data) => {
      const next = Object.fromEntries(data);
      for (const name of ["from", "to"]) if (next[name]) amount(next[name], name);
      location.hash = query("#/search", { ...next, for: search.get("for") });
    });
  filters.className = "filters";
  const page = await getPage(what === "items" ? "/item" : "/auction", asked, {
    ...values, fromCents: from && cents(from), toCents: to && cents(to),
  });
  return [
    title("Search"),
    tabs([["#/search", "Items", "items"], ["#/search?for=auctions", "Auctions", "auctions"]], what),
    filters,
    h("p", { class: "meta", role: "status" }, count(page.totalRecords, "match", "matches")),
    listed(page, what === "items" ? itemRows : auctionCards, "Nothing matches. Try fewer words or wider filters."),
    pager(page, "#/search", { ...values, from, to, for: search.get("for") }),
  ];
}

const ENDS = {
  high: "Was the highest", winning: "Bought", proposed: "Not decided",
  attending: "In it now", left: "Left", auctionComplete: "Stayed to the end",
};
const end = (name) => pill(ENDS[name], /winning|attending/.test(name) && "open");
const price = (cents) => h("span", { class: "money" }, money(cents));

const HISTORIES = {
  bids: {
    tab: "Bids", path: (id) => `/bid/user/${id}`,
    heads: ["When", "Item", "Auction", "Amount", "Result"],
    row: (b, signal) => [moment(b.bidMs), named("item", b.itemId, signal), named("auction", b.auctionId, signal),
      price(b.amountCents), end(b.outcome)],
  },
  purchases: {
    tab: "Purchases", path: (id) => `/item/user/${id}/purchased`, dates: true,
    heads: ["When", "Item", "Auction", "Price"],
    row: (p, signal) => [moment(p.soldMs), h("a", { href: `#/item/${p.itemId}` }, p.shortDescription),
      named("auction", p.auctionId, signal), price(p.amountCents)],
  },
  attendance: {
    tab: "Attendance", path: (id) => `/attendance/user/${id}`,
    heads: ["When", "Auction", "State"],
    row: (a) => [moment(a.recordMs), h("a", { href: `#/auction/${a.auctionId}` }, a.auctionName), end(a.state)],
  },
};

const table = (heads, rows) => h("table", null,
  h("thead", null, h("tr", null, heads.map((head) => h("th", { scope: "col" }, head)))),
  h("tbody", null, rows.map((row) => h("tr", null, row.map((part, n) => h("td", { "data-head": heads[n] }, part))))));

const DAY_MS = 86_400_000;

function dates(search) {
  const node = form([
    field("From", input("from", { type: "date", value: search.get("from") })),
    field("To", input("to", { type: "date", value: search.get("to") }), "included"),
  ], "Show", (data) => { location.hash = query("#/history/purchases", Object.fromEntries(data)); });
  node.className = "filters";
  return node;
}

export async function history(asked) {
  const { parts: [which], search, signal } = asked;
  const kind = HISTORIES[which];
  const [from, to] = ["from", "to"].map((name) => search.get(name));
  const page = await getPage(kind.path(me().userId), asked, {
    fromDate: from && Date.parse(from), toDate: to && Date.parse(to) + DAY_MS,
  });
  const rows = await Promise.all(page.items.map((entry) => Promise.all(kind.row(entry, signal))));
  const all = Object.entries(HISTORIES).map(([name, k]) => [`#/history/${name}`, k.tab, name]);
  return [
    title("History", h("p", null, count(page.totalRecords, "entry", "entries"))),
    tabs(all, which),
    kind.dates && dates(search),
    listed(page, () => table(kind.heads, rows), "Nothing yet."),
    pager(page, `#/history/${which}`, { from, to }),
  ];
}
