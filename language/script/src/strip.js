// Takes out of a new realm what must not be there even while a script is read.
(function strip() {
  "use strict";

  // It is made when first looked at and needs promises, which are not there: what it leaves half made aborts the
  // engine at its end.
  delete Array.fromAsync;

  // Code made out of text would be hidden from the reader of the file, and from the checks of its text.
  delete globalThis.eval;
  Object.defineProperty(Function.prototype, "constructor", { value: undefined });
  Object.defineProperty(Object.getPrototypeOf(function* () {}), "constructor", { value: undefined });
  delete globalThis.BigInt;

  // A search may cost the product of both lengths, and the engine does not look at its budget inside it: found by
  // measurement, where one search in 200 kB took half a minute.
  const LARGEST_SEARCH = 1e7;
  for (const name of ["indexOf", "lastIndexOf", "includes", "split", "replace", "replaceAll"]) {
    const search = String.prototype[name];
    const bounded = function (sought, ...rest) {
      const text = String(this);
      if (typeof sought === "object" && sought !== null && !(sought instanceof RegExp)) {
        throw new TypeError(`${name} takes a text or a pattern`);
      }
      if (typeof sought === "string" && text.length * sought.length > LARGEST_SEARCH) {
        throw new RangeError(`${name} of ${sought.length} signs in ${text.length} is too much work for one call`);
      }
      return search.call(text, sought, ...rest);
    };
    Object.defineProperty(String.prototype, name, { value: bounded });
  }
})();
