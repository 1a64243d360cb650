// Follows the bidding of one auction: by an event stream, by long polls where streams are refused, by short looks when
// the browser has no connection to spare. Heals by itself.

import { Refusal, Unreachable, ask, get, open, sleep } from "./api.js";

// Browsers open six connections to one server over HTTP/1.1, all tabs together. Four may wait for news, so that two
// are left for bids and pictures.
const SLOTS = 4;
// How often an auction without a slot is looked at.
const LOOK_MS = 2000;
// A stream says something every 15 s.
const SILENCE_MS = 40_000;
// The server holds a poll for 45 s.
const POLL_MS = 60_000;
// Pauses after failures double from the first to the last.
const FIRST_PAUSE_MS = 300;
const LAST_PAUSE_MS = 8000;
// An event has about 150 characters.
const LINE_LIMIT = 16_384;

// How a server says that it has no streams.
const NO_STREAMS = [404, 405, 406, 501];
const LOST = "Connection lost, trying again …";

/** Whether bids are taken in this state of the bidding. */
export const isOpen = (bidding) => bidding.state === "open" || bidding.state === "lastCall";

let taken = 0;

/** Does `work` in one of the slots that all tabs share; false when none is free. */
async function inSlot(work) {
  // Pages over plain HTTP from another machine have no locks; each tab then counts for itself.
  if (!navigator.locks) {
    if (taken >= SLOTS) return false;
    taken += 1;
    await work().finally(() => { taken -= 1; });
    return true;
  }
  for (let n = 0; n < SLOTS; n += 1) {
    const had = await navigator.locks.request(`auction-slot-${n}`, { ifAvailable: true }, async (lock) => {
      if (lock) await work();
      return Boolean(lock);
    });
    if (had) return true;
  }
  return false;
}

/** Reads server-sent events from a response, `tell(name, data)` for each. */
async function readEvents(response, heard, tell) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", name = "", data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    const lines = (rest + value).split(/\r?\n/);
    rest = lines.pop();
    if (rest.length > LINE_LIMIT) throw new Unreachable();
    for (const line of lines) {
      if (line === "") {
        if (data.length) tell(name, data.join("\n"));
        name = "";
        data = [];
      } else if (line.startsWith("event:")) name = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    }
  }
}

/**
 * Follows an auction until `signal` ends. `tell(update)` gets each state of the bidding, `linked(state, words)` how the
 * line to the server is: "live", "looking" (short looks), "lost" or "over".
 */
export async function follow(auction, { signal, tell, linked }) {
  let way = stream;
  let pause = FIRST_PAUSE_MS;
  const news = (update) => {
    pause = FIRST_PAUSE_MS;
    tell(update);
  };
  while (!signal.aborted) {
    let words = LOST;
    try {
      const had = await inSlot(() => way(auction, signal, news, () => linked("live")));
      if (!had) {
        news(await look(auction, signal));
        linked("looking");
        await sleep(LOOK_MS, signal);
        continue;
      }
      // The stream ended in order: its server stops, and another one may be there.
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      if (error.code === "auctionComplete") return linked("over", error.message);
      if (way === stream && NO_STREAMS.includes(error.status)) {
        way = longPoll;
        continue;
      }
      words = error instanceof Refusal ? error.message : LOST;
    }
    if (signal.aborted) return;
    linked("lost", words);
    // Spread, so that a returning server is not met by everybody at once.
    await sleep(pause * (0.5 + Math.random()), signal);
    pause = Math.min(pause * 2, LAST_PAUSE_MS);
  }
}

async function stream(auction, signal, tell, live) {
  const silence = new AbortController();
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS);
  };
  heard();
  try {
    const both = AbortSignal.any([signal, silence.signal]);
    const response = await open("GET", `/bid/auction/${auction}/events`, { signal: both, limit: 0 });
    live();
    await readEvents(response, heard, (name, data) => name === "bid" && tell(JSON.parse(data)));
  } finally {
    clearTimeout(timer);
  }
}

/** The state of the bidding for an item once it is past number `after`. */
const next = (auction, item, after, signal) =>
  ask("GET", `/bid/auction/${auction}/item/${item}/count/${after}`, { signal, limit: POLL_MS });

/** Asks once how the bidding stands; waits while there is nothing on sale. */
export async function look(auction, signal) {
  const item = await get(`/item/current/auction/${auction}`, signal);
  return next(auction, item.id, 0, signal);
}

async function longPoll(auction, signal, tell, live) {
  while (!signal.aborted) {
    let state = await look(auction, signal);
    live();
    tell(state);
    while (isOpen(state)) {
      try {
        state = await next(auction, state.itemId, state.sequence, signal);
      } catch (error) {
        // Nothing happened in 45 s.
        if (error.status === 408) continue;
        throw error;
      }
      tell(state);
    }
    // A server that does not wait between two items must not be asked at full speed.
    await sleep(FIRST_PAUSE_MS, signal);
  }
}
