// The one place that speaks to the server.

const BASE = new URL("..", import.meta.url).pathname.replace(/\/$/, "");
const SESSION = "auction.session";
// No answer of the server takes longer, save for polls, which bring a limit of their own.
const ANSWER_MS = 20_000;
// Fills rows of two, three and four tiles.
const PAGE_SIZE = 12;
// A photo of 16 MB at 1 Mbit/s.
const UPLOAD_MS = 130_000;
// Pauses between looks whether a lost server is back.
const PROBE_MS = [500, 1000, 2000, 4000];

/** Says "session" (signed in or out), "expired" (the server ended it), "lost" and "back" (the server). */
export const events = new EventTarget();

const emit = (name) => events.dispatchEvent(new Event(name));

/** The server understood and said no. */
export class Refusal extends Error {
  constructor(status, code, message) {
    const words = message ?? `the server answered ${status}`;
    super(`${words[0].toUpperCase()}${words.slice(1)}.`);
    Object.assign(this, { status, code, detail: message });
  }
}

/** No answer came. */
export class Unreachable extends Error {
  constructor() {
    super("The server cannot be reached.");
  }
}

// A browser may forbid storage; what is kept then lives as long as the page.
const kept = {};

/** What was stored under a name, by any tab. */
export function load(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return kept[name] ?? null;
  }
}

export function store(name, value) {
  kept[name] = value;
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch { /* as above */ }
}

let session = load(SESSION);

export const me = () => session;

/** Keeps who is signed in; null signs out here. */
export function keep(next) {
  session = next;
  store(SESSION, next);
  emit("session");
}

// What another tab did counts here too.
addEventListener("storage", (event) => {
  if (event.key !== SESSION) return;
  session = load(SESSION);
  emit("session");
});

export const url = (path) => BASE + path;

export function query(path, values) {
  const found = Object.entries(values).filter(([, v]) => v || v === 0);
  return found.length ? `${path}?${new URLSearchParams(found)}` : path;
}

function refusal(status, text, asked) {
  let body = {};
  try {
    body = JSON.parse(text);
  } catch { /* a proxy answered, not the application */ }
  // Neither a refused sign-in nor the refusal of a token since replaced ends the session.
  if (status === 401 && asked && asked === session?.token) {
    keep(null);
    emit("expired");
  }
  return new Refusal(status, body.code, body.message);
}

/** Sends a request and gives the response when it is a good one. */
export async function open(method, path, { body, signal, limit = ANSWER_MS } = {}) {
  const asked = session?.token;
  const signals = [signal, limit && AbortSignal.timeout(limit)].filter(Boolean);
  const headers = asked ? { API_TOKEN: asked } : {};
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(url(path), {
      method, headers, body: body && JSON.stringify(body), signal: AbortSignal.any(signals),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    lost();
    throw new Unreachable();
  }
  if (response.ok) return response;
  throw refusal(response.status, await response.text().catch(() => ""), asked);
}

/** Sends a request and gives the JSON of the answer, if it has any. */
export async function ask(method, path, options) {
  const response = await open(method, path, options);
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch (error) {
    if (options?.signal?.aborted) throw error;
    throw new Unreachable();
  }
}

export const get = (path, signal) => ask("GET", path, { signal });

/** The page of a list that the address names. */
export const getPage = (path, { search, signal }, values) =>
  get(query(path, { ...values, page: search.get("page"), pageSize: PAGE_SIZE }), signal);

/** Sends a photo; `progress` gets the part that is sent, 0 to 1. Fetch cannot say it, hence the older way. */
export function upload(path, file, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const asked = session?.token;
    request.open("POST", url(path));
    request.setRequestHeader("API_TOKEN", asked);
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onload = () => {
      if (request.status < 300) resolve();
      else reject(refusal(request.status, request.responseText, asked));
    };
    request.timeout = UPLOAD_MS;
    request.onerror = request.ontimeout = () => {
      lost();
      reject(new Unreachable());
    };
    const form = new FormData();
    form.append("image", file);
    request.send(form);
  });
}

export const sleep = (ms, signal) => new Promise((resolve) => {
  if (signal?.aborted) return resolve();
  const done = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", done);
    resolve();
  };
  const timer = setTimeout(done, ms);
  signal?.addEventListener("abort", done);
});

let probing = false;

/** Says that the server is lost, and looks until it is back. */
export async function lost() {
  if (probing) return;
  probing = true;
  emit("lost");
  for (let n = 0; probing; n += 1) {
    await sleep(PROBE_MS[Math.min(n, PROBE_MS.length - 1)]);
    const signal = AbortSignal.timeout(ANSWER_MS);
    probing = !(await fetch(url("/alive"), { signal, cache: "no-store" }).then((r) => r.ok, () => false));
  }
  emit("back");
}
