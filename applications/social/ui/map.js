// Puts the marker of an event at its place on the map.
"use strict";

for (const map of document.querySelectorAll(".map")) {
  const marker = map.querySelector("img");
  const part = (value, from, span) => `${100 * (Number(value) - from) / span}%`;
  marker.style.left = part(map.dataset.longitude, -180, 360);
  marker.style.top = part(-map.dataset.latitude, -90, 180);
}
