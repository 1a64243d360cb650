// Small pieces of page: elements, amounts, dates, pictures, forms, lists in pages.

import { query, url } from "./api.js";

/** Makes an element. Functions are listeners, true is an empty attribute, false is none. */
export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value || value === 0 || value === "") node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((c) => c || c === 0));
  return node;
}

const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
// The application has a clock of its own that stands in no time zone.
const moments = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
const days = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

export const money = (cents) => dollars.format(cents / 100);
export const moment = (ms) => h("time", { datetime: new Date(ms).toISOString() }, moments.format(ms));
export const day = (ms) => days.format(ms);

/** Cents from what a person types; null when it is no amount. */
export function cents(text) {
  const plain = text.trim().replace(/^\$/, "").replaceAll(",", "");
  return /^\d{1,12}(\.\d{0,2})?$/.test(plain) ? Math.round(Number(plain) * 100) : null;
}

export const CONDITIONS = {
  new: "New", likeNew: "Like new", veryGood: "Very good", good: "Good", fair: "Fair", poor: "Poor", bad: "Broken",
};
export const ITEM_STATES = { notListed: "Not listed", inAuction: "In an auction", active: "On sale now", sold: "Sold" };
export const AUCTION_STATES = { future: "Begins later", running: "Running", complete: "Over" };

export const pill = (words, kind) => h("span", { class: `pill ${kind || ""}` }, words);

const EDGE = { thumbnail: 100, preview: 350 };

/** The address of a picture; uploads exist in full size only. */
export const picturePath = (image, want) =>
  url(`/image/${image.id}/${image.sizes.includes(want) ? want : image.sizes.at(-1)}`);

/** A picture of an item in a frame of fixed size, so that nothing moves when it arrives. */
export function picture(images, want, words) {
  const image = images?.[0];
  const frame = h("span", { class: `frame ${want}` }, "No photo");
  if (image) {
    const onerror = () => frame.replaceChildren("No photo");
    frame.replaceChildren(h("img", { src: picturePath(image, want), alt: words, width: EDGE[want], height: EDGE[want], onerror }));
  }
  return frame;
}

/** Like `cents`, with an error at the field when it is none. */
export function amount(text, name) {
  const found = cents(text);
  if (found === null) throw wrong(name, "An amount, such as 120 or 120.50.");
  return found;
}

/** A labelled field; its error has a place of its own below. */
export function field(label, control, hint) {
  const id = `f-${control.getAttribute("name")}`;
  control.id = id;
  control.setAttribute("aria-describedby", `${id}-e`);
  return h("div", { class: "field" },
    h("label", { for: id }, label, hint && h("small", null, ` ${hint}`)),
    control, h("p", { class: "error", id: `${id}-e`, role: "alert" }));
}

export const input = (name, props) => h("input", { name, type: "text", ...props });

export function select(name, choices, chosen, anything) {
  const options = Object.entries(choices).map(([value, words]) =>
    h("option", { value, selected: value === chosen }, words));
  if (anything) options.unshift(h("option", { value: "" }, anything));
  return h("select", { name }, options);
}

/** Shows an error at the field it is about, or at the end of the form. */
function complain(form, words, name) {
  const at = name && form.querySelector(`[name="${CSS.escape(name)}"]`);
  const place = form.querySelector(at ? `#f-${CSS.escape(name)}-e` : "x") ?? form.querySelector(".form-error");
  at?.setAttribute("aria-invalid", "true");
  place.textContent = words;
  at?.focus();
}

function clear(form) {
  for (const place of form.querySelectorAll(".error")) place.textContent = "";
  for (const at of form.querySelectorAll("[aria-invalid]")) at.removeAttribute("aria-invalid");
}

/** A form that sends once at a time and shows what goes wrong where it belongs. */
export function form(fields, button, send) {
  const submit = h("button", { class: "main" }, button);
  const node = h("form", {
    novalidate: true,
    onsubmit: async (event) => {
      event.preventDefault();
      if (submit.disabled) return;
      clear(node);
      const wrong = [...node.elements].find((e) => e.willValidate && !e.checkValidity());
      if (wrong) return complain(node, wrong.validationMessage, wrong.name);
      submit.disabled = true;
      try {
        await send(new FormData(node), node);
      } catch (error) {
        // The server begins its sentence with the name of the field it is about.
        complain(node, error.message, error.field ?? /^\w+/.exec(error.detail)?.[0]);
      } finally {
        submit.disabled = false;
      }
    },
  }, fields, h("p", { class: "error form-error", role: "alert" }), h("p", { class: "actions" }, submit));
  return node;
}

/** An error that belongs to a field. */
export const wrong = (name, words) => Object.assign(new Error(words), { field: name });

/** Links to the pages before and after, and where this one is. */
export function pager(page, path, values = {}) {
  const last = Math.max(Math.ceil(page.totalRecords / page.pageSize), 1);
  const link = (to, words, rel) => (to >= 0 && to < last
    ? h("a", { href: query(path, { ...values, page: to || undefined }), rel, class: "button" }, words)
    : h("span", { class: "button off", "aria-hidden": "true" }, words));
  if (last === 1 && page.page === 0) return null;
  return h("nav", { class: "pager", "aria-label": "Pages" },
    link(page.page - 1, "Previous", "prev"),
    h("span", null, `Page ${page.page + 1} of ${last}`),
    link(page.page + 1, "Next", "next"));
}

export const title = (words, ...more) => h("div", { class: "title" }, h("h1", { tabindex: "-1" }, words), ...more);

export const empty = (...words) => h("p", { class: "empty" }, ...words);

export const count = (n, one, many) => `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;
