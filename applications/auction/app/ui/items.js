// The page of an item with its pictures, and the page of a seller.

import { get, getPage, me } from "./api.js";
import { CONDITIONS, ITEM_STATES, count, day, empty, h, money, pager, picture, picturePath, pill, title } from "./dom.js";
import { itemRows } from "./lists.js";

/** The large picture and, below it, the small ones that choose it. */
function gallery(item) {
  if (!item.images.length) return h("div", { class: "gallery" }, picture([], "preview", ""));
  const stage = h("div", { class: "stage" });
  const show = (image) => {
    const words = `${item.shortDescription}, photo ${item.images.indexOf(image) + 1} of ${item.images.length}`;
    stage.replaceChildren(h("a", { href: picturePath(image, "full"), target: "_blank" },
      picture([image], "preview", words)));
    for (const button of small) button.setAttribute("aria-pressed", button.dataset.image === String(image.id));
  };
  const small = item.images.map((image, n) => h("button", {
    type: "button", class: "thumb", "data-image": image.id, "aria-label": `Show photo ${n + 1}`, onclick: () => show(image),
  }, picture([image], "thumbnail", "")));
  show(item.images[0]);
  return h("div", { class: "gallery" }, stage, small.length > 1 && h("div", { class: "thumbs" }, small));
}

export async function itemPage({ parts: [id], signal }) {
  const item = await get(`/item/${id}`, signal);
  const mine = item.auctioneerId === me().userId;
  const fact = (name, ...value) => [h("dt", null, name), h("dd", null, value)];
  return [
    title(item.shortDescription, pill(ITEM_STATES[item.state], item.state === "active" && "open")),
    h("div", { class: "item-page" },
      gallery(item),
      h("div", null,
        h("p", { class: "meta" }, "Bidding starts at"),
        h("p", { class: "high money" }, money(item.startingBidCents)),
        h("p", { class: "long" }, item.longDescription),
        h("dl", { class: "facts" },
          fact("Condition", CONDITIONS[item.condition]), fact("Made by", item.manufacturer),
          fact("Made on", day(item.originMs)),
          fact("Seller", h("a", { href: `#/seller/${item.auctioneerId}` }, mine ? "You" : `Seller ${item.auctioneerId}`)),
          item.auctionId && fact("Auction", h("a", { href: `#/auction/${item.auctionId}` }, `Auction ${item.auctionId}`))),
        mine && h("p", { class: "actions" }, h("a", { class: "button", href: `#/item/${id}/edit` },
          item.state === "notListed" ? "Edit, or add a photo" : "Add a photo")))),
  ];
}

export async function sellerPage(asked) {
  const [id] = asked.parts;
  const page = await getPage(`/item/auctioneer/${id}`, asked);
  const mine = Number(id) === me().userId;
  return [
    title(mine ? "What you sell" : `Seller ${id}`, h("p", null, count(page.totalRecords, "item", "items"))),
    mine && h("p", { class: "actions" }, h("a", { class: "button", href: "#/sell" }, "Add an item")),
    page.items.length ? itemRows(page) : empty("Nothing here yet."),
    pager(page, `#/seller/${id}`),
  ];
}
