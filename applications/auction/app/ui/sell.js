// Adding an item with a photo, and changing one.

import { ask, get, me, query, upload } from "./api.js";
import { CONDITIONS, amount, field, form, h, input, select, title, wrong } from "./dom.js";

// What the server takes: 16 MB less 2 KB for the whole request, of which a little is not the photo.
const PHOTO_BYTES = 16 * 1024 * 1024 - 4096;
const KINDS = ["image/jpeg", "image/png", "image/webp"];
const EDGE = 350;
const LENGTHS = { shortDescription: 127, longDescription: 1024, manufacturer: 100 };

/** The field for a photo: shows what was chosen, and how far it is sent. */
function photo(required) {
  const file = h("input", { type: "file", name: "photo", accept: KINDS.join(","), required });
  const canvas = h("canvas", { role: "img", hidden: true });
  const bar = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Upload" });
  const box = field("Photo", file, "JPEG, PNG or WebP, up to 16 MB");
  const error = box.querySelector(".error");
  file.addEventListener("change", async () => {
    canvas.hidden = true;
    const chosen = file.files[0];
    error.textContent = chosen ? refused(chosen) : "";
    if (chosen && !error.textContent) await draw(chosen, canvas).catch(() => { error.textContent = "This picture cannot be read."; });
  });
  box.append(canvas, bar);
  return { box, file, bar };
}

const refused = (file) => (!KINDS.includes(file.type) ? "This is not a JPEG, PNG or WebP picture."
  : file.size > PHOTO_BYTES ? "This picture is larger than 16 MB." : "");

/** Draws a picture into a canvas: the page's policy bans addresses of local files. */
async function draw(file, canvas) {
  const image = await createImageBitmap(file);
  const scale = Math.min(EDGE / image.width, EDGE / image.height);
  canvas.width = image.width * scale;
  canvas.height = image.height * scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  image.close();
  canvas.setAttribute("aria-label", `The chosen photo: ${file.name}`);
  canvas.hidden = false;
}

async function send(item, { file, bar }) {
  const chosen = file.files[0];
  if (!chosen) return;
  const why = refused(chosen);
  if (why) throw wrong("photo", why);
  bar.hidden = false;
  bar.value = 0;
  try {
    await upload(`/item/${item.id}/image`, chosen, (part) => { bar.value = part; });
  } catch (error) {
    throw wrong("photo", error.message);
  } finally {
    bar.hidden = true;
  }
}

function fields(item) {
  const date = item && new Date(item.originMs).toISOString().slice(0, 10);
  const text = (name, value) => input(name, { required: true, maxlength: LENGTHS[name], value });
  const long = h("textarea", { name: "longDescription", rows: 5, required: true, maxlength: LENGTHS.longDescription });
  long.value = item?.longDescription ?? "";
  return [
    field("What is it?", text("shortDescription", item?.shortDescription), "in one line"),
    field("Description", long),
    field("Made by", text("manufacturer", item?.manufacturer)),
    h("div", { class: "pair" },
      field("Condition", select("condition", CONDITIONS, item?.condition ?? "good")),
      field("Made on", input("originMs", { type: "date", required: true, value: date }))),
    field("Bidding starts at", input("startingBidCents", {
      required: true, inputmode: "decimal", autocomplete: "off", value: item && (item.startingBidCents / 100).toFixed(2),
    }), "$"),
  ];
}

/** The body for the server, or an error that names its field. */
function body(data) {
  const values = Object.fromEntries(data);
  delete values.photo;
  values.originMs = Date.parse(values.originMs);
  values.startingBidCents = amount(values.startingBidCents, "startingBidCents");
  return values;
}

export function sell() {
  const picked = photo(false);
  return [title("Sell something"), h("div", { class: "card narrow" },
    form([fields(), picked.box], "Add the item", async (data) => {
      const item = await ask("POST", "/item", { body: body(data) });
      try {
        await send(item, picked);
      } catch (error) {
        // The item is there, its photo is not: trying again must not add it twice.
        return location.replace(query(`#/item/${item.id}/edit`, { failed: error.message }));
      }
      location.hash = `#/seller/${me().userId}`;
    }))];
}

export async function editItem({ parts: [id], search, signal }) {
  const item = await get(`/item/${id}`, signal);
  if (item.auctioneerId !== me().userId) return [title("This belongs to another seller")];
  const open = item.state === "notListed";
  const picked = photo(!open);
  const failed = search.get("failed");
  return [
    title(open ? "Edit the item" : "Add a photo"),
    failed && h("p", { class: "notice bad", role: "alert" }, "The item is saved, its photo is not: ", failed),
    !open && h("p", { class: "notice" }, "An auction lists this item, so only photos can be added."),
    h("div", { class: "card narrow" },
      form([open && fields(item), picked.box].filter(Boolean), open ? "Save" : "Add the photo", async (data) => {
        if (open) await ask("PUT", `/item/${id}`, { body: body(data) });
        await send(item, picked);
        location.hash = `#/item/${id}`;
      })),
  ];
}
