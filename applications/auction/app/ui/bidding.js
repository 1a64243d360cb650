// The bidding screen: every auction the user has joined, live, each with its own bid form.

import { ask, get, load, me, store } from "./api.js";
import { CONDITIONS, cents, empty, h, money, picture, pill, title } from "./dom.js";
import { follow, isOpen, look } from "./follow.js";

// Auctions on the screen at once; more would make many slow looks of what should be live.
const MOST = 8;
// The result of a bid is asked for when it has not come by then: late bids are dropped without a word.
const RESULT_MS = 3000;
// Nobody has bid yet: the server's stand-in for a bidder.
const NOBODY = 0;

const STATES = {
  open: ["Open", "open"], lastCall: ["Last call", "call"], sold: ["Sold"], notSold: ["Not sold"],
  itemNotActive: ["Between two items"],
};

const place = () => `auction.held.${me()?.userId}`;

/** The auctions the user has joined, as `{id, name}`. */
export const held = () => load(place()) ?? [];

function hold(list) {
  store(place(), list);
  dispatchEvent(new Event("held"));
}

/** Forgets the joined auctions: who signs out has left them. */
export const forget = () => hold([]);

/** Joins an auction and goes to the bidding screen. */
export async function join(auction) {
  const list = held();
  if (!list.some((a) => a.id === auction.id)) {
    if (list.length >= MOST) throw new Error(`You follow ${MOST} auctions already. Leave one of them first.`);
    await ask("POST", "/live/auction", { body: { userId: me().userId, auctionId: auction.id } });
    hold([...list, { id: auction.id, name: auction.name }]);
  }
  location.hash = "#/bidding";
}

/** The next amount that makes sense: a round one, about a twentieth above the highest bid. */
function nextAmount(highest) {
  const least = Math.max(highest / 20, 50);
  const unit = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((n) => n * unit).find((s) => s >= least);
  return (Math.floor(highest / step) + 1) * step;
}

export async function bidding({ signal }) {
  const list = held();
  const credit = h("strong", { class: "money" });
  const purse = {
    cents: 0,
    async refresh() {
      this.cents = (await get(`/user/${me().userId}`, signal)).creditCents;
      credit.textContent = money(this.cents);
    },
  };
  await purse.refresh();
  const head = title("Bidding", h("p", null, "You can still spend ", credit));
  const none = () => empty("You are in no auction. ", h("a", { href: "#/" }, "Choose one"), " and join it.");
  if (!list.length) return [head, none()];
  const lots = h("div", { class: "lots" });
  for (const auction of list) {
    const lot = new Lot(auction, purse, signal);
    lot.left = () => !lots.children.length && lots.replaceWith(none());
    lots.append(lot.node);
  }
  return [head, lots];
}

class Lot {
  constructor(auction, purse, signal) {
    Object.assign(this, { auction, purse, state: null, pending: null, led: null });
    this.end = new AbortController();
    this.signal = AbortSignal.any([signal, this.end.signal]);
    this.build();
    follow(auction.id, { signal: this.signal, tell: (now) => this.update(now), linked: (...how) => this.linked(...how) });
  }

  build() {
    const { id, name } = this.auction;
    const part = (tag, name, props) => (this[name] = h(tag, { class: name, ...props }));
    const heading = `lot-${id}`;
    this.quick = h("button", { class: "main quick money", type: "button", disabled: true, onclick: () => this.bid(this.next) }, "Bid");
    this.own = h("input", { inputmode: "decimal", autocomplete: "off", "aria-label": `Your own amount in ${name}`, placeholder: "Own amount" });
    this.send = h("button", { disabled: true }, "Bid this");
    this.node = h("article", { class: "card lot", "data-auction": id, "aria-labelledby": heading },
      h("header", null,
        h("h2", { id: heading }, h("a", { href: `#/auction/${id}` }, name)),
        part("span", "line", { "data-line": "lost" }),
        h("button", { class: "plain", type: "button", "aria-label": `Leave ${name}`, onclick: () => this.leave() }, "Leave")),
      h("div", { class: "lot-body" },
        part("div", "photo"), h("div", null, part("h3", "item"), part("p", "meta")),
        h("div", { class: "lot-bid" },
          part("p", "what", { class: "what meta" }),
          h("p", { class: "top" }, part("span", "high"), part("span", "standing")),
          part("p", "who"),
          h("form", { class: "bid", novalidate: true, onsubmit: (e) => this.typed(e) }, this.quick, this.own, this.send),
          part("p", "say", { role: "status" }))));
    this.photo.append(picture([], "preview", ""));
    this.item.textContent = "…";
    this.linked("lost", "…");
  }

  linked(state, words) {
    this.line.dataset.line = state;
    this.line.textContent = words ?? { live: "Live", looking: "Every 2 s" }[state];
    if (state === "over") this.quick.disabled = this.send.disabled = true;
    // What could not be read while the server was lost.
    if (state !== "lost" && this.state && this.known !== this.state.itemId) this.show(this.state.itemId);
  }

  update(now) {
    const before = this.state;
    const same = before?.itemId === now.itemId;
    if (same && before.state === now.state && before.sequence === now.sequence) return;
    this.state = now;
    if (!same) this.show(now.itemId);
    this.paint();
    this.speak(now, before);
  }

  async show(id) {
    // The new item must not be taken for the one before.
    this.item.textContent = "…";
    this.meta.textContent = "";
    this.led = null;
    const item = await get(`/item/${id}`, this.signal).catch(() => null);
    if (!item || this.state.itemId !== id) return;
    this.known = id;
    this.item.replaceChildren(h("a", { href: `#/item/${id}` }, item.shortDescription));
    this.meta.textContent = `${CONDITIONS[item.condition]} · ${item.manufacturer}`;
    this.photo.replaceChildren(picture(item.images, "preview", item.shortDescription));
  }

  paint() {
    const { state, amountCents, bidderId } = this.state;
    const open = isOpen(this.state);
    const mine = bidderId === me()?.userId;
    const sold = state === "sold" && (mine ? "You bought this" : "Somebody else bought this");
    this.node.dataset.state = state;
    this.node.dataset.leads = mine ? "you" : bidderId === NOBODY ? "nobody" : "other";
    this.standing.replaceChildren(pill(...STATES[state]));
    this.what.textContent = bidderId === NOBODY ? "Starts at" : state === "sold" ? "Sold for" : "Highest bid";
    this.high.textContent = money(amountCents);
    this.who.textContent = bidderId === NOBODY ? "Nobody has bid yet"
      : open ? (mine ? "You lead" : "Somebody else leads") : sold || "";
    this.next = nextAmount(amountCents);
    this.quick.textContent = `Bid ${money(this.next)}`;
    this.quick.disabled = this.send.disabled = !open;
  }

  /** Says what the change means for the user, where screen readers follow. */
  speak(now, before) {
    const amount = money(now.amountCents);
    const mine = now.bidderId === me()?.userId;
    const same = before?.itemId === now.itemId;
    if (this.pending && this.pending.item !== now.itemId) {
      this.settle();
      this.tell("Your bid came too late: the item is gone.", "bad");
    } else if (now.state === "sold") {
      this.settle();
      this.tell(mine ? `Sold to you for ${amount}.` : `Sold to somebody else for ${amount}.`, mine ? "good" : "");
      if (mine) this.purse.refresh().catch(() => {});
    } else if (mine) {
      const fresh = this.pending?.amount <= now.amountCents;
      if (fresh) this.settle();
      if (fresh) this.tell(`Your bid of ${amount} leads.`, "good");
      else if (now.state === "lastCall") this.tell("Last call, and you lead.", "good");
      this.led = now.itemId;
    } else if (this.led === now.itemId || (this.pending && now.amountCents >= this.pending.amount)) {
      this.settle();
      this.led = null;
      this.tell(`You were outbid: somebody offers ${amount}.`, "bad");
    } else if (now.state === "lastCall") this.tell(`Last call at ${amount}.`, "");
    else if (same && before.amountCents !== now.amountCents) this.tell(`Somebody offers ${amount}.`, "");
  }

  tell(words, kind) {
    this.say.textContent = words;
    this.say.dataset.kind = kind;
  }

  typed(event) {
    event.preventDefault();
    const amount = cents(this.own.value);
    if (amount === null) return this.tell("Type an amount, such as 120 or 120.50.", "bad");
    this.bid(amount);
  }

  async bid(amount) {
    const { itemId, amountCents } = this.state ?? {};
    if (!itemId || this.pending) return;
    // The server drops such bids without a word.
    if (amount <= amountCents) return this.tell(`Offer more than ${money(amountCents)}.`, "bad");
    if (amount > this.purse.cents) return this.tell(`This is more than you can spend: ${money(this.purse.cents)}.`, "bad");
    const pending = { item: itemId, amount };
    this.pending = pending;
    this.node.dataset.sent = "";
    this.tell(`Your bid of ${money(amount)} is on its way …`, "");
    try {
      const body = { userId: me().userId, auctionId: this.auction.id, itemId, amountCents: amount };
      // Not ended with the screen: who bids and leaves has bid.
      await ask("POST", "/bid", { body });
      this.own.value = "";
      // News that came before the answer has settled it already.
      if (this.pending === pending) pending.timer = setTimeout(() => this.missed(pending), RESULT_MS);
    } catch (error) {
      if (this.pending === pending) this.settle();
      this.tell(error.message, "bad");
    }
  }

  settle() {
    clearTimeout(this.pending?.timer);
    this.pending = null;
    delete this.node.dataset.sent;
  }

  /** No result came: how the bidding stands settles it, or shows that the bid was dropped. */
  async missed(pending) {
    // An answer that the stream overtook is old news.
    const news = (now) => (now.itemId !== pending.item || now.sequence > this.state.sequence) && this.update(now);
    await look(this.auction.id, this.signal).then(news).catch(() => {});
    await this.purse.refresh().catch(() => {});
    if (this.pending !== pending || this.signal.aborted) return;
    this.settle();
    const poor = pending.amount > this.purse.cents;
    this.tell(`Your bid was not taken: ${poor ? "it is more than you can spend" : "somebody was quicker"}.`, "bad");
  }

  async leave() {
    try {
      await ask("DELETE", `/live/auction/${this.auction.id}`);
    } catch (error) {
      // Left already, for example by signing out somewhere else.
      if (error.code !== "notAttending") return this.tell(error.message, "bad");
    }
    hold(held().filter((a) => a.id !== this.auction.id));
    this.end.abort();
    this.node.remove();
    this.left();
  }
}
