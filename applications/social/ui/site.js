// A form says how many characters a long text still admits, and sends a picture made smaller as its thumbnail.
"use strict";

for (const area of document.querySelectorAll("textarea[maxlength]")) {
  const left = document.createElement("output");
  const show = () => { left.textContent = `${area.maxLength - area.value.length} characters left`; };
  area.addEventListener("input", show);
  area.after(left);
  show();
}

async function shrunk(file) {
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, 100 / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/jpeg"));
}

for (const input of document.querySelectorAll("input[name=picture]")) {
  const thumbnail = input.form.querySelector("input[name=thumbnail]");
  input.addEventListener("change", async () => {
    if (!thumbnail || !input.files.length) return;
    const files = new DataTransfer();
    files.items.add(new File([await shrunk(input.files[0])], "thumbnail.jpg", { type: "image/jpeg" }));
    thumbnail.files = files.files;
  });
}
