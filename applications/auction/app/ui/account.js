// Signing in, registering, and the profile.

import { ask, get, keep, me, query } from "./api.js";
import { field, form, h, input, money, title } from "./dom.js";

const NAME = { maxlength: 254, required: true, autocomplete: "username", spellcheck: "false", autocapitalize: "none" };
const person = (label, name, autocomplete, value) =>
  field(label, input(name, { maxlength: 100, required: true, autocomplete, value }));
const first = (value) => person("First name", "firstName", "given-name", value);
const last = (value) => person("Last name", "lastName", "family-name", value);
const PASSWORD = { type: "password", maxlength: 128, required: true };

async function enter(name, password, back) {
  keep(await ask("POST", "/login", { body: { name, password } }));
  // Only to a place in this application, whatever the address says.
  location.replace(back?.startsWith("#/") ? back : "#/");
}

export function signIn({ search }) {
  const back = search.get("back");
  return [
    title("Sign in"),
    search.get("ended") && h("p", { class: "notice", role: "status" }, "Your session has ended. Sign in again to go on."),
    h("div", { class: "card narrow" },
      form([
        field("Name", input("name", { ...NAME, "data-first": true }), "your e-mail address"),
        field("Password", input("password", { ...PASSWORD, autocomplete: "current-password" })),
      ], "Sign in", (data) => enter(data.get("name"), data.get("password"), back)),
      h("p", null, "New here? ", h("a", { href: query("#/register", { back }) }, "Register"))),
  ];
}

export function register({ search }) {
  return [
    title("Register"),
    h("div", { class: "card narrow" },
      form([
        field("Name", input("name", { ...NAME, "data-first": true }), "your e-mail address"),
        first(), last(),
        field("Password", input("password", { ...PASSWORD, autocomplete: "new-password" })),
      ], "Register", async (data) => {
        await ask("POST", "/user", { body: Object.fromEntries(data) });
        await enter(data.get("name"), data.get("password"), search.get("back"));
      }),
      h("p", null, "Registered already? ", h("a", { href: "#/sign-in" }, "Sign in"))),
  ];
}

export async function profile({ signal }) {
  const user = await get(`/user/${me().userId}`, signal);
  const saved = h("p", { class: "good", role: "status" });
  const change = form([
    field("Name", input("name", { ...NAME, value: user.name }), "your e-mail address"),
    first(user.firstName), last(user.lastName),
    field("New password", input("password", { ...PASSWORD, required: false, autocomplete: "new-password" }), "empty: it stays"),
  ], "Save", async (data) => {
    saved.textContent = "";
    const body = Object.fromEntries([...data].filter(([name, value]) => value && value !== user[name]));
    if (Object.keys(body).length) Object.assign(user, await ask("PUT", `/user/${user.id}`, { body }));
    keep({ ...me(), name: user.name, firstName: user.firstName, lastName: user.lastName });
    saved.textContent = "Saved.";
  });
  return [
    title(`${user.firstName} ${user.lastName}`),
    h("dl", { class: "facts" },
      h("dt", null, "You can still spend"), h("dd", { class: "money" }, money(user.creditCents)),
      h("dt", null, "Your things on sale"), h("dd", null, h("a", { href: `#/seller/${user.id}` }, "See what you sell"))),
    h("div", { class: "card narrow" }, h("h2", null, "Change your profile"), change, saved),
    h("div", { class: "card narrow" }, h("h2", null, "Remove your account"), removal(user)),
  ];
}

function removal(user) {
  const sure = input("sure", { type: "checkbox", required: true });
  const node = form(h("label", null, sure, " I am sure that nobody is to sign in with this name any more"), "Remove the account", async () => {
    await ask("DELETE", `/user/${user.id}`);
    keep(null);
    location.hash = "#/register";
  });
  node.querySelector("button").className = "danger";
  return node;
}
