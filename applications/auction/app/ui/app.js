// Which address shows which screen, the menu, and what is shown while the server is lost.

import { events, keep, me, open } from "./api.js";
import { profile, register, signIn } from "./account.js";
import { bidding, forget, held } from "./bidding.js";
import { h, title } from "./dom.js";
import { itemPage, sellerPage } from "./items.js";
import { active, auctionPage, history, search } from "./lists.js";
import { editItem, sell } from "./sell.js";

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const notice = document.getElementById("link");

// Address, screen, and whether it is open to people who have not signed in.
const SCREENS = [
  [/^$/, active],
  [/^sign-in$/, signIn, "public"],
  [/^register$/, register, "public"],
  [/^auction\/(\d+)$/, auctionPage],
  [/^bidding$/, bidding],
  [/^search$/, search],
  [/^item\/(\d+)$/, itemPage],
  [/^item\/(\d+)\/edit$/, editItem],
  [/^seller\/(\d+)$/, sellerPage],
  [/^sell$/, sell],
  [/^history\/(bids|purchases|attendance)$/, history],
  [/^profile$/, profile],
];

const MENU = [
  ["", "Auctions"], ["bidding", "Bidding"], ["search", "Search"], ["sell", "Sell"], ["history/bids", "History"],
  ["profile", "Profile"],
];

let shown = new AbortController();
// Such a screen is loaded again when the server is back; one with half-typed input is left alone.
let broken = false;

function where() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  return { path, search: new URLSearchParams(search) };
}

function menu() {
  const { path } = where();
  if (!me()) return nav.replaceChildren();
  const part = path.split("/")[0];
  const links = MENU.map(([to, words]) => h("a", {
    href: `#/${to}`,
    "aria-current": to.split("/")[0] === part && "page",
  }, words, to === "bidding" && held().length > 0 && h("span", { class: "badge" }, held().length)));
  nav.replaceChildren(...links, h("button", { class: "plain", id: "sign-out", onclick: signOut }, "Sign out"));
}

async function signOut() {
  // The server forgets the token; if it cannot be reached, at least this browser does.
  await open("GET", "/logout").catch(() => {});
  forget();
  keep(null);
  location.hash = "#/sign-in";
}

async function show() {
  const { path, search } = where();
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  menu();
  const found = SCREENS.map(([shape, screen, open]) => ({ parts: shape.exec(path), screen, open })).find((s) => s.parts);
  if (found && !found.open && !me()) {
    const back = location.hash.length > 2 ? `?back=${encodeURIComponent(location.hash)}` : "";
    return location.replace(`#/sign-in${back}`);
  }
  broken = false;
  main.ariaBusy = "true";
  let page;
  try {
    page = found ? await found.screen({ parts: found.parts.slice(1), search, signal }) : nowhere();
  } catch (error) {
    if (signal.aborted || error.status === 401) return;
    broken = true;
    page = [title("This did not work"), h("p", { class: "error" }, error.message),
      h("p", null, h("button", { class: "main", onclick: show }, "Try again"))];
  }
  if (signal.aborted) return;
  main.ariaBusy = null;
  main.replaceChildren(...[page].flat().filter(Boolean));
  const head = main.querySelector("h1");
  document.title = `${head?.textContent ?? "Auction"} · Auction`;
  scrollTo(0, 0);
  (main.querySelector("[data-first]") ?? head)?.focus({ preventScroll: true });
}

const nowhere = () => title("There is nothing here");

function say(words) {
  notice.textContent = words;
  notice.hidden = !words;
}

events.addEventListener("session", menu);
events.addEventListener("expired", () => {
  location.replace(`#/sign-in?ended=1&back=${encodeURIComponent(location.hash)}`);
});
events.addEventListener("lost", () => say("The server cannot be reached. Trying again …"));
events.addEventListener("back", () => {
  say("");
  if (broken) show();
});
addEventListener("held", menu);
addEventListener("hashchange", show);
show();
